//! Defines the text of a key: `tk_` and 256 random bits in base64url. The text is shown once to its maker; otherwise only its hash and its
//! beginning leave this file.
//!
//! The text of a key that only reads begins with `tkr_`. The hash covers the whole text, so neither the holder of the key nor a writer of
//! the database can make the one from the other. An earlier version refuses a key with this beginning.
//!
//! The text of an operator's key begins with `tko_`, so that no row of the database turns one kind into the other.
//!
//! The text of a key that ends has its end between the beginning and the bits, in seconds since 1970: `tk_1796083200_…`. So nobody can
//! lengthen it either. An earlier version refuses a text of this length.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::domain::clock::{Micros, SECOND};

const PREFIX: &str = "tk_";
const READ_ONLY: &str = "tkr_";
const OPERATOR: &str = "tko_";
/// 256 bits in base64url.
const BITS_LENGTH: usize = 43;
/// Digits of an end: up to the year 33658.
const END_LENGTH_MAX: usize = 12;
/// Characters of the bits that lists show: 30 bits less to guess, of 256.
const SHOWN_LENGTH: usize = 5;

/// A key as its holder has it.
pub struct Secret(String);

/// What the text of a key says about it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Terms {
    pub read_only: bool,
    /// It looks after all tenants and reads the contents of none.
    pub is_operator: bool,
    /// At a whole second.
    pub expires_at: Option<Micros>,
}

impl Secret {
    /// From the system's randomness.
    pub fn random() -> Self {
        Self::with(Terms::default())
    }

    /// The same, of a key that says this.
    pub fn with(terms: Terms) -> Self {
        let prefix = match terms {
            Terms { is_operator: true, .. } => OPERATOR,
            Terms { read_only: true, .. } => READ_ONLY,
            _ => PREFIX,
        };
        let end = terms.expires_at.map(|it| format!("{}_", it / SECOND)).unwrap_or_default();
        Self(format!("{prefix}{end}{}", URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())))
    }

    /// None when the text cannot be a key; spares the hash and the look-up.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = [PREFIX, READ_ONLY, OPERATOR].iter().find_map(|it| text.strip_prefix(it))?;
        let legal = rest.is_ascii() && (rest.len() == BITS_LENGTH || end(rest).is_some());
        legal.then(|| Self(text.to_owned()))
    }

    /// When the text says that the key ends.
    pub fn expires_at(&self) -> Option<Micros> {
        let (_, rest) = self.0.split_once('_')?;
        end(rest)
    }

    pub fn is_read_only(&self) -> bool {
        is_read_only(&self.0)
    }

    pub fn is_operator(&self) -> bool {
        self.0.starts_with(OPERATOR)
    }

    /// What tells people which key it is.
    pub fn beginning(&self) -> &str {
        &self.0[..self.0.len() - BITS_LENGTH + SHOWN_LENGTH]
    }

    /// For showing it, once.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// SHA-256 of the text. A slow hash is for guessable secrets; 256 random bits are not.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }
}

/// The end that stands before the bits, if one does: what follows the beginning is ASCII and longer than the bits alone.
fn end(rest: &str) -> Option<Micros> {
    let digits = rest.len().checked_sub(BITS_LENGTH).and_then(|it| rest.get(..it))?;
    let digits = digits.strip_suffix('_').filter(|it| it.len() <= END_LENGTH_MAX)?;
    let seconds: u64 = digits.parse().ok().filter(|_| !digits.starts_with(['+', '0']))?;
    i64::try_from(seconds).ok()?.checked_mul(SECOND)
}

/// Whether a key whose text begins like this only reads.
pub fn is_read_only(beginning: &str) -> bool {
    beginning.starts_with(READ_ONLY)
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_key_has_the_announced_form_and_is_never_the_same() {
        let (one, two) = (Secret::random(), Secret::random());
        assert_eq!(one.text().len(), 46);
        assert_eq!(Secret::parse(one.text()).unwrap().hash(), one.hash());
        assert_ne!(one.hash(), two.hash());
        assert!(Secret::parse("tk_short").is_none());
        assert!(Secret::parse(&format!("tk_{}", "ü".repeat(22))).is_none());
        assert_eq!(format!("{one:?}"), "Secret(…)");
        assert_eq!(one.beginning(), &one.text()[..8]);
    }

    #[test]
    fn a_key_that_only_reads_is_no_other_key_with_another_beginning() {
        let reads = Secret::with(Terms { read_only: true, ..Terms::default() });
        assert!(reads.is_read_only() && !Secret::random().is_read_only());
        assert_eq!(reads.beginning(), &reads.text()[..9]);
        let parsed = Secret::parse(reads.text()).unwrap();
        assert!(parsed.is_read_only() && parsed.hash() == reads.hash());
        let writes = Secret::parse(&reads.text().replacen("tkr_", "tk_", 1)).unwrap();
        assert!(!writes.is_read_only());
        assert_ne!(writes.hash(), reads.hash());
    }

    #[test]
    fn the_key_of_an_operator_is_no_other_key_with_another_beginning() {
        let made = Secret::with(Terms { is_operator: true, ..Terms::default() });
        assert!(made.text().starts_with("tko_") && made.is_operator() && !made.is_read_only());
        assert_eq!(Secret::parse(made.text()).unwrap().hash(), made.hash());
        for prefix in ["tk_", "tkr_"] {
            let other = Secret::parse(&made.text().replacen("tko_", prefix, 1)).unwrap();
            assert!(!other.is_operator());
            assert_ne!(other.hash(), made.hash());
        }
    }

    #[test]
    fn a_key_that_ends_says_when_and_is_no_other_key_with_another_end() {
        for (read_only, beginning) in [(false, "tk_1796083200_"), (true, "tkr_1796083200_")] {
            let expires_at = Some(1_796_083_200 * SECOND);
            let terms = Terms { read_only, expires_at, ..Terms::default() };
            let made = Secret::with(terms);
            assert!(made.text().starts_with(beginning), "{}", made.text());
            assert_eq!(made.beginning().len(), beginning.len() + SHOWN_LENGTH);
            let parsed = Secret::parse(made.text()).unwrap();
            assert_eq!((parsed.is_read_only(), parsed.expires_at()), (read_only, terms.expires_at));
            assert_eq!(parsed.hash(), made.hash());
            for other in ["", "1796083201_"] {
                let other = made.text().replacen("1796083200_", other, 1);
                let other = Secret::parse(&other).unwrap();
                assert_ne!(other.expires_at(), terms.expires_at);
                assert_ne!(other.hash(), made.hash());
            }
        }
        assert_eq!(Secret::random().expires_at(), None);
        let bits = "_".repeat(BITS_LENGTH);
        assert_eq!(Secret::parse(&format!("tk_{bits}")).unwrap().expires_at(), None);
        for end in ["_", "-5_", "+5_", "05_", "x_", "5", "5-", "1234567890123_", "5_5_", "ü_"] {
            assert!(Secret::parse(&format!("tk_{end}{bits}")).is_none(), "{end}");
        }
    }
}
