//! Defines the types that requests about sessions have in common.

use serde::Deserialize;
use utoipa::ToSchema;

use super::text::ContentIn;
use crate::domain::Result;
use crate::domain::sessions::change::{About, NewEntry, PutDocument};
use crate::domain::sessions::name::SessionName;
use crate::http::request::decode::Received;
use crate::http::request::exact::{Exact, Text};
use crate::http::store::wire::version;

/// An entry of a stream.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewEntry)]
pub struct EntryIn<'a> {
    /// At most 512 bytes. An entry whose id the stream has had is left out.
    id: Option<Text>,
    #[serde(borrow)]
    data: Exact<'a>,
}

/// What a session is made with.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewSession)]
pub struct AboutIn {
    user: Option<Text>,
    agent: Option<Text>,
    title: Option<Text>,
}

/// A document that is put together with entries.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewDocument)]
pub struct DocumentIn<'a> {
    pub name: Text,
    #[serde(borrow)]
    pub content: ContentIn<'a>,
    /// The version that the document must have; 0: there must be none.
    #[schema(minimum = 0)]
    pub if_version: Option<i64>,
}

pub fn session(kind: Text, key: Vec<Text>) -> Result<SessionName> {
    SessionName::new(kind.0, texts(key))
}

pub fn texts(texts: Vec<Text>) -> Vec<String> {
    texts.into_iter().map(|it| it.0).collect()
}

pub fn text(text: Option<Text>) -> Option<String> {
    text.map(|it| it.0)
}

pub fn entries(entries: Vec<EntryIn<'_>>, received: &Received) -> Vec<NewEntry> {
    let entry = |it: EntryIn<'_>| {
        // Without what else was in the body: an entry waits in a queue longer than its request needs.
        let data = bytes::Bytes::copy_from_slice(&it.data.part_of(&received.body));
        NewEntry { id: text(it.id), text: data }
    };
    entries.into_iter().map(entry).collect()
}

pub fn content(field: &str, content: ContentIn<'_>) -> Result<NewEntry> {
    Ok(NewEntry { id: None, text: content.into_bytes(field)? })
}

impl AboutIn {
    pub fn into_domain(self) -> About {
        About { user: text(self.user), agent: text(self.agent), title: text(self.title) }
    }
}

impl DocumentIn<'_> {
    pub fn into_domain(self, field: &str) -> Result<PutDocument<NewEntry>> {
        let Self { name, content: given, if_version } = self;
        let content = content(field, given)?;
        let checked = if_version.map(version).transpose();
        let if_version = checked.map_err(|error| error.within("document"))?;
        Ok(PutDocument { name: name.0, content, if_version, only_joins: false })
    }
}
