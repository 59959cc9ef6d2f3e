//! Finds the node that an update without one counts for, and what that node led to when it ran.

use super::start::{Start, fields};
use super::versions::{next, number};
use super::{Planning, needs_graph};
use crate::decode::shown::Json;
use crate::decode::tasks::{NULL_TASK, is_output};
use crate::domain::checkpoints::checkpoint::PENDING_SENDS;
use crate::domain::checkpoints::wanted::{BRANCH, START};

/// Where a run came from to the checkpoint that updates go on from.
pub struct Origin<'a> {
    /// The newest checkpoint, up the parents, that a step of the graph made.
    pub step: Start<'a>,
    /// The one before, where it is still there.
    pub before: Option<Start<'a>>,
}

/// The node that ran last, alone.
#[derive(Debug, PartialEq, Eq)]
pub struct Routing {
    pub node: String,
    /// Channels, besides those of the state, that it wrote to.
    pub edges: Vec<String>,
}

/// The graph would ask the node's edges anew; they are taken to lead where they led.
///
/// # Errors
/// Refused where no single node ran last, or its edges led to more than nodes.
pub fn routing(base: &Start<'_>, origin: &Origin<'_>) -> Planning<Routing> {
    let step = &origin.step;
    if step.source() != Some("loop") {
        return needs_graph(
            "no step of the graph made this checkpoint, so the node that an update counts for is not known",
        );
    }
    let (Some(last), Some(then)) = (last_node(base), last_node(step)) else {
        return needs_graph(
            "more than one node ran last, or none: the node that an update counts for is not known",
        );
    };
    if last != then {
        return needs_graph(
            "tasks were cleared since the last step, and the graph would go on behind them",
        );
    }
    let (node, seen) = last;
    let is_newest = step.versions.greatest().map(number) == Some(number(&next(Some(&seen), false)));
    if step.tasks.is_empty() && is_newest {
        return Ok(Routing { node, edges: Vec::new() });
    }
    let edges = recorded(&node, origin)?;
    Ok(Routing { node, edges })
}

/// The edges that the node's task wrote, if it was the only one of its step.
fn recorded(node: &str, origin: &Origin<'_>) -> Planning<Vec<String>> {
    let Some(before) = &origin.before else {
        return needs_graph(
            "the step before was pruned, so that nothing tells what follows the node that ran last",
        );
    };
    let mut written =
        before.view.writes.iter().filter(|it| it.task_id != NULL_TASK && is_output(&it.channel));
    let task = before.tasks.iter().find(|it| it.name == node).and_then(|it| it.id.as_ref());
    let mut edges = Vec::new();
    if task.is_none() || !written.clone().all(|it| Some(&it.task_id) == task) {
        return needs_graph("other nodes ran beside the last one, and nothing tells which led on");
    }
    for write in written.by_ref() {
        let channel = write.channel.as_str();
        if channel == PENDING_SENDS || channel == "__pregel_push" {
            return needs_graph(format!(
                "node {node:?} sends tasks, which only its edges can make"
            ));
        }
        let is_edge = channel.starts_with(BRANCH) || channel.starts_with("join:");
        if is_edge && !edges.iter().any(|it| it == channel) {
            edges.push(channel.to_owned());
        }
    }
    Ok(edges)
}

/// The node with the newest version that any has seen. None: two saw it, or nothing was seen.
fn last_node(start: &Start<'_>) -> Option<(String, Json)> {
    let mut seen: Vec<(Json, &str)> = Vec::new();
    for (node, versions) in &start.versions_seen {
        // Python knows its nodes; JavaScript takes what stands there.
        if start.is_python && node.starts_with("__") && node != START {
            continue;
        }
        seen.extend(
            fields(Some(versions)).into_iter().map(|(_, version)| (version, node.as_str())),
        );
    }
    seen.sort_by(|(a, _), (b, _)| match (a, b) {
        (Json::Text(a), Json::Text(b)) => a.cmp(b),
        (a, b) => number(a).cmp(&number(b)),
    });
    let (version, node) = seen.pop()?;
    let is_shared = seen.last().is_some_and(|(other, _)| *other == version);
    (!is_shared && number(&version) > 0).then(|| (node.to_owned(), version))
}
