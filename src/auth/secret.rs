//! Defines the text of a key: `tk_` and 256 random bits in base64url. The text is shown once to its maker; otherwise only its hash leaves
//! this file.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

const PREFIX: &str = "tk_";
/// Prefix and 43 characters of base64url.
const LENGTH: usize = PREFIX.len() + 43;

/// A key as its holder has it.
pub struct Secret(String);

impl Secret {
    /// From the system's randomness.
    pub fn random() -> Self {
        Self(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())))
    }

    /// None when the text cannot be a key; spares the hash and the look-up.
    pub fn parse(text: &str) -> Option<Self> {
        let legal = text.len() == LENGTH && text.starts_with(PREFIX);
        legal.then(|| Self(text.to_owned()))
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
        assert_eq!(format!("{one:?}"), "Secret(…)");
    }
}
