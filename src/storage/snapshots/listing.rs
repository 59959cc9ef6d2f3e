//! Reads snapshots and their parts. The grants are checked for each row, by its id and owner: a foreign snapshot is absent.

use super::rows::{COLUMNS, add_parts, read};
use super::{SnapshotEngine, archives};
use crate::domain::Result;
use crate::domain::caller::{Caller, Grants};
use crate::domain::clock::Micros;
use crate::domain::names::SnapshotId;
use crate::domain::snapshots::Snapshot;
use crate::domain::snapshots::storage::ListSnapshots;
use crate::domain::tokens::grants::{Access as Allowed, Action, Selector};
use crate::storage::db::access::SqlValue;

/// Rows that are looked at together.
const PAGE_ROWS: i64 = 500;

/// # Errors
/// A database that cannot be read.
pub async fn get<T: SnapshotEngine>(
    engine: &T,
    caller: &Caller,
    id: &SnapshotId,
    action: Action,
) -> Result<Option<Snapshot>> {
    let secret = engine.session_secret(&caller.tenant).await?;
    let mut access = engine.begin_read_for(&caller.tenant).await?;
    let text =
        format!("select {COLUMNS} from snapshots s where s.tenant = $1 and s.snapshot_id = $2");
    let binds = [caller.tenant.as_str().into(), id.as_str().into()];
    let found = access.rows(&text, &binds).await?;
    let mut found = found.iter().map(|row| read(&secret, row)).collect::<Result<Vec<_>>>()?;
    found.retain(|it| is_reached(caller, it, action));
    add_parts(access.as_mut(), &caller.tenant, &mut found).await?;
    found.retain(|it| action != Action::Read || caller.may_read_all_of(it));
    archives::add(access.as_mut(), (&caller.tenant, &secret), &mut found).await?;
    access.end().await?;
    Ok(found.pop())
}

/// # Errors
/// A database that cannot be read.
pub async fn list<T: SnapshotEngine>(
    engine: &T,
    caller: &Caller,
    query: &ListSnapshots,
) -> Result<Vec<Snapshot>> {
    let secret = engine.session_secret(&caller.tenant).await?;
    let owner = only_owner(caller);
    let of_owner = if owner.is_some() { "s.owner = $5" } else { "cast($5 as text) = ''" };
    let text = format!(
        "select {COLUMNS} from snapshots s where s.tenant = $1 and (s.created_at, s.snapshot_id) < ($2, $3)
            and {of_owner} order by s.created_at desc, s.snapshot_id desc limit $4"
    );
    let mut after = query
        .after
        .as_ref()
        .map_or((Micros::MAX, String::new()), |it| (it.created_at, it.id.clone()));
    let mut access = engine.begin_search_for(&caller.tenant).await?;
    let mut snapshots = Vec::new();
    loop {
        let binds = [
            SqlValue::from(caller.tenant.as_str()),
            after.0.into(),
            after.1.as_str().into(),
            PAGE_ROWS.into(),
            owner.unwrap_or_default().into(),
        ];
        let rows = access.rows(&text, &binds).await?;
        let mut reached = Vec::new();
        for row in &rows {
            let snapshot = read(&secret, row)?;
            after = (snapshot.created_at, snapshot.id.clone());
            let has = |(name, value): (&String, &String)| snapshot.labels.get(name) == Some(value);
            if query.labels.iter().all(has) && is_reached(caller, &snapshot, Action::Read) {
                reached.push(snapshot);
            }
        }
        add_parts(access.as_mut(), &caller.tenant, &mut reached).await?;
        reached.retain(|it| caller.may_read_all_of(it));
        snapshots.extend(reached);
        snapshots.truncate(query.limit);
        let is_last = i64::try_from(rows.len()).unwrap_or(i64::MAX) < PAGE_ROWS;
        if is_last || snapshots.len() == query.limit {
            break;
        }
    }
    archives::add(access.as_mut(), (&caller.tenant, &secret), &mut snapshots).await?;
    access.end().await?;
    Ok(snapshots)
}

pub fn is_reached(caller: &Caller, snapshot: &Snapshot, action: Action) -> bool {
    match caller.snapshot_access(&snapshot.id, action) {
        Allowed::Granted => true,
        Allowed::IfOwnedBy(subject) => snapshot.owner.as_deref() == Some(subject),
        Allowed::Denied => false,
    }
}

/// The subject, where the caller reads nothing but what is its own.
fn only_owner(caller: &Caller) -> Option<&str> {
    let Grants::Scoped(scoped) = &caller.grants else { return None };
    let mut reads = scoped.snapshots.iter().filter(|it| it.actions.allows(Action::Read));
    let all_owned = reads.all(|it| it.selector == Selector::Owned);
    caller.subject.as_deref().filter(|_| all_owned)
}
