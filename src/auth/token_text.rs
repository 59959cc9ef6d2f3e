//! Encodes and checks the text of a token: `tks_<kid>.<claims>.<mac>`. The claims are MessagePack. The MAC is HMAC-SHA256 over everything
//! before it. Both are base64url.
//!
//! **Invariant:** before its MAC was checked, in constant time, only the id of the secret is parsed from a token.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteArray;

use crate::domain::limits::LIMITS;
use crate::domain::tokens::credential::SigningSecret;
use crate::domain::tokens::grants::{Actions, Grant, NamespaceGrant, Scoped, Selector};
use crate::domain::tokens::token::{Token, TokenId};
use crate::domain::{Error, Result};

pub const PREFIX: &str = "tks_";

/// The text of a token, signed.
///
/// # Errors
/// `TooLarge` when it says too much.
pub fn seal(token: &Token, secret: &SigningSecret) -> Result<String> {
    let claims = rmp_serde::to_vec_named(&Claims::of(token));
    let claims = claims.map_err(|error| Error::Internal(error.to_string()))?;
    let mut text = format!("{PREFIX}{}.{}", secret.kid, URL_SAFE_NO_PAD.encode(claims));
    let mac = hmac::sign(&mac_key(secret), text.as_bytes());
    text.push('.');
    text.push_str(&URL_SAFE_NO_PAD.encode(mac));
    let limit = LIMITS.token_bytes_max;
    if text.len() as u64 > limit {
        return Err(Error::TooLarge { field: "grants".into(), limit });
    }
    Ok(text)
}

/// The id of the secret that a text says it was signed with. None: this is no token.
pub fn kid(text: &str) -> Option<&str> {
    let (kid, _) = text.strip_prefix(PREFIX)?.split_once('.')?;
    let possible = text.len() as u64 <= LIMITS.token_bytes_max && kid.len() == 16;
    possible.then_some(kid)
}

/// What the text says, if this secret of this tenant signed it.
pub fn open(text: &str, secret: &hmac::Key, tenant: &str) -> Option<Token> {
    let (signed, mac) = text.rsplit_once('.')?;
    let mac = URL_SAFE_NO_PAD.decode(mac).ok()?;
    hmac::verify(secret, signed.as_bytes(), &mac).ok()?;
    let (_, claims) = signed.split_once('.')?;
    let claims = URL_SAFE_NO_PAD.decode(claims).ok()?;
    let token = rmp_serde::from_slice::<Claims>(&claims).ok()?.into_token()?;
    (token.tenant == tenant).then_some(token)
}

pub fn mac_key(secret: &SigningSecret) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, &secret.secret)
}

/// Short names, because they are in every token. A name that is not known here is refused: it may be a restriction that a
/// later version made.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    #[serde(rename = "t")]
    tenant: String,
    #[serde(rename = "m")]
    minter: String,
    #[serde(rename = "i")]
    token_id: ByteArray<16>,
    #[serde(rename = "p", default, skip_serializing_if = "Vec::is_empty")]
    ancestors: Vec<ByteArray<16>>,
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(rename = "a")]
    issued_at: i64,
    #[serde(rename = "e")]
    expires_at: i64,
    #[serde(rename = "g")]
    grants: Kinds,
    /// Actions on the whole tenant. An earlier version, which does not know them, refuses the token.
    #[serde(rename = "w", default, skip_serializing_if = "is_nothing")]
    on_tenant: u8,
}

/// Threads, namespaces, sessions, snapshots. A grant is its kind (0 exact, 1 prefix, 2 owned), name and actions.
type Kinds = (Vec<GrantClaim>, Vec<(Vec<String>, u8)>, Vec<GrantClaim>, Vec<GrantClaim>);
type GrantClaim = (u8, String, u8);

impl Claims {
    fn of(token: &Token) -> Self {
        let Scoped { threads, namespaces, sessions, snapshots, tenant } = &*token.grants;
        let all = |grants: &[Grant]| grants.iter().map(claim).collect();
        let prefix = |it: &NamespaceGrant| (it.prefix.clone(), it.actions.bits());
        let namespaces = namespaces.iter().map(prefix).collect();
        Self {
            tenant: token.tenant.clone(),
            minter: token.minter.clone(),
            token_id: ByteArray::new(token.token_id.0),
            ancestors: token.ancestors.iter().map(|it| ByteArray::new(it.0)).collect(),
            subject: token.subject.clone(),
            issued_at: token.issued_at,
            expires_at: token.expires_at,
            grants: (all(threads), namespaces, all(sessions), all(snapshots)),
            on_tenant: tenant.bits(),
        }
    }

