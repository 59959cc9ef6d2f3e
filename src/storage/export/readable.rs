//! Lists the names of a tenant's data, as far as a damaged database can be read. It reads them from indexes where the database has one, so
//! that a damaged row is listed too.

use super::items::cell;
use crate::domain::Result;
use crate::domain::export::records::Readable;
use crate::domain::names::ThreadId;
use crate::domain::sessions::name::SessionName;
use crate::domain::store::item::{Address, Key};
use crate::domain::store::namespace::Namespace;
use crate::storage::db::access::{Accessible, SqlRow, SqlValue};
use crate::storage::db::damage::{Keys, thread_ids};
use crate::storage::store::namespaces;

const NAMES_PER_PAGE: i64 = 500;

/// Not those that snapshots keep.
pub async fn threads(engine: &dyn Accessible, tenant: &str) -> Result<Readable<String>> {
    let name = |row: &SqlRow| match row.text(0) {
        Ok(id) => Name::of(ThreadId::new(id).is_ok().then(|| id.to_owned())),
        Err(_) => Name::Damaged,
    };
    all(engine, &thread_ids(tenant), vec!["".into()], name).await
}

/// Not those that snapshots keep.
pub async fn sessions(engine: &dyn Accessible, tenant: &str) -> Result<Readable<SessionName>> {
    let keys = Keys {
        columns: "s.kind, s.key",
        rows: "from sessions s where s.tenant = $1 and (s.kind, s.key) > ($2, $3) order by s.kind, s.key",
        before: vec![tenant.into()],
    };
    let name = |row: &SqlRow| match (row.text(0), row.bytes(1)) {
        (Ok(kind), _) if kind.starts_with(':') => Name::Hidden,
        (Ok(kind), Ok(key)) => {
            SessionName::stored(kind.to_owned(), key).map_or(Name::Damaged, Name::Of)
        }
        _ => Name::Damaged,
    };
    all(engine, &keys, vec!["".into(), SqlValue::Bytes(Vec::new())], name).await
}

pub async fn items(
    engine: &dyn Accessible,
    tenant: &str,
    (prefix, after): (&Namespace, Option<&Address>),
) -> Result<Readable<Address>> {
    let keys = Keys {
        columns: "namespace, key",
        rows: "from items where tenant = $1 and {after_item} order by namespace, key",
        before: vec![tenant.into()],
    };
    let first = match after {
        Some(after) => {
            let namespace = cell(engine.dialect(), &after.namespace);
            vec![namespace, SqlValue::Bytes(after.key.as_bytes().to_vec())]
        }
        None => vec![SqlValue::from(engine.dialect().first_namespace), SqlValue::Bytes(Vec::new())],
    };
    let name = |row: &SqlRow| match (namespaces::of_cell(&row.0[0]), row.bytes(1)) {
        (Some(namespace), Ok(key)) => {
            let is_inside = namespace.starts_with(prefix);
            let key = Key::stored(key.to_vec());
            Name::of(is_inside.then_some(Address { namespace, key }))
        }
        _ => Name::Damaged,
    };
    all(engine, &keys, first, name).await
}

enum Name<T> {
    Of(T),
    /// Not asked for.
    Hidden,
    Damaged,
}

impl<T> Name<T> {
    fn of(name: Option<T>) -> Self {
        name.map_or(Self::Hidden, Self::Of)
    }
}

async fn all<T>(
    engine: &dyn Accessible,
    keys: &Keys<'_>,
    first: Vec<SqlValue>,
    name: impl Fn(&SqlRow) -> Name<T> + Send + Sync,
) -> Result<Readable<T>> {
    let (mut readable, mut after) = (Readable::default(), first);
    loop {
        let listed = keys.list_on(engine, (&after, NAMES_PER_PAGE)).await?;
        readable.unread.extend(listed.damage.map(|it| it.to_string()));
        for row in &listed.rows {
            match name(row) {
                Name::Of(name) => readable.names.push(name),
                Name::Hidden => {}
                Name::Damaged => readable.unread.push("a name is damaged".to_owned()),
            }
        }
        let Some(next) = listed.next else { return Ok(readable) };
        after = next;
    }
}
