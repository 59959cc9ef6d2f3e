//! Makes the value of a channel by a rule that the operator named, in the serializer of the thread. What was there before keeps its bytes.

use std::collections::HashSet;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::plain::{encoded, json, msgpack};
use super::{Planning, needs_graph};
use crate::decode::messages::is_message;
use crate::decode::msgpack::Reader;
use crate::decode::shown::{Budget, Json, Unreadable};
use crate::decode::{is_present, read_value};
use crate::domain::checkpoints::channel_rule::ChannelRule;
use crate::domain::checkpoints::checkpoint::Value;
use crate::domain::json::exact_fields;
use crate::domain::names::Tag;
use crate::domain::{Error, Result};

const REMOVE_ALL: &str = "__remove_all__";

/// A channel that is written to.
pub struct Written<'a> {
    pub channel: &'a str,
    pub stored: Option<&'a Value>,
    pub update: &'a Json,
    pub is_python: bool,
}

/// # Errors
/// 422 for an update that the rule does not take; refused for a stored value that cannot be read.
pub fn reduced(written: &Written<'_>, rule: ChannelRule, budget: &mut Budget) -> Planning<Value> {
    let made = match rule {
        ChannelRule::Last => return Ok(encoded(written.update, written.is_python)?),
        ChannelRule::Merge => merged(written, budget)?,
        ChannelRule::Messages => added(written, budget)?,
    };
    let tag = if written.is_python { "msgpack" } else { "json" };
    Ok(Value::new(Tag::new(tag)?, Bytes::from(made)))
}

impl Written<'_> {
    /// None: there is no value, or it is null.
    fn stored(&self) -> Planning<Option<&Bytes>> {
        let Some(value) = self.stored.filter(|it| is_present(it)) else { return Ok(None) };
        match value.tag.as_str() {
            "null" => Ok(None),
            "msgpack" if self.is_python && value.in_parts.is_none() => Ok(Some(&value.data)),
            "json" if !self.is_python && value.in_parts.is_none() => {
                Ok(Some(&value.data).filter(|it| it.as_ref() != b"null"))
            }
            tag => needs_graph(format!(
                "the value of channel {:?} cannot be changed here: it is too large, or written by {tag:?}",
                self.channel
            )),
        }
    }

    fn unreadable<T>(&self, reason: Unreadable) -> Planning<T> {
        needs_graph(format!("the value of channel {:?} cannot be read: {reason}", self.channel))
    }

    fn refused<T>(&self, detail: &str) -> Planning<T> {
        let field = format!("values.{}", self.channel);
        Err(Error::invalid(field.clone(), format!("{field} {detail}")).into())
    }
}

fn merged(written: &Written<'_>, budget: &mut Budget) -> Planning<Vec<u8>> {
    let Json::Object(changes) = written.update else {
        return written.refused("must be an object: its fields are merged");
    };
    let stored = written.stored()?;
    if !written.is_python {
        let mut new = Vec::new();
        for (name, value) in changes {
            let text = (*value != Json::Null).then(|| json(value)).transpose()?;
            new.push((name.as_str(), text.map(|it| String::from_utf8_lossy(&it).into_owned())));
        }
        let stored = stored.map_or(b"{}".as_slice(), |it| it.as_ref());
        return match exact_fields::replace(stored, &new) {
            Ok(text) => Ok(text.into_bytes()),
            Err(_) => written.unreadable(Unreadable::Malformed),
        };
    }
    let mut fields = match stored.map(|it| Reader::new(it).raw_fields(budget)).transpose() {
        Ok(fields) => fields.unwrap_or_default(),
        Err(reason) => return written.unreadable(reason),
    };
    for (name, value) in changes {
        let place = fields.iter().position(|(it, _)| it == name);
        match (place, value) {
            (Some(place), Json::Null) => drop(fields.remove(place)),
            (None, Json::Null) => {}
            (Some(place), value) => fields[place].1 = field(name, value)?,
            (None, value) => fields.push((name.clone(), field(name, value)?)),
        }
    }
    let parts = fields.into_iter().map(|(_, it)| it);
    Ok(packed(Container::Map, parts.collect()))
}

