//! Converts settings of namespaces and retention policies of a tenant to records, and imports them. Each is a noun of one record.

use super::frames::FrameReader;
use super::import::{Fate, Ground, truncated};
use super::records::{PolicyOf, Record, SettingOf};
use crate::domain::error::FileFault;
use crate::domain::export::records::Existing;
use crate::domain::limits::LIMITS;
use crate::domain::names::ThreadId;
use crate::domain::store::namespace::Namespace;
use crate::domain::store::namespace_settings::{Declared, Setting};
use crate::domain::tenants::audit::{Act, ActKind};
use crate::domain::threads::retention::{Policy, Rules};
use crate::domain::{Conflict, Error, Result};

impl From<&Setting> for SettingOf {
    fn from(setting: &Setting) -> Self {
        Self {
            namespace: setting.namespace.labels().to_vec(),
            history: setting.declared.history,
            text_fields: setting.declared.text_fields.clone(),
        }
    }
}

impl From<Policy> for PolicyOf {
    fn from(policy: Policy) -> Self {
        let Rules {
            expire_after_seconds,
            keep_last,
            older_than_seconds,
            keep_interrupted,
            dry_run,
        } = policy.rules;
        Self {
            thread_id: policy.thread_id,
            expire_after_seconds,
            keep_last,
            older_than_seconds,
            keep_interrupted,
            dry_run,
        }
    }
}

/// Reads the end of a noun of one record.
async fn end(frames: &mut FrameReader<'_>) -> Result<()> {
    let Some(payload) = frames.next().await? else { return Err(truncated()) };
    match frames.decode(&payload).await? {
        Record::End(end) => frames.verify(end.signature.as_ref().map(|it| &it[..])),
        _ => Err(frames.damaged("a record that belongs to nothing")),
    }
}

/// What becomes of something that is declared already, or not.
fn fate(ground: &Ground<'_>, found: Option<bool>, shown: (&'static str, String)) -> Result<Fate> {
    let (noun, name) = shown;
    match (found, ground.options.existing) {
        (None, _) => Ok(Fate::Created),
        (Some(true), _) => Ok(Fate::Unchanged),
        (Some(false), Existing::Replace) => Ok(Fate::Replaced),
        (Some(false), Existing::Refuse) if ground.options.dry_run => Ok(Fate::Conflict),
        (Some(false), Existing::Refuse) => {
            Err(Error::Conflict(Conflict::ImportConflict { noun, name }))
        }
    }
}

fn of_file(error: Error) -> Error {
    match error {
        Error::Invalid { detail, .. } => Error::Export { fault: FileFault::Damaged, detail },
        other => other,
    }
}

pub async fn import_setting(
    ground: &Ground<'_>,
    frames: &mut FrameReader<'_>,
    it: SettingOf,
) -> Result<Fate> {
    end(frames).await?;
    let declared = Declared { history: it.history, text_fields: it.text_fields };
    declared.check().map_err(of_file)?;
    let namespace = Namespace::new(it.namespace).map_err(of_file)?;
    let all = ground.storage.list_namespace_settings(ground.caller).await?;
    let found = all.iter().find(|it| it.namespace == namespace);
    let name = namespace.labels().join("/");
    let fate = fate(ground, found.map(|it| it.declared == declared), ("the setting of", name))?;
    if !ground.options.dry_run && matches!(fate, Fate::Created | Fate::Replaced) {
        put_setting(ground, namespace, declared).await?;
    }
    Ok(fate)
}

async fn put_setting(ground: &Ground<'_>, namespace: Namespace, declared: Declared) -> Result<()> {
    let name = namespace.labels().join("/");
    let act = Act::of(ground.caller, ActKind::NamespaceSettingPut, name, ground.now);
    let setting = Setting { namespace, declared, changed_at: ground.now, is_indexing: false };
    let max = LIMITS.namespace_settings_max;
    if ground.storage.put_namespace_setting(ground.caller, &setting, max, &act).await? {
        return Ok(());
    }
    let detail = format!("a tenant has at most {max} settings of namespaces");
    Err(Error::out_of_range("settings", detail, max))
}

/// Items that came have no words yet: where some are declared, servers go through the items once more.
pub async fn index_words(ground: &Ground<'_>) -> Result<()> {
    for setting in ground.storage.list_namespace_settings(ground.caller).await? {
        if setting.declared.text_fields.is_some() {
            put_setting(ground, setting.namespace, setting.declared).await?;
        }
    }
    Ok(())
}

pub async fn import_policy(
    ground: &Ground<'_>,
    frames: &mut FrameReader<'_>,
    it: PolicyOf,
) -> Result<Fate> {
    end(frames).await?;
    let Ground { storage, caller, now, .. } = *ground;
    let thread_id = it.thread_id.map(ThreadId::new).transpose().map_err(of_file)?;
    let rules = Rules {
        expire_after_seconds: it.expire_after_seconds,
        keep_last: it.keep_last,
        older_than_seconds: it.older_than_seconds,
        keep_interrupted: it.keep_interrupted,
        dry_run: it.dry_run,
    };
    let numbers = [it.expire_after_seconds, it.keep_last.map(i64::from), it.older_than_seconds];
    if numbers.into_iter().flatten().any(|it| it < 1) {
        return Err(of_file(Error::invalid("policy", "a rule with a number below 1")));
    }
    let found = storage.get_policy(caller, thread_id.as_ref()).await?;
    let name = thread_id.as_ref().map_or_else(|| "the tenant".into(), ToString::to_string);
    let same = found.map(|it| it.rules == rules);
    let fate = fate(ground, same, ("the retention policy of", name.clone()))?;
    if !ground.options.dry_run && matches!(fate, Fate::Created | Fate::Replaced) {
        let act = Act::of(caller, ActKind::PolicyPut, name, now);
        storage.put_policy(caller, thread_id.as_ref(), &rules, &act).await?;
    }
    Ok(fate)
}
