//! Defines the caller. Every domain call takes a `&Caller`, built by one extractor; the tenant comes from nowhere else.

use std::sync::{Arc, LazyLock};

use super::error::{Error, Result};
use super::limits::LIMITS;
use super::names::ThreadId;
use super::scheduling::read_memory::ReadMemory;
use super::sessions::name::SessionName;
use super::tokens::grants::{self, Access, Action, Grant, Reach, Scoped};
use crate::domain::names::SnapshotId;

/// An authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub tenant: String,
    /// None for a key of the whole tenant, and for tokens without one.
    pub subject: Option<String>,
    pub grants: Grants,
    /// What was presented: `local`, the id of a key or of a token, or the name of an issuer with its subject. For
    /// idempotency keys, limits of requests and the audit log; never a secret.
    pub credential: String,
    /// What the reads of the request hold.
    pub memory: ReadMemory,
}

/// What a caller may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grants {
    /// Everything of the tenant.
    Tenant,
    Scoped(Arc<Scoped>),
    /// Nothing of any tenant, and the administration of them all.
    Operator,
}

/// What a route needs; declared once per route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    Threads(Action),
    Namespaces(Action),
    Sessions(Action),
    Snapshots(Action),
    /// Any valid key or token.
    Any,
    /// The whole tenant: administration.
    Tenant(Action),
    /// The administration of all tenants.
    Operator,
}

/// Grants that cover nothing.
static NOTHING: LazyLock<Scoped> = LazyLock::new(Scoped::default);

impl Permission {
    /// As the API document shows it, such as `threads:read`; `tenant` is a key that writes all of it.
    pub fn name(self) -> String {
        let (noun, action) = match self {
            Self::Any => return "any".into(),
            Self::Operator => return "operator".into(),
            Self::Tenant(Action::Read) => return "tenant:read".into(),
            Self::Tenant(_) => return "tenant".into(),
            Self::Threads(action) => ("threads", action),
            Self::Namespaces(action) => ("namespaces", action),
            Self::Sessions(action) => ("sessions", action),
            Self::Snapshots(action) => ("snapshots", action),
        };
        let action = match action {
            Action::Read => "read",
            Action::Append => "append",
            Action::Write => "write",
        };
        format!("{noun}:{action}")
    }
}

impl Caller {
    /// A caller with every right in `tenant`.
    pub fn of_tenant(tenant: impl Into<String>) -> Self {
        let (grants, credential) = (Grants::Tenant, "local".to_owned());
        let memory = ReadMemory::default();
        Self { tenant: tenant.into(), subject: None, grants, credential, memory }
    }

    /// # Errors
    /// `NotGranted` when the grants do not cover `permission` for anything, whatever the thing.
    pub fn require(&self, permission: Permission) -> Result<()> {
        let action = match permission {
            Permission::Any => return Ok(()),
            Permission::Operator if self.grants == Grants::Operator => return Ok(()),
            Permission::Operator => {
                return Err(Error::NotGranted("only an operator's key may do this"));
            }
            Permission::Tenant(action)
            | Permission::Threads(action)
            | Permission::Namespaces(action)
            | Permission::Sessions(action)
            | Permission::Snapshots(action) => action,
        };
        let Some(scoped) = self.limits_of(action) else {
            return Ok(());
        };
        let any = |grants: &[Grant]| grants.iter().any(|it| it.actions.allows(action));
        let covered = match permission {
            Permission::Any => true,
            Permission::Tenant(_) | Permission::Operator => false,
            Permission::Threads(_) => any(&scoped.threads),
            Permission::Sessions(_) => any(&scoped.sessions),
            Permission::Snapshots(_) => any(&scoped.snapshots),
            Permission::Namespaces(_) => {
                scoped.namespaces.iter().any(|it| it.actions.allows(action))
            }
        };
        if covered { Ok(()) } else { Err(Error::NotGranted("no grant covers this call")) }
    }

    /// # Errors
    /// `NotGranted` for operators, who look after tenants and belong to none.
    pub fn require_own_tenant(&self) -> Result<()> {
        match self.grants {
            Grants::Operator => Err(Error::NotGranted("an operator's key makes no tokens")),
            Grants::Tenant | Grants::Scoped(_) => Ok(()),
        }
    }

