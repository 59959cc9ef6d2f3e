//! Defines the settings of namespaces: how many earlier versions their items keep, and which of their words are indexed. Servers hold the
//! settings of all tenants in memory, so a put needs no look-up.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;

use super::namespace::Namespace;
use crate::domain::caller::{Caller, Permission};
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::names::at_most;
use crate::domain::scheduling::task_health::TaskHealth;
use crate::domain::tenants::audit::{Act, ActKind};
use crate::domain::tokens::grants::Action;

/// How often settings are read again: after so long every server follows a change.
pub const POLL_EVERY: Duration = Duration::from_secs(2);

/// What a namespace says for itself and all below it. Of several prefixes of a namespace the longest that says something
/// counts, for each field by itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Declared {
    /// Earlier versions that an item keeps.
    pub history: Option<u32>,
    /// Paths of the fields whose words are indexed; none: no words, `$`: all.
    pub text_fields: Option<Vec<String>>,
}

/// A namespace that declares something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub namespace: Namespace,
    pub declared: Declared,
    pub changed_at: Micros,
    /// Words of items that were there before are still being indexed.
    pub is_indexing: bool,
}

#[async_trait]
pub trait SettingsStorage: Send + Sync {
    /// Creates or replaces, unless the tenant has `rows_max` others. False: it has.
    async fn put_namespace_setting(
        &self,
        caller: &Caller,
        setting: &Setting,
        rows_max: u64,
        act: &Act,
    ) -> Result<bool>;

    /// No error when there is none.
    async fn delete_namespace_setting(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        act: &Act,
    ) -> Result<()>;

    /// Of one tenant, in the order of namespaces.
    async fn list_namespace_settings(&self, caller: &Caller) -> Result<Vec<Setting>>;

    /// Of all tenants: servers poll this.
    async fn load_namespace_settings(&self) -> Result<Vec<(String, Setting)>>;
}

type Known = HashMap<String, BTreeMap<Namespace, Declared>>;

/// The settings of all tenants, as this server knows them.
pub struct NamespaceSettings {
    storage: Arc<dyn SettingsStorage>,
    clock: Arc<Clock>,
    known: RwLock<Arc<Known>>,
}

impl Declared {
    /// # Errors
    /// 422 naming the field that is out of range, or that says nothing.
    pub fn check(&self) -> Result<()> {
        if *self == Self::default() {
            return Err(Error::invalid("history", "a setting needs history or text_fields"));
        }
        let max = LIMITS.item_versions_max;
        if self.history.is_some_and(|it| u64::from(it) > max) {
            let detail = format!("history must be from 0 to {max}");
            return Err(Error::out_of_range("history", detail, max));
        }
        let fields = self.text_fields.as_deref().unwrap_or_default();
        at_most("text_fields", fields.len(), LIMITS.text_fields_max)?;
        for field in fields {
            let max = LIMITS.text_field_bytes_max;
            if field.is_empty() || field.len() as u64 > max {
                let detail = format!("a path in text_fields must be 1 to {max} bytes");
                return Err(Error::out_of_range("text_fields", detail, max));
            }
        }
        Ok(())
    }
}

impl NamespaceSettings {
    /// # Errors
    /// When the settings cannot be read.
    pub async fn load(storage: Arc<dyn SettingsStorage>, clock: Arc<Clock>) -> Result<Self> {
        let settings = Self { storage, clock, known: RwLock::default() };
        settings.poll().await?;
        Ok(settings)
    }

    /// What holds for a namespace.
    pub fn effective(&self, tenant: &str, namespace: &Namespace) -> Declared {
        let known = self.known();
        let Some(own) = known.get(tenant) else { return Declared::default() };
        let mut found = Declared::default();
        for depth in (0..=namespace.labels().len()).rev() {
            if let Some(declared) = own.get(&namespace.truncated(depth)) {
                found.history = found.history.or(declared.history);
                found.text_fields = found.text_fields.or_else(|| declared.text_fields.clone());
            }
        }
        found
    }

    /// # Errors
    /// `NotGranted`; 422 for what is out of range and for too many settings; `DeadlineExceeded`.
    pub async fn put(
        &self,
        caller: &Caller,
        namespace: Namespace,
        declared: Declared,
        deadline: Micros,
    ) -> Result<Setting> {
        may_change(caller, &namespace)?;
        declared.check()?;
        self.clock.require_before(deadline)?;
        let is_indexing = declared.text_fields.as_ref().is_some_and(|it| !it.is_empty());
        let setting = Setting { namespace, declared, changed_at: self.clock.now(), is_indexing };
        let act = self.act(caller, ActKind::NamespaceSettingPut, &setting.namespace);
        let (act, max) = (act.with(&setting.declared), LIMITS.namespace_settings_max);
        if !self.storage.put_namespace_setting(caller, &setting, max, &act).await? {
            let detail = format!("a tenant has at most {max} settings of namespaces");
            return Err(Error::out_of_range("namespace", detail, max));
        }
        self.poll().await?;
        Ok(setting)
    }

