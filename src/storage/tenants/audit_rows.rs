//! Stores the audit log as rows, in SQL for both engines. An absent text is stored as an empty one: a null has no type until a statement is
//! prepared with it.

use async_trait::async_trait;
use sha2::{Digest, Sha256};

use crate::domain::Result;
use crate::domain::clock::{Micros, random_hex};
use crate::domain::label::labels;
use crate::domain::tenants::audit::{Act, ActKind, AuditStorage, Event, EventQuery};
use crate::domain::tenants::refusals::{Counted, Refusal};
use crate::storage::db::access::{Access, Accessible, SqlRow, SqlValue};

/// Rows of one transaction that removes old ones.
const SLICE_ROWS: i64 = 1_000;

/// $1 tenant, $2 at, $3 id, $4 actor, $5 act, $6 object, $7 details, $8 count. Servers add to the same row of refusals.
const INSERT: &str = "
insert into audit_events as e (tenant, at, event_id, actor, act, object, details, count)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (tenant, at, event_id) do update set count = e.count + excluded.count";

/// $1 tenant, $2 since, $3 before, $4 act or empty, $5 and $6 the last one of the page before, $7 limit.
const LIST: &str = "
select event_id, at, actor, act, object, details, count from audit_events
where tenant = $1 and at >= $2 and at < $3 and (cast($4 as text) = '' or act = $4)
  and (at, event_id) < ($5, $6)
order by at desc, event_id desc limit $7";

/// $1 before, $2 limit.
const EXPIRE: &str = "
delete from audit_events where (tenant, at, event_id) in
    (select tenant, at, event_id from audit_events where at < $1 order by at limit $2)
returning count";

/// $1 tenant, $2 the subject, $3 and $4 what comes before whatever is below it, $5 and $6 namespaces that begin with its labels, $7 how many.
const ERASE_OBJECTS: &str = "
update audit_events set object = '' where (tenant, at, event_id) in
    (select tenant, at, event_id from audit_events where tenant = $1
        and (object = $2 or substr(object, 1, length($3)) = $3 or substr(object, 1, length($4)) = $4
            or substr(object, 1, length($5)) = $5 or substr(object, 1, length($6)) = $6)
     limit $7)
returning event_id";

/// Takes the name of a subject out of the objects of acts: what was done stays.
///
/// # Errors
/// A database that cannot be written.
pub async fn erase_objects(engine: &dyn Accessible, tenant: &str, subject: &str) -> Result<()> {
    let namespaces: Vec<String> = labels(subject)
        .iter()
        // Without the bracket at the end: what is below it counts too.
        .map(|it| serde_json::json!([it]).to_string().trim_end_matches(']').to_owned())
        .collect();
    let [first, .., last] = &[&namespaces[..], &namespaces[..]].concat()[..] else {
        return Ok(());
    };
    let binds = [
        tenant.into(),
        subject.into(),
        format!("{subject}:").as_str().into(),
        format!("{subject}/").as_str().into(),
        first.as_str().into(),
        last.as_str().into(),
        SLICE_ROWS.into(),
    ];
    loop {
        let mut access = engine.begin_write().await?;
        let gone = access.rows(ERASE_OBJECTS, &binds).await?;
        access.end().await?;
        if (gone.len() as u64) < SLICE_ROWS.unsigned_abs() {
            return Ok(());
        }
    }
}

#[async_trait]
impl<T: Accessible> AuditStorage for T {
    async fn record_act(&self, act: &Act) -> Result<()> {
        let mut access = self.begin_write().await?;
        record(&mut *access, act).await?;
        access.end().await
    }

    async fn add_refusals(&self, refusals: &[Counted]) -> Result<()> {
        let mut access = self.begin_write().await?;
        for (refusal, count) in refusals {
            let details = serde_json::json!({"code": refusal.code, "route": refusal.route});
            let cells = [
                refusal.tenant.as_str().into(),
                refusal.minute.into(),
                refusal_id(refusal).as_str().into(),
                refusal.credential.as_str().into(),
                ActKind::Refused.name().into(),
                "".into(),
                details.to_string().as_str().into(),
                (*count).into(),
            ];
            access.rows(INSERT, &cells).await?;
        }
        access.end().await
    }

    async fn list_events(&self, tenant: &str, query: &EventQuery) -> Result<Vec<Event>> {
        let after = query.after.as_ref();
        let cells = [
            tenant.into(),
            query.since.unwrap_or(Micros::MIN).into(),
            query.until.unwrap_or(Micros::MAX).into(),
            query.act.map_or("", ActKind::name).into(),
            after.map_or(Micros::MAX, |it| it.at).into(),
            after.map_or("", |it| it.event_id.as_str()).into(),
            i64::try_from(query.limit).unwrap_or(i64::MAX).into(),
        ];
        let rows = self.search_rows(tenant, LIST, &cells).await?;
        rows.iter().map(event).collect()
    }

    async fn expire_events(&self, before: Micros) -> Result<()> {
        loop {
            let mut access = self.begin_write().await?;
            let gone = access.rows(EXPIRE, &[before.into(), SLICE_ROWS.into()]).await?.len();
            access.end().await?;
            if gone < usize::try_from(SLICE_ROWS).unwrap_or(usize::MAX) {
                return Ok(());
            }
        }
    }
}

/// Writes an act with what else the transaction does.
///
/// # Errors
/// A database that cannot be written.
pub async fn record(access: &mut dyn Access, act: &Act) -> Result<()> {
    let cells = [
        act.tenant.as_str().into(),
        act.at.into(),
        // Acts are never added up.
        random_hex().as_str().into(),
        act.actor.as_str().into(),
        act.kind.name().into(),
        act.object.as_str().into(),
        act.details.as_str().into(),
        SqlValue::Integer(1),
    ];
    access.rows(INSERT, &cells).await.map(drop)
}

/// The same for the same refusals, wherever they happened.
fn refusal_id(refusal: &Refusal) -> String {
    let mut hash = Sha256::new();
    for part in [&refusal.credential, refusal.code, &refusal.route] {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hex::encode(&hash.finalize()[..16])
}

fn event(row: &SqlRow) -> Result<Event> {
    Ok(Event {
        event_id: row.text(0)?.to_owned(),
        at: row.integer(1)?,
        actor: row.text(2)?.to_owned(),
        act: row.text(3)?.to_owned(),
        object: row.text(4)?.to_owned(),
        details: row.text(5)?.to_owned(),
        count: row.integer(6)?,
    })
}
