//! Maps Agentrail's sessions to ours: the names of its logs and documents, and its tenants, which are parts of one of our tenants. Rebuilds
//! the state of an orchestration from its last checkpoint and its events.

use serde_json::{Map, Value as Json, json};

use super::error::{Conflict, Error, Result};
use super::sessions::name::SessionName;

pub const KIND: &str = "agentrail";
/// What belongs to a user and not to one of its sessions.
pub const USER_KIND: &str = "agentrail-user";

pub const MESSAGES: &str = "messages";
pub const ARCHIVES: &str = "messages.compactions/";
pub const TURNS: &str = "turns";
pub const TRACE: &str = "trace";
pub const EVENTS: &str = "orch/events";
pub const SKILL_LOGS: &str = "skill-logs";
pub const SNAPSHOT: &str = "orch/snapshot";
pub const ARTIFACTS: &str = "artifacts/";
pub const MEMO: &str = "memo/";
pub const NOTES: &str = "memo/NOTES.md";
pub const TODO: &str = "memo/TODO.md";
/// Counts what the turns used.
pub const TOKENS: &str = "tokens";

/// What becomes of one user's request for a session that another user has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OtherUser {
    /// It is the first user's session, and is answered.
    #[default]
    Answered,
    Conflict,
    Forbidden,
}

impl OtherUser {
    /// # Errors
    /// `SessionTaken`, `NotGranted`.
    pub fn check(self, user: Option<&str>, asks: Option<&str>) -> Result<()> {
        if user.is_none() || asks.is_none() || user == asks {
            return Ok(());
        }
        match self {
            Self::Answered => Ok(()),
            Self::Conflict => Err(Error::Conflict(Conflict::SessionTaken)),
            Self::Forbidden => Err(Error::NotGranted("the session is another user's")),
        }
    }
}

/// What a session's trace, read from its end, says of it: `error` where something has failed since it last began.
pub fn status(trace: &[Json]) -> &'static str {
    const BEGINS: [&str; 4] =
        ["session.start", "agent_start", "turn.start", "orchestration_run_start"];
    let kind = |it: &Json| it["event"]["type"].as_str().unwrap_or_default().to_owned();
    let mut since = trace.iter().rev().take_while(|it| !BEGINS.contains(&kind(it).as_str()));
    let failed = |it: &Json| {
        let kind = kind(it);
        kind == "error" || kind == "orchestration_run_complete" && it["event"]["status"] == "failed"
    };
    if since.any(failed) { "error" } else { "idle" }
}

/// # Errors
/// 422 for a key that is too long.
pub fn session(tenant: &str, session: &str) -> Result<SessionName> {
    SessionName::new(KIND, vec![tenant.to_owned(), session.to_owned()])
}

/// # Errors
/// 422 for a key that is too long.
pub fn user(tenant: &str, user: &str) -> Result<SessionName> {
    SessionName::new(USER_KIND, vec![tenant.to_owned(), user.to_owned()])
}

pub fn mailbox(agent: &str) -> String {
    format!("orch/mailbox/{agent}")
}

pub fn mailbox_state(agent: &str) -> String {
    format!("orch/mailbox-state/{agent}")
}

pub fn history(agent: &str) -> String {
    format!("orch/history/{agent}")
}

/// The state after the events behind the checkpoint. Without either there is none. A checkpoint whose last event is not among the
/// events counts only where there are none.
pub fn recover(checkpoint: Option<Json>, events: &[Json]) -> Option<Json> {
    if checkpoint.is_none() && events.is_empty() {
        return None;
    }
    let last = checkpoint.as_ref().and_then(|it| it["lastEventId"].as_str()).unwrap_or_default();
    let (base, rest) = match events.iter().position(|it| it["eventId"] == last) {
        _ if last.is_empty() => (checkpoint, events),
        Some(at) => (checkpoint, &events[at + 1..]),
        None if events.is_empty() => (checkpoint, events),
        None => (None, events),
    };
    let mut snapshot = match base {
        Some(Json::Object(fields)) => fields,
        _ => Map::new(),
    };
    for name in ["runs", "tasks", "agents", "waits"] {
        snapshot.entry(name).or_insert_with(|| json!({}));
    }
    snapshot.entry("queuedInputs").or_insert_with(|| json!([]));
    for event in rest {
        apply(&mut snapshot, event);
    }
    let is_over = |it: &Json| it["status"] == "completed" || it["status"] == "failed";
    let runs = entries(&snapshot, "runs");
    // Runs that are all over leave nothing to wait for.
    let is_open = runs.is_empty() || !runs.iter().all(|it| is_over(it));
    let chosen = |name: &str, wanted: &dyn Fn(&Json) -> bool| {
        let all = entries(&snapshot, name).into_iter();
        all.filter(|it| is_open && wanted(it)).cloned().collect::<Vec<Json>>()
    };
    let waits = chosen("waits", &|it| it["status"] == "pending");
    let agents = chosen("agents", &|it| it["status"] != "closed");
    Some(json!({"snapshot": snapshot, "pendingWaits": waits, "activeAgents": agents}))
}

