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
    let is_leased = is_leased(now);
    let in_state = |state: RunState| format!("run_state = {}", state.number());
    let one = |status: &Status| match status {
        Status::Busy => {
            format!("({is_leased} or ({} and run_at >= {busy_since}))", in_state(RunState::Pending))
        }
        Status::Error => format!("({} and not {is_leased})", in_state(RunState::Failed)),
        Status::Idle => format!("({} and not {is_leased})", in_state(RunState::Idle)),
        Status::Interrupted => format!(
            "(({} or ({} and run_at < {busy_since})) and not {is_leased})",
            in_state(RunState::Interrupted),
            in_state(RunState::Pending)
        ),
    };
    let any: Vec<String> = statuses.iter().map(one).collect();
    format!(" and ({})", any.join(" or "))
}

/// The same as [`condition`], as one condition for each state that indexes have in the orders of its times. No thread meets two. None where
/// there is a status that a state is not enough to say.
pub fn by_states(statuses: &[Status], busy_since: &str, now: &str) -> Option<Vec<String>> {
    let is_leased = is_leased(now);
    let in_state = |state: RunState, more: &str| {
        let number = state.number();
        format!(" and run_state <> 0 and run_state = {number}{more} and not {is_leased}")
    };
    let of_status = |status: &Status| match status {
        Status::Error => Some(vec![in_state(RunState::Failed, "")]),
        Status::Interrupted => Some(vec![
            in_state(RunState::Interrupted, ""),
            in_state(RunState::Pending, &format!(" and run_at < {busy_since}")),
        ]),
        Status::Idle | Status::Busy => None,
    };
    let all: Option<Vec<_>> = statuses.iter().map(of_status).collect();
    all.map(|it| it.concat()).filter(|it| !it.is_empty())
}

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
