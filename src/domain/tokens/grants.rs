//! Defines grants: the actions that a token may do with which things. Pure. Only this file compares a name with a grant.
//!
//! Threads, sessions and snapshots are granted by exact name, by prefix or as "owned"; namespaces by whole-label prefix. A prefix ends in
//! `:` or `/`, so that `acme:` can never open `acme-corp`. A token may also have everything of its tenant.

use std::ops::BitOr;
use std::sync::Arc;

use crate::domain::error::{Error, Result};
use crate::domain::label::labels;
use crate::domain::limits::LIMITS;
use crate::domain::names::at_most;

/// What may be done: `read`; `append` (commit, put, add, never remove or replace by force); `write` (everything that
/// changes, removal too; covers `append`, never `read`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    Read,
    Append,
    Write,
}

/// A set of actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Actions(u8);

/// Things that a grant names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    Exact(String),
    /// Ends in `:` or `/`.
    Prefix(String),
    /// What the token's subject made. Only for tokens with a subject.
    Owned,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub selector: Selector,
    pub actions: Actions,
}

/// Namespaces whose first labels are these; none: all of the tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceGrant {
    pub prefix: Vec<String>,
    pub actions: Actions,
}

/// Everything that a scoped token carries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scoped {
    pub threads: Vec<Grant>,
    pub namespaces: Vec<NamespaceGrant>,
    pub sessions: Vec<Grant>,
    pub snapshots: Vec<Grant>,
    /// With everything of the tenant, its keys, usage and audit log too.
    pub tenant: Actions,
}

/// Whether a thing that is named may be touched, as far as the token alone tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access<'a> {
    Granted,
    /// If it belongs to this subject, which the statement that touches it has to ask.
    IfOwnedBy(&'a str),
    Denied,
}

/// The things of a kind that a caller reaches with one action: a condition for listings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reach {
    /// All of the tenant; the rest is empty then.
    pub everything: bool,
    pub owner: Option<String>,
    pub exact: Vec<String>,
    pub prefixes: Vec<String>,
}

impl Actions {
    pub const READ: Self = Self(1);
    pub const APPEND: Self = Self(2);
    /// With `append`.
    pub const WRITE: Self = Self(6);
    pub const ALL: Self = Self(7);

    pub fn allows(self, action: Action) -> bool {
        let bit = match action {
            Action::Read => 1,
            Action::Append => 2,
            Action::Write => 4,
        };
        self.0 & bit != 0
    }

    /// As tokens carry it.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// None for bits that no set of actions has.
    pub fn from_bits(bits: u8) -> Option<Self> {
        let all = [Self::READ, Self::APPEND, Self::WRITE];
        let set = all.into_iter().filter(|it| bits & it.0 == it.0);
        let set = set.fold(Self::default(), |set, it| set | it);
        (set.0 == bits).then_some(set)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn covers(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Drops all but these, and says whether something is left.
    fn keep(&mut self, these: Self) -> bool {
        self.0 &= these.0;
        !self.is_empty()
    }
}

impl BitOr for Actions {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Selector {
    /// Whether everything that `other` selects is selected here too, for one subject.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Owned, Self::Owned) => true,
            (Self::Exact(own), Self::Exact(name)) => own == name,
            (Self::Prefix(prefix), Self::Exact(name) | Self::Prefix(name)) => {
                name.starts_with(prefix.as_str())
            }
            _ => false,
        }
    }

    fn check(&self, field: &str, has_subject: bool) -> Result<()> {
        let (name, prefix) = match self {
            Self::Owned if has_subject => return Ok(()),
            Self::Owned => {
                return Err(Error::invalid(field, format!("{field}: `owned` needs a subject")));
            }
            Self::Exact(name) => (name, false),
            Self::Prefix(name) => (name, true),
        };
        let max = LIMITS.thread_id_bytes_max;
        if name.is_empty() || name.len() as u64 > max || name.contains('\0') {
            let detail = format!("{field}: a name or prefix has 1 to {max} bytes without NUL");
            return Err(Error::out_of_range(field, detail, max));
        }
        if prefix && !name.ends_with([':', '/']) {
            let detail =
                format!("{field}: a prefix must end in `:` or `/`, or it opens its neighbours");
            return Err(Error::invalid(field, detail));
        }
        Ok(())
    }
}

impl Scoped {
    /// What a subject has without any grant: its own threads, sessions and snapshots, and the namespaces
    /// under its label.
    pub fn of_subject(subject: &str) -> Self {
        let owned = || vec![Grant { selector: Selector::Owned, actions: Actions::ALL }];
        let below = |label| NamespaceGrant { prefix: vec![label], actions: Actions::ALL };
        let namespaces = labels(subject).into_iter().map(below).collect();
        Self {
            threads: owned(),
            namespaces,
            sessions: owned(),
            snapshots: owned(),
            tenant: Actions::default(),
        }
    }

    /// Everything of a tenant, to read.
    pub fn reads_tenant() -> Self {
        Self { tenant: Actions::READ, ..Self::default() }
    }

    /// The same things, to read.
    #[must_use]
    pub fn only_reading(mut self) -> Self {
        let Self { threads, namespaces, sessions, snapshots, tenant } = &mut self;
        for grants in [threads, sessions, snapshots] {
            grants.retain_mut(|it| it.actions.keep(Actions::READ));
        }
        namespaces.retain_mut(|it| it.actions.keep(Actions::READ));
        tenant.keep(Actions::READ);
        self
    }

    /// Whether it allows to read something, and nothing else.
    pub fn only_reads(&self) -> bool {
        *self != Self::default() && *self == self.clone().only_reading()
    }

