//! Writes conditions and orders by the status of threads, the same for both engines.

use crate::domain::threads::run_state::{RunState, Status};

/// Whether somebody holds the lease; `{now}` is the database's clock.
const IS_LEASED: &str = "(lease_holder is not null and coalesce(lease_expires_at, 0) > {now})";

pub fn is_leased(now: &str) -> String {
    IS_LEASED.replace("{now}", now)
}

/// A condition on the row of a thread, behind ` and `; empty where any status will do. `busy_since` is the bind of
/// [`ThreadQuery::busy_since`](crate::domain::threads::thread::ThreadQuery::busy_since). The numbers of states stand in the text, so that a plan knows how rare they are.
pub fn condition(statuses: &[Status], busy_since: &str, now: &str) -> String {
    if statuses.is_empty() {
        return String::new();
    }
    let one = |it: &Status| parts(*it, busy_since, now);
    let any: Vec<String> = statuses.iter().flat_map(one).map(|it| format!("({it})")).collect();
    format!(" and ({})", any.join(" or "))
}

/// The same as [`condition`], as one condition for each state that indexes have in the orders of its times. No thread meets two. None where
/// there is a status that a state is not enough to say.
pub fn by_states(statuses: &[Status], busy_since: &str, now: &str) -> Option<Vec<String>> {
    let are_rare = |it: &Status| matches!(it, Status::Error | Status::Interrupted);
    if statuses.is_empty() || !statuses.iter().all(are_rare) {
        return None;
    }
    let parts = statuses.iter().flat_map(|it| parts(*it, busy_since, now));
    Some(parts.map(|it| format!(" and run_state <> 0 and {it}")).collect())
}

/// What a thread with this status meets one of.
fn parts(status: Status, busy_since: &str, now: &str) -> Vec<String> {
    let is_leased = is_leased(now);
    let in_state = |state: RunState| format!("run_state = {}", state.number());
    let free = |state: RunState| format!("{} and not {is_leased}", in_state(state));
    let pending = in_state(RunState::Pending);
    match status {
        Status::Busy => {
            vec![is_leased.clone(), format!("{pending} and run_at >= {busy_since}")]
        }
        Status::Error => vec![free(RunState::Failed)],
        Status::Idle => vec![free(RunState::Idle)],
        Status::Interrupted => vec![
            free(RunState::Interrupted),
            format!("{} and run_at < {busy_since}", free(RunState::Pending)),
        ],
    }
}

/// Whether the short values of a thread are known, and of its newest state.
pub const KNOWS_VALUES: &str = "(not is_stale and values_of = run_of)";

/// The place of a thread's status in the order of their names.
pub fn place(busy_since: &str, now: &str) -> String {
    // Rows of an answer have no holder, and without one there is no end.
    let is_leased = format!("(coalesce(lease_expires_at, 0) > {now})");
    let busy = Status::Busy.place();
    format!(
        "(case when {is_leased} then {busy} when run_state = {idle} then {is_idle}
            when run_state = {failed} then {is_error}
            when run_state = {pending} and run_at >= {busy_since} then {busy} else {is_interrupted} end)",
        idle = RunState::Idle.number(),
        is_idle = Status::Idle.place(),
        failed = RunState::Failed.number(),
        is_error = Status::Error.place(),
        pending = RunState::Pending.number(),
        is_interrupted = Status::Interrupted.place(),
    )
}
