//! Times as people and clients read them.

use chrono::{DateTime, SecondsFormat, Utc};

use super::clock::Micros;

/// RFC 3339 in UTC with microseconds, `2026-01-31T12:00:00.000000Z`. Sorts like the number.
pub fn rfc3339(micros: Micros) -> String {
    DateTime::<Utc>::from_timestamp_micros(micros)
        .map(|time| time.to_rfc3339_opts(SecondsFormat::Micros, true))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_time_shows_all_its_microseconds() {
        assert_eq!(super::rfc3339(1_000_000_000_000_001), "2001-09-09T01:46:40.000001Z");
    }
}
