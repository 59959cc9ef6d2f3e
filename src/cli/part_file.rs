//! Writes a file under another name, `….part`, which takes its own name once it is whole. What is not finished is removed: it may have filled
//! the disk.

use std::fs::{File, OpenOptions, remove_file, rename};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::io;
use crate::domain::Result;

/// A file that this user alone can read.
pub(super) struct PartFile {
    pub file: File,
    part: PathBuf,
    path: PathBuf,
    is_whole: bool,
}

impl PartFile {
    /// `what`: how an error names the file.
    ///
    /// # Errors
    /// Where the part cannot be made, or a former one cannot be removed.
    pub fn begin(path: &Path, what: &str) -> Result<Self> {
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        // A part that was left may be readable for others: never written into.
        if part.exists() {
            remove_file(&part).map_err(|error| io(&format!("{what} cannot be removed"), &error))?;
        }
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
        let file = made.map_err(|error| io(&format!("{what} cannot be made"), &error))?;
        Ok(Self { file, part, path: path.to_owned(), is_whole: false })
    }

    /// # Errors
    /// Where it cannot be written to the disk or named.
    pub fn finish(mut self) -> std::io::Result<()> {
        self.file.sync_all()?;
        rename(&self.part, &self.path)?;
        self.is_whole = true;
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.is_whole {
            let _ = remove_file(&self.part);
        }
    }
}
