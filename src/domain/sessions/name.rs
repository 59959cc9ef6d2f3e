//! Defines the name of a session: a kind, and a key of parts that may be any text. In bytes, names sort part by part, and a prefix is a
//! range. Grants use the text form.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::names;
use crate::domain::tokens::grants::Reach;

/// Ends a part. A zero byte inside of one is escaped with a greater second byte, so that a part orders before what it
/// begins.
const END: [u8; 2] = [0, 1];
const ESCAPED: [u8; 2] = [0, 0xff];

/// Kind and key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionName {
    kind: String,
    key: Vec<String>,
}

/// Sessions of a kind whose keys lie in a range of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    pub kind: String,
    pub from: Vec<u8>,
    /// None: to the end.
    pub to: Option<Vec<u8>>,
}

impl SessionName {
    /// # Errors
    /// 422 for another kind than 1 to `session_kind_bytes_max` of `[a-z0-9_-]`, for none or too many parts, and for a key that is too long.
    pub fn new(kind: impl Into<String>, key: Vec<String>) -> Result<Self> {
        let kind = kind.into();
        check_kind(&kind)?;
        let max = LIMITS.session_key_parts_max;
        if key.is_empty() || key.len() as u64 > max {
            return Err(Error::out_of_range("key", format!("key must have 1 to {max} parts"), max));
        }
        check_length("key", &key)?;
        Ok(Self { kind, key })
    }

    /// As it stands in a row.
    pub fn stored(kind: String, key: &[u8]) -> Option<Self> {
        Some(Self { kind, key: decode(key)? })
    }

    /// The kind under which a snapshot keeps it: no kind has a colon, so nobody can send this one.
    pub fn hidden_kind(&self, number: i64) -> String {
        format!("{}{}", Self::hidden_range(number).0, self.kind)
    }

    /// Before the first and behind the last of these kinds.
    pub fn hidden_range(number: i64) -> (String, String) {
        (format!(":{number:016x}:"), format!(":{number:016x};"))
    }

    /// The thread id under which the last number of a stream is remembered when the stream was deleted; without a stream, when the
    /// session was. Longer than any legal one, so nobody can send it.
    pub fn tombstone(&self, stream: Option<&str>) -> String {
        let named = [self.kind.as_bytes(), &[0], &self.key_bytes()].concat();
        let part = stream.map_or_else(String::new, |it| hex::encode(Sha256::digest(it)));
        format!("{:~<520}", format!("\u{1}session:{}:{part}:", hex::encode(Sha256::digest(named))))
    }

    pub fn kind(&self) -> &str {
        &self.kind
    }

    pub fn key(&self) -> &[String] {
        &self.key
    }

    pub fn key_bytes(&self) -> Vec<u8> {
        encode(&self.key)
    }

    /// `kind:part/part`, with `%`, `/` and NUL of the parts as `%25`, `%2F` and `%00`. Injective. So a prefix that ends in `/`
    /// opens whole parts, and one that ends in `:` what begins with it.
    pub fn grant_name(&self) -> String {
        let mut name = format!("{}:", self.kind);
        for (at, part) in self.key.iter().enumerate() {
            if at > 0 {
                name.push('/');
            }
            for character in part.chars() {
                match character {
                    '%' | '/' | '\0' => {
                        write!(name, "%{:02X}", character as u32)
                            .expect("writing to a String cannot fail");
                    }
                    other => name.push(other),
                }
            }
        }
        name
    }
}

/// # Errors
/// 422.
pub fn check_kind(kind: &str) -> Result<()> {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    let max = LIMITS.session_kind_bytes_max;
    if kind.is_empty() || kind.len() as u64 > max || !kind.chars().all(legal) {
        let detail = format!("kind must be 1 to {max} characters of a-z, 0-9, _ and -");
        return Err(Error::out_of_range("kind", detail, max));
    }
    Ok(())
}

/// # Errors
/// 422 over the limit.
pub fn check_prefix(prefix: &[String]) -> Result<()> {
    let max = LIMITS.session_key_parts_max;
    if prefix.len() as u64 > max {
        let detail = format!("key_prefix must have at most {max} parts");
        return Err(Error::out_of_range("key_prefix", detail, max));
    }
    check_length("key_prefix", prefix)
}

fn check_length(field: &str, key: &[String]) -> Result<()> {
    let max = LIMITS.session_key_bytes_max;
    let length = encode(key).len();
    if length as u64 > max {
        let detail = format!(
            "{field} takes {length} bytes, at most {max} are allowed (two for each part and each NUL on top of its text)"
        );
        return Err(Error::out_of_range(field, detail, max));
    }
    Ok(())
}

/// Names inside of a session: of streams, documents, counters, and ids of entries. Any text.
///
/// # Errors
/// 422 over the limit.
pub fn check_name(field: &str, name: &str, may_be_empty: bool) -> Result<()> {
    // NUL is as good as any other character here.
    names::check(field, &name.replace('\0', " "), LIMITS.session_name_bytes_max, may_be_empty)
}

impl KeyRange {
    /// Everything of a kind below these parts.
    pub fn below(kind: &str, prefix: &[String]) -> Self {
        let from = encode(prefix);
        Self { kind: kind.to_owned(), to: after(&from), from }
    }
}

/// Whose owner, or which ranges, a listing shows; None for the ranges: everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    pub everything: bool,
    pub owner: Option<String>,
    pub ranges: Vec<KeyRange>,
}

