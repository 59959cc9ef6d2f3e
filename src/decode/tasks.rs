//! Computes the tasks of a step from the data that LangGraph uses to run it. These are the existing channels, the versions that each node
//! has seen, and the sends. Without the graph, parallel nodes are in the order of their names.

use std::collections::BTreeMap;

use super::shown::Json;
use super::state::WHOLE_STATES;
use super::task_ids::{Language, Named, interrupt_id, task_id};
use crate::domain::checkpoints::wanted::{BRANCH, START};

const PULL: &str = "__pregel_pull";
const PUSH: &str = "__pregel_push";
pub(super) const ERROR: &str = "__error__";
pub(super) const ERROR_SOURCE: &str = "__error_source_node__";
pub(super) const INTERRUPT: &str = "__interrupt__";
pub(super) const RESUME: &str = "__resume__";
const RETURN: &str = "__return__";
/// What a functional graph returns.
const END: &str = "__end__";
/// Not nodes: who has seen the input, and breakpoints.
const NO_NODES: [&str; 2] = ["__input__", INTERRUPT];
/// What happened to a task, not what it gave.
const CONTROL: [&str; 4] = [ERROR, ERROR_SOURCE, INTERRUPT, RESUME];
/// Input of the step, not a task of it.
pub const NULL_TASK: &str = "00000000-0000-0000-0000-000000000000";

/// A checkpoint and its step.
pub struct Step<'a> {
    pub language: Language,
    pub checkpoint_id: &'a str,
    pub checkpoint_ns: &'a str,
    pub number: i64,
    pub skeleton: &'a Json,
    /// Every channel with a value, internal ones too.
    pub values: &'a [(&'a str, &'a Json)],
    /// Channels of nodes that an input by `Command` has written.
    pub commanded: &'a [String],
    pub sends: &'a [Json],
}

pub struct Task {
    /// None where the checkpoint's id is none that LangGraph makes.
    pub id: Option<String>,
    pub name: String,
    pub path: Json,
    /// Channels that the node waits for, as far as they count here; none of what was sent.
    pub triggers: Vec<String>,
    pub error: Option<Json>,
    pub interrupts: Vec<Interrupt>,
    /// None until it has run to its end.
    pub result: Option<Json>,
}

#[derive(Clone)]
pub struct Interrupt {
    pub id: Option<String>,
    pub value: Json,
    pub response_schema: Option<Json>,
}

impl Task {
    /// All that it shows of the values of others.
    pub(super) fn values(&mut self) -> impl Iterator<Item = &mut Json> {
        let interrupts = self.interrupts.iter_mut();
        let asked = interrupts.flat_map(|it| [Some(&mut it.value), it.response_schema.as_mut()]);
        asked.flatten().chain(&mut self.error).chain(&mut self.result)
    }
}

/// A write on the checkpoint.
pub struct Write {
    pub task_id: String,
    pub channel: String,
    pub tag: String,
    pub value: Json,
}

