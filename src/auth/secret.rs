//! Defines the text of a key: `tk_` and 256 random bits in base64url. The text is shown once to its maker; otherwise only its hash and its
//! beginning leave this file.
//!
//! The text of a key that only reads begins with `tkr_`. The hash is of the whole text, so nobody can make the one from the other, neither
//! who holds the key nor who writes to the database. An earlier version does not know this beginning and refuses the key.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

const PREFIX: &str = "tk_";
const READ_ONLY: &str = "tkr_";
/// 256 bits in base64url.
const BITS_LENGTH: usize = 43;
/// Characters of the bits that lists show: 30 bits less to guess, of 256.
const SHOWN_LENGTH: usize = 5;

/// A key as its holder has it.
pub struct Secret(String);

impl Secret {
    /// From the system's randomness.
    pub fn random() -> Self {
        Self::beginning_with(PREFIX)
    }

    /// Of a key that only reads.
    pub fn random_read_only() -> Self {
        Self::beginning_with(READ_ONLY)
    }

    fn beginning_with(prefix: &str) -> Self {
        Self(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())))
    }

    /// None when the text cannot be a key; spares the hash and the look-up.
    pub fn parse(text: &str) -> Option<Self> {
        let bits = text.strip_prefix(PREFIX).or_else(|| text.strip_prefix(READ_ONLY))?;
        let legal = bits.len() == BITS_LENGTH && bits.is_ascii();
        legal.then(|| Self(text.to_owned()))
    }

    pub fn is_read_only(&self) -> bool {
        is_read_only(&self.0)
    }

    /// What tells people which key it is.
    pub fn beginning(&self) -> &str {
        let prefix = if self.is_read_only() { READ_ONLY } else { PREFIX };
        &self.0[..prefix.len() + SHOWN_LENGTH]
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
        let reads = Secret::random_read_only();
        assert!(reads.is_read_only() && !Secret::random().is_read_only());
        assert_eq!(reads.beginning(), &reads.text()[..9]);
        let parsed = Secret::parse(reads.text()).unwrap();
        assert!(parsed.is_read_only() && parsed.hash() == reads.hash());
        let writes = Secret::parse(&reads.text().replacen("tkr_", "tk_", 1)).unwrap();
        assert!(!writes.is_read_only());
        assert_ne!(writes.hash(), reads.hash());
    }
}
