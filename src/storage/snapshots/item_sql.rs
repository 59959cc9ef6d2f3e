//! Defines the engines' SQL for a snapshot's items. Statements name it as `{name}`; `items.rs` decides which rows.

use crate::domain::store::namespace::Namespace;
use crate::storage::db::access::{Dialect, SqlValue};
use crate::storage::store::namespaces;

/// What differs.
#[derive(Debug)]
pub struct ItemSql {
    /// `{lo}` and `{hi}`: where what is below a namespace begins and ends, bound as $2 and $3.
    lo: &'static str,
    hi: &'static str,
    /// `{index}`, `{of_i}`, `{of_c}`, `{set_index}`: columns of the index of filters, each behind a comma; of an item, of a copy, of what
    /// replaces an item.
    index: &'static str,
    of_i: &'static str,
    of_c: &'static str,
    set_index: &'static str,
    /// `{greatest}`
    greatest: &'static str,
    /// Writes into the log of changes, for tenants that somebody follows: what `{changed}` selects as (namespace, key, version,
    /// kind). $1 is the tenant, $5 now.
    pub log: &'static [&'static str],
    is_postgres: bool,
}

pub const POSTGRES: ItemSql = ItemSql {
    lo: "array(select jsonb_array_elements_text(cast($2 as jsonb)))",
    hi: "array(select jsonb_array_elements_text(cast($3 as jsonb)))",
    index: ", projection, has_marks",
    of_i: ", i.projection, i.has_marks",
    of_c: ", c.projection, c.has_marks",
    set_index: ", projection = excluded.projection, has_marks = excluded.has_marks",
    greatest: "greatest",
    log: &["insert into item_changes (tenant, xid, n, namespace, key, version, kind, written_at)
        select $1, pg_current_xact_id(), (coalesce((select max(l.n) from item_changes l
                where l.tenant = $1 and l.xid = pg_current_xact_id()), 0) + row_number() over ())::integer,
            d.namespace, d.key, d.version, d.kind, $5
        from ({changed}) d
        where exists (select from item_feeds f where f.tenant = $1 and f.wanted_until > $5)"],
    is_postgres: true,
};

pub const SQLITE: ItemSql = ItemSql {
    lo: "$2",
    hi: "$3",
    index: "",
    of_i: "",
    of_c: "",
    set_index: "",
    greatest: "max",
    log: &[
        "insert into item_changes (tenant, n, namespace, key, version, kind, written_at)
        select f.tenant, f.changes + row_number() over (), d.namespace, d.key, d.version, d.kind, $5
        from ({changed}) d join item_feeds f on f.tenant = $1 and f.wanted_until > $5",
        "update item_feeds set changes = max(changes, coalesce((select max(l.n) from item_changes l
            where l.tenant = $1), 0)) where tenant = $1",
    ],
    is_postgres: false,
};

impl ItemSql {
    /// Of the engine with this dialect.
    pub fn of(dialect: &Dialect) -> &'static Self {
        if dialect.has_lateral { &POSTGRES } else { &SQLITE }
    }

    pub fn fill(&self, text: &str) -> String {
        let fields = [
            ("{lo}", self.lo),
            ("{hi}", self.hi),
            ("{index}", self.index),
            ("{of_i}", self.of_i),
            ("{of_c}", self.of_c),
            ("{set_index}", self.set_index),
            ("{greatest}", self.greatest),
        ];
        fields.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// A namespace as binds have it.
    pub fn bounds(&self, namespace: &Namespace) -> [SqlValue; 2] {
        if self.is_postgres {
            let mut end = namespace.labels().to_vec();
            // No label holds a zero byte, so nothing is between a label and this.
            if let Some(last) = end.last_mut() {
                last.push('\u{1}');
            }
            return [namespace.labels(), &end[..]]
                .map(|it| SqlValue::Text(serde_json::json!(it).to_string()));
        }
        let end = namespaces::end(namespace).unwrap_or_default();
        [SqlValue::Bytes(namespaces::encode(namespace)), SqlValue::Bytes(end)]
    }
}
