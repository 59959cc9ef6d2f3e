//! Builds the document of the API and the pages that show it.

pub(super) mod docs;
pub mod document;
pub mod documents;
pub(super) mod generators;
pub(super) mod links;