impl Step<'_> {
    /// What is sent comes first, then nodes by name.
    pub fn tasks(&self) -> Vec<Task> {
        let sent = self.sends.iter().enumerate().filter_map(|(at, it)| self.pushed(at, it));
        sent.chain(self.triggered().into_iter().map(|(name, by)| self.pulled(&name, &by))).collect()
    }

    fn pushed(&self, at: usize, send: &Json) -> Option<Task> {
        let name = send.get("node")?.as_text()?;
        // LangGraph.js has the last part since 1.7, and nothing stored tells which version wrote.
        let path = vec![Json::text(PUSH), Json::of(at as u64), Json::Bool(false)];
        Some(self.task(name, &[PUSH.to_owned(), at.to_string()], path, Vec::new()))
    }

    fn pulled(&self, name: &str, by: &str) -> Task {
        let mut triggers = match self.language {
            Language::Python { .. } if by != START => self.triggers(name),
            _ => vec![by.to_owned()],
        };
        let own = triggers.clone();
        triggers.insert(0, PULL.to_owned());
        self.task(name, &triggers, vec![Json::text(PULL), Json::text(name)], own)
    }

    fn task(&self, name: &str, tail: &[String], path: Vec<Json>, triggers: Vec<String>) -> Task {
        let (checkpoint_id, checkpoint_ns) = (self.checkpoint_id, self.checkpoint_ns);
        let named = Named { checkpoint_id, checkpoint_ns, step: self.number, name, tail };
        Task {
            id: task_id(self.language, &named),
            name: name.to_owned(),
            path: Json::List(path),
            triggers,
            error: None,
            interrupts: Vec::new(),
            result: None,
        }
    }

    /// Nodes with the first channel that triggers each.
    fn triggered(&self) -> BTreeMap<String, String> {
        let mut nodes = BTreeMap::new();
        for (channel, value) in self.values {
            let Some(node) = ready_node(channel, value) else { continue };
            let node = if node == START { self.start_node() } else { node };
            let seen = self.skeleton.get("versions_seen").and_then(|it| it.get(node));
            let version = self.skeleton.get("channel_versions").and_then(|it| it.get(channel));
            let is_news = |seen: &Json| is_newer(version, seen.get(channel));
            if seen.is_none_or(is_news) {
                nodes.entry(node.to_owned()).or_insert_with(|| (*channel).to_owned());
            }
        }
        // Such a write gives the channel a value and no version: a node that never ran is not started by it.
        for channel in self.commanded {
            let Some(node) = channel.strip_prefix(BRANCH) else { continue };
            let seen = self.skeleton.get("versions_seen").and_then(|it| it.get(node));
            let version = self.skeleton.get("channel_versions").and_then(|it| it.get(channel));
            if is_newer(version, seen.and_then(|it| it.get(channel))) {
                nodes.entry(node.to_owned()).or_insert_with(|| channel.clone());
            }
        }
        nodes
    }

    /// The node that takes the input in: that of a functional graph has the name of its function, which nothing tells before it has run.
    fn start_node(&self) -> &str {
        let Some(Json::Object(nodes)) = self.skeleton.get("versions_seen") else { return START };
        let has_seen = |seen: &Json| seen.get(START).is_some();
        let mut started = nodes
            .iter()
            .filter(|(node, seen)| !NO_NODES.contains(&node.as_str()) && has_seen(seen));
        started.next().map_or(START, |(node, _)| node)
    }

    /// All channels that the node waits for, as far as they have versions.
    fn triggers(&self, node: &str) -> Vec<String> {
        let versions = match self.skeleton.get("channel_versions") {
            Some(Json::Object(fields)) => fields.as_slice(),
            _ => &[],
        };
        let joins = versions.iter().map(|(name, _)| name).filter(|name| {
            let parts = name.strip_prefix("join:").and_then(|it| it.rsplit_once(':'));
            parts.is_some_and(|(_, end)| end == node)
        });
        let mut all: Vec<String> = joins.cloned().collect();
        all.push(format!("{BRANCH}{node}"));
        all.sort();
        all
    }
}

/// Of a deferred node: its value, and whether everything else has run.
pub(super) fn deferred(value: &Json) -> Option<(&Json, bool)> {
    match value.as_list()? {
        [value, Json::Bool(is_finished)] => Some((value, *is_finished)),
        _ => None,
    }
}

/// The deferred node that runs as soon as nothing else does.
pub(super) fn waiting_node<'a>(channel: &'a str, value: &Json) -> Option<&'a str> {
    let (value, is_finished) = deferred(value)?;
    let finished = Json::List(vec![value.clone(), Json::Bool(true)]);
    if is_finished { None } else { ready_node(channel, &finished) }
}

/// The node for which a channel with this value is a reason to run.
pub(super) fn ready_node<'a>(channel: &'a str, value: &Json) -> Option<&'a str> {
    if channel == START {
        return Some(START);
    }
    let (value, is_finished) = deferred(value).unwrap_or((value, true));
    if let Some(node) = channel.strip_prefix(BRANCH) {
        return Some(node).filter(|_| is_finished);
    }
    let (starts, node) = channel.strip_prefix("join:")?.rsplit_once(':')?;
    let arrived = value.as_list().unwrap_or_default();
    let is_complete =
        starts.split('+').all(|it| arrived.iter().any(|one| one.as_text() == Some(it)));
    Some(node).filter(|_| is_finished && is_complete)
}

