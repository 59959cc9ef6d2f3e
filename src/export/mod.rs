//! Files that travel: the format of exports (`clients/EXPORT.md`), what writes them and what reads them. Knows no database
//! and no HTTP; bytes go to a sink and come from a source.
//!
//! **Invariant:** nothing that was read is shown to anybody before the end of its noun was reached, every frame up to there
//! held against its check, and, where a key was given, the signature of that end.

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
