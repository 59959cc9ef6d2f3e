//! Items of the store: that each opens to what was put.

use super::content::{Chunks, Value, Verdict};
use super::{Ward, size};
use crate::domain::Result;
use crate::domain::doctor::{Noun, Place, Report, State};
use crate::storage::access::{Cell, Record, Source, page};
use crate::storage::homes::{ValueRow, item_place};
use crate::storage::items::namespaces;

/// An item has no tag of its own.
const ITEMS: Source<'static> = Source {
    columns: "namespace, key, scope_id, 'json', size_bytes, digest, body, parts",
    size: "case when size_bytes > length(body) then size_bytes else length(body) end
        + coalesce(length(parts), 0)",
    rows: "from items where tenant = $1 and {after_item} order by namespace, key",
};
/// Where the value begins in a row.
const VALUE: usize = 3;

impl Ward<'_> {
    pub(super) async fn examine_items(&self, report: &mut Report) -> Result<()> {
        let mut after = self.first_item();
        loop {
            let mut access = self.engine.look().await?;
            let binds = [vec![self.name()], after].concat();
            let rows = page(access.as_mut(), self.dialect, &ITEMS, &binds).await?;
            let mut found = Vec::new();
            for row in &rows {
                let scope_id = row.integer(2).unwrap_or_default();
                let value = Value::read((scope_id, self.row_of_item(row)?), row, VALUE)?;
                let place = [self.name(), scope_id.into()];
                let one = std::slice::from_ref(&value);
                let chunks = Chunks::load(access.as_mut(), &self.secret, &place, one).await?;
                found.push((value, chunks));
            }
            access.end().await?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.0[..2].to_vec();
            for ((value, mut chunks), row) in found.into_iter().zip(&rows) {
                chunks
                    .fetch(self.engine.objects(), &self.secret, row.integer(2).unwrap_or_default())
                    .await?;
                let bytes = value.stored_bytes() + size(row.bytes(1)?.len());
                let verdict = value.examine(&self.secret, &chunks);
                let is_read = !matches!(verdict, Verdict::Moved);
                report.add(
                    if is_read { State::Checked } else { State::Moved },
                    Noun::Items,
                    1,
                    bytes,
                );
                let (state, detail) = match verdict {
                    Verdict::Sound | Verdict::Moved => continue,
                    Verdict::Damaged(detail) => (State::Damaged, detail),
                    Verdict::Unreadable => {
                        (State::Unreadable, "a chunk of the value is missing or damaged")
                    }
                };
                report.find(state, Noun::Items, bytes, self.place_of_item(row), detail);
            }
        }
    }

    /// Comes before every item.
    pub(super) fn first_item(&self) -> Vec<Cell> {
        vec![Cell::from(self.dialect.first_namespace), Cell::Bytes(Vec::new())]
    }

    fn row_of_item(&self, row: &Record) -> Result<ValueRow<'static>> {
        let namespace = namespaces::encode(&namespaces::of_cell(&row.0[0]).unwrap_or_default());
        Ok(ValueRow::Item(item_place(&self.secret, &namespace, row.bytes(1)?)))
    }

    /// The namespace: keys say what is remembered.
    fn place_of_item(&self, row: &Record) -> Place {
        let namespace = namespaces::of_cell(&row.0[0]);
        Place { namespace: namespace.map(|it| it.labels().to_vec()), ..self.place(None) }
    }
}