    /// # Errors
    /// `NotGranted`; `DeadlineExceeded`.
    pub async fn delete(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        deadline: Micros,
    ) -> Result<()> {
        may_change(caller, namespace)?;
        self.clock.require_before(deadline)?;
        let act = self.act(caller, ActKind::NamespaceSettingDeleted, namespace);
        self.storage.delete_namespace_setting(caller, namespace, &act).await?;
        self.poll().await
    }

    /// The namespace's own setting, and what holds for it. Of a namespace that the caller may not read nothing is said.
    ///
    /// # Errors
    /// A storage that cannot be read.
    pub async fn get(
        &self,
        caller: &Caller,
        namespace: &Namespace,
    ) -> Result<(Option<Setting>, Declared)> {
        caller.require(Permission::Namespaces(Action::Read))?;
        if !caller.may_touch_namespace(namespace.labels(), Action::Read) {
            return Ok((None, Declared::default()));
        }
        self.poll().await?;
        let all = self.storage.list_namespace_settings(caller).await?;
        let own = all.into_iter().find(|it| it.namespace == *namespace);
        Ok((own, self.effective(&caller.tenant, namespace)))
    }

    /// Of namespaces below a prefix, in their order.
    ///
    /// # Errors
    /// A storage that cannot be read.
    pub async fn list(&self, caller: &Caller, prefix: &Namespace) -> Result<Vec<Setting>> {
        caller.require(Permission::Namespaces(Action::Read))?;
        let mut all = self.storage.list_namespace_settings(caller).await?;
        all.retain(|it| {
            it.namespace.starts_with(prefix)
                && caller.may_touch_namespace(it.namespace.labels(), Action::Read)
        });
        Ok(all)
    }

    /// Never returns.
    pub async fn run(self: Arc<Self>, health: TaskHealth) {
        let health = health.every(POLL_EVERY);
        let mut ticks = tokio::time::interval(POLL_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let polled = self.poll().await;
            health.note(&polled);
            if let Err(error) = polled {
                tracing::warn!(%error, "settings of namespaces could not be read; the last ones still hold");
            }
        }
    }

    /// Reads all settings: one statement.
    ///
    /// # Errors
    /// When they cannot be read; what is known still holds.
    pub async fn poll(&self) -> Result<()> {
        let mut known = Known::new();
        for (tenant, setting) in self.storage.load_namespace_settings().await? {
            known.entry(tenant).or_default().insert(setting.namespace, setting.declared);
        }
        *self.known.write().expect("no code panics while it holds the settings") = Arc::new(known);
        Ok(())
    }

    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.read().expect("no code panics while it holds the settings"))
    }

    fn act(&self, caller: &Caller, kind: ActKind, namespace: &Namespace) -> Act {
        let object = serde_json::json!(namespace.labels()).to_string();
        Act::of(caller, kind, object, self.clock.now())
    }
}

fn may_change(caller: &Caller, namespace: &Namespace) -> Result<()> {
    if caller.may_touch_namespace(namespace.labels(), Action::Write) {
        return Ok(());
    }
    Err(Error::NotGranted("no grant covers this namespace"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_refused_with_field_and_limit() {
        let refused = |declared: Declared| match declared.check().unwrap_err() {
            Error::Invalid { field, limit, .. } => (field, limit),
            Error::TooLarge { field, limit } => (field, Some(limit)),
            other => panic!("{other}"),
        };
        let text = |fields: Vec<String>| Declared { text_fields: Some(fields), history: None };
        assert_eq!(refused(Declared::default()).0, "history");
        let history = |it| Declared { history: Some(it), text_fields: None };
        assert_eq!(refused(history(1_001)), ("history".into(), Some(1_000)));
        assert!(history(1_000).check().is_ok() && history(0).check().is_ok());
        assert_eq!(refused(text(vec!["a".into(); 33])), ("text_fields".into(), Some(32)));
        assert_eq!(refused(text(vec!["a".repeat(257)])), ("text_fields".into(), Some(256)));
        assert_eq!(refused(text(vec![String::new()])), ("text_fields".into(), Some(256)));
        assert!(text(Vec::new()).check().is_ok() && text(vec!["a.b".into()]).check().is_ok());
    }
}
