//! Reads what a timeline has beside the checkpoints of a listing: the same statements for every engine.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use serde_json::json;

use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::checkpoints::checkpoint::{ListCursor, View};
use crate::domain::checkpoints::storage::Page;
use crate::domain::checkpoints::timeline::{
    SkeletonBefore, Timeline, TimelineNamespace, TimelineNode, TimelineQuery,
};
use crate::domain::limits::LIMITS;
use crate::storage::content::associated_data::CheckpointAt;
use crate::storage::content::documents::open_documents;
use crate::storage::db::access::{Accessible, SqlRow, SqlValue};
use crate::storage::threads::thread_filter::OwnedThread;
use crate::storage::tokens::owner_macs::OwnerRow;

/// $1 tenant, $2 thread, $3 its owner, where only a thread of that owner counts.
const THREAD: &str = "
select t.generation, t.thread_key, t.scope_id, t.owner, t.mac from threads t
where t.tenant = $1 and t.thread_id = $2{owned}";

/// $1 lists of namespace, checkpoint and whether its documents are wanted, $2 tenant, $3 thread key.
const ROWS: &str = "
select c.ns, c.checkpoint_id, case when j.value ->> 2 = 'documents' then c.documents end, c.run_id,
    cast(c.size_bytes as bigint) + coalesce((select cast(sum(w.size_bytes) as bigint) {writes}), 0),
    (select count(*) {writes}),
    (select count(*) {writes} and w.channel = '__interrupt__'),
    (select count(*) {writes} and w.channel = '__error__')
{from_each} {checkpoint}";

const CHECKPOINT: &str = "c.tenant = $2 and c.thread_key = $3 and c.ns = j.value ->> 0 and c.checkpoint_id = j.value ->> 1";
const WRITES: &str = "from writes w where w.tenant = $2 and w.thread_key = $3 and w.ns = c.ns and w.checkpoint_id = c.checkpoint_id";

/// $1 tenant, $2 thread key, $3 how many.
const NAMESPACES: &str = "
select n.ns, n.checkpoints, n.newest, c.documents
from (select ns, count(*) as checkpoints, max(checkpoint_id) as newest from checkpoints
      where tenant = $1 and thread_key = $2 group by ns
      order by max(checkpoint_id) desc, ns limit $3) n
join checkpoints c on c.tenant = $1 and c.thread_key = $2 and c.ns = n.ns and c.checkpoint_id = n.newest
order by n.newest desc, n.ns";

/// What a statement knows of a checkpoint.
struct Row {
    /// Sealed, of a parent.
    documents: Option<Vec<u8>>,
    run_id: Option<String>,
    size_bytes: u64,
    writes: u64,
    interrupts: u64,
    errors: u64,
}

type Key = (String, String);

/// The thread that is read.
struct Thread<'a> {
    engine: &'a dyn Accessible,
    secret: &'a TenantSecret,
    tenant: &'a str,
    key: i64,
    scope_id: i64,
}

/// Makes a timeline of a page of the thread's checkpoints. Three round trips, and two from the second page on: what a checkpoint began
/// with does not change, and a write that comes in between is counted or not.
///
/// # Errors
/// A storage that cannot be read.
pub async fn complete(
    engine: &dyn Accessible,
    secret: &TenantSecret,
    owned: OwnedThread<'_>,
    query: &TimelineQuery,
    mut page: Page,
) -> Result<Timeline> {
    let Some((thread, generation)) = find(engine, secret, owned).await? else {
        return Ok(Timeline::default());
    };
    let is_first = query.position.is_none();
    let next = within_bytes(&mut page);
    let rows = thread.rows(&page.views).await?;
    let namespaces = if is_first { thread.namespaces().await? } else { Vec::new() };
    let (nodes, cut) = thread.nodes(page.views, rows)?;
    let next = cut.or(next).or(page.next);
    Ok(Timeline { generation: Some(generation), nodes, namespaces, next })
}

async fn find<'a>(
    engine: &'a dyn Accessible,
    secret: &'a TenantSecret,
    owned: OwnedThread<'a>,
) -> Result<Option<(Thread<'a>, String)>> {
    let mut binds: Vec<SqlValue> = vec![owned.tenant.into(), owned.thread_id.into()];
    binds.extend(owned.owner.map(Into::into));
    let condition = if owned.owner.is_some() { " and t.owner = $3" } else { "" };
    let statement = THREAD.replace("{owned}", condition);
    let rows = engine.read_rows(owned.tenant, &statement, &binds).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let (key, scope_id) = (row.integer(1)?, row.integer(2)?);
    OwnerRow::thread(owned.thread_id, (key, scope_id), row.optional_text(3)?)
        .check(secret, row.optional_bytes(4)?)?;
    let thread = Thread { engine, secret, tenant: owned.tenant, key, scope_id };
    Ok(Some((thread, row.text(0)?.to_owned())))
}

/// Leaves the checkpoints whose documents fit in a page, at least one. Answers where the next page begins then.
fn within_bytes(page: &mut Page) -> Option<ListCursor> {
    let (mut bytes, max) = (0, LIMITS.list_bytes_max);
    let fits = |view: &View| {
        bytes += (view.skeleton.len() + view.metadata.len()) as u64;
        bytes <= max
    };
    let count = page.views.iter().map(fits).take_while(|it| *it).count().max(1);
    if count >= page.views.len() {
        return None;
    }
    page.views.truncate(count);
    page.views.last().map(cursor)
}

