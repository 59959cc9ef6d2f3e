//! Checks that items of the store, and their earlier versions, open to the values that were put.

use super::content::{Chunks, Value, Verdict};
use super::pass::{Pass, Start};
use super::{TenantScan, size};
use crate::domain::Result;
use crate::domain::doctor::{FindingPlace, Noun, Report, State};
use crate::domain::store::item::{Address, Key};
use crate::storage::content::associated_data::{ValueRow, item_place};
use crate::storage::db::access::{Source, SqlRow, SqlValue, page_of};
use crate::storage::store::{heads, namespaces};

/// An item has no tag of its own.
pub const ITEMS: Source<'static> = Source {
    columns: "namespace, key, scope_id, 'json', size_bytes, digest, body, parts, file_head",
    size: "case when size_bytes > length(body) then size_bytes else length(body) end
        + coalesce(length(parts), 0)",
    rows: "from items where tenant = $1 and {after_item} order by namespace, key",
};

pub const VERSIONS: Source<'static> = Source {
    columns: "namespace, key, version, scope_id, 'json', size_bytes, digest, body, parts, file_head",
    size: ITEMS.size,
    rows: "from item_versions where tenant = $1 and {after_version} order by namespace, key, version",
};

/// Versions of an item that is not there: nothing shows them.
const STRAY: &str = "select v.size_bytes from item_versions v where v.tenant = $1 and v.version > 0 and not exists (
    select 1 from items i where i.tenant = v.tenant and i.namespace = v.namespace and i.key = v.key)";

const DELETE_STRAY: &str =
    "delete from item_versions as v where v.tenant = $1 and v.version > 0 and not exists (
    select 1 from items i where i.tenant = v.tenant and i.namespace = v.namespace and i.key = v.key)
    returning size_bytes";

/// What is gone through: rows, where the value begins in one, and how many columns say where it stands.
pub struct Values {
    source: Source<'static>,
    value: usize,
    key: usize,
    noun: Noun,
}

pub const ITEM_VALUES: Values = Values { source: ITEMS, value: 3, key: 2, noun: Noun::Items };
pub const VERSION_VALUES: Values =
    Values { source: VERSIONS, value: 4, key: 3, noun: Noun::ItemVersions };

impl TenantScan<'_> {
    pub(super) async fn examine_items(&self, report: &mut Report) -> Result<()> {
        self.go_through(Pass::Items, report).await
    }

    pub(super) async fn examine_versions(&self, report: &mut Report) -> Result<()> {
        self.go_through(Pass::Versions, report).await?;
        let fix = self.repairs(report);
        let mut access =
            if fix { self.engine.begin_write() } else { self.engine.begin_read() }.await?;
        let stray = access.rows(if fix { DELETE_STRAY } else { STRAY }, &[self.name()]).await?;
        access.end().await?;
        let bytes = stray.iter().map(|row| row.integer(0)).sum::<Result<i64>>()?.unsigned_abs();
        let state = if fix { State::Repaired } else { State::Orphan };
        report.add(state, Noun::ItemVersions, size(stray.len()), bytes);
        Ok(())
    }

    pub(super) async fn examine_item_values(
        &self,
        values: &Values,
        from: &Start,
        report: &mut Report,
    ) -> Result<Option<Vec<SqlValue>>> {
        let noun = values.noun;
        let mut access = self.engine.begin_read().await?;
        let binds = [&[self.name()], &from.after[..]].concat();
        let binds = (&binds[..], from.rows_max);
        let rows = page_of(access.as_mut(), self.dialect, &values.source, binds).await?;
        let mut found = Vec::new();
        for row in &rows {
            let scope_id = scope_of(row, values);
            let value = Value::read((scope_id, self.row_of_item(row)?), row, values.value)?;
            let place = [self.name(), scope_id.into()];
            let one = std::slice::from_ref(&value);
            let chunks = Chunks::load(access.as_mut(), &self.secret, &place, one).await?;
            found.push((value, chunks));
        }
        access.end().await?;
        for ((value, mut chunks), row) in found.into_iter().zip(&rows) {
            let scope_id = scope_of(row, values);
            chunks.fetch(self.engine.objects(), (&self.tenant, &self.secret), scope_id).await?;
            let bytes = value.stored_bytes() + size(row.bytes(1)?.len());
            let verdict = value.examine(&self.secret, &chunks);
            let is_read = !matches!(verdict, Verdict::Moved);
            report.add(if is_read { State::Checked } else { State::Moved }, noun, 1, bytes);
            let (state, detail) = match verdict {
                Verdict::Sound if !self.has_sound_head(row, values) => {
                    (State::Damaged, "what is noted of the file is damaged")
                }
                Verdict::Sound | Verdict::Moved => continue,
                Verdict::Damaged(detail) => (State::Damaged, detail),
                Verdict::Unreadable => {
                    (State::Unreadable, "a chunk of the value is missing or damaged")
                }
            };
            report.find(state, noun, bytes, self.place_of_item(row), detail);
        }
        Ok(rows.last().map(|last| last.0[..values.key].to_vec()))
    }

    /// What is noted of a file behind its value opens, and belongs to the value.
    fn has_sound_head(&self, row: &SqlRow, values: &Values) -> bool {
        let (digest, head) = (row.bytes(values.value + 2), &row.0[values.value + 5]);
        let (Ok(digest), Ok(key), SqlValue::Bytes(head)) = (digest, row.bytes(1), head) else {
            return *head == SqlValue::Null;
        };
        let namespace = namespaces::of_cell(&row.0[0]).unwrap_or_default();
        let address = Address { namespace, key: Key::stored(key.to_vec()) };
        heads::open(&self.secret, &address, digest, Some(head)).is_ok()
    }

    /// Comes before every item.
    pub(super) fn first_item(&self) -> Vec<SqlValue> {
        vec![SqlValue::from(self.dialect.first_namespace), SqlValue::Bytes(Vec::new())]
    }

    /// Comes before every version.
    pub(super) fn first_version(&self) -> Vec<SqlValue> {
        [self.first_item(), vec![i64::MIN.into()]].concat()
    }

    fn row_of_item(&self, row: &SqlRow) -> Result<ValueRow<'static>> {
        let namespace = namespaces::encode(&namespaces::of_cell(&row.0[0]).unwrap_or_default());
        Ok(ValueRow::Item(item_place(&self.secret, &namespace, row.bytes(1)?)))
    }

    /// The namespace: keys say what is remembered.
    fn place_of_item(&self, row: &SqlRow) -> FindingPlace {
        let namespace = namespaces::of_cell(&row.0[0]);
        FindingPlace { namespace: namespace.map(|it| it.labels().to_vec()), ..self.place(None) }
    }
}

fn scope_of(row: &SqlRow, values: &Values) -> i64 {
    row.integer(values.value - 1).unwrap_or_default()
}
