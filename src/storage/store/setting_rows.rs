//! Stores settings of namespaces as rows. The SQL is the same for both engines. Servers hold all settings in memory and compare labels
//! there, so a namespace is bytes on both.

use async_trait::async_trait;

use super::namespaces;
use crate::domain::caller::Caller;
use crate::domain::store::namespace::Namespace;
use crate::domain::store::namespace_settings::{Declared, Setting, SettingsStorage};
use crate::domain::tenants::audit::Act;
use crate::domain::{Error, Result};
use crate::storage::db::access::{Accessible, SqlRow, SqlValue};
use crate::storage::tenants::audit_rows::record;

/// $1 tenant, $2 namespace, $3 history or -1, $4 fields or empty, $5 now, $6 how many others there may be.
const PUT: &str = "
insert into namespace_settings (tenant, namespace, history, text_fields, changed_at)
select $1, $2, nullif(cast($3 as integer), -1), nullif(cast($4 as text), ''), $5
where (select count(*) from namespace_settings where tenant = $1 and namespace <> $2) < $6
on conflict (tenant, namespace) do update set history = excluded.history,
    text_fields = excluded.text_fields, changed_at = excluded.changed_at
returning changed_at";

/// What the items below have for words has to follow, where the namespace declares some, or did.
const WALK: &str = "
insert into word_walks (tenant, namespace, changed_at, claimed_until)
select $1, $2, $3, 0 where exists (select 1 from namespace_settings
    where tenant = $1 and namespace = $2 and text_fields is not null)
on conflict (tenant, namespace) do update set changed_at = excluded.changed_at,
    after_namespace = null, after_key = null, claimed_until = 0";

const WALKS: &str = "select namespace from word_walks where tenant = $1";

const DELETE: &str = "delete from namespace_settings where tenant = $1 and namespace = $2";

const LIST: &str = "
select tenant, namespace, history, text_fields, changed_at from namespace_settings
where tenant = $1 order by namespace";

/// Crosses tenants, like the polling of keys.
const LOAD: &str = "
select tenant, namespace, history, text_fields, changed_at from namespace_settings
where tenant is not null";

#[async_trait]
impl<T: Accessible> SettingsStorage for T {
    async fn put_namespace_setting(
        &self,
        caller: &Caller,
        setting: &Setting,
        rows_max: u64,
        act: &Act,
    ) -> Result<bool> {
        let Setting { namespace, declared, changed_at, .. } = setting;
        let fields = declared.text_fields.as_ref().map(|it| serde_json::json!(it).to_string());
        let cells = [
            caller.tenant.as_str().into(),
            SqlValue::Bytes(namespaces::encode(namespace)),
            declared.history.map_or(-1, i64::from).into(),
            fields.unwrap_or_default().as_str().into(),
            (*changed_at).into(),
            i64::try_from(rows_max).unwrap_or(i64::MAX).into(),
        ];
        let mut access = self.begin_write().await?;
        let walk = [cells[0].clone(), cells[1].clone(), cells[4].clone()];
        access.rows(WALK, &walk).await?;
        let stored = !access.rows(PUT, &cells).await?.is_empty();
        access.rows(WALK, &walk).await?;
        if stored {
            record(&mut *access, act).await?;
        }
        access.end().await?;
        Ok(stored)
    }

    async fn delete_namespace_setting(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        act: &Act,
    ) -> Result<()> {
        let cells = [caller.tenant.as_str().into(), SqlValue::Bytes(namespaces::encode(namespace))];
        let mut access = self.begin_write().await?;
        access.rows(WALK, &[&cells[..], &[act.at.into()]].concat()).await?;
        access.rows(DELETE, &cells).await?;
        record(&mut *access, act).await?;
        access.end().await
    }

    async fn list_namespace_settings(&self, caller: &Caller) -> Result<Vec<Setting>> {
        let tenant = [caller.tenant.as_str().into()];
        let mut access = self.begin_read_for(&caller.tenant).await?;
        let walks = access.rows(WALKS, &tenant).await?;
        let rows = access.rows(LIST, &tenant).await?;
        access.end().await?;
        let walks = walks.iter().map(|row| namespaces::decode(row.bytes(0)?));
        let walks = walks.collect::<Result<Vec<Namespace>>>()?;
        let is_walked =
            |it: &Namespace| walks.iter().any(|walk| walk.starts_with(it) || it.starts_with(walk));
        let known = |row: &SqlRow| {
            let setting = setting(row)?.1;
            let declares = setting.declared.text_fields.is_some();
            Ok(Setting { is_indexing: declares && is_walked(&setting.namespace), ..setting })
        };
        rows.iter().map(known).collect()
    }

    async fn load_namespace_settings(&self) -> Result<Vec<(String, Setting)>> {
        let mut access = self.begin_read().await?;
        let rows = access.rows(LOAD, &[]).await?;
        access.end().await?;
        rows.iter().map(setting).collect()
    }
}

fn setting(row: &SqlRow) -> Result<(String, Setting)> {
    let damaged = |_| Error::Integrity("the setting of a namespace is damaged".into());
    let history = match &row.0[2] {
        SqlValue::Null => None,
        _ => Some(u32::try_from(row.integer(2)?).unwrap_or(0)),
    };
    let text_fields =
        row.optional_text(3)?.map(serde_json::from_str).transpose().map_err(damaged)?;
    let setting = Setting {
        namespace: namespaces::decode(row.bytes(1)?)?,
        declared: Declared { history, text_fields },
        changed_at: row.integer(4)?,
        is_indexing: false,
    };
    Ok((row.text(0)?.to_owned(), setting))
}
