//! Checks tokens of other issuers: which issuers are trusted, for which tenant, and what their tokens say. A token finds its issuer by
//! (iss, aud). The configuration decides everything else.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::Refusal;
use super::authenticator::UNKNOWN;
use super::jwks::Jwks;
use super::jwt::{Algorithm, Jwt, KeySet};
use crate::domain::caller::{check_subject, check_tenant};
use crate::domain::clock::Micros;
use crate::domain::{Error, Result};

/// Clocks of issuers may be ahead of ours by this much. Nothing is valid for longer than it says.
const NOT_BEFORE_LEEWAY: Micros = 30 * 1_000_000;
/// As long as what HMAC-SHA256 makes: a shorter secret is the weakest part.
const SECRET_BYTES_MIN: usize = 32;

/// All that are configured.
#[derive(Default)]
pub struct Issuers(Vec<Issuer>);

struct Issuer {
    name: String,
    tenant: String,
    iss: String,
    aud: String,
    algorithm: Algorithm,
    keys: Keys,
    subject_claim: String,
}

enum Keys {
    Fixed(KeySet),
    Fetched(Box<Jwks>),
}

/// What a token of an issuer says.
#[derive(Debug, PartialEq, Eq)]
pub struct External {
    pub tenant: String,
    pub subject: String,
    /// Name of the issuer in the configuration.
    pub issuer: String,
    pub expires_at: Micros,
}

/// The configuration file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    issuers: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    tenant: String,
    issuer: String,
    audience: String,
    algorithm: Algorithm,
    subject_claim: Option<String>,
    secret_env: Option<String>,
    secret_file: Option<PathBuf>,
    jwks_url: Option<String>,
    jwks: Option<Value>,
}

impl Issuers {
    /// Reads a configuration. `variable` looks up the environment.
    ///
    /// # Errors
    /// 422 naming the field.
    pub fn parse(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let mut json = serde_json::Deserializer::from_str(text);
        let file: File = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let path = error.path().to_string();
            invalid(&path, &error.inner().to_string())
        })?;
        json.end().map_err(|error| invalid("issuers", &error.to_string()))?;
        let mut all = Vec::<Issuer>::new();
        for (at, entry) in file.issuers.into_iter().enumerate() {
            let field = |name: &str| format!("issuers[{at}].{name}");
            if all.iter().any(|it| it.name == entry.name) {
                return Err(invalid(&field("name"), "another issuer has it"));
            }
            let twin = |it: &Issuer| (&it.iss, &it.aud) == (&entry.issuer, &entry.audience);
            if all.iter().any(twin) {
                let detail = "another issuer has the same `issuer` and `audience`";
                return Err(invalid(&field("audience"), detail));
            }
            all.push(entry.read(&field, variable)?);
        }
        Ok(Self(all))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an issuer of this name speaks for this tenant.
    pub fn has(&self, name: &str, tenant: &str) -> bool {
        self.0.iter().any(|it| it.name == name && it.tenant == tenant)
    }

    /// Whom a token speaks for.
    ///
    /// # Errors
    /// 401 for everything that no configured issuer made for us, and for what has expired; 503 where the issuer's keys
    /// cannot be had.
    pub async fn identify(&self, text: &str, now: Micros) -> Result<External, Refusal> {
        if self.is_empty() {
            return Err(UNKNOWN);
        }
        let jwt = Jwt::parse(text).ok_or(UNKNOWN)?;
        let made_by = jwt.text("iss").ok_or(UNKNOWN)?;
        let mut fitting = self.0.iter().filter(|it| it.iss == made_by && jwt.is_for(&it.aud));
        // One that is for two of us could be taken for either.
        let (Some(issuer), None) = (fitting.next(), fitting.next()) else {
            return Err(UNKNOWN);
        };
        if !jwt.claims_algorithm(issuer.algorithm) {
            return Err(UNKNOWN);
        }
        match &issuer.keys {
            Keys::Fixed(keys) => {
                let key = keys.find(jwt.kid()).ok_or(UNKNOWN)?;
                jwt.is_signed_with(key).then_some(()).ok_or(UNKNOWN)?;
            }
            Keys::Fetched(jwks) => jwks.verify(&jwt, now).await?,
        }
        issuer.read(&jwt, now)
    }
}

