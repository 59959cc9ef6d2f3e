//! Reads the subjects of a tenant: the owners of its rows, by steps from each to the next, and how many rows each has.

use crate::domain::clock::Micros;
use crate::domain::label::labels;
use crate::domain::pages::COUNTED_MAX;
use crate::domain::store::namespace::Namespace;
use crate::domain::store::storage::ItemStorage;
use crate::domain::tenants::subjects::{Subject, SubjectQuery};
use crate::domain::{Error, Result};
use crate::storage::db::access::{Accessible, SqlRow};
use crate::storage::threads::thread_filter::SHOWN;

/// Tables whose rows have an owner: name, column, and a condition on rows that count.
const OWNED: [(&str, &str, &str); 4] = [
    ("threads", "owner", SHOWN),
    ("sessions", "owner", "substr(kind, 1, 1) <> ':'"),
    ("snapshots", "owner", "true"),
    ("keys", "subject", "revoked_at is null"),
];

/// In the order of the subjects' bytes. Two round trips: of the owners, where a step is one probe in each table's index of them (a tenant
/// has few keys, and they have none), and of the items.
///
/// # Errors
/// A database that cannot be read.
pub async fn list<T: Accessible + ItemStorage>(
    engine: &T,
    tenant: &str,
    query: &SubjectQuery,
    now: Micros,
) -> Result<Vec<Subject>> {
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let after = query.after.as_deref().unwrap_or_default();
    let binds = [tenant.into(), after.into(), limit.into(), COUNTED_MAX.into()];
    let found = engine.search_rows(tenant, &statement(), &binds).await?;
    let mut subjects: Vec<Subject> = found.iter().map(read).collect::<Result<_>>()?;
    let roots: Vec<_> = subjects.iter().map(|it| labels(&it.subject)).collect();
    let below = |it: &String| Namespace::stored(vec![it.clone()]);
    let namespaces: Vec<_> = roots.iter().flatten().map(below).collect();
    let mut counted = engine.count_below(tenant, &namespaces, now).await?.into_iter();
    for (subject, roots) in subjects.iter_mut().zip(&roots) {
        for it in counted.by_ref().take(roots.len()) {
            subject.items = (subject.items + it.items).min(COUNTED_MAX.unsigned_abs());
            subject.size_bytes += it.size_bytes;
            subject.updated_at = subject.updated_at.max(it.updated_at);
        }
    }
    Ok(subjects)
}

/// $1 tenant, $2 the last one of the page before, $3 limit, $4 rows to count at most.
fn statement() -> String {
    let counts = OWNED.map(|(table, owner, condition)| {
        let (sums, columns) = match table {
            "threads" | "sessions" => (
                "count(*) || ' ' || coalesce(sum(c.size_bytes), 0) || ' ' || coalesce(max(c.updated_at), 0)",
                "size_bytes, updated_at",
            ),
            _ => ("count(*)", "1"),
        };
        format!(
            "(select {sums} from (select {columns} from {table}
                where tenant = $1 and {owner} = s.subject and {condition} limit $4) c)"
        )
    });
    let (first, behind) = (next("$2"), next("s.subject"));
    format!(
        "with recursive s (subject) as (
            select {first} union all select {behind} from s where s.subject is not null
         )
         select s.subject, {} from (select subject from s where subject is not null limit $3) s",
        counts.join(", ")
    )
}

/// The least owner behind one.
fn next(from: &str) -> String {
    let least = OWNED.map(|(table, owner, condition)| {
        format!(
            "select (select {owner} from {table} where tenant = $1 and {owner} > {from} and {condition}
                order by {owner} limit 1) as owner"
        )
    });
    format!("(select min(o.owner) from ({}) o)", least.join(" union all "))
}

fn read(row: &SqlRow) -> Result<Subject> {
    let mut subject = Subject { subject: row.text(0)?.to_owned(), ..Subject::default() };
    for (at, count) in [(1, &mut subject.threads), (2, &mut subject.sessions)] {
        let mut numbers = row.text(at)?.split(' ').map(str::parse::<u64>);
        let mut number = || {
            let damaged = || Error::Integrity("the counts of a subject are damaged".into());
            numbers.next().and_then(Result::ok).ok_or_else(damaged)
        };
        *count = number()?;
        subject.size_bytes += number()?;
        let updated_at = i64::try_from(number()?).ok().filter(|it| *it > 0);
        subject.updated_at = subject.updated_at.max(updated_at);
    }
    subject.snapshots = row.integer(3)?.unsigned_abs();
    subject.keys = row.integer(4)?.unsigned_abs();
    Ok(subject)
}
