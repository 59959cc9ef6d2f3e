//! Holds conditions on details against a thread, with the metadata that callers see.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::details::{METADATA, NO_METADATA};
use super::details_filter::{DetailsFilter, GRAPH_ID, LABELS, folded};
use super::graphs::DefaultGraph;
use super::thread::Thread;
use crate::domain::error::{Error, Result};
use crate::domain::json::{exact_fields, exact_json};

impl DetailsFilter {
    /// # Errors
    /// `Integrity` for stored metadata that is no JSON object.
    pub fn matches(&self, thread: &Thread) -> Result<bool> {
        let has_words = self.words.as_ref().is_none_or(|words| {
            let title = thread.details.shown_title().map(|it| folded(&it.0));
            title.is_some_and(|it| it.contains(&words.folded))
                || thread.thread_id.starts_with(&words.text)
        });
        if !has_words || self.metadata.is_empty() {
            return Ok(has_words);
        }
        let metadata = thread.parsed_metadata(self.default_graph.as_ref())?;
        Ok(self.metadata.iter().all(|it| it.matches(&metadata)))
    }
}

impl Thread {
    /// The metadata that callers see: what checkpoints say, with what people set in front of it. Exact text.
    ///
    /// # Errors
    /// `Integrity` for stored metadata that is no JSON object.
    pub fn shown_metadata(&self) -> Result<String> {
        self.shown_metadata_with(None)
    }

    /// As [`Self::shown_metadata`], with a graph where neither names one.
    ///
    /// # Errors
    /// As there.
    pub fn shown_metadata_with(&self, default: Option<&DefaultGraph>) -> Result<String> {
        let mut said = [&self.graph_id, &self.assistant_id, &self.user_id];
        let (graph_id, assistant_id);
        if let Some(default) = default
            && self.graph_id.is_none()
            && !self.sets_graph()?
        {
            graph_id = Some(default.graph_id.clone());
            assistant_id = Some(default.assistant_id.clone());
            said[0] = &graph_id;
            if self.assistant_id.is_none() {
                said[1] = &assistant_id;
            }
        }
        let labels = LABELS.into_iter().zip(said).filter_map(|(name, it)| {
            let label = it.as_deref().map(Value::from)?;
            Some((name.to_owned(), label))
        });
        let labels: Map<String, Value> = labels.collect();
        if labels.is_empty() {
            return self.details.all_metadata().map(Cow::into_owned);
        }
        let labels = Value::Object(labels).to_string();
        exact_fields::merge(labels.as_bytes(), self.details.all_metadata()?.as_bytes())
    }

    fn sets_graph(&self) -> Result<bool> {
        let metadata = self.details.metadata.as_str();
        Ok(metadata != NO_METADATA && parse(metadata)?.get(GRAPH_ID).is_some())
    }

    fn parsed_metadata(&self, default: Option<&DefaultGraph>) -> Result<Value> {
        parse(&self.shown_metadata_with(default)?)
    }
}

