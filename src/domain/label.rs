//! Turns a subject into one legal namespace label. Every client has the same rules, with the same test vectors.

use std::fmt::Write as _;

/// Characters outside `[A-Za-z0-9_@+-]` become `~` and two hex digits per UTF-8 byte, `~` too. Injective. `:` is not among
/// them, because LangGraph.js refuses it in a label.
pub fn label(subject: &str) -> String {
    escape(subject, b"_@+-")
}

/// The former label, which left `:` as it is: what was kept under it stays there.
pub fn label_with_colons(subject: &str) -> String {
    escape(subject, b"_@+-:")
}

/// Every label that a subject has: one, or two where the former one is different. No other subject has any of them.
pub fn labels(subject: &str) -> Vec<String> {
    let mut labels = vec![label(subject), label_with_colons(subject)];
    labels.dedup();
    labels
}

fn escape(subject: &str, kept: &[u8]) -> String {
    let mut label = String::with_capacity(subject.len());
    for byte in subject.bytes() {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            label.push(char::from(byte));
        } else {
            write!(label, "~{byte:02x}").expect("writing to a String cannot fail");
        }
    }
    label
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::Value;

    use super::{label, label_with_colons, labels};

    /// The vectors that every client is held to.
    #[test]
    fn every_subject_has_labels_of_its_own() {
        let vectors: Vec<Value> =
            serde_json::from_str(include_str!("../../tests/vectors/labels.json")).unwrap();
        let mut taken = HashSet::new();
        for vector in &vectors {
            let text = |name: &str| vector[name].as_str().unwrap();
            let former = vector.get("with_colons").map_or(text("label"), |_| text("with_colons"));
            assert_eq!(label(text("subject")), text("label"));
            assert_eq!(label_with_colons(text("subject")), former);
            assert!(!text("label").contains(':'));
            for label in labels(text("subject")) {
                assert!(taken.insert(label), "{vector}");
            }
        }
    }
}
