//! Parses the source of an import: the URL of `--from`. Its credentials are never shown.

use std::fmt;
use std::path::PathBuf;

use crate::domain::{Error, Result};

/// The name of the setting, in refusals.
pub(super) const FIELD: &str = "from";

/// A place that can be read.
#[derive(Clone, PartialEq, Eq)]
pub enum Source {
    /// `postgres://…`
    Postgres(String),
    /// `sqlite:PATH`
    Sqlite(PathBuf),
    /// `dir:PATH`, or a path alone.
    Folder(PathBuf),
    /// `s3://BUCKET/PREFIX`
    Bucket(String),
}

impl Source {
    /// # Errors
    /// 422 for a scheme that nothing is read from.
    pub fn parse(text: &str) -> Result<Self> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        if text.starts_with("s3://") {
            return Ok(Self::Bucket(text.to_owned()));
        }
        let path = match text.split_once(':') {
            Some(("sqlite", path)) => {
                let path = path.strip_prefix("//").unwrap_or(path);
                return named(path).map(Self::Sqlite);
            }
            Some(("dir", path)) => path,
            Some((scheme, rest)) if rest.starts_with("//") => {
                return Err(Error::invalid(
                    FIELD,
                    format!("--from cannot read {scheme}://; {KNOWN}"),
                ));
            }
            _ => text,
        };
        named(path).map(Self::Folder)
    }
}

const KNOWN: &str = "it takes postgres://…, sqlite:PATH, dir:PATH and s3://BUCKET/PREFIX";

fn named(path: &str) -> Result<PathBuf> {
    if path.is_empty() {
        return Err(Error::invalid(FIELD, format!("--from names nothing; {KNOWN}")));
    }
    Ok(path.into())
}

/// Without user, password and options.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Postgres(url) => {
                let rest = url.split_once("://").map_or("", |(_, rest)| rest);
                let head = rest.split(['?', '#']).next().unwrap_or_default();
                let place = match head.rsplit_once('@') {
                    Some((_, place)) => place,
                    // A password with such a sign in it, perhaps.
                    None if rest.contains('@') => "…",
                    None => head,
                };
                write!(f, "postgres://{place}")
            }
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Folder(path) => write!(f, "dir:{}", path.display()),
            Self::Bucket(url) => f.write_str(url.split(['?', '#']).next().unwrap_or_default()),
        }
    }
}

/// As it is displayed: a derived one would show passwords.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_place_is_told_by_its_scheme() {
        let parsed = |text: &str| Source::parse(text).map(|it| it.to_string()).ok();
        assert_eq!(parsed("sqlite:a.db").as_deref(), Some("sqlite:a.db"));
        assert_eq!(parsed("sqlite:///a.db").as_deref(), Some("sqlite:/a.db"));
        assert_eq!(parsed("dir:/a b").as_deref(), Some("dir:/a b"));
        assert_eq!(parsed("./x").as_deref(), Some("dir:./x"));
        assert_eq!(parsed("s3://b/p").as_deref(), Some("s3://b/p"));
        assert_eq!(parsed("mysql://x"), None);
        assert_eq!(parsed("sqlite:"), None);
    }

    #[test]
    fn credentials_are_not_shown() {
        let url = "postgresql://ann:p%40ss@w@db:5432/agents?password=secret&sslmode=require";
        let place = Source::parse(url).unwrap();
        assert_eq!(place.to_string(), "postgres://db:5432/agents");
        assert_eq!(format!("{place:?}"), "postgres://db:5432/agents");
        let place = Source::parse("postgres://ann:pa?ss@db/agents").unwrap();
        assert_eq!(place.to_string(), "postgres://…");
    }
}
