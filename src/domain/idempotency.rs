//! Defines what makes a request repeatable: its key, and the digest of what it asks for.

/// Key and digest of a request: the same pair is answered again without a second effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    pub caller: String,
    pub key: String,
    pub digest: [u8; 32],
    /// Whose request it is: erasing the subject finds it.
    pub subject: Option<String>,
    /// Remembered and answered behind the versions of its changes.
    pub note: Vec<i64>,
}
