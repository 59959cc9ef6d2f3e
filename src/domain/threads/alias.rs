//! Gives every thread a UUID beside its id, its alias, for clients that take nothing else.

use uuid::Uuid;

use crate::domain::limits::LIMITS;
use crate::domain::named_uuid::named_uuid;

/// Of aliases. It never changes: clients keep them.
const NAMESPACE: Uuid = Uuid::from_u128(0x0d21_65f1_4c50_5e3c_bbb6_1d8a_01ac_c1d1);

/// The id itself where it is a UUID, in the usual spelling; else the UUID of version 5 of the id.
pub fn alias(thread_id: &str) -> String {
    canonical(thread_id).unwrap_or_else(|| named_uuid(NAMESPACE, thread_id))
}

/// What the row of a thread has, to be found by. None: its id is its alias, or is hidden from callers.
pub fn stored_alias(thread_id: &str) -> Option<String> {
    let is_hidden = thread_id.len() as u64 > LIMITS.thread_id_bytes_max;
    Some(alias(thread_id)).filter(|it| !is_hidden && it != thread_id)
}

/// The UUID that a text is, in small letters and with dashes.
pub fn canonical(text: &str) -> Option<String> {
    let is_usual = [32, 36].contains(&text.len());
    let uuid = Uuid::parse_str(text).ok().filter(|_| is_usual);
    uuid.map(|it| it.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_its_own_alias_in_the_usual_spelling() {
        let usual = "0198a3c2-7b1e-7c55-9d1f-0123456789ab";
        for text in [usual, "0198A3C2-7B1E-7C55-9D1F-0123456789AB", &usual.replace('-', "")] {
            assert_eq!(alias(text), usual);
        }
        assert_eq!(stored_alias(usual), None);
        assert_eq!(stored_alias(&usual.to_uppercase()).as_deref(), Some(usual));
    }

    #[test]
    fn other_text_has_the_uuid_of_its_name() {
        for (thread_id, uuid) in [
            ("ann-1", "30e3695c-0269-556d-ba76-954e01d20421"),
            ("a/b?c#d%e", "31202046-160a-555d-bbbf-5e4278555bc3"),
            ("{0198a3c2-7b1e-7c55-9d1f-0123456789ab}", "3efd9917-69d6-552f-8909-ff5724c81d56"),
        ] {
            assert_eq!(alias(thread_id), uuid);
            assert_eq!(stored_alias(thread_id).as_deref(), Some(uuid));
            assert_eq!(canonical(thread_id), None);
        }
    }
}
