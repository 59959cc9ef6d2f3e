//! Defines grants on the wire: exactly one of `id`, `prefix` and `owned` per grant, actions by name. The command line uses the same form.

use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

use crate::domain::tokens::grants::{Action, Actions, Grant, NamespaceGrant, Scoped, Selector};
use crate::domain::{Error, Result};
use crate::http::request::by_name::by_name;

/// What a token may do with which things. An absent kind is granted to nobody.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Grants)]
pub struct GrantsBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    threads: Option<Vec<GrantBody>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespaces: Option<Vec<NamespaceGrantBody>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sessions: Option<Vec<GrantBody>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    snapshots: Option<Vec<GrantBody>>,
    /// With everything of the tenant, its keys, usage and audit log too. Of a token without a subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<Vec<ActionName>>,
}

/// Things by name. Exactly one of `id`, `prefix` and `owned`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Grant)]
pub struct GrantBody {
    /// The one with this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// All whose names begin with this; it ends in `:` or `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prefix: Option<String>,
    /// `true`: all that the token's subject made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owned: Option<bool>,
    actions: Vec<ActionName>,
}

/// Namespaces whose first labels are these.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NamespaceGrant)]
pub struct NamespaceGrantBody {
    /// Whole labels; none: all of the tenant. Of a token with a subject, the first one is the subject's label.
    prefix: Vec<String>,
    actions: Vec<ActionName>,
}

/// `append` adds and never removes or replaces by force; `write` changes and removes, and covers `append` but not `read`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase", remote = "Self")]
#[schema(as = GrantedAction)]
pub enum ActionName {
    Read,
    Append,
    Write,
}

by_name!(ActionName);

impl Serialize for ActionName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl From<Action> for ActionName {
    fn from(action: Action) -> Self {
        match action {
            Action::Read => Self::Read,
            Action::Append => Self::Append,
            Action::Write => Self::Write,
        }
    }
}

/// Grants as the command line takes them.
///
/// # Errors
/// 422 naming the field.
pub fn parse(field: &str, json: &str) -> Result<Scoped> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let body: GrantsBody =
        serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
            let (path, detail) = (error.path().to_string(), error.inner().to_string());
            Error::invalid(field, format!("{field}: {path}: {detail}"))
        })?;
    deserializer.end().map_err(|error| Error::invalid(field, format!("{field}: {error}")))?;
    body.into_domain()
}

impl GrantsBody {
    /// # Errors
    /// 422 naming the grant.
    pub fn into_domain(self) -> Result<Scoped> {
        let namespace = |(at, it): (usize, NamespaceGrantBody)| {
            let actions = actions(&format!("grants.namespaces[{at}]"), &it.actions)?;
            Ok(NamespaceGrant { prefix: it.prefix, actions })
        };
        let tenant = self.tenant.map(|it| actions("grants.tenant", &it));
        let namespaces = self.namespaces.unwrap_or_default().into_iter().enumerate();
        Ok(Scoped {
            threads: all("grants.threads", self.threads)?,
            namespaces: namespaces.map(namespace).collect::<Result<_>>()?,
            sessions: all("grants.sessions", self.sessions)?,
            snapshots: all("grants.snapshots", self.snapshots)?,
            tenant: tenant.transpose()?.unwrap_or_default(),
        })
    }
}

fn all(field: &str, grants: Option<Vec<GrantBody>>) -> Result<Vec<Grant>> {
    let grants = grants.unwrap_or_default().into_iter().enumerate();
    grants.map(|(at, it)| it.into_domain(&format!("{field}[{at}]"))).collect()
}

impl GrantBody {
    fn into_domain(self, field: &str) -> Result<Grant> {
        let selector = match (self.id, self.prefix, self.owned) {
            (Some(id), None, None) => Selector::Exact(id),
            (None, Some(prefix), None) => Selector::Prefix(prefix),
            (None, None, Some(true)) => Selector::Owned,
            _ => {
                let detail =
                    format!("{field}: exactly one of `id`, `prefix` and `owned: true` is needed");
                return Err(Error::invalid(field, detail));
            }
        };
        Ok(Grant { selector, actions: actions(field, &self.actions)? })
    }
}

fn actions(field: &str, names: &[ActionName]) -> Result<Actions> {
    let set = names.iter().map(|name| match name {
        ActionName::Read => Actions::READ,
        ActionName::Append => Actions::APPEND,
        ActionName::Write => Actions::WRITE,
    });
    let set = set.fold(Actions::default(), |set, it| set | it);
    if set.is_empty() {
        let detail = format!("{field}.actions: at least one of read, append and write is needed");
        return Err(Error::invalid(format!("{field}.actions"), detail));
    }
    Ok(set)
}

impl From<&Scoped> for GrantsBody {
    fn from(scoped: &Scoped) -> Self {
        let Scoped { threads, namespaces, sessions, snapshots, tenant } = scoped;
        let some = |grants: &[Grant]| {
            let bodies: Vec<GrantBody> = grants.iter().map(GrantBody::from).collect();
            (!bodies.is_empty()).then_some(bodies)
        };
        let namespace = |it: &NamespaceGrant| NamespaceGrantBody {
            prefix: it.prefix.clone(),
            actions: names(it.actions),
        };
        let namespaces: Vec<NamespaceGrantBody> = namespaces.iter().map(namespace).collect();
        Self {
            threads: some(threads),
            namespaces: (!namespaces.is_empty()).then_some(namespaces),
            sessions: some(sessions),
            snapshots: some(snapshots),
            tenant: (!tenant.is_empty()).then(|| names(*tenant)),
        }
    }
}

impl From<&Grant> for GrantBody {
    fn from(grant: &Grant) -> Self {
        let none = Self { id: None, prefix: None, owned: None, actions: names(grant.actions) };
        match &grant.selector {
            Selector::Exact(name) => Self { id: Some(name.clone()), ..none },
            Selector::Prefix(name) => Self { prefix: Some(name.clone()), ..none },
            Selector::Owned => Self { owned: Some(true), ..none },
        }
    }
}

fn names(actions: Actions) -> Vec<ActionName> {
    let all = [
        (ActionName::Read, actions.allows(Action::Read)),
        // Said by `write` already.
        (ActionName::Append, actions.allows(Action::Append) && !actions.allows(Action::Write)),
        (ActionName::Write, actions.allows(Action::Write)),
    ];
    all.into_iter().filter_map(|(name, allowed)| allowed.then_some(name)).collect()
}