fn parse(metadata: &str) -> Result<Value> {
    let damaged = |_| Error::Integrity("the metadata of a thread is no JSON".into());
    exact_json::parse(METADATA, metadata.as_bytes()).map_err(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::threads::details::Details;
    use crate::domain::threads::details_filter::contained;
    use crate::domain::threads::run_state::Run;

    fn thread(metadata: &str) -> Thread {
        let details = Details { metadata: metadata.into(), ..Details::default() };
        Thread {
            thread_id: "t-1".into(),
            created_at: 0,
            updated_at: 0,
            last_step: None,
            checkpoint_count: 0,
            size_bytes: 0,
            generation: String::new(),
            owner: None,
            graph_id: Some("agent".into()),
            assistant_id: None,
            user_id: None,
            details,
            run: Run::default(),
        }
    }

    fn has(metadata: &str, wanted: &str) -> bool {
        let filter = DetailsFilter {
            metadata: contained(METADATA, wanted.as_bytes()).unwrap(),
            ..DetailsFilter::default()
        };
        filter.matches(&thread(metadata)).unwrap()
    }

    #[test]
    fn objects_are_contained_field_by_field_and_lists_as_a_whole() {
        for (metadata, wanted, is_contained) in [
            (r#"{"a":1}"#, r#"{"a":1.0}"#, true),
            (r#"{"a":1}"#, r#"{"a":"1"}"#, false),
            (r#"{"a":1}"#, r#"{"a":true}"#, false),
            (r#"{"a":{"b":1,"c":2}}"#, r#"{"a":{"b":1}}"#, true),
            (r#"{"a":{"b":1}}"#, r#"{"a":{}}"#, true),
            (r#"{"a":1}"#, r#"{"a":{}}"#, false),
            (r#"{"a":[1,2]}"#, r#"{"a":[1]}"#, false),
            (r#"{"a":[1,2]}"#, r#"{"a":[1,2]}"#, true),
            (r#"{"a":[{"b":1,"c":2}]}"#, r#"{"a":[{"b":1}]}"#, false),
            (r#"{"a":null}"#, r#"{"a":null}"#, true),
            ("{}", r#"{"a":null}"#, false),
            (r#"{"a":1180591620717411303424}"#, r#"{"a":1180591620717411303424}"#, true),
            (r#"{"a":1180591620717411303424}"#, r#"{"a":1180591620717411303425}"#, false),
            (r#"{"a":"\ud800"}"#, r#"{"a":"\ud801"}"#, false),
            ("{}", "{}", true),
        ] {
            assert_eq!(has(metadata, wanted), is_contained, "{metadata} {wanted}");
        }
    }

    #[test]
    fn a_thread_without_a_graph_shows_the_one_that_the_server_was_told() {
        let default = DefaultGraph::new("agent".into());
        let uuid = "fe096781-5601-53d2-b2f6-0d3403f7e9ca";
        let of = |graph_id: Option<&str>, assistant_id: Option<&str>, metadata: &str| {
            let (graph_id, assistant_id) =
                (graph_id.map(str::to_owned), assistant_id.map(str::to_owned));
            let thread = Thread { graph_id, assistant_id, ..thread(metadata) };
            parse(&thread.shown_metadata_with(Some(&default)).unwrap()).unwrap()
        };
        let both = serde_json::json!({"graph_id": "agent", "assistant_id": uuid});
        assert_eq!(of(None, None, "{}"), both);
        assert_eq!(
            of(None, Some("a"), "{}"),
            serde_json::json!({"graph_id": "agent", "assistant_id": "a"})
        );
        for metadata in [r#"{"graph_id":"mine"}"#, r#"{"graph_id":null}"#] {
            assert_eq!(of(None, None, metadata), parse(metadata).unwrap());
        }
        assert_eq!(of(Some("mine"), None, "{}"), serde_json::json!({"graph_id": "mine"}));
        let mine = serde_json::json!({"graph_id": "agent", "assistant_id": "b"});
        assert_eq!(of(None, None, r#"{"assistant_id":"b"}"#), mine);
    }

    #[test]
    fn fields_of_checkpoints_stand_behind_what_people_set() {
        let mut it = thread(r#"{"customer":"b"}"#);
        for fields in [r#"{"customer":"a","n": 1.0}"#, r#"{"n":2}"#, r#"{"m":null}"#] {
            it.details.take_from_checkpoint(fields).unwrap();
        }
        assert_eq!(
            it.shown_metadata().unwrap(),
            r#"{"graph_id":"agent","customer":"b","n":2,"m":null}"#
        );
        let asks = |wanted: &str| {
            let metadata = contained(METADATA, wanted.as_bytes()).unwrap();
            DetailsFilter { metadata, ..DetailsFilter::default() }.matches(&it).unwrap()
        };
        assert!(asks(r#"{"customer":"b","n":2}"#) && !asks(r#"{"customer":"a"}"#));
        // What has no room left makes room.
        let large = format!(r#"{{"large":"{}"}}"#, "x".repeat(65_000));
        it.details.take_from_checkpoint(&large).unwrap();
        it.details.take_from_checkpoint(&large.replace("large", "other")).unwrap();
        assert_eq!(
            it.details.from_checkpoints.as_deref(),
            Some(large.replace("large", "other").as_str())
        );
    }

    #[test]
    fn what_people_set_wins_over_what_checkpoints_say() {
        assert!(has("{}", r#"{"graph_id":"agent"}"#));
        assert!(!has(r#"{"graph_id":"mine"}"#, r#"{"graph_id":"agent"}"#));
        assert!(has(r#"{"graph_id":"mine"}"#, r#"{"graph_id":"mine"}"#));
        let shown = thread(r#"{"a": 1.0}"#).shown_metadata().unwrap();
        assert_eq!(shown, r#"{"graph_id":"agent","a":1.0}"#);
    }
}
