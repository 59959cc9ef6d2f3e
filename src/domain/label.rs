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
    use super::label;

    #[test]
    fn every_subject_has_its_own_legal_label() {
        let vectors = [
            ("", ""),
            ("alice", "alice"),
            ("alice@example.com", "alice@example~2ecom"),
            ("a~b", "a~7eb"),
            ("org:team/user+x_y-z", "org:team~2fuser+x_y-z"),
            ("ü", "~c3~bc"),
            (".", "~2e"),
            ("\0", "~00"),
        ];
        for (subject, expected) in vectors {
            assert_eq!(label(subject), expected);
        }
    }
}
