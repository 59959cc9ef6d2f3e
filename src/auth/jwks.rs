//! Fetches the keys that an issuer publishes at a URL when they are needed, keeps them, and rereads them from time to time.

use std::sync::{Arc, RwLock};
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use tokio::sync::Mutex;

use super::Refusal;
use super::authenticator::UNKNOWN;
use super::jwt::{Algorithm, Jwt, KeySet};
use crate::domain::clock::Micros;

/// An unknown key is asked for at most once in this time, whatever arrives.
const FETCH_EVERY: Micros = 60 * 1_000_000;
/// Keys that the issuer has withdrawn are refused after this time, as soon as it can be asked.
const LOOK_AGAIN_AFTER: Micros = 600 * 1_000_000;
const FETCH_WITHIN: Duration = Duration::from_secs(5);
const BYTES_MAX: usize = 1 << 20;

pub struct Jwks {
    url: Url,
    client: Client,
    algorithm: Algorithm,
    known: RwLock<Known>,
    /// Held by the one request that fetches.
    fetching: Mutex<()>,
}

#[derive(Clone, Default)]
struct Known {
    keys: Arc<KeySet>,
    read_at: Option<Micros>,
    tried_at: Option<Micros>,
}

impl Jwks {
    /// # Errors
    /// What is wrong with the URL.
    pub fn new(url: &str, algorithm: Algorithm) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        let local = matches!(url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"));
        if url.scheme() != "https" && !(url.scheme() == "http" && local) {
            return Err("must be https:// (http:// is for 127.0.0.1, [::1] and localhost)".into());
        }
        // A second installation changes nothing; the first one is this one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder().redirect(Policy::none()).timeout(FETCH_WITHIN);
        let builder = if local { builder.no_proxy() } else { builder };
        let client = builder.build().map_err(|error| error.to_string())?;
        let (known, fetching) = (RwLock::default(), Mutex::default());
        Ok(Self { url, client, algorithm, known, fetching })
    }

    /// Checks a signature with the key that the token names.
    ///
    /// # Errors
    /// 401 where no key of the issuer made it; 503 where that cannot be told, because the issuer does not answer.
    pub async fn verify(&self, jwt: &Jwt<'_>, now: Micros) -> Result<(), Refusal> {
        let mut known = self.known();
        let old = known.read_at.is_none_or(|at| now - at >= LOOK_AGAIN_AFTER);
        if known.keys.find(jwt.kid()).is_some() {
            // One request asks; the others, and this one if nobody answers, go on with what is known.
            if let Some(_turn) = old.then(|| self.fetching.try_lock().ok()).flatten() {
                self.fetch(now).await;
                known = self.known();
            }
        } else {
            let _turn = self.fetching.lock().await;
            self.fetch(now).await;
            known = self.known();
        }
        match known.keys.find(jwt.kid()) {
            Some(key) if jwt.is_signed_with(key) => Ok(()),
            Some(_) => Err(UNKNOWN),
            // Known to be missing only if the last attempt was answered.
            None if known.read_at.is_some() && known.read_at == known.tried_at => Err(UNKNOWN),
            None => Err(Refusal::IssuerAway),
        }
    }

    /// Reads the keys, unless that was tried lately. Only for the holder of the turn.
    async fn fetch(&self, now: Micros) {
        if self.known().tried_at.is_some_and(|at| now - at < FETCH_EVERY) {
            return;
        }
        let fetched = self.read().await;
        let mut known = self.known.write().expect("no code panics while it holds the keys");
        known.tried_at = Some(now);
        match fetched {
            Ok(keys) => {
                known.keys = Arc::new(keys);
                known.read_at = Some(now);
            }
            Err(error) => tracing::warn!(host = self.url.host_str(), error, "no keys of an issuer"),
        }
    }

    async fn read(&self) -> Result<KeySet, String> {
        let failed = |error: reqwest::Error| error.without_url().to_string();
        let mut response = self.client.get(self.url.clone()).send().await.map_err(failed)?;
        if response.status() != 200 {
            return Err(format!("status {}", response.status()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            body.extend_from_slice(&chunk);
            if body.len() > BYTES_MAX {
                return Err(format!("more than {BYTES_MAX} bytes"));
            }
        }
        let none = || format!("no JWK set with a key for {}", self.algorithm.name());
        KeySet::of_jwks(&body, self.algorithm).ok_or_else(none)
    }

    fn known(&self) -> Known {
        self.known.read().expect("no code panics while it holds the keys").clone()
    }
}
