//! Defines namespaces: arrays of labels, compared label by label and never joined. Every route refuses what LangGraph refuses, in
//! LangGraph's words (`langgraph.store.base`).

use crate::domain::caller::Caller;
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::tokens::grants::Action;

/// Root label that LangGraph keeps to itself: reads may name it, puts may not.
pub const RESERVED_ROOT: &str = "langgraph";

/// Labels of a namespace or of a prefix of one. Orders like the tuples of Python: label by label, by code point.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Namespace(Vec<String>);

impl Namespace {
    /// Of an item that is read or deleted, or a prefix; `()` stands for everything as a prefix.
    ///
    /// # Errors
    /// 422 with the text of LangGraph, or with the limit.
    pub fn new(labels: Vec<String>) -> Result<Self> {
        check(&labels)?;
        Ok(Self(labels))
    }

    /// Of an item that is put.
    ///
    /// # Errors
    /// As [`Self::new`]; also for no label and for the reserved root.
    pub fn of_put(labels: Vec<String>) -> Result<Self> {
        if labels.is_empty() {
            return Err(refuse("Namespace cannot be empty.".into()));
        }
        check(&labels)?;
        if labels[0] == RESERVED_ROOT {
            return Err(refuse(format!(
                "Root label for namespace cannot be \"{RESERVED_ROOT}\". Got: {}",
                tuple(&labels)
            )));
        }
        Ok(Self(labels))
    }

    /// What a storage engine read: it was checked when it was written.
    pub fn stored(labels: Vec<String>) -> Self {
        Self(labels)
    }

    pub fn labels(&self) -> &[String] {
        &self.0
    }

    /// The first label; empty for `()`.
    pub fn root(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    pub fn starts_with(&self, prefix: &Self) -> bool {
        self.0.starts_with(&prefix.0)
    }

    /// The first labels.
    #[must_use]
    pub fn truncated(&self, depth: usize) -> Self {
        Self(self.0[..depth.min(self.0.len())].to_vec())
    }

    /// What of the namespaces below this prefix the caller may read: prefixes, none of which is below another.
    /// Empty: nothing.
    pub fn readable(&self, caller: &Caller) -> Vec<Self> {
        let Some(granted) = caller.namespace_prefixes(Action::Read) else {
            return vec![self.clone()];
        };
        let mut found: Vec<Self> = Vec::new();
        for prefix in granted {
            if self.0.starts_with(prefix) {
                return vec![self.clone()];
            }
            if prefix.starts_with(&self.0) {
                found.push(Self(prefix.to_vec()));
            }
        }
        found.sort();
        // A prefix stands right before what is below it.
        found.dedup_by(|below, above| below.starts_with(above));
        found
    }
}

fn check(labels: &[String]) -> Result<()> {
    for label in labels {
        let invalid = |reason: &str| {
            let of = tuple(labels);
            refuse(format!("Invalid namespace label '{label}' found in {of}. {reason}"))
        };
        if label.contains('.') {
            return Err(invalid("Namespace labels cannot contain periods ('.')."));
        }
        if label.contains('\0') {
            return Err(invalid("Namespace labels cannot contain NUL bytes ('\\x00')."));
        }
        if label.is_empty() {
            let of = tuple(labels);
            return Err(refuse(format!(
                "Namespace labels cannot be empty strings. Got {label} in {of}"
            )));
        }
    }
    let (count, bytes) = (labels.len() as u64, labels.iter().map(String::len).sum::<usize>());
    if count > LIMITS.namespace_labels_max {
        let max = LIMITS.namespace_labels_max;
        let detail = format!("a namespace has at most {max} labels, this one has {count}");
        return Err(Error::out_of_range("namespace", detail, max));
    }
    let max = LIMITS.namespace_bytes_max;
    if bytes as u64 > max {
        let detail =
            format!("the labels of a namespace have at most {max} bytes, these have {bytes}");
        return Err(Error::out_of_range("namespace", detail, max));
    }
    Ok(())
}

fn refuse(detail: String) -> Error {
    Error::invalid("namespace", detail)
}

/// As Python shows a tuple of strings.
fn tuple(labels: &[String]) -> String {
    let quoted: Vec<String> = labels.iter().map(|it| python_string(it)).collect();
    match quoted.as_slice() {
        [one] => format!("({one},)"),
        all => format!("({})", all.join(", ")),
    }
}

fn python_string(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            it if it == quote => out.extend(['\\', it]),
            it if u32::from(it) < 0x20 || (0x7f..0xa0).contains(&u32::from(it)) => {
                out.push_str(&format!("\\x{:02x}", u32::from(it)));
            }
            it => out.push(it),
        }
    }
    out.push(quote);
    out
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::caller::Grants;
    use crate::domain::tokens::grants::{Actions, NamespaceGrant, Scoped};

    fn labels(labels: &[&str]) -> Vec<String> {
        labels.iter().map(|it| (*it).to_owned()).collect()
    }

    fn namespace(of: &[&str]) -> Namespace {
        Namespace::new(labels(of)).unwrap()
    }

    #[test]
    fn refusals_have_the_words_of_the_reference() {
        let text = |of: &[&str]| Namespace::of_put(labels(of)).unwrap_err().to_string();
        assert_eq!(text(&[]), "Namespace cannot be empty.");
        assert_eq!(
            text(&["a.b"]),
            "Invalid namespace label 'a.b' found in ('a.b',). Namespace labels cannot contain periods ('.')."
        );
        assert_eq!(
            text(&["x", "a\0", "it's"]),
            "Invalid namespace label 'a\0' found in ('x', 'a\\x00', \"it's\"). \
             Namespace labels cannot contain NUL bytes ('\\x00')."
        );
        assert_eq!(text(&[""]), "Namespace labels cannot be empty strings. Got  in ('',)");
        assert_eq!(
            text(&["langgraph"]),
            "Root label for namespace cannot be \"langgraph\". Got: ('langgraph',)"
        );
        assert!(Namespace::new(labels(&["langgraph"])).is_ok());
        assert!(Namespace::new(labels(&[])).is_ok());
        assert!(Namespace::of_put(labels(&[" ", "%_*:/~", "ü"])).is_ok());
        assert!(Namespace::new(vec!["a".into(); 33]).is_err());
        assert!(Namespace::new(vec!["a".repeat(641)]).is_err());
    }

    #[test]
    fn only_what_is_granted_is_readable() {
        let caller = |prefixes: &[&[&str]]| {
            let grant =
                |of: &&[&str]| NamespaceGrant { prefix: labels(of), actions: Actions::READ };
            let namespaces = prefixes.iter().map(grant).collect();
            let scoped = Scoped { namespaces, ..Scoped::default() };
            Caller { grants: Grants::Scoped(Arc::new(scoped)), ..Caller::of_tenant("t") }
        };
        let some = caller(&[&["a", "x", "y"], &["a", "x"], &["b"], &["a", "xx"]]);
        let all = vec![namespace(&["a", "x"]), namespace(&["a", "xx"]), namespace(&["b"])];
        assert_eq!(Namespace::default().readable(&some), all);
        assert_eq!(namespace(&["a"]).readable(&some), all[..2]);
        assert_eq!(namespace(&["a", "x", "z"]).readable(&some), [namespace(&["a", "x", "z"])]);
        assert_eq!(namespace(&["aa"]).readable(&some), []);
        assert_eq!(namespace(&["c"]).readable(&Caller::of_tenant("t")), [namespace(&["c"])]);
        assert_eq!(Namespace::default().readable(&caller(&[])), []);
    }
}
