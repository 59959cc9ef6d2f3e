//! Reads what a stored checkpoint says about the step that would come next.

use super::ids;
use super::versions::Versions;
use super::{Planning, Stored, needs_graph};
use crate::decode::shown::{Budget, Fields, Json};
use crate::decode::state::{language, tasks_of};
use crate::decode::task_ids::Language;
use crate::decode::tasks::{Task, waiting_node};
use crate::decode::values::{Channel, channels};
use crate::decode::{Unreadable, json};
use crate::domain::checkpoints::checkpoint::View;
use crate::domain::checkpoints::wanted::starts_tasks;
use crate::domain::clock::Micros;

/// The format of checkpoints that graphs write today.
const FORMAT: Json = Json::Int(4);
const BRANCH: &str = "branch:to:";

/// A checkpoint, read as far as its successor depends on it.
pub struct Start<'a> {
    pub view: &'a View,
    pub is_python: bool,
    pub metadata: Json,
    pub step: i64,
    pub versions: Versions,
    pub versions_seen: Fields,
    /// Those that start tasks, with their values.
    pub triggers: Vec<Channel>,
    /// What would run next.
    pub tasks: Vec<Task>,
    newest_id: &'a str,
    pub now: Micros,
}

impl<'a> Start<'a> {
    /// # Errors
    /// Refused where there is no checkpoint, or it is of a form that graphs do not write today.
    pub fn read(stored: &Stored<'a>, budget: &mut Budget) -> Planning<Self> {
        let Some(view) = &stored.base.view else {
            return needs_graph(
                "there is no such checkpoint, and the first one is made by the graph",
            );
        };
        let (skeleton, metadata) = match documents(view, budget) {
            Ok(read) => read,
            Err(reason) => return needs_graph(format!("the checkpoint cannot be read: {reason}")),
        };
        if skeleton.get("v") != Some(&FORMAT) {
            return needs_graph(
                "the checkpoint has an older format, which the graph brings up to date",
            );
        }
        let Some(&Json::Int(step)) = metadata.get("step") else {
            return needs_graph("the metadata of the checkpoint has no step");
        };
        let names: Vec<String> = {
            let names = view.values.iter().map(|(name, _)| name);
            names.filter(|it| starts_tasks(it)).cloned().collect()
        };
        // No name would mean every channel.
        let mut triggers =
            if names.is_empty() { Vec::new() } else { channels(stored.base, &names, budget) };
        triggers.retain(|it| !it.is_undefined());
        let tasks = tasks_of(view, &skeleton, &metadata, &triggers, budget);
        Ok(Self {
            view,
            is_python: matches!(language(view, &skeleton), Language::Python { .. }),
            metadata,
            step,
            versions: Versions::read(&skeleton)?,
            versions_seen: fields(skeleton.get("versions_seen")),
            triggers,
            tasks,
            newest_id: stored.newest_id,
            now: stored.now,
        })
    }

    /// The id of the next checkpoint; `step` is what its maker puts into it.
    ///
    /// # Errors
    /// Refused where it would not come behind the newest one.
    pub fn next_id(&self, step: i64) -> Planning<String> {
        let id = ids::checkpoint_id(self.now, step, self.newest_id);
        if id.as_str() <= self.newest_id {
            return needs_graph("the ids of this thread's checkpoints are not those of a graph");
        }
        Ok(id)
    }

    /// What made it.
    pub fn source(&self) -> Option<&str> {
        self.metadata.get("source").and_then(Json::as_text)
    }

    pub fn is_newest(&self) -> bool {
        self.view.id == self.newest_id
    }

    /// What the metadata of the next checkpoint says in every case.
    pub fn next_metadata(&self, source: &str) -> Fields {
        let parents = self.metadata.get("parents").cloned();
        vec![
            ("source".to_owned(), Json::text(source)),
            ("step".to_owned(), Json::Int(self.step.saturating_add(1))),
            ("parents".to_owned(), parents.unwrap_or(Json::Object(Vec::new()))),
        ]
    }

    /// Refuses what only a graph built from nodes and edges keeps as we read it.
    ///
    /// # Errors
    /// Refused where no node was ever reached by an edge.
    pub fn require_edges(&self) -> Planning<()> {
        if self.versions.names().any(|it| it.starts_with(BRANCH)) {
            return Ok(());
        }
        needs_graph("nothing stored tells the nodes of this graph")
    }

    /// # Errors
    /// Refused with the name of the node that waits for all others to end.
    pub fn require_no_deferred(&self) -> Planning<()> {
        let waiting = self.triggers.iter().find_map(|it| waiting_node(&it.name, &it.shown));
        match waiting {
            Some(node) => needs_graph(format!("the deferred node {node:?} waits for the others")),
            None => Ok(()),
        }
    }

    /// # Errors
    /// Refused where the client encrypts its values: nothing tells what would run next.
    pub fn require_readable(&self) -> Planning<()> {
        let mut values = self.view.values.iter().filter(|(name, _)| starts_tasks(name));
        match values.find(|(_, it)| it.tag.as_str().contains('+')) {
            Some((name, _)) => {
                needs_graph(format!("the value of channel {name:?} is encrypted by its client"))
            }
            None => Ok(()),
        }
    }
}

fn documents(view: &View, budget: &mut Budget) -> Result<(Json, Json), Unreadable> {
    Ok((json::read_text(&view.skeleton, budget)?, json::read_text(&view.metadata, budget)?))
}

/// In its place, or behind the others.
pub fn set_field(fields: &mut Fields, name: &str, value: Json) {
    match fields.iter_mut().find(|(it, _)| it == name) {
        Some((_, it)) => *it = value,
        None => fields.push((name.to_owned(), value)),
    }
}

pub fn fields(value: Option<&Json>) -> Fields {
    match value {
        Some(Json::Object(fields)) => fields.clone(),
        _ => Vec::new(),
    }
}