impl Issuer {
    /// The claims of a token whose signature is right.
    fn read(&self, jwt: &Jwt<'_>, now: Micros) -> Result<External, Refusal> {
        let without_end = Refusal::Unauthorized("the token does not say in `exp` when it expires");
        let expires_at = jwt.time("exp")?.ok_or(without_end)?;
        if now >= expires_at {
            return Err(Refusal::TokenExpired { at: expires_at });
        }
        let begins = jwt.time("nbf")?;
        if begins.is_some_and(|at| at > now.saturating_add(NOT_BEFORE_LEEWAY)) {
            return Err(Refusal::Unauthorized("the token is not valid yet"));
        }
        let subject = jwt.text(&self.subject_claim);
        let subject = subject.filter(|it| check_subject("sub", Some(it)).is_ok());
        let nobody = Refusal::Unauthorized("the token does not name a subject that can be used");
        let subject = subject.ok_or(nobody)?.to_owned();
        let (tenant, issuer) = (self.tenant.clone(), self.name.clone());
        Ok(External { tenant, subject, issuer, expires_at })
    }
}

impl Entry {
    fn read(
        self,
        field: &dyn Fn(&str) -> String,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Issuer> {
        check_tenant(&self.name).map_err(|_| {
            invalid(&field("name"), "must be 1 to 63 characters of a-z, 0-9, _ and -")
        })?;
        check_tenant(&self.tenant)
            .map_err(|error| invalid(&field("tenant"), &error.to_string()))?;
        let subject_claim = self.subject_claim.clone().unwrap_or_else(|| "sub".into());
        let texts = [
            ("issuer", &self.issuer),
            ("audience", &self.audience),
            ("subject_claim", &subject_claim),
        ];
        if let Some((name, _)) = texts.iter().find(|(_, text)| text.is_empty()) {
            return Err(invalid(&field(name), "must not be empty"));
        }
        let keys = self.keys(field, variable)?;
        let Self { name, tenant, issuer, audience, algorithm, .. } = self;
        let (iss, aud) = (issuer, audience);
        Ok(Issuer { name, tenant, iss, aud, algorithm, keys, subject_claim })
    }

    /// From the one place that the entry names.
    fn keys(
        &self,
        field: &dyn Fn(&str) -> String,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Keys> {
        let shared = self.algorithm == Algorithm::Hs256;
        match (&self.secret_env, &self.secret_file, &self.jwks_url, &self.jwks) {
            (Some(name), None, None, None) if shared => {
                let missing =
                    || invalid(&field("secret_env"), "the environment has no such variable");
                secret(&field("secret_env"), variable(name).ok_or_else(missing)?.as_bytes())
            }
            (None, Some(path), None, None) if shared => {
                let field = field("secret_file");
                let read = std::fs::read(path);
                let read =
                    read.map_err(|it| invalid(&field, &format!("{}: {it}", path.display())))?;
                secret(&field, read.trim_ascii_end())
            }
            (None, None, Some(url), None) if !shared => Jwks::new(url, self.algorithm)
                .map(|it| Keys::Fetched(Box::new(it)))
                .map_err(|error| invalid(&field("jwks_url"), &error)),
            (None, None, None, Some(jwks)) if !shared => {
                let name = self.algorithm.name();
                let none = || invalid(&field("jwks"), &format!("has no key for {name}"));
                KeySet::of_jwks(jwks.to_string().as_bytes(), self.algorithm)
                    .map(Keys::Fixed)
                    .ok_or_else(none)
            }
            _ => Err(invalid(
                &field("algorithm"),
                "HS256 needs one of secret_env and secret_file, the others need one of jwks_url and jwks",
            )),
        }
    }
}

fn secret(field: &str, secret: &[u8]) -> Result<Keys> {
    if secret.len() < SECRET_BYTES_MIN {
        return Err(invalid(
            field,
            &format!("the secret must have {SECRET_BYTES_MIN} bytes or more"),
        ));
    }
    Ok(Keys::Fixed(KeySet::of_secret(secret)))
}

fn invalid(field: &str, detail: &str) -> Error {
    Error::invalid(field, format!("--issuers: {field}: {detail}"))
}

#[cfg(test)]
mod tests;
