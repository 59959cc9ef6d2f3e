//! Defines the audit log. Each administrative act is one event, written by the transaction that does it. Refusals are added up. Events have
//! ids of the things acted on, never values, keys of items or secrets.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;

use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::{Error, Result};
use crate::domain::pages::{cut, page_rows};
use crate::domain::tenants::refusals::Counted;

/// Actor of acts that come from the command line.
pub const COMMAND_LINE: &str = "cli";

/// What was done. The names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActKind {
    KeyCreated,
    KeyRevoked,
    TokenMinted,
    TokenRevoked,
    /// All tokens of the tenant are void.
    SecretsRotated,
    PolicyPut,
    PolicyDeleted,
    NamespaceSettingPut,
    NamespaceSettingDeleted,
    QuotaSet,
    RoleCreated,
    RoleDropped,
    SubjectErased,
    SnapshotRestored,
    SnapshotDeleted,
    ThreadRewound,
    /// A tenant's key took a lease from its holder.
    LeaseBroken,
    /// Values left the tenant, in clear.
    Exported,
    Imported,
    /// Requests that were turned away, added up.
    Refused,
}

impl ActKind {
    pub const ALL: [Self; 20] = [
        Self::KeyCreated,
        Self::KeyRevoked,
        Self::TokenMinted,
        Self::TokenRevoked,
        Self::SecretsRotated,
        Self::PolicyPut,
        Self::PolicyDeleted,
        Self::NamespaceSettingPut,
        Self::NamespaceSettingDeleted,
        Self::QuotaSet,
        Self::RoleCreated,
        Self::RoleDropped,
        Self::SubjectErased,
        Self::SnapshotRestored,
        Self::SnapshotDeleted,
        Self::ThreadRewound,
        Self::LeaseBroken,
        Self::Exported,
        Self::Imported,
        Self::Refused,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::KeyCreated => "key_created",
            Self::KeyRevoked => "key_revoked",
            Self::TokenMinted => "token_minted",
            Self::TokenRevoked => "token_revoked",
            Self::SecretsRotated => "secrets_rotated",
            Self::PolicyPut => "policy_put",
            Self::PolicyDeleted => "policy_deleted",
            Self::NamespaceSettingPut => "namespace_setting_put",
            Self::NamespaceSettingDeleted => "namespace_setting_deleted",
            Self::QuotaSet => "quota_set",
            Self::RoleCreated => "role_created",
            Self::RoleDropped => "role_dropped",
            Self::SubjectErased => "subject_erased",
            Self::SnapshotRestored => "snapshot_restored",
            Self::SnapshotDeleted => "snapshot_deleted",
            Self::ThreadRewound => "thread_rewound",
            Self::LeaseBroken => "lease_broken",
            Self::Exported => "exported",
            Self::Imported => "imported",
            Self::Refused => "refused",
        }
    }

    /// # Errors
    /// 422 for a name that is not one of these.
    pub fn parse(field: &str, name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|it| it.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::invalid(field, format!("{field} must be one of {names}"))
        })
    }
}

/// One administrative act. A storage call that takes one writes it with what it does, or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    pub tenant: String,
    pub at: Micros,
    /// Credential of whoever did it, or [`COMMAND_LINE`].
    pub actor: String,
    pub kind: ActKind,
    /// Id of what it was done to; empty for the tenant as a whole.
    pub object: String,
    /// A small JSON object.
    pub details: String,
}

impl Act {
    pub fn of(caller: &Caller, kind: ActKind, object: impl Into<String>, at: Micros) -> Self {
        let actor = caller.credential.as_str();
        Self { actor: actor.into(), ..Self::of_operator(&caller.tenant, kind, object, at) }
    }

    /// From the command line.
    pub fn of_operator(tenant: &str, kind: ActKind, object: impl Into<String>, at: Micros) -> Self {
        Self {
            tenant: tenant.to_owned(),
            at,
            actor: COMMAND_LINE.to_owned(),
            kind,
            object: object.into(),
            details: "{}".to_owned(),
        }
    }

    /// Numbers and names of settings; never values.
    #[must_use]
    pub fn with(self, details: &impl Serialize) -> Self {
        let details = serde_json::to_string(details).expect("plain records always serialize");
        Self { details, ..self }
    }
}

/// A row of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub event_id: String,
    /// Of refusals, the minute's beginning.
    pub at: Micros,
    pub actor: String,
    pub act: String,
    pub object: String,
    pub details: String,
    /// 1 for acts.
    pub count: i64,
}

#[derive(Debug, Clone, Default)]
pub struct EventQuery {
    /// Not before.
    pub since: Option<Micros>,
    /// Before.
    pub until: Option<Micros>,
    pub act: Option<ActKind>,
    pub limit: usize,
    pub after: Option<EventCursor>,
}

/// Position of the last event of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventCursor {
    pub at: Micros,
    pub event_id: String,
}

#[derive(Debug, Default)]
pub struct EventPage {
    pub events: Vec<Event>,
    /// Set when there are more.
    pub next: Option<EventCursor>,
}

#[async_trait]
pub trait AuditStorage: Send + Sync {
    /// For acts that write nothing else; the others are written with what they do.
    async fn record_act(&self, act: &Act) -> Result<()>;

    /// Adds to the rows of these refusals, in the order given.
    async fn add_refusals(&self, refusals: &[Counted]) -> Result<()>;

    /// Newest first.
    async fn list_events(&self, tenant: &str, query: &EventQuery) -> Result<Vec<Event>>;

    /// Removes events of all tenants that happened before.
    async fn expire_events(&self, before: Micros) -> Result<()>;
}

/// Reading of the log.
pub struct Audit {
    storage: Arc<dyn AuditStorage>,
}

impl Audit {
    pub fn new(storage: Arc<dyn AuditStorage>) -> Self {
        Self { storage }
    }

    /// Newest first; only for those who have the whole tenant.
    ///
    /// # Errors
    /// `NotGranted`; a storage that cannot be read.
    pub async fn list(&self, caller: &Caller, query: EventQuery) -> Result<EventPage> {
        caller.require_tenant_read()?;
        list(&*self.storage, &caller.tenant, query).await
    }
}

/// A page of a tenant's log, for those who need no grant: the operator.
///
/// # Errors
/// A storage that cannot be read.
pub async fn list(
    storage: &dyn AuditStorage,
    tenant: &str,
    mut query: EventQuery,
) -> Result<EventPage> {
    let limit = page_rows(query.limit);
    if limit == 0 {
        return Ok(EventPage::default());
    }
    // One more than asked for tells whether there is a next page.
    query.limit = limit + 1;
    let mut events = storage.list_events(tenant, &query).await?;
    let position = |it: &Event| EventCursor { at: it.at, event_id: it.event_id.clone() };
    let next = cut(&mut events, limit, position);
    Ok(EventPage { events, next })
}
