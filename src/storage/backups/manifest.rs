//! Defines the manifest of a backup: a small JSON object beside it that is written last. A backup without one is not whole.

use serde::{Deserialize, Serialize};

use super::place::Place;
use crate::domain::clock::Micros;
use crate::domain::error::Obstacle;
use crate::domain::time::{parse_rfc3339, rfc3339};
use crate::domain::{Error, Result};

/// The form of manifests that this program writes and reads.
const FORMAT: u32 = 1;
const BACKUP_END: &str = ".backup";
const MANIFEST_END: &str = ".json";

/// What a backup is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    /// Without a folder, and without what its files end with.
    pub name: String,
    /// `sqlite`: the database file. `postgres`: an archive of `pg_dump`.
    pub engine: String,
    /// Version of the program that made it.
    pub version: String,
    /// RFC 3339. The backup has everything that was acknowledged before.
    pub began_at: String,
    pub ended_at: String,
    pub bytes: u64,
    /// Of its bytes, in hexadecimal digits.
    pub sha256: String,
}

impl Manifest {
    /// What a backup that begins now is called: names are in the order of time.
    pub fn name_of(began_at: Micros) -> String {
        let digits = rfc3339(began_at).replace(['-', ':'], "");
        format!("threadkeep-{digits}")
    }

    /// The object with the database.
    pub fn content(name: &str) -> String {
        format!("{name}{BACKUP_END}")
    }

    pub fn new(name: String, engine: &str, (began_at, ended_at): (Micros, Micros)) -> Self {
        Self {
            format: FORMAT,
            name,
            engine: engine.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            began_at: rfc3339(began_at),
            ended_at: rfc3339(ended_at),
            bytes: 0,
            sha256: String::new(),
        }
    }

    /// # Errors
    /// `Integrity` for a time that no manifest has.
    pub fn began(&self) -> Result<Micros> {
        parse_rfc3339("began_at", &self.began_at).map_err(|error| damaged(&self.name, &error))
    }

    /// # Errors
    /// `Unavailable` of the place.
    pub async fn write(&self, place: &Place) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).expect("plain records always serialize");
        place.put(&format!("{}{MANIFEST_END}", self.name), text).await
    }

    /// The manifest of a backup of this name.
    ///
    /// # Errors
    /// `Obstacle` where there is none, `Integrity` for one that cannot be read, `Unavailable` of the place.
    pub async fn read(place: &Place, name: &str) -> Result<Self> {
        let Some(text) = place.get(&format!("{name}{MANIFEST_END}")).await? else {
            let detail = format!(
                "there is no backup {name} with a manifest: it is missing, or was never finished"
            );
            return Err(Error::Obstacle { kind: Obstacle::FileMissing, detail });
        };
        let manifest: Self =
            serde_json::from_slice(&text).map_err(|error| damaged(name, &error))?;
        if manifest.format != FORMAT {
            let detail = format!(
                "the backup {name} has the form {}, and this threadkeep knows {FORMAT}: run a newer one",
                manifest.format
            );
            return Err(Error::invalid("from", detail));
        }
        Ok(manifest)
    }

    /// Names of all backups that are whole, the oldest first.
    ///
    /// # Errors
    /// `Unavailable` of the place.
    pub async fn list(place: &Place) -> Result<Vec<String>> {
        let names = place.list("").await?;
        let of_backup = |it: &String| {
            let name = it.strip_suffix(MANIFEST_END)?;
            name.starts_with("threadkeep-").then(|| name.to_owned())
        };
        Ok(names.iter().filter_map(of_backup).collect())
    }

    /// Removes the backup; its manifest goes first, so that what is left of it is taken for no backup.
    ///
    /// # Errors
    /// `Unavailable` of the place.
    pub async fn remove(place: &Place, name: &str) -> Result<()> {
        place.remove(&format!("{name}{MANIFEST_END}")).await?;
        place.remove(&Self::content(name)).await
    }
}

fn damaged(name: &str, error: &dyn std::fmt::Display) -> Error {
    Error::Integrity(format!("the manifest of the backup {name}: {error}"))
}