    /// The same grants, where those below one label of the subject hold below the other one, too: a token that was made before
    /// the label changed reaches what is kept since, and the other way round.
    pub fn under_every_label(self: Arc<Self>, subject: Option<&str>) -> Arc<Self> {
        let labels = subject.map(labels).unwrap_or_default();
        if labels.len() < 2 {
            return self;
        }
        let mut all = Self::clone(&self);
        for grant in &self.namespaces {
            let Some((first, rest)) = grant.prefix.split_first() else { continue };
            for label in labels.iter().filter(|_| labels.contains(first)) {
                let prefix = [std::slice::from_ref(label), rest].concat();
                let twin = NamespaceGrant { prefix, actions: grant.actions };
                if !all.namespaces.contains(&twin) {
                    all.namespaces.push(twin);
                }
            }
        }
        Arc::new(all)
    }

    /// # Errors
    /// 422 naming the grant: a prefix with an open end, `owned` without a subject, namespaces outside the subject, labels
    /// that the store refuses, too many grants, grants of nothing, the tenant with a subject.
    pub fn check(&self, subject: Option<&str>) -> Result<()> {
        check_tenant(self.tenant, subject)?;
        for (field, grants) in self.kinds() {
            at_most(field, grants.len(), LIMITS.grants_max)?;
            for (at, grant) in grants.iter().enumerate() {
                let field = format!("{field}[{at}]");
                check_actions(&field, grant.actions)?;
                grant.selector.check(&field, subject.is_some())?;
            }
        }
        let field = "grants.namespaces";
        at_most(field, self.namespaces.len(), LIMITS.grants_max)?;
        for (at, grant) in self.namespaces.iter().enumerate() {
            let field = &format!("{field}[{at}]");
            check_actions(field, grant.actions)?;
            check_labels(field, &grant.prefix)?;
            let below = |label: &String| grant.prefix.first() == Some(label);
            if subject.is_some_and(|it| !labels(it).iter().any(below)) {
                let detail = format!(
                    "{field}: a token with a subject reaches only namespaces that begin with its label"
                );
                return Err(Error::invalid(field, detail));
            }
        }
        Ok(())
    }

    /// Whether nothing in `narrower` goes beyond this, for the same subject.
    pub fn covers(&self, narrower: &Self) -> bool {
        let whole = |wanted: Actions| self.tenant.covers(wanted);
        let covered = |own: &[Grant], wanted: &[Grant]| {
            wanted.iter().filter(|it| !whole(it.actions)).all(|it| {
                own.iter()
                    .any(|own| own.actions.covers(it.actions) && own.selector.covers(&it.selector))
            })
        };
        let pairs = self.kinds().into_iter().zip(narrower.kinds());
        let things = pairs.into_iter().all(|((_, own), (_, wanted))| covered(own, wanted));
        let namespaces = narrower.namespaces.iter().filter(|it| !whole(it.actions)).all(|it| {
            self.namespaces
                .iter()
                .any(|own| own.actions.covers(it.actions) && it.prefix.starts_with(&own.prefix))
        });
        whole(narrower.tenant) && things && namespaces
    }

    fn kinds(&self) -> [(&'static str, &[Grant]); 3] {
        [
            ("grants.threads", &self.threads),
            ("grants.sessions", &self.sessions),
            ("grants.snapshots", &self.snapshots),
        ]
    }
}

/// What these grants say of one named thing.
pub fn access<'a>(
    grants: &[Grant],
    subject: Option<&'a str>,
    name: &str,
    action: Action,
) -> Access<'a> {
    let mut of_owner = Access::Denied;
    for grant in grants.iter().filter(|it| it.actions.allows(action)) {
        match (&grant.selector, subject) {
            (Selector::Exact(exact), _) if exact == name => return Access::Granted,
            (Selector::Prefix(prefix), _) if name.starts_with(prefix.as_str()) => {
                return Access::Granted;
            }
            (Selector::Owned, Some(subject)) => of_owner = Access::IfOwnedBy(subject),
            _ => {}
        }
    }
    of_owner
}

/// All that these grants reach with an action.
pub fn reach(grants: &[Grant], subject: Option<&str>, action: Action) -> Reach {
    let mut reach = Reach::default();
    for grant in grants.iter().filter(|it| it.actions.allows(action)) {
        match &grant.selector {
            Selector::Exact(name) => reach.exact.push(name.clone()),
            Selector::Prefix(prefix) => reach.prefixes.push(prefix.clone()),
            Selector::Owned => reach.owner = subject.map(str::to_owned),
        }
    }
    reach
}

impl Reach {
    pub fn everything() -> Self {
        Self { everything: true, ..Self::default() }
    }
}

fn check_tenant(actions: Actions, subject: Option<&str>) -> Result<()> {
    let field = "grants.tenant";
    if subject.is_some() && !actions.is_empty() {
        let detail = format!("{field}: a token with a subject does not have the tenant");
        return Err(Error::invalid(field, detail));
    }
    Ok(())
}

fn check_actions(field: &str, actions: Actions) -> Result<()> {
    if actions.is_empty() {
        return Err(Error::invalid(field, format!("{field}: a grant must allow something")));
    }
    Ok(())
}

/// Labels that the store refuses cannot be granted either.
fn check_labels(field: &str, labels: &[String]) -> Result<()> {
    let legal = |it: &String| !it.is_empty() && !it.contains('.') && !it.contains('\0');
    if !labels.iter().all(legal) {
        let detail = format!("{field}: labels must not be empty nor contain `.` or NUL");
        return Err(Error::invalid(field, detail));
    }
    at_most(field, labels.len(), LIMITS.grants_max)
}

#[cfg(test)]
mod tests;
