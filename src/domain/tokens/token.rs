//! Defines scoped tokens: their contents, who may make which, and what ends them. Pure; `auth` encodes and signs them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::grants::Scoped;
use crate::domain::caller::{Caller, Grants, check_subject};
use crate::domain::clock::{Micros, SECOND};
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::tenants::audit::{Act, ActKind, Event};
use crate::domain::time::{parse_rfc3339, rfc3339};

/// What a token says. Whoever can read it can read this; nobody can change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub tenant: String,
    /// What the first token of the chain was made with; see [`Pass::minter`].
    pub minter: String,
    pub token_id: TokenId,
    /// The tokens that this one was narrowed from, the first one first.
    pub ancestors: Vec<TokenId>,
    pub subject: Option<String>,
    pub grants: Arc<Scoped>,
    pub issued_at: Micros,
    /// The first moment at which it is not valid any more.
    pub expires_at: Micros,
}

/// `tok_…`, random.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenId(pub [u8; 16]);

/// How a caller came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pass {
    /// To a server without keys, from the same machine.
    Local,
    /// At the command line, with access to the database.
    Operator,
    Key {
        key_id: String,
        expires_at: Option<Micros>,
    },
    Token(Arc<Token>),
    /// By a token of a configured issuer.
    External {
        issuer: String,
        expires_at: Micros,
    },
}

/// What the audit log tells of a token that was minted. The token itself is stored nowhere.
#[derive(Serialize, Deserialize)]
struct MintedDetails {
    expires_at: String,
    read_only: bool,
}

/// A token that somebody may still hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveToken {
    pub token_id: TokenId,
    /// What it was made with; see [`Pass::minter`].
    pub minter: String,
    pub minted_at: Micros,
    /// The first moment at which it is not valid any more.
    pub expires_at: Micros,
    /// None: the token is from before this was kept.
    pub read_only: Option<bool>,
}

/// A token to make.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MintRequest {
    pub subject: Option<String>,
    /// None: what the subject has.
    pub grants: Option<Scoped>,
    /// Instead of grants: what the subject has, or without one the whole tenant, to read.
    pub read_only: bool,
    pub ttl_seconds: Option<u64>,
}

/// A token to make from what the caller holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NarrowRequest {
    /// None: the same.
    pub grants: Option<Scoped>,
    pub ttl_seconds: Option<u64>,
}

/// A token to revoke.
#[derive(Debug, Clone, Copy)]
pub enum Doomed<'a> {
    /// The one that the caller presented.
    Own,
    ById(TokenId),
    /// One whose text the caller has; already known to be genuine.
    Shown(&'a Token),
}

impl TokenId {
    const PREFIX: &str = "tok_";

    pub fn random() -> Self {
        Self(rand::random())
    }

    /// # Errors
    /// 422 naming the field.
    pub fn parse(field: &str, text: &str) -> Result<Self> {
        let mut id = [0; 16];
        let digits = text.strip_prefix(Self::PREFIX).filter(|it| !it.contains(char::is_uppercase));
        let parsed = digits.is_some_and(|it| hex::decode_to_slice(it, &mut id).is_ok());
        let wrong = || Error::invalid(field, format!("{field} must be tok_ and 32 hex digits"));
        parsed.then_some(Self(id)).ok_or_else(wrong)
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, hex::encode(self.0))
    }
}

impl fmt::Debug for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Token {
    /// The one that all of its chain were narrowed from.
    pub fn first(&self) -> TokenId {
        self.ancestors.first().copied().unwrap_or(self.token_id)
    }

    /// Its own id and those of all that it was narrowed from: it dies with any of them.
    pub fn chain(&self) -> impl Iterator<Item = &TokenId> {
        self.ancestors.iter().chain([&self.token_id])
    }

    /// The act of minting it.
    pub fn minted_by(&self, caller: &Caller) -> Act {
        let (expires_at, read_only) = (rfc3339(self.expires_at), self.grants.only_reads());
        let details = MintedDetails { expires_at, read_only };
        let token_id = self.token_id.to_string();
        Act::of(caller, ActKind::TokenMinted, token_id, self.issued_at).with(&details)
    }

    pub fn is_expired(&self, now: Micros) -> bool {
        now >= self.expires_at
    }
}

impl LiveToken {
    /// What an event of the audit log says. None for one that is not of a token.
    pub fn of(event: &Event) -> Option<Self> {
        let token_id = TokenId::parse("token_id", &event.object).ok()?;
        let details = serde_json::from_str::<MintedDetails>(&event.details).ok();
        let end = details.as_ref().and_then(|it| parse_rfc3339("details", &it.expires_at).ok());
        let latest = event.at + seconds(LIMITS.token_ttl_seconds_max);
        Some(Self {
            token_id,
            minter: event.actor.clone(),
            minted_at: event.at,
            expires_at: end.unwrap_or(latest),
            read_only: details.map(|it| it.read_only),
        })
    }
}

