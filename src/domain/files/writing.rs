//! Writes the texts of values: new ones, and changed ones that keep every field that was there.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, SecondsFormat, Timelike as _, Utc};

use super::dialect::Dialect;
use super::media;
use super::value::{BYTES, Content};
use crate::domain::clock::Micros;
use crate::domain::error::Result;
use crate::domain::json::exact_fields;
use crate::domain::json::wide_text::{WideText, text_of};
use crate::domain::limits::LIMITS;

/// Of the JSON text of a content; the rest of its value is short.
const TEXT_JSON_BYTES_MAX: u64 = LIMITS.document_bytes_max - (1 << 20);

/// What a file is given.
pub struct NewContent<'a> {
    pub dialect: Dialect,
    pub now: Micros,
    pub path: &'a str,
    pub content: Content,
    /// Kept with the value; None: JavaScript goes by the path.
    pub media_type: Option<&'a str>,
}

impl NewContent<'_> {
    /// The value of a file that is made. The content is copied once: it can be large.
    pub fn created(&self) -> String {
        let now = quoted(&time(self.dialect, self.now));
        let field = |name: &str, it: String| format!(r#","{name}":{it}"#);
        let encoding = self.encoding(false).map(|it| field("encoding", quoted(it)));
        let media_type = self.media_type_json().map(|it| field("mimeType", it));
        let (encoding, media_type) = (encoding.unwrap_or_default(), media_type.unwrap_or_default());
        let begun = r#"{"content":"#;
        let end = format!(r#"{encoding}{media_type},"created_at":{now},"modified_at":{now}}}"#);
        let length = content_length(&self.content);
        let mut value = Vec::with_capacity(begun.len() + length + end.len());
        value.extend_from_slice(begun.as_bytes());
        write_content(&self.content, self.dialect, &mut value);
        value.extend_from_slice(end.as_bytes());
        text_of(value)
    }

    /// The value with another content; what else was in it stays as it was.
    ///
    /// # Errors
    /// `Integrity` for a value that is no object.
    pub fn changed(&self, value: &[u8], is_lines: bool) -> Result<String> {
        let names = exact_fields::names(value).unwrap_or_default();
        let has = |name: &str| names.contains(&name.into());
        // JavaScript keeps the first format.
        let content = match (&self.content, self.dialect) {
            (Content::Text(text), Dialect::JavaScript) if is_lines => lines_json(text),
            (content, dialect) => content_json(content, dialect),
        };
        let encoding = self.encoding(has("encoding")).map(quoted);
        let mut fields = vec![("content", Some(content)), ("encoding", encoding)];
        let is_bytes = matches!(self.content, Content::Bytes(_));
        if self.media_type.is_some() || is_bytes && !has("mimeType") {
            fields.push(("mimeType", self.media_type_json()));
        }
        fields.push(("modified_at", Some(quoted(&time(self.dialect, self.now)))));
        exact_fields::replace(value, &fields)
    }

    /// `encoding`, which Python writes; where it has, JavaScript says what it is now.
    fn encoding(&self, was_there: bool) -> Option<&'static str> {
        let is_text = matches!(self.content, Content::Text(_) | Content::Lines(_));
        match self.dialect {
            Dialect::Python if is_text => Some("utf-8"),
            Dialect::Python => Some("base64"),
            Dialect::JavaScript => (is_text && was_there).then_some("utf-8"),
        }
    }

    fn media_type_json(&self) -> Option<String> {
        let is_text = matches!(self.content, Content::Text(_) | Content::Lines(_));
        match (self.media_type, self.dialect) {
            (Some(declared), _) => Some(quoted(declared)),
            (None, Dialect::Python) => None,
            (None, Dialect::JavaScript) if is_text => Some(quoted(media::by_extension(self.path))),
            (None, Dialect::JavaScript) => Some(quoted(media::of_bytes(self.path))),
        }
    }
}

/// Bytes as the language keeps them: text where it is some.
pub fn of_bytes(dialect: Dialect, path: &str, bytes: Vec<u8>) -> Content {
    let is_bytes = dialect == Dialect::JavaScript && !media::is_text(media::by_extension(path));
    match String::from_utf8(bytes).map(WideText::from) {
        // A control character takes six bytes of JSON: a file of them is kept as bytes, which take four for three.
        Ok(text) if !is_bytes && text.json_length() as u64 <= TEXT_JSON_BYTES_MAX => {
            Content::Text(text)
        }
        Ok(text) => Content::Bytes(text.into_bytes()),
        Err(bytes) => Content::Bytes(bytes.into_bytes()),
    }
}

/// As each language writes the time.
pub fn time(dialect: Dialect, now: Micros) -> String {
    let Some(time) = DateTime::<Utc>::from_timestamp_micros(now) else { return String::new() };
    match dialect {
        Dialect::JavaScript => time.to_rfc3339_opts(SecondsFormat::Millis, true),
        Dialect::Python if time.nanosecond() == 0 => {
            time.to_rfc3339_opts(SecondsFormat::Secs, false)
        }
        Dialect::Python => time.to_rfc3339_opts(SecondsFormat::Micros, false),
    }
}

fn content_json(content: &Content, dialect: Dialect) -> String {
    let mut json = Vec::with_capacity(content_length(content));
    write_content(content, dialect, &mut json);
    text_of(json)
}

/// Bytes of its JSON text, at the most.
fn content_length(content: &Content) -> usize {
    match content {
        Content::Text(text) | Content::Lines(text) | Content::Base64(text) => text.json_length(),
        Content::Bytes(bytes) => bytes.len().div_ceil(3) * 4 + BYTES.len() + 8,
    }
}

