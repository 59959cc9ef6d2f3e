//! Shapes a state for the wire: every field is there, in the order in which other servers send them, and null where there is nothing.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::select::Select;
use super::shown_ids::in_checkpoint_metadata;
use crate::decode::state::{checkpoint_map, state};
use crate::decode::tasks::{Interrupt, Task};
use crate::decode::{Budget, Json};
use crate::domain::checkpoints::storage::CheckpointTuple;
use crate::domain::names::CheckpointNs;
use crate::domain::time::{parse_rfc3339, rfc3339_with_offset};
use crate::domain::{Error, Result};
use crate::http::checkpoints::channel_values::unreadable;

/// How a state is derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// The newest: tasks that have ended are not next.
    Live,
    /// The record of a step.
    Pinned,
}

/// A state with what the caller wants of it.
pub struct StateView {
    select: Select,
    values: Json,
    next: Vec<String>,
    pub tasks: Vec<TaskView>,
    metadata: Option<Json>,
    created_at: Option<String>,
    checkpoint: Option<CheckpointRef>,
    parent: Option<CheckpointRef>,
    interrupts: Vec<InterruptView>,
}

/// Names a checkpoint, and in a subgraph those above it.
#[derive(Serialize)]
struct CheckpointRef {
    checkpoint_id: String,
    thread_id: String,
    checkpoint_ns: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_map: Option<Json>,
}

#[derive(Serialize)]
pub struct TaskView {
    id: Option<String>,
    name: String,
    path: Json,
    error: Option<Json>,
    interrupts: Vec<InterruptView>,
    /// Of a subgraph that has checkpoints, where its state is not shown.
    checkpoint: Option<NamespaceRef>,
    pub state: Option<Box<StateView>>,
    result: Option<Json>,
}

#[derive(Serialize)]
struct NamespaceRef {
    thread_id: String,
    checkpoint_ns: String,
}

#[derive(Serialize)]
struct InterruptView {
    id: Option<String>,
    value: Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_schema: Option<Json>,
}

impl StateView {
    /// Where there is no checkpoint.
    pub fn empty(select: Select) -> Self {
        Self {
            select,
            values: Json::Object(Vec::new()),
            next: Vec::new(),
            tasks: Vec::new(),
            metadata: None,
            created_at: None,
            checkpoint: None,
            parent: None,
            interrupts: Vec::new(),
        }
    }

    /// # Errors
    /// `TooLarge` for a checkpoint that cannot be shown.
    pub fn of(
        found: &CheckpointTuple,
        shown_id: &str,
        select: &Select,
        rules: Rules,
        budget: &mut Budget,
    ) -> Result<Self> {
        let state = state(found, rules == Rules::Live, budget).map_err(unreadable)?;
        let empty = Self::empty(select.clone());
        let (Some(view), Some(state)) = (&found.view, state) else { return Ok(empty) };
        let reference = |id: &str| CheckpointRef {
            checkpoint_id: id.to_owned(),
            thread_id: shown_id.to_owned(),
            checkpoint_ns: view.ns.clone(),
            checkpoint_map: checkpoint_map(&state.metadata, &view.ns, id),
        };
        let (checkpoint, parent) = (reference(&view.id), view.parent.as_deref().map(reference));
        let interrupts = state.interrupts().into_iter().map(InterruptView::from).collect();
        let tasks = state.tasks.into_iter().map(TaskView::from);
        Ok(Self {
            tasks: tasks.filter(|_| select.has("tasks")).collect(),
            values: if select.has("values") { select.values(state.values) } else { Json::Null },
            next: state.next,
            metadata: Some(in_checkpoint_metadata(state.metadata, shown_id)),
            created_at: state.created_at.map(with_offset),
            checkpoint: Some(checkpoint),
            parent,
            interrupts,
            ..empty
        })
    }

    /// The namespaces that each task may have if it is a subgraph, in the order of the tasks.
    pub fn namespaces(&self, ns: &str) -> Vec<Vec<CheckpointNs>> {
        self.tasks.iter().map(|it| it.namespaces(ns)).collect()
    }

    /// # Errors
    /// `Internal` for what cannot be written.
    pub fn json(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::Internal(error.to_string()))
    }
}

impl TaskView {
    /// First of a subgraph that begins anew with the task, then of one that remembers (`checkpointer=True`), whose namespace has no
    /// ids. None where the task has no id, or no namespace can have such a name.
    fn namespaces(&self, ns: &str) -> Vec<CheckpointNs> {
        let Some(id) = &self.id else { return Vec::new() };
        let above = if ns.is_empty() { String::new() } else { format!("{ns}|") };
        let of_step = format!("{above}{}:{id}", self.name);
        // A part of digits counts the calls of one step.
        let parts = of_step.split('|').filter(|it| !it.bytes().all(|byte| byte.is_ascii_digit()));
        let names = parts.map(|it| it.split(':').next().unwrap_or(it));
        let remembering = names.collect::<Vec<_>>().join("|");
        [of_step, remembering].into_iter().filter_map(|it| CheckpointNs::new(it).ok()).collect()
    }

    /// It is a subgraph, whose state stands elsewhere.
    pub fn refer_to(&mut self, shown_id: &str, ns: &CheckpointNs) {
        let (thread_id, checkpoint_ns) = (shown_id.to_owned(), ns.to_string());
        self.checkpoint = Some(NamespaceRef { thread_id, checkpoint_ns });
    }
}

/// JavaScript writes times with a `Z`.
fn with_offset(time: String) -> String {
    if time.ends_with("+00:00") {
        return time;
    }
    parse_rfc3339("created_at", &time).map_or(time, rfc3339_with_offset)
}

impl From<Task> for TaskView {
    fn from(it: Task) -> Self {
        Self {
            id: it.id,
            name: it.name,
            path: it.path,
            error: it.error,
            interrupts: it.interrupts.into_iter().map(InterruptView::from).collect(),
            checkpoint: None,
            state: None,
            result: it.result,
        }
    }
}

impl From<Interrupt> for InterruptView {
    fn from(it: Interrupt) -> Self {
        Self { id: it.id, value: it.value, response_schema: it.response_schema }
    }
}

impl Serialize for StateView {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let id = |it: &Option<CheckpointRef>| it.as_ref().map(|it| it.checkpoint_id.clone());
        macro_rules! put {
            ($name:literal, $value:expr) => {
                if self.select.has($name) {
                    map.serialize_entry($name, $value)?;
                }
            };
        }
        put!("values", &self.values);
        put!("next", &self.next);
        put!("tasks", &self.tasks);
        put!("metadata", &self.metadata);
        put!("created_at", &self.created_at);
        put!("checkpoint", &self.checkpoint);
        put!("parent_checkpoint", &self.parent);
        put!("interrupts", &self.interrupts);
        put!("checkpoint_id", &id(&self.checkpoint));
        put!("parent_checkpoint_id", &id(&self.parent));
        map.end()
    }
}