/// Versions are texts that grow, or numbers; a missing one is the least of its kind.
fn is_newer(version: Option<&Json>, seen: Option<&Json>) -> bool {
    match (version, seen) {
        (None, _) => false,
        (Some(Json::Text(version)), None) => !version.is_empty(),
        (Some(Json::Text(version)), Some(Json::Text(seen))) => version > seen,
        (Some(Json::Int(version)), Some(Json::Int(seen))) => version > seen,
        (Some(version), seen) => number(version) > seen.map_or(0.0, number),
    }
}

fn number(version: &Json) -> f64 {
    match version {
        Json::Int(it) => *it as f64,
        Json::Uint(it) => *it as f64,
        Json::Float(it) => *it,
        Json::Text(text) => text.split('.').next().and_then(|it| it.parse().ok()).unwrap_or(0.0),
        _ => 0.0,
    }
}

/// Whether a task has run to its end.
pub fn is_output(channel: &str) -> bool {
    !CONTROL.contains(&channel)
}

/// Puts what was written about the tasks to them. `is_live`: the state now, in which what was answered asks no more.
pub fn join(tasks: &mut [Task], writes: &[Write], is_live: bool) {
    join_functional(tasks, writes);
    for task in tasks {
        let own = writes.iter().filter(|it| Some(&it.task_id) == task.id.as_ref());
        let own: Vec<&Write> = own.filter(|it| it.task_id != NULL_TASK).collect();
        task.error = own.iter().find(|it| it.channel == ERROR).map(|it| it.value.clone());
        let output: Vec<&Write> = own.iter().copied().filter(|it| is_output(&it.channel)).collect();
        if output.is_empty() || !is_live {
            let raised = own.iter().filter(|it| it.channel == INTERRUPT);
            task.interrupts = raised.flat_map(|it| interrupts(&it.value)).collect();
        }
        if !output.is_empty() {
            task.result = Some(result(&output));
        }
    }
}

/// The first task of a functional graph has the name of a function that nothing here tells, and so an id of its own.
fn join_functional(tasks: &mut [Task], writes: &[Write]) {
    let [task] = tasks else { return };
    let is_known = writes.iter().any(|it| Some(&it.task_id) == task.id.as_ref());
    if task.name == START && !is_known {
        let mut told = [END, INTERRUPT, ERROR].iter().filter_map(|channel| {
            writes.iter().find(|it| it.task_id != NULL_TASK && it.channel == *channel)
        });
        let id = told.next().map(|it| it.task_id.clone());
        task.id = id.or(task.id.take());
    }
}

fn result(output: &[&Write]) -> Json {
    if let Some(returned) = output.iter().find(|it| it.channel == RETURN) {
        return returned.value.clone();
    }
    if let Some(whole) = output.iter().find(|it| WHOLE_STATES.contains(&it.channel.as_str())) {
        return whole.value.clone();
    }
    let mut fields: Vec<(String, Vec<Json>)> = Vec::new();
    for write in output.iter().filter(|it| !super::state::is_internal(&it.channel)) {
        match fields.iter_mut().find(|(name, _)| *name == write.channel) {
            Some((_, values)) => values.push(write.value.clone()),
            None => fields.push((write.channel.clone(), vec![write.value.clone()])),
        }
    }
    let field = |(name, mut values): (String, Vec<Json>)| match values.len() {
        1 => (name, values.swap_remove(0)),
        _ => (name, Json::Object(vec![("$writes".to_owned(), Json::List(values))])),
    };
    Json::Object(fields.into_iter().map(field).collect())
}

/// Python writes a list, JavaScript one or a list.
fn interrupts(value: &Json) -> Vec<Interrupt> {
    value.as_list().unwrap_or(std::slice::from_ref(value)).iter().map(interrupt).collect()
}

fn interrupt(raised: &Json) -> Interrupt {
    let ns = |it: &Json| {
        let labels = it.as_list()?.iter().filter_map(Json::as_text).collect::<Vec<_>>();
        Some(interrupt_id(&labels.join("|")))
    };
    let id = raised.get("id").and_then(Json::as_text).map(str::to_owned);
    let schema = raised.get("response_schema").filter(|it| **it != Json::Null);
    Interrupt {
        id: id.or_else(|| raised.get("ns").and_then(ns)),
        value: raised.get("value").unwrap_or(raised).clone(),
        response_schema: schema.cloned(),
    }
}