fn write_content(content: &Content, dialect: Dialect, json: &mut Vec<u8>) {
    match (content, dialect) {
        (Content::Text(text) | Content::Lines(text) | Content::Base64(text), _) => {
            text.write_json(json);
        }
        (Content::Bytes(bytes), Dialect::Python) => {
            json.push(b'"');
            json.extend_from_slice(STANDARD.encode(bytes).as_bytes());
            json.push(b'"');
        }
        (Content::Bytes(bytes), Dialect::JavaScript) => {
            json.extend_from_slice(format!(r#"{{"{BYTES}":""#).as_bytes());
            json.extend_from_slice(STANDARD.encode(bytes).as_bytes());
            json.extend_from_slice(br#""}"#);
        }
    }
}

fn lines_json(text: &WideText) -> String {
    let lines = text.as_bytes().split(|it| *it == b'\n');
    let lines: Vec<String> = lines.map(|it| WideText::of_bytes(it.to_vec()).json()).collect();
    format!("[{}]", lines.join(","))
}

fn quoted(text: &str) -> String {
    WideText::from(text).json()
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Micros = 1_795_250_000_123_456;

    fn content(dialect: Dialect, path: &'static str, content: Content) -> NewContent<'static> {
        NewContent { dialect, now: AT, path, content, media_type: None }
    }

    #[test]
    fn each_language_writes_its_form() {
        let text = || Content::Text("a\"é".into());
        assert_eq!(
            content(Dialect::Python, "/x.md", text()).created(),
            r#"{"content":"a\"é","encoding":"utf-8","created_at":"2026-11-21T08:33:20.123456+00:00","modified_at":"2026-11-21T08:33:20.123456+00:00"}"#
        );
        assert_eq!(
            content(Dialect::JavaScript, "/x.md", text()).created(),
            r#"{"content":"a\"é","mimeType":"text/markdown","created_at":"2026-11-21T08:33:20.123Z","modified_at":"2026-11-21T08:33:20.123Z"}"#
        );
        let bytes = || Content::Bytes(vec![1, 2]);
        let python = content(Dialect::Python, "/x.png", bytes()).created();
        assert!(
            python.starts_with(r#"{"content":"AQI=","encoding":"base64","created_at""#),
            "{python}"
        );
        let script = content(Dialect::JavaScript, "/x.bin", bytes()).created();
        let expected = r#"{"content":{"$threadkeep:bytes":"AQI="},"mimeType":"application/octet-stream","created_at""#;
        assert!(script.starts_with(expected), "{script}");
        assert_eq!(time(Dialect::Python, 1_000_000), "1970-01-01T00:00:01+00:00");
    }

    #[test]
    fn a_change_keeps_what_else_was_there() {
        let now = r#""modified_at":"2026-11-21T08:33:20.123456+00:00""#;
        let text = || content(Dialect::Python, "/x", Content::Text("new".into()));
        let changed = text().changed(br#"{ "n": 1.0, "content":["a"], "modified_at": "m" }"#, true);
        assert_eq!(
            changed.unwrap(),
            format!(r#"{{"n":1.0,"content":"new",{now},"encoding":"utf-8"}}"#)
        );
        let changed =
            text().changed(br#"{"content":{"$threadkeep:bytes":""},"mimeType":"a/b"}"#, false);
        let expected = format!(r#"{{"content":"new","mimeType":"a/b","encoding":"utf-8",{now}}}"#);
        assert_eq!(changed.unwrap(), expected);
    }

    #[test]
    fn javascript_keeps_lines_and_corrects_encodings() {
        let now = r#""modified_at":"2026-11-21T08:33:20.123Z""#;
        let text = || content(Dialect::JavaScript, "/x", Content::Text("a\nb".into()));
        let changed = text().changed(br#"{"content":["a"]}"#, true).unwrap();
        assert_eq!(changed, format!(r#"{{"content":["a","b"],{now}}}"#));
        let changed = text().changed(br#"{"content":"AA==","encoding":"base64"}"#, false).unwrap();
        assert_eq!(changed, format!(r#"{{"content":"a\nb","encoding":"utf-8",{now}}}"#));
        let bytes = content(Dialect::JavaScript, "/x.png", Content::Bytes(vec![]));
        let changed = bytes.changed(br#"{"content":"AA==","encoding":"base64"}"#, false).unwrap();
        assert_eq!(
            changed,
            format!(r#"{{"content":{{"$threadkeep:bytes":""}},"mimeType":"image/png",{now}}}"#)
        );
    }

    #[test]
    fn a_large_file_of_control_characters_is_kept_as_bytes() {
        for (bytes, is_text) in [(12 << 20, false), (10 << 20, true)] {
            let content = of_bytes(Dialect::Python, "/x", vec![0; bytes]);
            assert_eq!(matches!(content, Content::Text(_)), is_text);
            let value = self::content(Dialect::Python, "/x", content).created();
            assert!((value.len() as u64) < LIMITS.document_bytes_max);
        }
    }

    #[test]
    fn bytes_are_text_where_they_are_some() {
        let of = |dialect, path, bytes: &[u8]| of_bytes(dialect, path, bytes.to_vec());
        assert_eq!(of(Dialect::Python, "/x.png", b"a"), Content::Text("a".into()));
        assert_eq!(of(Dialect::JavaScript, "/x.png", b"a"), Content::Bytes(b"a".to_vec()));
        for dialect in [Dialect::Python, Dialect::JavaScript] {
            assert_eq!(of(dialect, "/x", b"\xff"), Content::Bytes(b"\xff".to_vec()));
        }
    }
}
