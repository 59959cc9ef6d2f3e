//! Cuts values for display: long texts, long lists and objects, and all but the place that a pointer names.
//!
//! Reading leaves out most of what the answer will not have, so that memory falls too; [`Cuts::channel`] then makes the cuts exact.
//! Reading may cut a long text, and what stands inside of an entry of the outermost list or map. It may not cut what other code of this folder
//! still looks at: short texts, ids, names, and the arguments of an object of a client language.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::pointer::{self, Pointer};
use super::shown::{Budget, Json, Unreadable};

const CUT: &str = "$cut";
/// Shorter texts are cut after everything was read: they can be ids and names.
const TEXT_BYTES_MIN: u64 = 1_024;
/// Their texts decide how messages, interrupts and writes are put together.
const NAMING: [&str; 4] = ["id", "ns", "role", "type"];

/// What of each value an answer shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cuts {
    /// Bytes of a text.
    pub string_bytes_max: Option<u64>,
    /// Items of a list and fields of an object, at any depth.
    pub items_max: Option<u64>,
    /// Where the outermost list or object of each value begins; below zero from its end.
    pub from: Option<i64>,
    /// The only place that is shown.
    pub pointer: Option<Pointer>,
}

/// A place that is shown in part.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// Of a text its bytes, else those of the JSON text, without escapes.
    pub size_bytes: u64,
    /// Of a list or an object: its entries, and the first that `head` has.
    pub entries: Option<CutEntries>,
    pub head: Json,
    /// None: outside of the values of channels.
    pub pointer: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutEntries {
    pub length: u64,
    pub from: u64,
}

/// How reading treats the entries of the outermost list or map of a value.
pub(super) struct Outermost {
    cuts: Cuts,
    /// First entry that is shown, and the first after it that is not. None: all.
    window: Option<(usize, usize)>,
}

impl Cuts {
    /// Whether they cut anything. A pointer alone shows its place whole.
    pub fn shorten(&self) -> bool {
        self.string_bytes_max.is_some() || self.items_max.is_some() || self.from.is_some()
    }

    /// The value of a channel as it is answered. None: the pointer names another place, or none that is there.
    pub fn channel(&self, name: &str, shown: Json) -> Option<Json> {
        let (mut value, mut path) = (shown, String::new());
        pointer::push(&mut path, name);
        if let Some(wanted) = &self.pointer {
            if wanted.channel != name {
                return None;
            }
            for part in &wanted.parts {
                value = pointer::step(value, part)?;
                pointer::push(&mut path, part);
            }
        }
        if self.shorten() {
            self.cut(&mut value, self.from);
            name_places(&mut value, &mut path);
        }
        Some(value)
    }

    /// A value outside of the channels, which no pointer names.
    pub fn elsewhere(&self, value: &mut Json) {
        if self.shorten() {
            self.cut(value, None);
        }
    }

    /// Whether reading may leave out a text of so many bytes, and how many it keeps then.
    fn text_head(&self, bytes: u64) -> Option<u64> {
        self.string_bytes_max.filter(|it| bytes > (*it).max(TEXT_BYTES_MIN))
    }

    /// Cuts in place, as deep as reading allows values to be. Answers the size as [`Cut::size_bytes`] counts it, quotes of texts included.
    fn cut(&self, value: &mut Json, from: Option<i64>) -> u64 {
        match value {
            Json::Text(text) => {
                let size_bytes = text.len() as u64;
                if self.string_bytes_max.is_some_and(|it| size_bytes > it) {
                    *value = cut_text(text, self.string_bytes_max.unwrap_or_default());
                }
                size_bytes + 2
            }
            Json::List(items) => {
                let inside: u64 = items.iter_mut().map(|it| self.cut(it, None) + 1).sum();
                let size_bytes = inside.max(1) + 1;
                if let Some((entries, until)) = self.window(items.len(), from) {
                    items.truncate(until);
                    items.drain(..to_usize(entries.from));
                    items.shrink_to_fit();
                    let head = Json::List(std::mem::take(items));
                    *value = cut_entries(size_bytes, entries, head);
                }
                size_bytes
            }
            Json::Object(fields) => {
                let cut =
                    |(name, it): &mut (String, Json)| self.cut(it, None) + name.len() as u64 + 4;
                let inside: u64 = fields.iter_mut().map(cut).sum();
                let size_bytes = inside.max(1) + 1;
                let window = self.window(fields.len(), from).or_else(|| looks_cut(fields));
                if let Some((entries, until)) = window {
                    fields.truncate(until);
                    fields.drain(..to_usize(entries.from));
                    fields.shrink_to_fit();
                    let head = Json::Object(std::mem::take(fields));
                    *value = cut_entries(size_bytes, entries, head);
                }
                size_bytes
            }
            other => text_size(other),
        }
    }