/// A name and its value.
fn field(name: &str, value: &Json) -> Result<Vec<u8>> {
    Ok([msgpack(&Json::text(name))?, msgpack(value)?].concat())
}

/// `update` has ids already.
fn added(written: &Written<'_>, budget: &mut Budget) -> Planning<Vec<u8>> {
    let mut list = stored_messages(written, budget)?;
    let update = written.update.as_list().unwrap_or(std::slice::from_ref(written.update));
    let clears = |it: &Json| removed(it) == Some(REMOVE_ALL);
    let from = update.iter().rposition(clears);
    if from.is_some() {
        list.clear();
    }
    let mut gone = HashSet::new();
    for message in &update[from.map_or(0, |it| it + 1)..] {
        if let Some(id) = removed(message) {
            if !list.iter().any(|(it, _)| it.as_deref() == Some(id)) {
                return written.refused("removes a message that is not there");
            }
            gone.insert(id);
            continue;
        }
        let id = message.get("id").and_then(Json::as_text);
        let Some(id) = id.filter(|_| is_message(message)) else {
            return written.refused("must be messages, with content and type or role");
        };
        gone.remove(id);
        let text = if written.is_python { msgpack(message)? } else { json(message)? };
        match list.iter_mut().find(|(it, _)| it.as_deref() == Some(id)) {
            Some((_, it)) => *it = text,
            None => list.push((Some(id.to_owned()), text)),
        }
    }
    let is_kept = |it: &(Option<String>, _)| it.0.as_deref().is_none_or(|id| !gone.contains(id));
    let kept: Vec<Vec<u8>> = list.into_iter().filter(is_kept).map(|(_, it)| it).collect();
    if written.is_python {
        return Ok(packed(Container::List, kept));
    }
    Ok([b"[".as_slice(), &kept.join(b",".as_slice()), b"]"].concat())
}

fn removed(message: &Json) -> Option<&str> {
    let is_removal = message.get("type").and_then(Json::as_text) == Some("remove");
    message.get("id").and_then(Json::as_text).filter(|_| is_removal)
}

type Messages = Vec<(Option<String>, Vec<u8>)>;

/// Each with its id, as it is stored.
fn stored_messages(written: &Written<'_>, budget: &mut Budget) -> Planning<Messages> {
    let Some(stored) = written.stored()? else { return Ok(Vec::new()) };
    let read = if written.is_python {
        Reader::new(stored).raw_items(budget)
    } else {
        raw_items(stored, budget)
    };
    let id = |it: &Json| it.get("id").and_then(Json::as_text).map(str::to_owned);
    match read {
        Ok(items) => Ok(items.into_iter().map(|(shown, raw)| (id(&shown), raw)).collect()),
        Err(reason) => written.unreadable(reason),
    }
}

fn raw_items(text: &[u8], budget: &mut Budget) -> Result<Vec<(Json, Vec<u8>)>, Unreadable> {
    let items: Vec<&RawValue> = serde_json::from_slice(text).map_err(|_| Unreadable::Malformed)?;
    let read = items
        .into_iter()
        .map(|it| Ok((read_value(it.get().as_bytes(), budget)?, it.get().as_bytes().to_vec())));
    read.collect()
}

#[derive(Clone, Copy)]
enum Container {
    List,
    Map,
}

/// MessagePack of parts that are packed already.
#[expect(clippy::cast_possible_truncation, reason = "each width is asked for before")]
fn packed(container: Container, parts: Vec<Vec<u8>>) -> Vec<u8> {
    let count = parts.len();
    let (short, long) = match container {
        Container::List => (0x90, 0xdc),
        Container::Map => (0x80, 0xde),
    };
    let mut data = match count {
        0..=15 => vec![short | count as u8],
        16..=0xffff => [&[long], (count as u16).to_be_bytes().as_slice()].concat(),
        _ => [&[long + 1], (count as u32).to_be_bytes().as_slice()].concat(),
    };
    for part in parts {
        data.extend(part);
    }
    data
}