fn cursor(view: &View) -> ListCursor {
    ListCursor { id: view.id.clone(), thread_id: view.thread_id.clone(), ns: view.ns.clone() }
}

impl Thread<'_> {
    /// The nodes of these checkpoints. Fewer where the skeletons of parents do not fit beside them, with where the next page begins then.
    fn nodes(
        &self,
        views: Vec<View>,
        mut rows: HashMap<Key, Row>,
    ) -> Result<(Vec<TimelineNode>, Option<ListCursor>)> {
        let mut before: HashMap<Key, Bytes> =
            views.iter().map(|it| ((it.ns.clone(), it.id.clone()), it.skeleton.clone())).collect();
        let (mut nodes, mut bytes) = (Vec::with_capacity(views.len()), 0);
        let mut last = None;
        for view in views {
            let parent = view.parent.as_ref().map(|it| (view.ns.clone(), it.clone()));
            if let Some(key) = parent.as_ref().filter(|it| !before.contains_key(it))
                && let Some(sealed) = rows.get_mut(key).and_then(|it| it.documents.take())
            {
                let (skeleton, metadata) = self.open(&key.0, &key.1, &sealed)?;
                bytes += (skeleton.len() + metadata.len()) as u64;
                if bytes > LIMITS.list_bytes_max && last.is_some() {
                    return Ok((nodes, last));
                }
                before.insert(key.clone(), skeleton);
            }
            let before = match parent {
                None => Some(SkeletonBefore::Nothing),
                Some(key) => before.get(&key).cloned().map(SkeletonBefore::Of),
            };
            last = Some(cursor(&view));
            // Removed since the listing: it is not there any more.
            let Some(row) = rows.get_mut(&(view.ns.clone(), view.id.clone())) else { continue };
            nodes.push(TimelineNode {
                ns: view.ns,
                id: view.id,
                parent: view.parent,
                skeleton: view.skeleton,
                metadata: view.metadata,
                run_id: row.run_id.take(),
                size_bytes: row.size_bytes,
                writes: row.writes,
                interrupts: row.interrupts,
                has_error: row.errors > 0,
                before,
            });
        }
        Ok((nodes, None))
    }

    /// Of these checkpoints, and of their parents that are not among them.
    async fn rows(&self, views: &[View]) -> Result<HashMap<Key, Row>> {
        if views.is_empty() {
            return Ok(HashMap::new());
        }
        let own: HashSet<(&str, &str)> =
            views.iter().map(|it| (it.ns.as_str(), it.id.as_str())).collect();
        let parents = views.iter().filter_map(|it| Some((it.ns.as_str(), it.parent.as_deref()?)));
        let others: HashSet<(&str, &str)> = parents.filter(|it| !own.contains(it)).collect();
        let wanted: Vec<[&str; 3]> = own
            .iter()
            .map(|(ns, id)| [*ns, *id, ""])
            .chain(others.iter().map(|(ns, id)| [*ns, *id, "documents"]))
            .collect();
        let dialect = self.engine.dialect();
        let join = dialect.probe("*", "checkpoints", "c", CHECKPOINT);
        let text = ROWS.replace("{checkpoint}", &join).replace("{writes}", WRITES);
        let list = json!(wanted).to_string();
        let binds = [list.as_str().into(), self.tenant.into(), self.key.into()];
        let rows = self.engine.search_rows(self.tenant, &dialect.fill(&text), &binds).await?;
        rows.iter().map(row).collect()
    }

    async fn namespaces(&self) -> Result<Vec<TimelineNamespace>> {
        let max = i64::try_from(LIMITS.list_rows_max).unwrap_or(i64::MAX);
        let binds = [self.tenant.into(), self.key.into(), max.into()];
        let rows = self.engine.search_rows(self.tenant, NAMESPACES, &binds).await?;
        let (mut namespaces, mut bytes) = (Vec::with_capacity(rows.len()), 0);
        for row in &rows {
            let (ns, newest) = (row.text(0)?.to_owned(), row.text(2)?.to_owned());
            let (_, metadata) = self.open(&ns, &newest, row.bytes(3)?)?;
            bytes += metadata.len() as u64;
            if bytes > LIMITS.list_bytes_max && !namespaces.is_empty() {
                break;
            }
            // The skeleton is in the same memory, and not wanted.
            let metadata = Bytes::copy_from_slice(&metadata);
            let checkpoints = u64::try_from(row.integer(1)?).unwrap_or_default();
            namespaces.push(TimelineNamespace { ns, checkpoints, newest, metadata });
        }
        Ok(namespaces)
    }

    fn open(&self, ns: &str, id: &str, documents: &[u8]) -> Result<(Bytes, Bytes)> {
        open_documents(self.secret, CheckpointAt { scope_id: self.scope_id, ns, id }, documents)
    }
}

fn row(row: &SqlRow) -> Result<(Key, Row)> {
    let (ns, id) = (row.text(0)?, row.text(1)?);
    let count = |at: usize| row.integer(at).map(|it| u64::try_from(it).unwrap_or_default());
    let known = Row {
        documents: row.optional_bytes(2)?.map(<[u8]>::to_vec),
        run_id: row.optional_text(3)?.map(str::to_owned),
        size_bytes: count(4)?,
        writes: count(5)?,
        interrupts: count(6)?,
        errors: count(7)?,
    };
    Ok(((ns.to_owned(), id.to_owned()), known))
}