fn entries<'a>(snapshot: &'a Map<String, Json>, name: &str) -> Vec<&'a Json> {
    snapshot.get(name).and_then(Json::as_object).into_iter().flat_map(Map::values).collect()
}

/// Unknown kinds change nothing but the last event.
fn apply(snapshot: &mut Map<String, Json>, event: &Json) {
    let at = &event["occurredAt"];
    let text = |of: &Json, name: &str| of[name].as_str().unwrap_or_default().to_owned();
    match event["type"].as_str().unwrap_or_default() {
        "run_started" => {
            let (run, task) = (text(event, "runId"), &event["initialTask"]);
            let id = text(task, "id");
            let made = json!({"id": run, "status": "running", "initialTaskId": id, "createdAt": at, "updatedAt": at});
            let of_task = json!({"id": id, "runId": run, "kind": task["kind"], "input": task["input"], "createdAt": at});
            own(snapshot, "runs", run, made);
            own(snapshot, "tasks", id, of_task);
        }
        "agent_spawned" => spawn(snapshot, event),
        "agent_input_queued" => {
            let input = &event["input"];
            let queued = json!({"id": input["id"], "agentId": input["agentId"], "payload": input["payload"], "queuedAt": at});
            if let Some(Json::Array(inputs)) = snapshot.get_mut("queuedInputs") {
                inputs.push(queued);
            }
        }
        "agent_input_removed" => {
            if let Some(Json::Array(inputs)) = snapshot.get_mut("queuedInputs") {
                inputs.retain(|it| it["id"] != event["inputId"]);
            }
        }
        "agent_status_changed" => {
            let changes = json!({"status": event["status"], "updatedAt": at});
            amend(snapshot, "agents", &text(event, "agentId"), changes);
        }
        "agent_job_started" => {
            amend(snapshot, "agents", &text(event, "agentId"), json!({"updatedAt": at}));
        }
        "agent_job_completed" | "agent_job_failed" => {
            let mut job = event["job"].clone();
            if let Json::Object(fields) = &mut job {
                fields.insert("completedAt".into(), at.clone());
            }
            let changes = json!({"lastJob": job, "updatedAt": at});
            amend(snapshot, "agents", &text(event, "agentId"), changes);
        }
        "wait_registered" => {
            let mut wait = with(
                &event["wait"],
                &["id", "agentId", "agentIds", "kind", "description", "match", "timeoutAt"],
            );
            wait.extend([
                ("runId".to_owned(), event["runId"].clone()),
                ("status".to_owned(), json!("pending")),
                ("registeredAt".to_owned(), at.clone()),
            ]);
            own(snapshot, "waits", text(&event["wait"], "id"), Json::Object(wait));
        }
        "wait_resolved" => {
            let mut changes = with(event, &["resolution"]);
            changes.extend([
                ("status".to_owned(), json!("resolved")),
                ("resolvedAt".to_owned(), at.clone()),
            ]);
            amend(snapshot, "waits", &text(event, "waitId"), Json::Object(changes));
        }
        "agent_closed" => {
            let changes = json!({"status": "closed", "updatedAt": at, "closedAt": at});
            amend(snapshot, "agents", &text(&event["close"], "agentId"), changes);
        }
        "run_completed" => {
            let changes = json!({"status": event["status"], "updatedAt": at, "completedAt": at});
            amend(snapshot, "runs", &text(event, "runId"), changes);
        }
        _ => {}
    }
    snapshot.insert("lastEventId".into(), event["eventId"].clone());
}

