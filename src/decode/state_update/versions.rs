//! Makes versions of channels in the scheme of the thread: texts that grow, as savers in Python write them, or whole numbers.

use super::{Planning, needs_graph};
use crate::decode::shown::{Fields, Json};

/// The versions of all channels of a checkpoint.
#[derive(Debug, Clone)]
pub struct Versions(Fields);

impl Versions {
    /// # Errors
    /// Refused for versions of no scheme, or of two.
    pub fn read(skeleton: &Json) -> Planning<Self> {
        let fields = super::start::fields(skeleton.get("channel_versions"));
        let is_text = |(_, it): &(String, Json)| matches!(it, Json::Text(_));
        let is_number = |(_, it): &(String, Json)| matches!(it, Json::Int(0..));
        if fields.iter().all(is_text) || fields.iter().all(is_number) {
            return Ok(Self(fields));
        }
        needs_graph("the versions of the channels are not those of LangGraph's savers")
    }

    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.0.iter().map(|(name, _)| name)
    }

    pub fn get(&self, channel: &str) -> Option<&Json> {
        self.0.iter().find(|(name, _)| name == channel).map(|(_, version)| version)
    }

    /// The greatest one.
    pub fn greatest(&self) -> Option<&Json> {
        self.0.iter().map(|(_, it)| it).max_by(|a, b| match (a, b) {
            (Json::Text(a), Json::Text(b)) => a.cmp(b),
            (a, b) => number(a).cmp(&number(b)),
        })
    }

    pub fn into_json(self) -> Json {
        Json::Object(self.0)
    }

    pub fn set(&mut self, channel: &str, version: Json) {
        super::start::set_field(&mut self.0, channel, version);
    }
}

/// The version after this one. Texts have a random end: versions of two branches differ.
pub fn next(current: Option<&Json>, is_python: bool) -> Json {
    match current {
        Some(Json::Text(_)) => text_after(current),
        None if is_python => text_after(None),
        _ => Json::Int(current.map_or(0, number).saturating_add(1)),
    }
}

fn text_after(current: Option<&Json>) -> Json {
    let number = current.map_or(0, number).saturating_add(1);
    Json::Text(format!("{number:032}.{:016}", rand::random::<f64>()))
}

/// What counts in it.
pub fn number(version: &Json) -> i64 {
    match version {
        Json::Int(it) => *it,
        Json::Text(text) => text.split('.').next().and_then(|it| it.parse().ok()).unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_grows_as_text_and_a_number_by_one() {
        let first = next(None, true);
        let text = first.as_text().unwrap();
        assert!(text.starts_with("00000000000000000000000000000001.0."), "{text}");
        let second = next(Some(&first), true);
        assert!(second.as_text() > first.as_text());
        assert_eq!(number(&second), 2);
        assert_eq!(next(Some(&Json::Int(9)), false), Json::Int(10));
        assert_eq!(next(None, false), Json::Int(1));
        assert_ne!(next(Some(&first), true), second);
    }
}
