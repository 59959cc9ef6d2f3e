//! Defines grants: the actions that a token may do with which things. Pure. Only this file compares a name with a grant.
//!
//! Threads, sessions and snapshots are granted by exact name, by prefix or as "owned"; namespaces by whole-label prefix. A prefix ends in
//! `:` or `/`, so that `acme:` can never open `acme-corp`.

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
        Self { threads: owned(), namespaces, sessions: owned(), snapshots: owned() }
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
    /// that the store refuses, too many grants, grants of nothing.
    pub fn check(&self, subject: Option<&str>) -> Result<()> {
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
        let covered = |own: &[Grant], wanted: &[Grant]| {
            wanted.iter().all(|it| {
                own.iter()
                    .any(|own| own.actions.covers(it.actions) && own.selector.covers(&it.selector))
            })
        };
        let pairs = self.kinds().into_iter().zip(narrower.kinds());
        let things = pairs.into_iter().all(|((_, own), (_, wanted))| covered(own, wanted));
        let namespaces = narrower.namespaces.iter().all(|it| {
            self.namespaces
                .iter()
                .any(|own| own.actions.covers(it.actions) && it.prefix.starts_with(&own.prefix))
        });
        things && namespaces
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
mod tests {
    use super::*;

    fn prefix(text: &str) -> Grant {
        Grant { selector: Selector::Prefix(text.into()), actions: Actions::ALL }
    }

    fn exact(text: &str, actions: Actions) -> Grant {
        Grant { selector: Selector::Exact(text.into()), actions }
    }

    #[test]
    fn a_prefix_opens_what_is_below_it_and_no_neighbour() {
        let grants = [prefix("acme:")];
        for (name, expected) in [
            ("acme:1", Access::Granted),
            ("acme:", Access::Granted),
            ("acme", Access::Denied),
            ("acme-corp", Access::Denied),
            ("acme-corp:1", Access::Denied),
            ("ACME:1", Access::Denied),
        ] {
            assert_eq!(access(&grants, None, name, Action::Read), expected, "{name}");
        }
        for open in ["acme", "a%", "", "acme: "] {
            let scoped = Scoped { threads: vec![prefix(open)], ..Scoped::default() };
            assert!(scoped.check(None).is_err(), "{open:?}");
        }
    }

    #[test]
    fn write_covers_append_and_never_read() {
        let grants = [exact("t", Actions::WRITE), exact("log", Actions::APPEND)];
        let may = |name, action| access(&grants, None, name, action) == Access::Granted;
        assert!(may("t", Action::Append) && may("t", Action::Write) && !may("t", Action::Read));
        assert!(
            may("log", Action::Append) && !may("log", Action::Write) && !may("log", Action::Read)
        );
    }

    #[test]
    fn owned_asks_for_the_owner_unless_the_name_is_granted() {
        let mine = Scoped::of_subject("ann").threads;
        assert_eq!(access(&mine, Some("ann"), "t", Action::Read), Access::IfOwnedBy("ann"));
        let both = [mine[0].clone(), exact("t", Actions::READ)];
        assert_eq!(access(&both, Some("ann"), "t", Action::Read), Access::Granted);
        assert_eq!(access(&both, Some("ann"), "t", Action::Write), Access::IfOwnedBy("ann"));
        let reached = reach(&both, Some("ann"), Action::Read);
        assert_eq!(
            (reached.owner.as_deref(), &reached.exact[..]),
            (Some("ann"), &["t".to_owned()][..])
        );
    }

    #[test]
    fn narrower_is_covered_and_nothing_else() {
        let wide = Scoped { threads: vec![prefix("a:")], ..Scoped::of_subject("ann") };
        let of = |threads| Scoped { threads, ..Scoped::default() };
        assert!(wide.covers(&of(vec![exact("a:1", Actions::READ)])));
        assert!(wide.covers(&of(vec![prefix("a:b/")])));
        assert!(!wide.covers(&of(vec![prefix("b:")])));
        assert!(
            !wide.covers(&of(vec![Grant { selector: Selector::Owned, actions: Actions::ALL }]))
        );
        let read_only = of(vec![Grant { actions: Actions::READ, ..prefix("a:") }]);
        assert!(wide.covers(&read_only) && !read_only.covers(&wide));
        let below = |labels: &[&str]| Scoped {
            namespaces: vec![NamespaceGrant {
                prefix: labels.iter().map(|it| (*it).into()).collect(),
                actions: Actions::READ,
            }],
            ..Scoped::default()
        };
        assert!(wide.covers(&below(&["ann", "notes"])));
        assert!(!wide.covers(&below(&["anna"])) && !wide.covers(&below(&[])));
    }

    #[test]
    fn namespaces_stay_below_the_subject() {
        let with = |labels: &[&str]| Scoped {
            namespaces: vec![NamespaceGrant {
                prefix: labels.iter().map(|it| (*it).into()).collect(),
                actions: Actions::ALL,
            }],
            ..Scoped::default()
        };
        assert!(with(&["ann~2eb", "x"]).check(Some("ann.b")).is_ok());
        assert!(with(&["bob"]).check(Some("ann")).is_err());
        assert!(with(&[]).check(Some("ann")).is_err());
        assert!(with(&[]).check(None).is_ok());
        assert!(with(&["a.b"]).check(None).is_err() && with(&[""]).check(None).is_err());
    }
}
