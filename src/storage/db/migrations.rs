//! Lists the numbered migrations of both engines, and refuses a database that other migrations made.

use sha2::{Digest as _, Sha256};

use crate::domain::error::Obstacle;
use crate::domain::{Error, Result};

/// The oldest schema that a program has to know to run on the newest one. A release that writes rows which earlier ones cannot read
/// raises it; until then it writes the form that they read (docs/operate/upgrades.md).
pub const SCHEMA_MIN: i64 = 1;

/// From this schema on a database says with which text each migration was applied.
const CHECKSUMS_SINCE: i64 = 25;

/// A migration is never edited once it was released: a database made by another text is refused.
#[derive(Debug)]
pub struct Migration {
    /// Four digits and a name.
    file: &'static str,
    pub text: &'static str,
}

/// All of one engine, in order. Each is a file with one name in the folders of both engines.
macro_rules! migrations {
    ($engine:literal) => {
        $crate::storage::db::migrations::migrations!($engine;
            "0001_foundation", "0002_retention", "0003_objects", "0004_tokens", "0005_encryption", "0006_rows", "0007_quotas_audit",
            "0008_owned_threads", "0009_items", "0010_vectors", "0011_item_history", "0012_words", "0013_item_changes", "0014_files",
            "0015_sessions", "0016_contents", "0017_item_puts", "0018_snapshots", "0019_archives", "0020_key_hashes",
            "0021_revocation_chains", "0022_rights", "0023_background_tasks", "0024_removals", "0025_checksums", "0026_index_choice",
            "0027_owner_macs", "0028_thread_details", "0029_run_states", "0030_leased_threads",
            "0031_aliases", "0032_thread_titles", "0033_states_by_time", "0034_thread_ttl", "0035_thread_values",
            "0036_key_names", "0037_deletion_times", "0038_key_expiry", "0039_thread_graphs", "0040_pending_entries"
        )
    };
    ($engine:literal; $($file:literal),*) => {
        &[$($crate::storage::db::migrations::Migration::new(
            $file,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/", $engine, "/", $file, ".sql")),
        )),*]
    };
}
pub(in crate::storage) use migrations;

impl Migration {
    pub const fn new(file: &'static str, text: &'static str) -> Self {
        Self { file, text }
    }

    /// The first is 1.
    pub fn version(&self) -> i64 {
        self.parts().0.parse().expect("a migration begins with its number")
    }

    pub fn name(&self) -> &'static str {
        self.parts().1
    }

    /// SHA-256 of the text, in hexadecimal.
    pub fn checksum(&self) -> String {
        hex::encode(Sha256::digest(self.text))
    }

    fn parts(&self) -> (&'static str, &'static str) {
        self.file.split_once('_').expect("a migration has a number and a name")
    }
}

/// A migration that was applied to a database.
#[derive(Debug)]
pub struct Applied {
    pub version: i64,
    /// The oldest schema that a program has to know since then.
    pub schema_min: i64,
    /// `None` where it was applied before databases kept checksums.
    pub checksum: Option<String>,
}

/// What a database says of its migrations, in order. Empty for an empty one.
#[derive(Debug, Default)]
pub struct History(pub Vec<Applied>);

impl History {
    /// Whether its rows have checksums.
    pub fn has_checksums(version: i64) -> bool {
        version >= CHECKSUMS_SINCE
    }

    /// 0 for an empty database.
    pub fn version(&self) -> i64 {
        self.0.last().map_or(0, |it| it.version)
    }

    /// What is still to be applied.
    pub fn missing<'a>(&self, known: &'a [Migration]) -> &'a [Migration] {
        let applied = known.iter().take_while(|it| it.version() <= self.version()).count();
        &known[applied..]
    }

    /// Whether a program that knows these migrations may run on the database, once what is missing was applied, if that is allowed.
    ///
    /// # Errors
    /// `Obstacle` for a database without a schema, `Invalid` for one that is too new, too old, or made by other migrations.
    pub fn check(&self, known: &[Migration], may_migrate: bool) -> Result<()> {
        let (version, newest) = (self.version(), known.last().map_or(0, Migration::version));
        let needed = self.0.iter().map(|it| it.schema_min).max().unwrap_or(0);
        if needed > newest {
            return Err(refuse(format!(
                "the database has schema {version}, on which only a threadkeep runs that knows schema {needed}; this one, {}, knows \
                 schemas up to {newest}: run a newer threadkeep, or restore a backup from before the upgrade",
                env!("CARGO_PKG_VERSION")
            )));
        }
        for (number, applied) in (1..).zip(&self.0) {
            if applied.version != number {
                return Err(refuse(format!(
                    "the database lacks migration {number} although it has migration {}: restore a backup",
                    applied.version
                )));
            }
            let differs = |it: &&Migration| {
                applied.checksum.as_ref().is_some_and(|checksum| *checksum != it.checksum())
            };
            if let Some(migration) = known.iter().find(|it| it.version() == number).filter(differs)
            {
                return Err(refuse(format!(
                    "migration {} ({}) of the database is not that of this threadkeep: another build made it; run that build, or \
                     export with it and import here",
                    applied.version,
                    migration.name()
                )));
            }
        }
        if may_migrate || version >= newest {
            return Ok(());
        }
        if version == 0 {
            let detail = "the database has no schema of threadkeep yet: run `threadkeep migrate`";
            return Err(Error::Obstacle { kind: Obstacle::DatabaseAbsent, detail: detail.into() });
        }
        Err(refuse(format!(
            "the database has schema {version}, this threadkeep needs {newest}: run `threadkeep migrate`"
        )))
    }
}

fn refuse(detail: String) -> Error {
    Error::invalid("database-url", detail)
}
