//! Tells the step of a checkpoint by its skeleton and metadata: what it changed, which node ran, and when. It needs no values.

use super::read_text;
use super::shown::{Budget, Json, Unreadable};
use super::state::is_internal;
use crate::domain::checkpoints::timeline::SkeletonBefore;
use crate::domain::limits::LIMITS;

/// Of the metadata of a sub-agent's checkpoints.
const AGENT: &str = "lc_agent_name";

/// Fields are absent where the client did not say, or what it said cannot be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StepShown {
    pub created_at: Option<String>,
    pub step: Option<i64>,
    pub source: Option<String>,
    /// The node that ran, where exactly one did.
    pub node: Option<String>,
    /// Channels with another version than before, by name. None: what was before is not known.
    pub changed: Option<Vec<String>>,
}

/// What a namespace is about, by the metadata of its newest checkpoint.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NamespaceShown {
    pub agent: Option<String>,
    /// In the namespace above.
    pub parent_id: Option<String>,
}

/// The step that made a checkpoint. `before`: None where it is not known what the checkpoint began with.
pub fn step(skeleton: &[u8], metadata: &[u8], before: Option<&SkeletonBefore>) -> StepShown {
    let (skeleton, metadata) = (read(skeleton), read(metadata));
    let before = match before {
        Some(SkeletonBefore::Nothing) => Ok(Json::Object(Vec::new())),
        Some(SkeletonBefore::Of(text)) => read(text),
        None => Err(Unreadable::Malformed),
    };
    let text = |document: &Result<Json, _>, name: &str| {
        let field = document.as_ref().ok().and_then(|it| it.get(name));
        field.and_then(Json::as_text).map(str::to_owned)
    };
    let number = metadata.as_ref().ok().and_then(|it| it.get("step"));
    let both = skeleton.as_ref().ok().zip(before.as_ref().ok());
    StepShown {
        created_at: text(&skeleton, "ts"),
        step: match number {
            Some(Json::Int(step)) => Some(*step),
            _ => None,
        },
        source: text(&metadata, "source"),
        node: both.and_then(|(now, before)| node(now, before)),
        changed: both.map(|(now, before)| changed(now, before)),
    }
}

pub fn namespace(ns: &str, metadata: &[u8]) -> NamespaceShown {
    let Ok(metadata) = read(metadata) else { return NamespaceShown::default() };
    let above = ns.rsplit_once('|').map_or("", |(above, _)| above);
    let parents = metadata.get("parents").filter(|_| !ns.is_empty());
    let text = |value: Option<&Json>| value.and_then(Json::as_text).map(str::to_owned);
    NamespaceShown {
        agent: text(metadata.get(AGENT)),
        parent_id: text(parents.and_then(|it| it.get(above))),
    }
}

fn read(text: &[u8]) -> Result<Json, Unreadable> {
    read_text(text, &mut Budget::new(LIMITS.display_bytes_max))
}

/// Without those of the graph's own.
fn changed(now: &Json, before: &Json) -> Vec<String> {
    let known = by_name(before.get("channel_versions"));
    let versions = by_name(now.get("channel_versions"));
    let is_news = |(name, version): &(&str, &Json)| known.get(name) != Some(version);
    let news = versions.into_iter().filter(|it| !is_internal(it.0) && is_news(it));
    news.map(|(name, _)| name.to_owned()).collect()
}

/// A node notes the versions that it has seen when it ran.
fn node(now: &Json, before: &Json) -> Option<String> {
    let known = by_name(before.get("versions_seen"));
    let seen = by_name(now.get("versions_seen"));
    let mut ran = seen
        .into_iter()
        .filter(|(name, versions)| !name.starts_with("__") && known.get(name) != Some(versions));
    let (first, more) = (ran.next(), ran.next());
    first.filter(|_| more.is_none()).map(|(name, _)| name.to_owned())
}

fn by_name(object: Option<&Json>) -> std::collections::BTreeMap<&str, &Json> {
    match object {
        Some(Json::Object(fields)) => fields.iter().map(|(name, it)| (name.as_str(), it)).collect(),
        _ => std::collections::BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn told(now: &Value, before: Option<&SkeletonBefore>) -> StepShown {
        let metadata = json!({"step": 3, "source": "loop"}).to_string();
        step(now.to_string().as_bytes(), metadata.as_bytes(), before)
    }

    #[test]
    fn a_step_changed_what_has_another_version_than_before() {
        let before = json!({
            "channel_versions": {"a": "1", "b": "1", "branch:to:n": "1"},
            "versions_seen": {"m": {"a": "1"}, "__input__": {}}
        });
        let now = json!({
            "ts": "2026-01-31T12:00:09+00:00",
            "channel_versions": {"c": 1, "b": "2", "a": "1", "branch:to:n": "2"},
            "versions_seen": {"m": {"a": "1"}, "n": {"branch:to:n": "1"}, "__input__": {"a": "1"}}
        });
        let before = SkeletonBefore::Of(before.to_string().into());
        let shown = told(&now, Some(&before));
        assert_eq!(shown.changed, Some(vec!["b".to_owned(), "c".to_owned()]));
        assert_eq!(shown.node.as_deref(), Some("n"));
        assert_eq!((shown.step, shown.source.as_deref()), (Some(3), Some("loop")));
        assert_eq!(shown.created_at.as_deref(), Some("2026-01-31T12:00:09+00:00"));
        let first = told(&now, Some(&SkeletonBefore::Nothing));
        assert_eq!(first.changed.unwrap(), ["a", "b", "c"]);
        assert_eq!(first.node, None, "two ran");
        let unknown = told(&now, None);
        assert_eq!((unknown.changed, unknown.node), (None, None));
    }

    #[test]
    fn what_cannot_be_read_is_absent() {
        assert_eq!(step(b"{", b"[]", Some(&SkeletonBefore::Nothing)), StepShown::default());
        assert_eq!(namespace("a:1", b"{"), NamespaceShown::default());
    }

    #[test]
    fn a_namespace_names_its_agent_and_the_checkpoint_that_called_it() {
        let metadata =
            json!({"lc_agent_name": "poet", "parents": {"": "c1", "a:1": "c2"}}).to_string();
        let of = |ns: &str| namespace(ns, metadata.as_bytes());
        assert_eq!(of("a:1").parent_id.as_deref(), Some("c1"));
        assert_eq!(of("a:1|b:2").parent_id.as_deref(), Some("c2"));
        assert_eq!(of("a:1").agent.as_deref(), Some("poet"));
        assert_eq!(of("").parent_id, None);
    }
}
