//! Defines the format of export files (`clients/EXPORT.md`), and writes and reads them. Contains no database code and no HTTP; bytes go to
//! an output and come from an input.
//!
//! **Invariant:** imported data is not visible before the end of its noun. Every frame up to there must have passed its check. Where a key
//! was given, the signature of that end must be valid too.

mod arriving_archive;
mod arriving_content;
mod arriving_copies;
mod arriving_items;
mod arriving_snapshot;
mod frames;
mod import;
mod items;
mod nouns;
mod records;
mod salvage;
mod sessions;
mod settings;
mod snapshot_heads;
mod snapshots;
mod stored;
mod threads;
mod values;
mod window;
mod write;

pub use self::frames::{Input, Output, PREAMBLE, SigningKey};
pub use self::import::{ImportOptions, Imported, Tally, import, verify};
pub use self::salvage::LeftOut;
pub use self::write::{Exported, Parts, Selection, export, export_whole_only, require_parts};