impl Pass {
    /// Minter of tokens that the command line made. Nothing ends them all but new signing secrets.
    pub const OPERATOR: &str = "cli";
    /// Minter of tokens that a server without keys made. They end with the first key.
    pub const LOCAL: &str = "local";
    /// Begins the minter of tokens that were narrowed from one of an issuer. They end when it is not configured any more.
    pub const ISSUER: &str = "issuer:";

    /// What tokens that are made with this are bound to: they die with it.
    pub fn minter(&self) -> String {
        match self {
            Self::Local => Self::LOCAL.to_owned(),
            Self::Operator => Self::OPERATOR.to_owned(),
            Self::Key { key_id, .. } => key_id.clone(),
            Self::Token(token) => token.minter.clone(),
            Self::External { issuer, .. } => format!("{}{issuer}", Self::ISSUER),
        }
    }

    /// When it ends by itself.
    pub fn expires_at(&self) -> Option<Micros> {
        match self {
            Self::Local | Self::Operator => None,
            Self::Key { expires_at, .. } => *expires_at,
            Self::Token(token) => Some(token.expires_at),
            Self::External { expires_at, .. } => Some(*expires_at),
        }
    }

    fn chain(&self) -> Vec<TokenId> {
        match self {
            Self::Token(token) => token.chain().copied().collect(),
            _ => Vec::new(),
        }
    }
}

/// A token that a key makes: of the whole tenant for any subject or none, of a subject for this subject.
///
/// # Errors
/// `NotGranted` for callers without a key, for other subjects and for grants beyond the key's; 422 naming the field.
pub fn mint(caller: &Caller, pass: &Pass, request: MintRequest, now: Micros) -> Result<Token> {
    if matches!(pass, Pass::Token(_) | Pass::External { .. }) {
        return Err(Error::NotGranted("only a key makes tokens; a token narrows itself"));
    }
    caller.require_own_tenant()?;
    check_subject("subject", request.subject.as_deref())?;
    let foreign = |own: &String| request.subject.as_ref().is_some_and(|it| it != own);
    if caller.subject.as_ref().is_some_and(foreign) {
        return Err(Error::NotGranted("a key with a subject makes tokens for this subject only"));
    }
    let subject = request.subject.or_else(|| caller.subject.clone());
    let grants = match (request.grants, &subject, request.read_only) {
        (Some(_), _, true) => {
            let detail = "read_only: stands for grants; send one of the two";
            return Err(Error::invalid("read_only", detail));
        }
        (Some(grants), _, false) => grants,
        (None, Some(subject), true) => Scoped::of_subject(subject).only_reading(),
        (None, Some(subject), false) => Scoped::of_subject(subject),
        (None, None, true) => Scoped::reads_tenant(),
        (None, None, false) => {
            let detail = "a token needs a subject, grants or read_only: a key of the whole tenant is no token";
            return Err(Error::invalid("grants", detail));
        }
    };
    let grants = within(caller, subject.as_deref(), grants)?;
    let lifetime = lifetime(pass, request.ttl_seconds, now)?;
    Ok(token(caller, pass, (subject, grants), lifetime))
}

/// A token that may do no more than what its maker presented, and lasts no longer.
///
/// # Errors
/// `NotGranted` for grants beyond the caller's; 422 naming the field.
pub fn narrow(caller: &Caller, pass: &Pass, request: NarrowRequest, now: Micros) -> Result<Token> {
    caller.require_own_tenant()?;
    let depth_max = LIMITS.token_depth_max;
    if pass.chain().len() as u64 >= depth_max {
        let detail = format!("a token can be narrowed {depth_max} times in a row");
        return Err(Error::out_of_range("authorization", detail, depth_max));
    }
    let grants = match (request.grants, &caller.grants) {
        (Some(grants), _) => within(caller, caller.subject.as_deref(), grants)?,
        (None, Grants::Scoped(own)) => Arc::clone(own),
        (None, Grants::Tenant | Grants::Operator) => {
            let detail = "a key of the whole tenant has to say which grants are left";
            return Err(Error::invalid("grants", detail));
        }
    };
    let lifetime = lifetime(pass, request.ttl_seconds, now)?;
    Ok(token(caller, pass, (caller.subject.clone(), grants), lifetime))
}