    fn into_token(self) -> Option<Token> {
        let (threads, namespaces, sessions, snapshots) = self.grants;
        let all = |grants: Vec<GrantClaim>| grants.into_iter().map(grant).collect::<Option<_>>();
        let namespace = |(prefix, actions)| {
            let actions = Actions::from_bits(actions)?;
            Some(NamespaceGrant { prefix, actions })
        };
        let grants = Scoped {
            threads: all(threads)?,
            namespaces: namespaces.into_iter().map(namespace).collect::<Option<_>>()?,
            sessions: all(sessions)?,
            snapshots: all(snapshots)?,
            tenant: Actions::from_bits(self.on_tenant)?,
        };
        let id = |it: ByteArray<16>| TokenId(it.into_array());
        Some(Token {
            tenant: self.tenant,
            minter: self.minter,
            token_id: id(self.token_id),
            ancestors: self.ancestors.into_iter().map(id).collect(),
            subject: self.subject,
            grants: Arc::new(grants),
            issued_at: self.issued_at,
            expires_at: self.expires_at,
        })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_nothing(actions: &u8) -> bool {
    *actions == 0
}

fn claim(grant: &Grant) -> GrantClaim {
    let (kind, name) = match &grant.selector {
        Selector::Exact(name) => (0, name.as_str()),
        Selector::Prefix(name) => (1, name.as_str()),
        Selector::Owned => (2, ""),
    };
    (kind, name.to_owned(), grant.actions.bits())
}

fn grant((kind, name, actions): GrantClaim) -> Option<Grant> {
    let selector = match kind {
        0 => Selector::Exact(name),
        1 => Selector::Prefix(name),
        2 => Selector::Owned,
        _ => return None,
    };
    Some(Grant { selector, actions: Actions::from_bits(actions)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(tenant: &str) -> SigningSecret {
        SigningSecret::random(tenant, 0)
    }

    fn token(tenant: &str, grants: Scoped) -> Token {
        Token {
            tenant: tenant.into(),
            minter: "key_1".into(),
            token_id: TokenId::random(),
            ancestors: vec![TokenId::random(), TokenId::random()],
            subject: Some("ann".into()),
            grants: Arc::new(grants),
            issued_at: 1,
            expires_at: 1_800_000_000_000_000,
        }
    }

    fn every_kind() -> Scoped {
        let exact = Grant { selector: Selector::Exact("a.b".into()), actions: Actions::READ };
        let prefix = Grant { selector: Selector::Prefix("ü:".into()), actions: Actions::APPEND };
        let mut scoped = Scoped::of_subject("ann");
        scoped.threads.extend([exact.clone(), prefix.clone()]);
        scoped.sessions.push(prefix);
        scoped.snapshots = vec![exact];
        scoped.tenant = Actions::READ;
        scoped
    }

    #[test]
    fn a_token_comes_back_as_it_was_made() {
        let secret = secret("acme");
        for grants in
            [Scoped::default(), Scoped::of_subject("ann"), Scoped::reads_tenant(), every_kind()]
        {
            let token = token("acme", grants);
            let text = seal(&token, &secret).unwrap();
            assert_eq!(kid(&text), Some(secret.kid.as_str()));
            assert_eq!(open(&text, &mac_key(&secret), "acme"), Some(token));
        }
    }

    /// Every character, replaced by every other one that can stand in a token, and cut, and doubled.
    #[test]
    fn a_token_that_was_changed_in_any_byte_does_not_open() {
        let secret = secret("acme");
        let key = mac_key(&secret);
        let text = seal(&token("acme", every_kind()), &secret).unwrap();
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=";
        for at in 0..text.len() {
            for other in alphabet.iter().filter(|it| **it != text.as_bytes()[at]) {
                let mut changed = text.clone().into_bytes();
                changed[at] = *other;
                let changed = String::from_utf8(changed).unwrap();
                assert_eq!(open(&changed, &key, "acme"), None, "{at}: {changed}");
            }
            assert_eq!(open(&text[..at], &key, "acme"), None);
            let doubled = format!("{}{}", &text[..=at], &text[at..]);
            assert_eq!(open(&doubled, &key, "acme"), None);
        }
        assert!(open(&text, &key, "acme").is_some());
    }

    #[test]
    fn another_tenant_or_secret_opens_nothing() {
        let (own, other) = (secret("acme"), secret("globex"));
        let text = seal(&token("acme", every_kind()), &own).unwrap();
        assert_eq!(open(&text, &mac_key(&other), "acme"), None);
        // A secret signs for its own tenant only, even where somebody got a claim of another signed.
        assert_eq!(open(&text, &mac_key(&own), "globex"), None);
    }

    #[test]
    fn a_token_that_says_too_much_is_not_made() {
        let grant = |at| Grant {
            selector: Selector::Exact(format!("{at}{}", "x".repeat(100))),
            actions: Actions::READ,
        };
        let wide = Scoped { threads: (0..40).map(grant).collect(), ..Scoped::default() };
        let refused = seal(&token("acme", wide), &secret("acme"));
        assert!(matches!(refused, Err(Error::TooLarge { limit: 4_096, .. })), "{refused:?}");
    }

    #[test]
    fn other_texts_are_no_tokens() {
        let long = format!("tks_0123456789abcdef.{}", "A".repeat(4_100));
        for text in ["", "tks_", "tks_0123456789abcdef", "tk_0123456789abcdef.a", "tks_.a.b", &long]
        {
            assert_eq!(kid(text), None, "{text}");
        }
    }

    #[test]
    fn claims_of_a_later_version_are_refused() {
        #[derive(Serialize)]
        struct Later {
            #[serde(flatten)]
            claims: Claims,
            z: bool,
        }
        let secret = secret("acme");
        let signed = |claims: Vec<u8>| {
            let mut text = format!("tks_{}.{}", secret.kid, URL_SAFE_NO_PAD.encode(claims));
            let mac = hmac::sign(&mac_key(&secret), text.as_bytes());
            text.push('.');
            text.push_str(&URL_SAFE_NO_PAD.encode(mac));
            text
        };
        let claims = || Claims::of(&token("acme", Scoped::of_subject("ann")));
        let now = signed(rmp_serde::to_vec_named(&claims()).unwrap());
        assert!(open(&now, &mac_key(&secret), "acme").is_some());
        let later = Later { claims: claims(), z: true };
        let later = signed(rmp_serde::to_vec_named(&later).unwrap());
        assert_eq!(open(&later, &mac_key(&secret), "acme"), None);
    }
}
