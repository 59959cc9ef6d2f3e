//! Stores what decides rights: keys, signing secrets, revocations, owners, and the MACs over these rows.

pub mod credentials;
pub mod key_rows;
pub mod owner_macs;
pub(in crate::storage) mod owner_signing;
pub mod rights;
pub mod signing;
pub mod verified;