    /// The entries that are shown, with the end of them. None: all.
    fn window(&self, length: usize, from: Option<i64>) -> Option<(CutEntries, usize)> {
        let start = start(from.unwrap_or_default(), length);
        let max = self.items_max.map_or(usize::MAX, to_usize);
        let until = start.saturating_add(max).min(length);
        let entries = CutEntries { length: length as u64, from: start as u64 };
        (until - start < length).then_some((entries, until))
    }
}

impl Outermost {
    /// `length`: None where it is not known yet, and is not needed.
    fn of(cuts: Cuts, length: Option<usize>) -> Self {
        let window = |length| cuts.window(length, cuts.from);
        let window = match cuts.pointer.as_ref().and_then(|it| it.parts.first()) {
            // A pointer that ends here wants this list, so its window is that of the list.
            None => window(length.unwrap_or(usize::MAX)),
            Some(_) => None,
        };
        let window = window.map(|(entries, until)| (to_usize(entries.from), until));
        Self { cuts, window }
    }

    /// An item of the list, or what has to stand for it.
    pub fn item(&self, at: usize, item: Json) -> Json {
        let part = self.cuts.pointer.as_ref().and_then(|it| it.parts.first());
        let is_shown = match part {
            Some(part) => pointer::index(part) == Some(at),
            None => self.window.is_none_or(|(from, until)| (from..until).contains(&at)),
        };
        self.entry(item, is_shown, part.is_some())
    }

    /// The same for a field of a map. Fields are not counted here, because two keys can have one name.
    pub fn field(&self, name: &str, value: Json) -> Json {
        let part = self.cuts.pointer.as_ref().and_then(|it| it.parts.first());
        self.entry(value, part.is_none_or(|it| it == name), part.is_some())
    }

    fn entry(&self, mut value: Json, is_shown: bool, leads_on: bool) -> Json {
        if is_shown && (leads_on || !self.cuts.shorten()) {
            return value;
        }
        let size_bytes = self.cuts.cut(&mut value, None);
        if is_shown { value } else { Json::Skipped(size_bytes) }
    }
}

impl Budget {
    /// For an answer with cuts.
    pub fn with_cuts(bytes: u64, cuts: Cuts) -> Self {
        let mut budget = Self::new(bytes);
        budget.cuts = Some(cuts);
        budget
    }

    pub(super) fn cuts(&self) -> Option<&Cuts> {
        self.cuts.as_ref()
    }

    /// Whether the value of a channel has to be read for the place that is wanted.
    pub(super) fn wants(&self, channel: &str) -> bool {
        let pointer = self.cuts.as_ref().and_then(|it| it.pointer.as_ref());
        pointer.is_none_or(|it| it.channel == channel)
    }

    /// Reads the whole value of a channel: nothing but its display depends on it.
    pub(super) fn outermost<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        self.is_outermost = true;
        let value = read(self);
        self.is_outermost = false;
        value
    }

    /// Reads what must come whole.
    pub(super) fn uncut<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.is_uncut, true);
        let value = read(self);
        self.is_uncut = before;
        value
    }

    /// Reads the value of a field: one that names something whole.
    pub(super) fn field<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        if NAMING.contains(&name) { self.uncut(read) } else { read(self) }
    }

    /// What is inside of an object of a client language is no list or map of the value.
    pub(super) fn enter_object(&mut self) {
        self.is_outermost = false;
    }

    /// Reads ahead inside of the outermost list.
    pub(super) fn inside<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.is_outermost, false);
        let value = read(self);
        self.is_outermost = before;
        value
    }

    /// Whether the length of the outermost list decides what of it is shown.
    pub(super) fn needs_length(&self) -> bool {
        let from_end = self.cuts.as_ref().and_then(|it| it.from).is_some_and(|it| it < 0);
        self.is_outermost && from_end
    }

    /// Set for the outermost list or map of a value, and only once for it.
    pub(super) fn begin_entries(&mut self, length: Option<usize>) -> Option<Outermost> {
        if !std::mem::take(&mut self.is_outermost) {
            return None;
        }
        Some(Outermost::of(self.cuts.clone()?, length))
    }

    /// Counts again what is left of an entry that was cut.
    pub(super) fn recount(&mut self, left_before: u64, entry: &Json) -> Result<(), Unreadable> {
        self.restore(left_before);
        self.take_again(entry)
    }

    /// How many bytes of a text are kept, where it is too long to be read whole.
    pub(super) fn text_head(&self, bytes: usize) -> Option<u64> {
        self.cuts.as_ref().filter(|_| !self.is_uncut)?.text_head(bytes as u64)
    }
}

