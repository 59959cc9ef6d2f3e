//! A subject as one legal namespace label. The same rule, with the same test vectors, in every client.

use std::fmt::Write as _;

/// Characters outside `[A-Za-z0-9_@+:-]` become `~` and two hex digits per UTF-8 byte, `~` too. Injective.
pub fn label(subject: &str) -> String {
    let mut label = String::with_capacity(subject.len());
    for byte in subject.bytes() {
        if byte.is_ascii_alphanumeric() || b"_@+:-".contains(&byte) {
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

    use super::label;

    /// The vectors that every client is held to.
    #[test]
    fn every_subject_has_its_own_legal_label() {
        let vectors: Vec<Value> =
            serde_json::from_str(include_str!("../../tests/vectors/labels.json")).unwrap();
        let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
        let labels: HashSet<String> = vectors.iter().map(|it| text(it, "label")).collect();
        assert_eq!(labels.len(), vectors.len());
        for vector in &vectors {
            assert_eq!(label(&text(vector, "subject")), text(vector, "label"));
        }
    }
}
