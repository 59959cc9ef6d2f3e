//! Reads one member of an archive from its header and the extensions before it, and checks whether it is allowed.

use tar::{EntryType, Header, PaxExtensions};

use super::{TarError, TarLimits};

/// What was said of the next member before its own header.
#[derive(Default)]
pub struct Extensions {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<Vec<u8>>,
    is_sparse: bool,
}

/// What a member is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    /// It leads to this, as seen from its folder.
    Symlink(String),
    /// It is the same file as this member of the archive.
    HardLink(String),
}

pub struct Member {
    pub path: String,
    pub size_bytes: u64,
    extensions: Extensions,
}

impl Extensions {
    pub fn is_empty(&self) -> bool {
        self.path.is_none() && self.link.is_none() && self.size.is_none() && !self.is_sparse
    }

    /// Whether a member of this kind says something of the next one.
    pub fn are_in(kind: EntryType) -> bool {
        kind.is_gnu_longname() || kind.is_gnu_longlink() || kind.is_pax_local_extensions()
    }

    /// # Errors
    /// `Damaged`.
    pub fn add(&mut self, kind: EntryType, body: &[u8]) -> Result<(), TarError> {
        if kind.is_gnu_longname() || kind.is_gnu_longlink() {
            let end = body.iter().position(|it| *it == 0).unwrap_or(body.len());
            let text = Some(body[..end].to_vec());
            if kind.is_gnu_longname() {
                self.path = text;
            } else {
                self.link = text;
            }
            return Ok(());
        }
        for extension in PaxExtensions::new(body) {
            let extension = extension.map_err(|_| TarError::Damaged)?;
            match extension.key_bytes() {
                b"path" => self.path = Some(extension.value_bytes().to_vec()),
                b"linkpath" => self.link = Some(extension.value_bytes().to_vec()),
                b"size" => self.size = Some(extension.value_bytes().to_vec()),
                key if key.starts_with(b"GNU.sparse") => self.is_sparse = true,
                _ => {}
            }
        }
        Ok(())
    }
}

/// What holds for all members behind it may say nothing of where they are and how long.
///
/// # Errors
/// `Damaged`, `Member`.
pub fn check_global(body: &[u8]) -> Result<(), TarError> {
    let mut said = Extensions::default();
    said.add(EntryType::XHeader, body)?;
    let reason = "says of all others what only each can say of itself";
    let refused = TarError::Member { member: "pax_global_header".into(), reason };
    if said.is_empty() { Ok(()) } else { Err(refused) }
}

impl Member {
    /// # Errors
    /// `Member` for a size or a name that is none.
    pub fn of(header: &Header, extensions: Extensions) -> Result<Self, TarError> {
        let path = extensions.path.clone().unwrap_or_else(|| header.path_bytes().into_owned());
        let shown = String::from_utf8_lossy(&path).into_owned();
        let damaged = |_| TarError::Member { member: shown.clone(), reason: "has no size" };
        let size_bytes = header.entry_size().map_err(damaged)?;
        let path = String::from_utf8(path).map_err(|_| TarError::Member {
            member: shown.clone(),
            reason: "has a name that is not UTF-8",
        })?;
        Ok(Self { path, size_bytes, extensions })
    }

    /// What it is, where links may be.
    ///
    /// # Errors
    /// `Member`, with the reason.
    pub fn kind(&self, header: &Header, limits: TarLimits) -> Result<Kind, TarError> {
        let kind = header.entry_type();
        let refuse = |reason| Err(self.refusal(reason));
        let sparse = kind.is_gnu_sparse() || self.extensions.is_sparse;
        let is_link = kind.is_symlink() || kind.is_hard_link();
        match kind {
            _ if sparse => return refuse("is a sparse file"),
            EntryType::Char | EntryType::Block => return refuse("is a device"),
            EntryType::Fifo => return refuse("is a pipe"),
            EntryType::Regular | EntryType::Directory | EntryType::Symlink | EntryType::Link => {}
            _ => return refuse("is of a kind that is neither a file nor a folder"),
        }
        let size = self.extensions.size.as_deref();
        if (self.extensions.link.is_some() && !is_link)
            || size.is_some_and(|it| it != self.size_bytes.to_string().as_bytes())
        {
            // Two readers would see two archives.
            return refuse("has extensions that contradict its header");
        }
        let is_folder = kind.is_dir() || self.path.ends_with('/');
        if self.size_bytes > 0 && is_folder {
            return refuse("is a folder with content");
        }
        if self.size_bytes > 0 && is_link {
            return refuse("is a link with content");
        }
        self.check_path(is_folder && !is_link, limits)?;
        if !is_link {
            return Ok(if is_folder { Kind::Folder } else { Kind::File });
        }
        let target = self.extensions.link.clone();
        let target = target.or_else(|| header.link_name_bytes().map(std::borrow::Cow::into_owned));
        let target = String::from_utf8(target.unwrap_or_default())
            .map_err(|_| self.refusal("leads to a name that is not UTF-8"))?;
        Ok(if kind.is_symlink() { Kind::Symlink(target) } else { Kind::HardLink(target) })
    }

    /// Whether it is a file, where links may not be; a folder has nothing to read.
    ///
    /// # Errors
    /// `Member`, with the reason.
    pub fn is_file(&self, header: &Header, limits: TarLimits) -> Result<bool, TarError> {
        match self.kind(header, limits)? {
            Kind::File => Ok(true),
            Kind::Folder => Ok(false),
            Kind::Symlink(_) => Err(self.refusal("is a symbolic link")),
            Kind::HardLink(_) => Err(self.refusal("is a hard link")),
        }
    }

    fn check_path(&self, is_folder: bool, limits: TarLimits) -> Result<(), TarError> {
        let path = self.path.as_str();
        let refuse = |reason| Err(self.refusal(reason));
        if path.len() > limits.path_bytes_max {
            let limit = limits.path_bytes_max as u64;
            return Err(TarError::PathTooLong { member: self.shown(), limit });
        }
        if is_absolute(path) {
            return refuse("has an absolute path");
        }
        if path.split(['/', '\\']).any(|it| it == "..") {
            return refuse("has .. in its path");
        }
        if path.contains(['\0', '\\']) || path.chars().any(char::is_control) {
            return refuse("has a path with a backslash or a control character");
        }
        if !is_folder && names(path).next().is_none() {
            return refuse("has no name");
        }
        Ok(())
    }

    pub fn refusal(&self, reason: &'static str) -> TarError {
        TarError::Member { member: self.shown(), reason }
    }

    /// The beginning of its path.
    fn shown(&self) -> String {
        self.path.chars().take(200).collect()
    }
}

/// Also as other systems write it.
pub fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\']) || path.get(1..3).is_some_and(|it| it == ":\\" || it == ":/")
}

/// The names that a path is made of.
pub fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|it| !it.is_empty() && *it != ".")
}
