//! Decides which earlier versions of items are kept, reads them, and restores one.

use serde_json::Value;

use super::changing::Changing;
use super::history_storage::{ItemVersion, ListVersions, VersionPage};
use super::item::{Address, ChangeItem, NewValue};
use super::namespace_settings::Declared;
use super::service::Items;
use crate::domain::caller::{Caller, Permission};
use crate::domain::clock::Micros;
use crate::domain::error::{Conflict, Error, Result};
use crate::domain::scheduling::contention::Contention;
use crate::domain::tokens::grants::Action;

/// Earlier versions of an item that looks like a file, where no setting says otherwise.
pub const FILE_VERSIONS: u32 = 10;

/// Puts the value of an earlier version, with its time to live, as a new version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreItem {
    pub address: Address,
    pub version: i64,
    /// The version that the item must have now.
    pub if_version: Option<i64>,
}

/// The shape in which deepagents keeps a file: content as a text or its lines, and two times as texts.
pub fn is_file(document: &Value) -> bool {
    let is_text = |it: &Value| it.is_string();
    let content = match document.get("content") {
        Some(Value::Array(lines)) => lines.iter().all(is_text),
        Some(content) => content.is_string(),
        None => false,
    };
    content && ["created_at", "modified_at"].iter().all(|it| document.get(it).is_some_and(is_text))
}

/// How many earlier versions an item keeps from this put on; None: as many as before it.
pub fn kept_versions(declared: &Declared, is_file: bool) -> Option<u32> {
    declared.history.or(is_file.then_some(FILE_VERSIONS))
}

impl Items {
    /// The present version and those before it. An item that is not there, or not the caller's to read, has none.
    ///
    /// # Errors
    /// `NotGranted` when the grants cover no namespace at all; a storage that cannot be read.
    pub async fn list_versions(
        &self,
        caller: &Caller,
        query: &ListVersions,
    ) -> Result<VersionPage> {
        Ok(self.read_versions(caller, query).await?.unwrap_or_default())
    }

    /// # Errors
    /// As [`Self::list_versions`].
    pub async fn get_version(
        &self,
        caller: &Caller,
        address: &Address,
        version: i64,
    ) -> Result<Option<ItemVersion>> {
        let before = version.checked_add(1);
        let query = ListVersions { address: address.clone(), before, limit: 1, values: true };
        let page = self.list_versions(caller, &query).await?;
        Ok(page.versions.into_iter().find(|it| it.version == version))
    }

    /// The new version. Always a put with a condition, so that a repetition with the same key is told from another
    /// restoration: without one from the caller it is the version that was read with the value.
    ///
    /// # Errors
    /// `NotGranted` without the right to read and to write; `NotFound`; `VersionConflict`; those of a put.
    pub async fn restore(
        &self,
        caller: &Caller,
        request: &RestoreItem,
        idempotency: Option<(String, [u8; 32])>,
        deadline: Micros,
    ) -> Result<i64> {
        let labels = request.address.namespace.labels();
        let may = |action| caller.may_touch_namespace(labels, action);
        if !(may(Action::Read) && may(Action::Write)) {
            return Err(Error::NotGranted("no grant covers this namespace"));
        }
        let changing = Changing { caller, atomic: true, idempotency, deadline, note: Vec::new() };
        let mut contention = Contention::default();
        loop {
            let Some((current, wanted)) = self.current_and(caller, request).await? else {
                return self.answered_before(&changing).await;
            };
            let text = wanted.value.ok_or(Error::ValueTooLarge)?;
            let change = ChangeItem {
                address: request.address.clone(),
                // Vectors are not kept with versions.
                value: Some(NewValue {
                    text,
                    ttl_micros: wanted.ttl_micros,
                    vectors: None,
                    index: Vec::new(),
                    kept: None,
                }),
                if_version: Some(request.if_version.unwrap_or(current)),
            };
            match self.write(&changing, vec![change], None).await {
                Err(Error::Conflict(Conflict::VersionConflict { .. }))
                    if request.if_version.is_none() =>
                {
                    contention.lost("the item keeps").await?;
                }
                result => return Ok(result?.first().copied().unwrap_or(0)),
            }
        }
    }

    async fn read_versions(
        &self,
        caller: &Caller,
        query: &ListVersions,
    ) -> Result<Option<VersionPage>> {
        caller.require(Permission::Namespaces(Action::Read))?;
        if !caller.may_touch_namespace(query.address.namespace.labels(), Action::Read) {
            return Ok(None);
        }
        let now = self.clock.now();
        self.storage.list_item_versions(caller, query, now).await
    }

    /// The item's version, and the one to restore.
    async fn current_and(
        &self,
        caller: &Caller,
        request: &RestoreItem,
    ) -> Result<Option<(i64, ItemVersion)>> {
        let newest = ListVersions {
            address: request.address.clone(),
            before: None,
            limit: 1,
            values: false,
        };
        let page = self.list_versions(caller, &newest).await?;
        let wanted = self.get_version(caller, &request.address, request.version).await?;
        Ok(page.versions.first().map(|it| it.version).zip(wanted))
    }

    /// The version to restore may have gone because this very request has been done: an empty change asks for its answer.
    async fn answered_before(&self, changing: &Changing<'_>) -> Result<i64> {
        if changing.idempotency.is_some()
            && let Some(version) = self.answered(changing).await?.and_then(|it| it.first().copied())
        {
            return Ok(version);
        }
        Err(Error::NotFound("version"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_are_known_by_their_shape() {
        let times = |mut of: Value| {
            of["created_at"] = json!("2026-11-21T08:11:55Z");
            of["modified_at"] = json!("2026-11-21T08:11:55Z");
            of
        };
        assert!(is_file(&times(json!({"content": "x", "encoding": "utf-8"}))));
        assert!(is_file(&times(json!({"content": ["a", "b"]}))));
        assert!(is_file(&times(json!({"content": []}))));
        for other in [
            times(json!({"content": 1})),
            times(json!({"content": ["a", 1]})),
            times(json!({"text": "x"})),
            json!({"content": "x", "created_at": "y"}),
            json!({"content": "x", "created_at": 1, "modified_at": 2}),
        ] {
            assert!(!is_file(&other), "{other}");
        }
    }

    #[test]
    fn a_setting_comes_before_the_shape() {
        let says = |history| Declared { history, text_fields: None };
        assert_eq!(kept_versions(&says(Some(0)), true), Some(0));
        assert_eq!(kept_versions(&says(Some(3)), false), Some(3));
        assert_eq!(kept_versions(&says(None), true), Some(10));
        assert_eq!(kept_versions(&says(None), false), None);
    }
}