    /// What the grants allow to do with some thing of a kind, such as `Permission::Threads`.
    pub fn capabilities(&self, of: fn(Action) -> Permission) -> Vec<Action> {
        let all = [Action::Read, Action::Append, Action::Write];
        all.into_iter().filter(|it| self.require(of(*it)).is_ok()).collect()
    }

    /// The grants that decide about an action. None: it is granted with everything of the tenant.
    fn limits_of(&self, action: Action) -> Option<&Scoped> {
        match &self.grants {
            Grants::Tenant => None,
            Grants::Scoped(scoped) => Some(&**scoped).filter(|it| !it.tenant.allows(action)),
            Grants::Operator => Some(&*NOTHING),
        }
    }

    /// What the token alone says about a thread.
    pub fn thread_access(&self, thread: &str, action: Action) -> Access<'_> {
        match self.limits_of(action) {
            None => Access::Granted,
            Some(it) => grants::access(&it.threads, self.subject.as_deref(), thread, action),
        }
    }

    /// Subject that a thread must belong to for this action; none: anybody's, and nobody's. Statements bind it. What is
    /// denied must belong to the empty subject, which nobody is: should a denied call ever get to a statement, it finds
    /// nothing.
    pub fn thread_owner(&self, thread: &str, action: Action) -> Option<&str> {
        match self.thread_access(thread, action) {
            Access::Granted => None,
            Access::IfOwnedBy(subject) => Some(subject),
            Access::Denied => Some(""),
        }
    }

    /// # Errors
    /// `NotGranted` when the grants do not cover this action on this thread, whoever owns it.
    pub fn require_thread(&self, thread: &ThreadId, action: Action) -> Result<()> {
        match self.thread_access(thread.as_str(), action) {
            Access::Denied => Err(Error::NotGranted("no grant covers this thread")),
            Access::Granted | Access::IfOwnedBy(_) => Ok(()),
        }
    }

    /// All threads that this action reaches.
    pub fn reach_threads(&self, action: Action) -> Reach {
        match self.limits_of(action) {
            None => Reach::everything(),
            Some(it) => grants::reach(&it.threads, self.subject.as_deref(), action),
        }
    }

    /// Who may ask for a list of threads: who has all of the tenant, what a subject owns, or what begins with a prefix. A
    /// few threads that are granted by name are no list.
    ///
    /// # Errors
    /// `NotGranted` when the grants cover only threads that they name, or none.
    pub fn require_listing(&self, action: Action) -> Result<()> {
        let reach = self.reach_threads(action);
        if reach.everything || reach.owner.is_some() || !reach.prefixes.is_empty() {
            return Ok(());
        }
        Err(Error::NotGranted("no grant covers a list of threads"))
    }

    /// # Errors
    /// `NotGranted` when the grants do not cover reading all of the tenant.
    pub fn require_tenant_read(&self) -> Result<()> {
        self.require(Permission::Tenant(Action::Read))
    }

    /// # Errors
    /// `NotGranted` when the grants do not cover changing all of the tenant.
    pub fn require_tenant_write(&self) -> Result<()> {
        self.require(Permission::Tenant(Action::Write))
    }

    /// Whether reads of this thread may see it, if the owner is right; where false it looks absent.
    pub fn may_read_thread(&self, thread: &ThreadId) -> bool {
        self.thread_access(thread.as_str(), Action::Read) != Access::Denied
    }

    /// What the token alone says about a session.
    pub fn session_access(&self, session: &SessionName, action: Action) -> Access<'_> {
        match self.limits_of(action) {
            None => Access::Granted,
            Some(it) => {
                let name = session.grant_name();
                grants::access(&it.sessions, self.subject.as_deref(), &name, action)
            }
        }
    }

    /// As [`Self::thread_owner`].
    pub fn session_owner(&self, session: &SessionName, action: Action) -> Option<&str> {
        match self.session_access(session, action) {
            Access::Granted => None,
            Access::IfOwnedBy(subject) => Some(subject),
            Access::Denied => Some(""),
        }
    }

    /// # Errors
    /// `NotGranted` when the grants do not cover this action on this session, whoever owns it.
    pub fn require_session(&self, session: &SessionName, action: Action) -> Result<()> {
        match self.session_access(session, action) {
            Access::Denied => Err(Error::NotGranted("no grant covers this session")),
            Access::Granted | Access::IfOwnedBy(_) => Ok(()),
        }
    }

    pub fn may_read_session(&self, session: &SessionName) -> bool {
        self.session_access(session, Action::Read) != Access::Denied
    }

    /// Of a session to which it has just appended. Whoever appends by its name has not shown that it is the owner.
    pub fn may_read_where_it_appends(&self, session: &SessionName) -> bool {
        match self.session_access(session, Action::Read) {
            Access::Granted => true,
            Access::IfOwnedBy(_) => self.session_access(session, Action::Append) != Access::Granted,
            Access::Denied => false,
        }
    }

    /// All sessions that this action reaches.
    pub fn reach_sessions(&self, action: Action) -> Reach {
        match self.limits_of(action) {
            None => Reach::everything(),
            Some(it) => grants::reach(&it.sessions, self.subject.as_deref(), action),
        }
    }

    /// As [`Self::require_listing`], for sessions.
    ///
    /// # Errors
    /// `NotGranted` when the grants cover only sessions that they name, or none.
    pub fn require_session_listing(&self, action: Action) -> Result<()> {
        let reach = self.reach_sessions(action);
        if reach.everything || reach.owner.is_some() || !reach.prefixes.is_empty() {
            return Ok(());
        }
        Err(Error::NotGranted("no grant covers a list of sessions"))
    }

    /// What the token alone says about a snapshot.
    pub fn snapshot_access(&self, id: &str, action: Action) -> Access<'_> {
        match self.limits_of(action) {
            None => Access::Granted,
            Some(it) => grants::access(&it.snapshots, self.subject.as_deref(), id, action),
        }
    }

    /// # Errors
    /// `NotGranted` when the grants do not cover this action on this snapshot, whoever owns it.
    pub fn require_snapshot(&self, id: &SnapshotId, action: Action) -> Result<()> {
        match self.snapshot_access(id.as_str(), action) {
            Access::Denied => Err(Error::NotGranted("no grant covers this snapshot")),
            Access::Granted | Access::IfOwnedBy(_) => Ok(()),
        }
    }

    /// Prefixes of the namespaces that this action reaches; None: all of the tenant.
    pub fn namespace_prefixes(&self, action: Action) -> Option<Vec<&[String]>> {
        let scoped = self.limits_of(action)?;
        let granted = scoped.namespaces.iter().filter(|it| it.actions.allows(action));
        Some(granted.map(|it| it.prefix.as_slice()).collect())
    }

    /// Whether the labels lie in a namespace that this action reaches.
    pub fn may_touch_namespace<S: AsRef<str>>(&self, labels: &[S], action: Action) -> bool {
        let Some(scoped) = self.limits_of(action) else {
            return true;
        };
        scoped.namespaces.iter().filter(|it| it.actions.allows(action)).any(|it| {
            it.prefix.len() <= labels.len()
                && it.prefix.iter().zip(labels).all(|(own, label)| own == label.as_ref())
        })
    }
}

/// Subjects are free text, within the limit of an index column.
///
/// # Errors
/// 422 naming the field.
pub fn check_subject(field: &str, subject: Option<&str>) -> Result<()> {
    let max = LIMITS.thread_id_bytes_max;
    let legal = |it: &str| !it.is_empty() && it.len() as u64 <= max && !it.contains('\0');
    if subject.is_none_or(legal) {
        return Ok(());
    }
    let detail = format!("{field} must be 1 to {max} bytes without NUL");
    Err(Error::out_of_range(field, detail, max))
}

/// Tenant names: 1-63 characters of `[a-z0-9_-]`, so that they are legal in logs, labels and role names.
///
/// # Errors
/// 422 naming the field.
pub fn check_tenant(tenant: &str) -> Result<()> {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    if tenant.is_empty() || tenant.len() > 63 || !tenant.chars().all(legal) {
        let detail = "tenant must be 1 to 63 characters of a-z, 0-9, _ and -";
        return Err(Error::out_of_range("tenant", detail, 63));
    }
    Ok(())
}
