//! Formats and parses times as people and clients read them.

use chrono::{DateTime, SecondsFormat, Utc};

use super::clock::{DAY, Micros};
use super::error::{Error, Result};

/// RFC 3339 in UTC with microseconds, `2026-01-31T12:00:00.000000Z`. Sorts like the number.
pub fn rfc3339(micros: Micros) -> String {
    DateTime::<Utc>::from_timestamp_micros(micros)
        .map(|time| time.to_rfc3339_opts(SecondsFormat::Micros, true))
        .unwrap_or_default()
}

/// The same with `+00:00` in place of `Z`, as Python writes times.
pub fn rfc3339_with_offset(micros: Micros) -> String {
    DateTime::<Utc>::from_timestamp_micros(micros)
        .map(|time| time.to_rfc3339_opts(SecondsFormat::Micros, false))
        .unwrap_or_default()
}

/// A day in UTC, `2026-01-31`, from how many came since 1970-01-01.
pub fn date(days: i64) -> String {
    let time = days.checked_mul(DAY).and_then(DateTime::<Utc>::from_timestamp_micros);
    time.map(|it| it.date_naive().to_string()).unwrap_or_default()
}

/// A time that a caller sent.
///
/// # Errors
/// 422 naming the field.
pub fn parse_rfc3339(field: &str, text: &str) -> Result<Micros> {
    let time = DateTime::parse_from_rfc3339(text).map_err(|error| {
        Error::invalid(field, format!("{field} is neither seconds nor an RFC 3339 time: {error}"))
    })?;
    Ok(time.timestamp_micros())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_time_is_read_with_its_offset_or_refused() {
        let read = |text: &str| super::parse_rfc3339("f", text);
        assert_eq!(read("2001-09-09T01:46:40.000001Z").unwrap(), 1_000_000_000_000_001);
        assert_eq!(read("2001-09-09T03:46:40+02:00").unwrap(), 1_000_000_000_000_000);
        for text in ["", "2001-09-09", "yesterday", "2001-13-09T01:46:40Z", "1000"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_day_shows_as_a_date() {
        for (days, shown) in [(0, "1970-01-01"), (-1, "1969-12-31"), (20_484, "2026-01-31")] {
            assert_eq!(super::date(days), shown);
        }
        assert_eq!(super::date(i64::MAX), "");
    }

    #[test]
    fn a_time_shows_all_its_microseconds() {
        assert_eq!(super::rfc3339(1_000_000_000_000_001), "2001-09-09T01:46:40.000001Z");
        let shown = super::rfc3339_with_offset(1_000_000_000_000_000);
        assert_eq!(shown, "2001-09-09T01:46:40.000000+00:00");
    }
}