/// What to remember of a token that the caller ends before its time.
///
/// # Errors
/// `NotFound` for tokens that are not the caller's to revoke, whatever they are; `NotGranted` for a foreign id, of which
/// the token alone cannot tell whose it is; 422 when there is nothing to revoke.
pub fn revoke(
    caller: &Caller,
    pass: &Pass,
    doomed: Doomed<'_>,
    now: Micros,
) -> Result<RevokedToken> {
    let whole = caller.require_tenant_write();
    let (token_id, expires_at, chain) = match (doomed, pass) {
        (Doomed::Own, Pass::Token(own)) => (own.token_id, own.expires_at, Some(own.first())),
        (Doomed::Own, _) => {
            let detail = "name what to revoke: token_id or token; only a token can revoke itself";
            return Err(Error::invalid("token_id", detail));
        }
        (Doomed::ById(id), Pass::Token(own)) if id == own.token_id => {
            (id, own.expires_at, Some(own.first()))
        }
        (Doomed::ById(id), _) => {
            whole.map_err(|_| {
                Error::NotGranted(
                    "only a key of the whole tenant revokes by id; show the token itself",
                )
            })?;
            // When it expires is not known, but no token lives longer.
            (id, now + seconds(LIMITS.token_ttl_seconds_max), None)
        }
        (Doomed::Shown(token), _) => {
            let own = match pass {
                Pass::Token(own) => token.chain().any(|it| *it == own.token_id),
                _ => token.minter == pass.minter() && token.subject == caller.subject,
            };
            if token.tenant != caller.tenant || !(own || whole.is_ok()) {
                return Err(Error::NotFound("such a token of yours was"));
            }
            (token.token_id, token.expires_at, Some(token.first()))
        }
    };
    let chain = chain.filter(|_| caller.require_tenant_write().is_err());
    Ok(RevokedToken { token_id, expires_at, chain })
}

/// What a revocation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevokedToken {
    pub token_id: TokenId,
    /// The latest time at which it can have been valid.
    pub expires_at: Micros,
    /// The first token of its chain; None where a key of the whole tenant revokes it.
    pub chain: Option<TokenId>,
}

fn token(
    caller: &Caller,
    pass: &Pass,
    (subject, grants): (Option<String>, Arc<Scoped>),
    (issued_at, expires_at): (Micros, Micros),
) -> Token {
    Token {
        tenant: caller.tenant.clone(),
        minter: pass.minter(),
        token_id: TokenId::random(),
        ancestors: pass.chain(),
        subject,
        grants,
        issued_at,
        expires_at,
    }
}

/// The wanted grants, if they are legal for the subject and the caller has them.
fn within(caller: &Caller, subject: Option<&str>, wanted: Scoped) -> Result<Arc<Scoped>> {
    if wanted == Scoped::default() {
        return Err(Error::invalid("grants", "grants must name something"));
    }
    wanted.check(subject)?;
    caller.require_own_tenant()?;
    let Grants::Scoped(own) = &caller.grants else {
        return Ok(Arc::new(wanted));
    };
    let Scoped { threads, namespaces, sessions, snapshots, tenant } = wanted.clone();
    let parts = [
        ("grants.threads goes beyond yours", Scoped { threads, ..Scoped::default() }),
        ("grants.namespaces goes beyond yours", Scoped { namespaces, ..Scoped::default() }),
        ("grants.sessions goes beyond yours", Scoped { sessions, ..Scoped::default() }),
        ("grants.snapshots goes beyond yours", Scoped { snapshots, ..Scoped::default() }),
        ("grants.tenant goes beyond yours", Scoped { tenant, ..Scoped::default() }),
    ];
    match parts.iter().find(|(_, part)| !own.covers(part)) {
        Some((detail, _)) => Err(Error::NotGranted(detail)),
        None => Ok(Arc::new(wanted)),
    }
}

/// From now to the end that was asked for. Without one: an hour, or until what it is made with ends.
fn lifetime(pass: &Pass, ttl: Option<u64>, now: Micros) -> Result<(Micros, Micros)> {
    let left = pass.expires_at().map_or(Micros::MAX, |end| end - now);
    let Some(ttl) = ttl else {
        return Ok((now, now + left.min(seconds(LIMITS.token_ttl_seconds_default))));
    };
    let field = "ttl_seconds";
    let max = LIMITS.token_ttl_seconds_max;
    if !(1..=max).contains(&ttl) {
        return Err(Error::out_of_range(field, format!("{field} must be from 1 to {max}"), max));
    }
    if seconds(ttl) > left {
        let left = u64::try_from(left / SECOND).unwrap_or(0);
        let detail =
            format!("{field}: what you hold expires in {left} seconds, and no token outlives it");
        return Err(Error::out_of_range(field, detail, left));
    }
    Ok((now, now + seconds(ttl)))
}

/// When a token was minted at the earliest that has not expired.
pub fn oldest_alive(now: Micros) -> Micros {
    now - seconds(LIMITS.token_ttl_seconds_max)
}

/// Of a number within the limits.
fn seconds(count: u64) -> Micros {
    i64::try_from(count).map_or(Micros::MAX, |it| it * SECOND)
}

#[cfg(test)]
mod tests;