impl From<Reach> for SessionFilter {
    fn from(reach: Reach) -> Self {
        let Reach { everything, owner, exact, prefixes } = reach;
        let exact = exact.iter().filter_map(|it| {
            let (kind, key) = of_grant(it)?;
            let mut from = encode(&key);
            let start = from.clone();
            from.push(0);
            Some(KeyRange { kind, from: start, to: Some(from) })
        });
        let prefixes = prefixes.iter().filter_map(|it| {
            let (kind, mut key) = of_grant(it)?;
            // The part behind the last slash is only begun.
            let begun = key.pop().unwrap_or_default();
            let mut from = encode(&key);
            escape(&mut from, &begun);
            let to = after(&from);
            // Behind the key that ends where the prefix has its slash.
            from.push(0);
            Some(KeyRange { kind, from, to })
        });
        let ranges = exact.chain(prefixes).collect();
        Self { everything, owner, ranges }
    }
}

/// What a granted name means; None: no session is called so.
fn of_grant(name: &str) -> Option<(String, Vec<String>)> {
    let (kind, key) = name.split_once(':')?;
    let part = |text: &str| {
        let mut part = String::new();
        let mut rest = text;
        while let Some((before, escaped)) = rest.split_once('%') {
            part.push_str(before);
            let code = escaped.get(..2)?;
            part.push(match code {
                "25" => '%',
                "2F" => '/',
                "00" => '\0',
                _ => return None,
            });
            rest = &escaped[2..];
        }
        part.push_str(rest);
        Some(part)
    };
    let key = key.split('/').map(part).collect::<Option<Vec<_>>>()?;
    Some((kind.to_owned(), key))
}

/// Injective; orders like the parts, one after the other.
pub fn encode(parts: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        escape(&mut bytes, part);
        bytes.extend_from_slice(&END);
    }
    bytes
}

fn escape(bytes: &mut Vec<u8>, part: &str) {
    for byte in part.bytes() {
        if byte == 0 { bytes.extend_from_slice(&ESCAPED) } else { bytes.push(byte) }
    }
}

fn decode(mut bytes: &[u8]) -> Option<Vec<String>> {
    let (mut parts, mut part) = (Vec::new(), Vec::new());
    while let Some((byte, rest)) = bytes.split_first() {
        bytes = rest;
        if *byte != 0 {
            part.push(*byte);
            continue;
        }
        let (second, rest) = bytes.split_first()?;
        bytes = rest;
        match second {
            0xff => part.push(0),
            1 => parts.push(String::from_utf8(std::mem::take(&mut part)).ok()?),
            _ => return None,
        }
    }
    part.is_empty().then_some(parts)
}

/// The first bytes behind everything that begins with these.
fn after(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut end = bytes.to_vec();
    while let Some(last) = end.pop() {
        if last < 0xff {
            end.push(last + 1);
            return Some(end);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(parts: &[&str]) -> Vec<String> {
        parts.iter().map(|it| (*it).to_owned()).collect()
    }

    const KEYS: [&[&str]; 12] = [
        &[""],
        &["", ""],
        &["", "a"],
        &["\0"],
        &["\0", "b"],
        &["\0\u{1}"],
        &["a"],
        &["a", ""],
        &["a", "b"],
        &["a\0"],
        &["a/b"],
        &["a%2Fb", "..", "-x"],
    ];

    #[test]
    fn keys_order_like_their_parts_and_come_back() {
        for one in KEYS {
            let bytes = encode(&key(one));
            assert_eq!(decode(&bytes), Some(key(one)));
            for other in KEYS {
                let other_bytes = encode(&key(other));
                assert_eq!(bytes.cmp(&other_bytes), key(one).cmp(&key(other)), "{one:?} {other:?}");
                let range = KeyRange::below("k", &key(one));
                let is_in = other_bytes >= range.from && range.to.is_none_or(|to| other_bytes < to);
                assert_eq!(is_in, other.starts_with(one), "{one:?} {other:?}");
            }
        }
        assert_eq!(decode(&[0]), None);
        assert_eq!(decode(b"a"), None);
    }

    #[test]
    fn grants_name_sessions_and_nothing_else() {
        let mut names = std::collections::HashSet::new();
        for one in KEYS {
            let name = SessionName::new("k", key(one)).unwrap();
            assert!(names.insert(name.grant_name()), "{one:?}");
            assert!(!name.grant_name().contains('\0'));
            assert_eq!(of_grant(&name.grant_name()), Some(("k".into(), key(one))));
        }
    }

    #[test]
    fn a_listing_shows_what_each_call_by_name_reaches() {
        let reach = |exact: &[&str], prefixes: &[&str]| Reach {
            exact: key(exact),
            prefixes: key(prefixes),
            ..Reach::default()
        };
        for (exact, prefixes) in [
            (&["k:a"][..], &[][..]),
            (&["k:a/b", "k:"], &[]),
            (&[], &["k:"]),
            (&[], &["k:a/"]),
            (&[], &["k:a%2F"]),
            (&["k:%zz"], &["k:a%"]),
            (&[], &["other:"]),
        ] {
            let listed = SessionFilter::from(reach(exact, prefixes));
            for one in KEYS {
                let name = SessionName::new("k", key(one)).unwrap();
                let (bytes, text) = (name.key_bytes(), name.grant_name());
                let granted = exact.contains(&text.as_str())
                    || prefixes.iter().any(|it| text.starts_with(it));
                let shown = listed.ranges.iter().any(|it| {
                    it.kind == "k"
                        && bytes >= it.from
                        && it.to.as_ref().is_none_or(|to| bytes < *to)
                });
                // `k:a%2F` is no prefix that a grant may have: it ends inside of a part.
                if prefixes.iter().all(|it| it.ends_with([':', '/'])) {
                    assert_eq!(shown, granted, "{exact:?} {prefixes:?} {text}");
                }
            }
        }
    }
}
