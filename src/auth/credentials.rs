//! Holds the credentials of all tenants in memory. Every poll builds a new set, which is then only read.

use std::collections::{HashMap, HashSet};

use ring::hmac;
use subtle::ConstantTimeEq as _;

use super::signed_url::{self, SignedUrl};
use super::token_text;
use crate::domain::clock::Micros;
use crate::domain::tokens::credential::{Credentials, SigningSecret};
use crate::domain::tokens::key::Key;
use crate::domain::tokens::token::{Token, TokenId};

#[derive(Default)]
pub struct CredentialSet {
    /// By the first bytes of their hash. The full hash is compared in constant time.
    keys: HashMap<[u8; 8], Vec<Key>>,
    had_keys: bool,
    /// By tenant and id: when the key ends.
    key_ids: HashMap<String, HashMap<String, Option<Micros>>>,
    /// By kid.
    secrets: HashMap<String, (SigningSecret, hmac::Key)>,
    /// By tenant: the kid of its newest secret.
    newest: HashMap<String, String>,
    /// By tenant.
    revoked: HashMap<String, HashSet<TokenId>>,
}

impl CredentialSet {
    pub fn new(all: Credentials) -> Self {
        let had_keys = all.had_keys || !all.keys.is_empty();
        let mut set = Self { had_keys, ..Self::default() };
        for key in all.keys.into_iter().filter(|key| key.revoked_at.is_none()) {
            let of_tenant = set.key_ids.entry(key.tenant.clone()).or_default();
            of_tenant.insert(key.key_id.clone(), key.expires_at);
            set.keys.entry(prefix(&key.hash)).or_default().push(key);
        }
        let mut secrets = all.signing_secrets;
        secrets.sort_by(|a, b| (a.created_at, &b.kid).cmp(&(b.created_at, &a.kid)));
        for secret in secrets {
            set.newest.insert(secret.tenant.clone(), secret.kid.clone());
            let mac_key = token_text::mac_key(&secret);
            set.secrets.insert(secret.kid.clone(), (secret, mac_key));
        }
        for revocation in all.revocations {
            set.revoked.entry(revocation.tenant).or_default().insert(revocation.token_id);
        }
        set
    }

    /// Whether there is a key that was not revoked, expired or not.
    pub fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Whether there is one that has not expired, either.
    pub fn has_living_key(&self, now: Micros) -> bool {
        self.key_ids.values().flat_map(HashMap::values).any(|it| lives(*it, now))
    }

    /// Whether there is a key or was one, revoked since.
    pub fn had_keys(&self) -> bool {
        self.had_keys
    }

    pub fn key(&self, hash: &[u8; 32]) -> Option<&Key> {
        self.keys.get(&prefix(hash))?.iter().find(|key| bool::from(key.hash.ct_eq(hash)))
    }

    pub fn has_key_id(&self, tenant: &str, key_id: &str, now: Micros) -> bool {
        let end = self.key_ids.get(tenant).and_then(|ids| ids.get(key_id));
        end.is_some_and(|it| lives(*it, now))
    }

    pub fn has_secret(&self, kid: &str) -> bool {
        self.secrets.contains_key(kid)
    }

    /// What a tenant signs with now, if it was made after that.
    pub fn signing_secret(&self, tenant: &str, made_after: Micros) -> Option<&SigningSecret> {
        let (secret, _) = self.secrets.get(self.newest.get(tenant)?)?;
        (secret.created_at > made_after).then_some(secret)
    }

    /// What a text says, if it is a token that one of the secrets signed, whatever became of it since.
    pub fn open(&self, text: &str) -> Option<Token> {
        let (secret, mac_key) = self.secrets.get(token_text::kid(text)?)?;
        token_text::open(text, mac_key, &secret.tenant)
    }

    /// What a text says, if it is an address that one of the secrets signed, whatever became of it since.
    pub fn open_url(&self, text: &str) -> Option<SignedUrl> {
        let (secret, mac_key) = self.secrets.get(signed_url::kid(text)?)?;
        signed_url::open(text, mac_key, &secret.tenant)
    }

    /// Whether it, or a token that it was narrowed from, was revoked.
    pub fn is_revoked(&self, token: &Token) -> bool {
        self.has_revoked(&token.tenant, token.chain())
    }

    /// Whether one of these tokens of a tenant was revoked.
    pub fn has_revoked<'a>(
        &self,
        tenant: &str,
        mut chain: impl Iterator<Item = &'a TokenId>,
    ) -> bool {
        let revoked = self.revoked.get(tenant);
        revoked.is_some_and(|ids| chain.any(|id| ids.contains(id)))
    }
}

/// Whether what ends then has not ended.
pub(super) fn lives(expires_at: Option<Micros>, now: Micros) -> bool {
    expires_at.is_none_or(|it| now < it)
}

fn prefix(hash: &[u8; 32]) -> [u8; 8] {
    let mut prefix = [0; 8];
    prefix.copy_from_slice(&hash[..8]);
    prefix
}