fn spawn(snapshot: &mut Map<String, Json>, event: &Json) {
    let (agent, at) = (&event["agent"], &event["occurredAt"]);
    let run = event["runId"].as_str().unwrap_or_default();
    let id = agent["id"].as_str().unwrap_or_default();
    let initial = &snapshot["runs"][run]["initialTaskId"];
    let task = [&agent["taskId"], initial].into_iter().find(|it| !it.is_null());
    let task = task.cloned().unwrap_or_else(|| json!(id));
    let mut made = with(agent, &["id", "displayName", "role"]);
    made.extend([
        ("runId".to_owned(), json!(run)),
        ("taskId".to_owned(), task),
        ("status".to_owned(), json!("idle")),
        ("createdAt".to_owned(), at.clone()),
        ("updatedAt".to_owned(), at.clone()),
    ]);
    own(snapshot, "agents", id.to_owned(), Json::Object(made));
}

/// Those of the fields that are there.
fn with(of: &Json, names: &[&str]) -> Map<String, Json> {
    let field = |name: &&str| Some(((*name).to_owned(), of.get(*name)?.clone()));
    names.iter().filter_map(field).collect()
}

fn own(snapshot: &mut Map<String, Json>, list: &str, id: String, value: Json) {
    if let Some(Json::Object(all)) = snapshot.get_mut(list) {
        all.insert(id, value);
    }
}

/// What does not exist is not made.
fn amend(snapshot: &mut Map<String, Json>, list: &str, id: &str, changes: Json) {
    let found = snapshot.get_mut(list).and_then(|it| it.get_mut(id));
    if let (Some(Json::Object(found)), Json::Object(changes)) = (found, changes) {
        found.extend(changes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events() -> Vec<Json> {
        vec![
            json!({"eventId": "1", "occurredAt": "t1", "runId": "r", "type": "run_started",
                "initialTask": {"id": "k", "kind": "chat", "input": "hi"}}),
            json!({"eventId": "2", "occurredAt": "t2", "runId": "r", "type": "agent_spawned",
                "agent": {"id": "a", "role": "worker"}}),
            json!({"eventId": "3", "occurredAt": "t3", "runId": "r", "type": "wait_registered",
                "wait": {"id": "w", "agentId": "a", "kind": "user", "description": "?"}}),
            json!({"eventId": "4", "occurredAt": "t4", "runId": "r", "type": "agent_input_queued",
                "input": {"id": "i", "agentId": "a", "payload": 1}}),
        ]
    }

    #[test]
    fn a_state_is_the_checkpoint_and_what_came_behind_it() {
        assert_eq!(recover(None, &[]), None);
        let whole = recover(None, &events()).unwrap();
        assert_eq!(whole["pendingWaits"][0]["status"], "pending");
        assert_eq!(whole["activeAgents"][0]["taskId"], "k");
        assert_eq!(whole["snapshot"]["queuedInputs"][0]["queuedAt"], "t4");
        assert_eq!(whole["snapshot"]["lastEventId"], "4");
        // A crash between an event and its checkpoint changes nothing.
        for upto in 1..=4 {
            let checkpoint = recover(None, &events()[..upto]).unwrap()["snapshot"].clone();
            assert_eq!(recover(Some(checkpoint), &events()).unwrap(), whole);
        }
        // One that knows an event which the log has not is not trusted, unless there is no log.
        let stranger = json!({"runs": {"x": {"status": "running"}}, "lastEventId": "9"});
        assert_eq!(recover(Some(stranger.clone()), &events()).unwrap(), whole);
        let alone = recover(Some(stranger), &[]).unwrap();
        assert_eq!(alone["snapshot"]["runs"]["x"]["status"], "running");
    }

    #[test]
    fn runs_that_are_over_wait_for_nothing() {
        let mut all = events();
        let end = json!({"eventId": "5", "occurredAt": "t5", "runId": "r", "type": "run_completed", "status": "failed"});
        all.push(end);
        let over = recover(None, &all).unwrap();
        assert_eq!((&over["pendingWaits"], &over["activeAgents"]), (&json!([]), &json!([])));
        assert_eq!(over["snapshot"]["runs"]["r"]["completedAt"], "t5");
    }
}
