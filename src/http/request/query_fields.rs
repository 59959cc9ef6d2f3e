//! Parses queries: as typed parameters, or as fields, for routes whose body is raw bytes. There each name occurs once, except those
//! that make a list.

use axum::extract::Query;
use axum::http::Uri;
use serde::de::DeserializeOwned;

use super::problem::{Code, Problem};
use crate::domain::store::item::{Address, Key};
use crate::domain::store::namespace::Namespace;
use crate::domain::{Error, Result};

/// Parameters of a query string.
///
/// # Errors
/// 422 naming the parameter.
pub fn query_of<T: DeserializeOwned>(uri: &Uri) -> Result<T, Problem> {
    let Query(params) = Query::<T>::try_from_uri(uri).map_err(|rejection| {
        let text = rejection.body_text();
        let reason = text.rsplit_once("query string: ").map_or(text.as_str(), |(_, it)| it);
        let mut about = ["missing field `", "duplicate field `"].iter();
        let missing = about.find_map(|it| reason.strip_prefix(it)?.strip_suffix('`'));
        let named = reason.split(": ").next().filter(|it| !it.contains(' '));
        let field = missing.or(named).unwrap_or("query");
        Problem::new(Code::Invalid, reason.to_owned()).at(field)
    })?;
    Ok(params)
}

/// Names and values, decoded, in their order.
#[derive(Debug, Default)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    /// With names that nobody knows, which are passed over.
    ///
    /// # Errors
    /// 400 for what is no query.
    pub fn with_unknown(uri: &Uri) -> Result<Self, Problem> {
        let read = Query::<Vec<(String, String)>>::try_from_uri(uri);
        let refuse = |_| Problem::new(Code::MalformedBody, "the query cannot be read").at("query");
        read.map(|Query(fields)| Self(fields)).map_err(refuse)
    }

    /// # Errors
    /// 400 for what is no query, 422 for names that are not `known`.
    pub fn of(uri: &Uri, known: &[&str]) -> Result<Self, Problem> {
        let Self(fields) = Self::with_unknown(uri)?;
        match fields.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => {
                let name: String = name.chars().take(64).collect();
                Err(Error::invalid(name.as_str(), format!("{name:?} is not a field of this query"))
                    .into())
            }
            None => Ok(Self(fields)),
        }
    }

    /// # Errors
    /// 422 for a name that comes twice.
    pub fn one(&self, name: &str) -> Result<Option<&str>> {
        let mut found = self.all(name);
        let first = found.next();
        if found.next().is_some() {
            return Err(Error::invalid(name, format!("{name} must be given once")));
        }
        Ok(first)
    }

    /// # Errors
    /// 422 when it is absent or comes twice.
    pub fn required(&self, name: &str) -> Result<&str> {
        self.one(name)?.ok_or_else(|| Error::invalid(name, format!("{name} must be given")))
    }

    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |it| it.0 == name).map(|it| it.1.as_str())
    }

    /// # Errors
    /// 422 for what is no number.
    pub fn number(&self, name: &str) -> Result<Option<u64>> {
        let refuse = |_| Error::invalid(name, format!("{name} must be a whole number"));
        self.one(name)?.map(|it| it.parse().map_err(refuse)).transpose()
    }

    /// # Errors
    /// 422 for anything but `true` and `false`.
    pub fn flag(&self, name: &str) -> Result<bool> {
        match self.one(name)? {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(Error::invalid(name, format!("{name} must be true or false"))),
        }
    }

    /// `ns=a&ns=b&path=…`: any key of exactly this namespace.
    ///
    /// # Errors
    /// 422 naming the field.
    pub fn address(&self) -> Result<Address> {
        let labels: Vec<String> = self.all("ns").map(str::to_owned).collect();
        Ok(Address {
            namespace: Namespace::of_put(labels)?,
            key: Key::of_text(self.required("path")?)?,
        })
    }

    /// # Errors
    /// 422 for what is no version.
    pub fn if_version(&self) -> Result<Option<i64>> {
        let wanted = self.number("if_version")?;
        let refuse = |_| Error::invalid("if_version", "if_version is not a version");
        wanted.map(|it| i64::try_from(it).map_err(refuse)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(query: &str) -> Result<Fields, Problem> {
        Fields::of(&format!("/x?{query}").parse().unwrap(), &["ns", "path", "n", "deep"])
    }

    #[test]
    fn fields_are_decoded_once_and_names_come_once() {
        let read = fields("ns=a&ns=b%2Fc&path=%2Fx%252e%20y&n=7&deep=true").unwrap();
        let address = read.address().unwrap();
        assert_eq!(address.namespace.labels(), ["a", "b/c"]);
        assert_eq!(address.key.text(), Some("/x%2e y"));
        assert_eq!(read.number("n").unwrap(), Some(7));
        assert!(read.flag("deep").unwrap());
        assert!(fields("path=a&path=b").unwrap().required("path").is_err());
        assert!(fields("other=1").is_err());
        assert!(fields("n=x&deep=1").unwrap().number("n").is_err());
        assert!(fields("deep=1").unwrap().flag("deep").is_err());
        assert!(fields("path=/x").unwrap().address().is_err());
    }
}
