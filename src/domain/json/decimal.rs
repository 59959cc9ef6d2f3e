//! Compares numbers of JSON by their digits: exactly, whatever their size.

use std::cmp::Ordering;

use crate::domain::limits::LIMITS;

/// Sign, significant digits and where they stand: `1`, `1.0` and `10e-1` are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    /// Without zeros at either end; empty for zero.
    digits: String,
    /// The number is 0.digits × 10^power.
    power: i64,
}

impl Decimal {
    /// Reads the text of a JSON number.
    pub fn read(number: &str) -> Self {
        let (mantissa, exponent) = match number.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)),
            None => (number, 0),
        };
        let negative = mantissa.starts_with('-');
        let mantissa = mantissa.trim_start_matches('-');
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0');
        let leading = all.len() - significant.len();
        let digits = significant.trim_end_matches('0');
        if digits.is_empty() {
            return Self { negative: false, digits: String::new(), power: 0 };
        }
        let power = length(whole) - length(&all[..leading]) + exponent;
        Self { negative, digits: digits.to_owned(), power }
    }

    /// Whether it has no more digits, and no greater power of ten, than a number may have.
    pub fn is_within_limits(&self) -> bool {
        let max = LIMITS.number_digits_max;
        self.digits.len() as u64 <= max && self.power.unsigned_abs() <= max
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let size = |it: &Self| (!it.digits.is_empty(), it.power);
        // Digits without zeros at the end order like texts.
        let by_size = || size(self).cmp(&size(other)).then_with(|| self.digits.cmp(&other.digits));
        match (self.negative, other.negative) {
            (false, false) => by_size(),
            (true, true) => by_size().reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX / 4)
}

/// One too large for the type is as good as the largest: such numbers are refused where order matters.
fn read_exponent(text: &str) -> i64 {
    let largest = i64::MAX / 4;
    let limited = |it: i64| it.clamp(-largest, largest);
    let overflow = if text.starts_with('-') { -largest } else { largest };
    text.parse().map_or(overflow, limited)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn compare(a: &str, b: &str) -> Ordering {
        Decimal::read(a).cmp(&Decimal::read(b))
    }

    #[test]
    fn numbers_compare_by_value_whatever_their_form() {
        for (a, b) in [("1", "1.0"), ("10e-1", "1"), ("0", "-0.0"), ("0e9", "0"), ("1e2", "100")] {
            assert_eq!(compare(a, b), Ordering::Equal, "{a} {b}");
        }
        let ordered = [
            "-1e400",
            "-10",
            "-9.5",
            "-0.001",
            "0",
            "1e-400",
            "0.09",
            "0.1",
            "2",
            "9",
            "10",
            "10.01",
            "100",
            "1180591620717411303424",
            "1180591620717411303425",
            "1e400",
        ];
        for (at, a) in ordered.iter().enumerate() {
            for (other, b) in ordered.iter().enumerate() {
                assert_eq!(compare(a, b), at.cmp(&other), "{a} {b}");
            }
        }
    }

    #[test]
    fn huge_numbers_are_told_from_those_within_the_limits() {
        let within = |text: &str| Decimal::read(text).is_within_limits();
        assert!(within("1e4999") && within("-1e-5001") && within(&"9".repeat(5_000)));
        assert!(!within("1e5000") && !within("1e-5002") && !within(&"9".repeat(5_001)));
        assert!(!within("1e99999999999999999999") && !within("1e-99999999999999999999"));
        assert!(within("0e99999999999999999999"));
    }

    proptest! {
        #[test]
        fn integers_compare_like_integers(a: i64, b: i64) {
            prop_assert_eq!(compare(&a.to_string(), &b.to_string()), a.cmp(&b));
        }

        #[test]
        fn fractions_compare_like_fractions(a in -1e9..1e9_f64, b in -1e9..1e9_f64) {
            let expected = a.partial_cmp(&b).unwrap();
            prop_assert_eq!(compare(&format!("{a:e}"), &format!("{b}")), expected);
        }
    }
}