/// The beginning of a text that is longer.
pub(super) fn cut_text(text: &str, bytes_max: u64) -> Json {
    let head = &text[..text.floor_char_boundary(to_usize(bytes_max))];
    cut_head(head, text.len() as u64)
}

/// A text of which only the beginning is at hand.
pub(super) fn cut_head(head: &str, size_bytes: u64) -> Json {
    Json::Cut(Box::new(Cut { size_bytes, entries: None, head: Json::text(head), pointer: None }))
}

/// How large the text of a list or a value becomes, as [`Cut::size_bytes`] counts it.
fn text_size(value: &Json) -> u64 {
    match value {
        Json::Null | Json::Bool(true) => 4,
        Json::Bool(false) => 5,
        Json::Cut(cut) => cut.size_bytes + if cut.entries.is_none() { 2 } else { 0 },
        Json::Skipped(size_bytes) => *size_bytes,
        number => serde_json::to_string(number).map_or(0, |it| it.len() as u64),
    }
}

fn cut_entries(size_bytes: u64, entries: CutEntries, head: Json) -> Json {
    Json::Cut(Box::new(Cut { size_bytes, entries: Some(entries), head, pointer: None }))
}

/// An object of a client that looks like a cut place is shown as one, without its field: so every `$cut` of an answer is a cut.
fn looks_cut(fields: &[(String, Json)]) -> Option<(CutEntries, usize)> {
    let looks = matches!(fields, [(name, _)] if name == CUT);
    looks.then_some((CutEntries { length: 1, from: 0 }, 0))
}

fn start(from: i64, length: usize) -> usize {
    let distance = usize::try_from(from.unsigned_abs()).unwrap_or(usize::MAX);
    if from < 0 { length.saturating_sub(distance) } else { distance.min(length) }
}

/// Gives each cut place its pointer, as deep as reading allows values to be.
fn name_places(value: &mut Json, path: &mut String) {
    match value {
        Json::Cut(cut) => {
            cut.pointer = Some(path.clone());
            let from = cut.entries.map_or(0, |it| it.from);
            name_entries(&mut cut.head, path, to_usize(from));
        }
        other => name_entries(other, path, 0),
    }
}

fn name_entries(value: &mut Json, path: &mut String, from: usize) {
    let end = path.len();
    let mut name = |part: &str, it: &mut Json| {
        if matches!(it, Json::Cut(_) | Json::List(_) | Json::Object(_)) {
            pointer::push(path, part);
            name_places(it, path);
            path.truncate(end);
        }
    };
    match value {
        Json::List(items) => {
            items.iter_mut().zip(from..).for_each(|(it, at)| name(&at.to_string(), it));
        }
        Json::Object(fields) => fields.iter_mut().for_each(|(field, it)| name(field, it)),
        _ => {}
    }
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Serialize for Cut {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(CUT, &About(self))?;
        map.end()
    }
}

struct About<'a>(&'a Cut);

impl Serialize for About<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(cut) = self;
        let optional = 2 * usize::from(cut.entries.is_some()) + usize::from(cut.pointer.is_some());
        let mut map = serializer.serialize_map(Some(2 + optional))?;
        map.serialize_entry("size_bytes", &cut.size_bytes)?;
        if let Some(entries) = cut.entries {
            map.serialize_entry("length", &entries.length)?;
            map.serialize_entry("from", &entries.from)?;
        }
        map.serialize_entry("head", &cut.head)?;
        if let Some(pointer) = &cut.pointer {
            map.serialize_entry("pointer", pointer)?;
        }
        map.end()
    }
}
