//! Collects what a new checkpoint has that its parent has not, and writes it as the client of its language would.

use bytes::Bytes;

use super::Planning;
use super::start::{Start, set_field};
use super::versions::Versions;
use crate::decode::shown::{Fields, Json};
use crate::domain::checkpoints::checkpoint::{CheckpointPut, EMPTY, NewValue, Value};
use crate::domain::names::{Channel, CheckpointId, CheckpointNs, Tag};
use crate::domain::time::{rfc3339, rfc3339_with_offset};
use crate::domain::{Error, Result};

/// A checkpoint that is being made.
pub struct Draft {
    pub id: String,
    pub parent: Option<String>,
    pub metadata: Fields,
    versions: Versions,
    versions_seen: Fields,
    values: Vec<NewValue>,
    /// Values of the original, where it is not the parent.
    pub carried: Vec<NewValue>,
}

impl Draft {
    /// As the start is, behind it.
    pub fn behind(start: &Start<'_>, id: String, metadata: Fields) -> Self {
        Self {
            id,
            parent: Some(start.view.id.clone()),
            metadata,
            versions: start.versions.clone(),
            versions_seen: start.versions_seen.clone(),
            values: Vec::new(),
            carried: Vec::new(),
        }
    }

    /// A channel has another value. None: it has none any more.
    ///
    /// # Errors
    /// For names that no channel can have.
    pub fn set(&mut self, channel: &str, version: &Json, value: Option<Value>) -> Result<()> {
        let value = match value {
            Some(value) => value,
            None => Value::new(Tag::new(EMPTY)?, Bytes::new()),
        };
        self.values.push(new_value(channel, version, value)?);
        self.versions.set(channel, version.clone());
        Ok(())
    }

    /// The node has an entry, and these versions in it.
    pub fn see(&mut self, node: &str, seen: Fields) {
        let place = self.versions_seen.iter().position(|(name, _)| name == node);
        let place = place.unwrap_or_else(|| {
            self.versions_seen.push((node.to_owned(), Json::Object(Vec::new())));
            self.versions_seen.len() - 1
        });
        let Json::Object(entry) = &mut self.versions_seen[place].1 else { return };
        for (channel, version) in seen {
            set_field(entry, &channel, version);
        }
    }

    /// # Errors
    /// For what no client can have stored.
    pub fn into_put(self, start: &Start<'_>) -> Planning<CheckpointPut> {
        let now = if start.is_python {
            rfc3339_with_offset(start.now)
        } else {
            in_millis(&rfc3339(start.now))
        };
        let mut skeleton = vec![
            ("v".to_owned(), Json::Int(4)),
            ("ts".to_owned(), Json::Text(now)),
            ("id".to_owned(), Json::text(&self.id)),
            ("channel_versions".to_owned(), self.versions.into_json()),
            ("versions_seen".to_owned(), Json::Object(self.versions_seen)),
        ];
        if start.is_python {
            skeleton.push(("updated_channels".to_owned(), Json::Null));
        }
        Ok(CheckpointPut {
            ns: CheckpointNs::new(start.view.ns.as_str())?,
            id: CheckpointId::new(self.id)?,
            parent: self.parent.map(CheckpointId::new).transpose()?,
            skeleton: text(&Json::Object(skeleton))?,
            metadata: text(&Json::Object(self.metadata))?,
            values: self.values,
            carried: self.carried,
        })
    }
}

/// # Errors
/// For names that no channel can have.
pub fn new_value(channel: &str, version: &Json, value: Value) -> Result<NewValue> {
    Ok(NewValue { channel: Channel::new(channel)?, version: text(version)?, value })
}

fn text(document: &Json) -> Result<Bytes> {
    let text = serde_json::to_vec(document).map_err(|it| Error::Internal(it.to_string()))?;
    Ok(text.into())
}

/// As JavaScript writes times.
fn in_millis(micros: &str) -> String {
    micros.get(..micros.len() - 4).map_or_else(String::new, |it| format!("{it}Z"))
}
