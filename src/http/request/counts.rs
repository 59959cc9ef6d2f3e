//! Deserializes counts in requests: whole numbers of 63 bits, as the document has them.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// # Errors
/// For negative numbers, fractions, and those that no `int64` has.
pub fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let count = Option::<u64>::deserialize(deserializer)?;
    match count {
        Some(count) if i64::try_from(count).is_err() => {
            Err(D::Error::custom(format!("{count} is larger than {}", i64::MAX)))
        }
        _ => Ok(count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Body {
        #[serde(default, deserialize_with = "optional")]
        limit: Option<u64>,
    }

    #[test]
    fn a_count_is_absent_null_or_of_63_bits() {
        let read = |text: &str| serde_json::from_str::<Body>(text).map(|it| it.limit);
        assert_eq!(read("{}").unwrap(), None);
        assert_eq!(read(r#"{"limit": null}"#).unwrap(), None);
        assert_eq!(
            read(r#"{"limit": 9223372036854775807}"#).unwrap(),
            Some(i64::MAX.unsigned_abs())
        );
        for wrong in ["9223372036854775808", "-1", "1.5", "\"1\""] {
            assert!(read(&format!(r#"{{"limit": {wrong}}}"#)).is_err(), "{wrong}");
        }
    }
}
