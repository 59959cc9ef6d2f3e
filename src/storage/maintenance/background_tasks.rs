//! Stores a row for each group of background work that began, and for each unit that is parked. The migration defines the rows. The SQL is
//! the same for both engines.

use async_trait::async_trait;

use crate::domain::Result;
use crate::domain::clock::Micros;
use crate::domain::scheduling::background_tasks::{
    BackgroundTaskStorage, DEATHS_COUNT, Kind, Parked, Running, Standing,
};
use crate::storage::db::access::{Access, Accessible, SqlRow, SqlValue};

const REASON: &str = "the process ended while it ran alone";

/// $1 kind, as in the next ones.
const READ: &str = "select tenant, unit, server, attempts, started_at from background_tasks
    where kind = $1 {lock}";

/// $2 tenant, $3 unit, $4 server.
const REMOVE: &str =
    "delete from background_tasks where kind = $1 and tenant = $2 and unit = $3 and server = $4";

/// $5 whether it runs alone, $6 time.
const BEGIN: &str =
    "insert into background_tasks (tenant, kind, unit, server, attempts, ran_alone, started_at)
    values ($2, $1, $3, $4, 1, $5, $6)
    on conflict (tenant, kind, unit, server) do update set started_at = excluded.started_at";

/// As [`BEGIN`]; $5 how many, $6 time.
const COUNT: &str =
    "insert into background_tasks (tenant, kind, unit, server, attempts, started_at)
    values ($2, $1, $3, $4, $5, $6)
    on conflict (tenant, kind, unit, server) do update
    set attempts = background_tasks.attempts + excluded.attempts, started_at = excluded.started_at";

/// $2 tenant, $3 unit, $4 attempts, $5 reason, $6 when it began, $7 time.
const PARK: &str =
    "insert into background_tasks (tenant, kind, unit, server, attempts, ran_alone, reason, started_at, parked_at)
    values ($2, $1, $3, 0, $4, 1, $5, $6, $7)
    on conflict (tenant, kind, unit, server) do update
    set attempts = excluded.attempts, started_at = excluded.started_at, parked_at = excluded.parked_at";

/// $1 server.
const FORGET: &str = "delete from background_tasks where server = $1";

/// $1 tenant, or nothing for all, as in the next one.
const LIST: &str = "select tenant, kind, unit, attempts, reason, parked_at from background_tasks
    where parked_at is not null and ($1 = '' or tenant = $1) order by tenant, kind, unit";

const RELEASE: &str =
    "delete from background_tasks where parked_at is not null and ($1 = '' or tenant = $1)
    returning 1";

/// An engine that can tell which servers are alive.
#[async_trait]
pub trait Living: Accessible {
    fn own(&self) -> &Running;

    /// From here on others see that this server is alive.
    async fn show_life(&self) -> Result<()>;

    /// Numbers of the servers that are alive.
    async fn living(&self, access: &mut dyn Access) -> Result<Vec<i64>>;
}

#[async_trait]
impl<T: Living> BackgroundTaskStorage for T {
    fn running(&self) -> &Running {
        self.own()
    }

    /// One transaction.
    async fn begin_group(&self, kind: Kind, now: Micros) -> Result<Standing> {
        self.show_life().await?;
        let own = self.own().server;
        let mut access = self.begin_write().await?;
        let rows = access.rows(&self.dialect().fill(READ), &[kind.name().into()]).await?;
        let (mut dead, mut standing) = (Vec::new(), Standing::default());
        for row in rows {
            match (row.integer(2)?, row.text(1)?) {
                (0, "") => {
                    standing.deaths = recent_deaths(access.as_mut(), kind, &row, now).await?;
                }
                (0, unit) => {
                    standing.parked.insert((row.text(0)?.to_owned(), unit.to_owned()));
                }
                (server, _) if server != own => dead.push(row),
                _ => {}
            }
        }
        if !dead.is_empty() {
            let living = self.living(access.as_mut()).await?;
            dead.retain(|row| row.integer(2).is_ok_and(|it| !living.contains(&it)));
            settle(access.as_mut(), kind, &dead, &mut standing, now).await?;
        }
        let binds = begun(kind, ("", ""), own);
        access.rows(BEGIN, &[&binds[..], &[0.into(), now.into()]].concat()).await?;
        access.end().await?;
        Ok(standing)
    }

    async fn end_group(&self, kind: Kind) -> Result<()> {
        write(self, REMOVE, &begun(kind, ("", ""), self.own().server)).await?;
        Ok(())
    }

    async fn begin_alone(&self, kind: Kind, tenant: &str, unit: &str, now: Micros) -> Result<()> {
        let binds = begun(kind, (tenant, unit), self.own().server);
        write(self, BEGIN, &[&binds[..], &[1.into(), now.into()]].concat()).await?;
        Ok(())
    }

    async fn end_alone(&self, kind: Kind, tenant: &str, unit: &str) -> Result<()> {
        write(self, REMOVE, &begun(kind, (tenant, unit), self.own().server)).await?;
        Ok(())
    }

    async fn forget_begun(&self) -> Result<()> {
        write(self, FORGET, &[self.own().server.into()]).await?;
        Ok(())
    }

    async fn list_parked(&self, tenant: Option<&str>) -> Result<Vec<Parked>> {
        let mut access = self.begin_read().await?;
        let rows = access.rows(LIST, &[tenant.unwrap_or_default().into()]).await?;
        access.end().await?;
        rows.iter().map(parked).collect()
    }

    async fn release_parked(&self, tenant: Option<&str>) -> Result<u64> {
        let rows = write(self, RELEASE, &[tenant.unwrap_or_default().into()]).await?;
        Ok(rows.len() as u64)
    }
}

async fn write<T: Living + ?Sized>(
    engine: &T,
    text: &str,
    binds: &[SqlValue],
) -> Result<Vec<SqlRow>> {
    let mut access = engine.begin_write().await?;
    let rows = access.rows(text, binds).await?;
    access.end().await?;
    Ok(rows)
}

fn begun(kind: Kind, (tenant, unit): (&str, &str), server: i64) -> [SqlValue; 4] {
    [kind.name().into(), tenant.into(), unit.into(), server.into()]
}

/// Deaths that are long past count no more.
async fn recent_deaths(
    access: &mut dyn Access,
    kind: Kind,
    row: &SqlRow,
    now: Micros,
) -> Result<i64> {
    if row.integer(4)? >= now - DEATHS_COUNT {
        return row.integer(3);
    }
    access.rows(REMOVE, &begun(kind, ("", ""), 0)).await?;
    Ok(0)
}

/// Counts the groups of dead servers, and parks units that ran alone in them.
async fn settle(
    access: &mut dyn Access,
    kind: Kind,
    dead: &[SqlRow],
    standing: &mut Standing,
    now: Micros,
) -> Result<()> {
    let groups = dead.iter().filter(|row| row.text(1).is_ok_and(str::is_empty)).count();
    let groups = i64::try_from(groups).unwrap_or(i64::MAX);
    if groups > 0 {
        standing.deaths += groups;
        let binds = begun(kind, ("", ""), 0);
        access.rows(COUNT, &[&binds[..], &[groups.into(), now.into()]].concat()).await?;
    }
    for row in dead {
        let (tenant, unit) = (row.text(0)?, row.text(1)?);
        access.rows(REMOVE, &begun(kind, (tenant, unit), row.integer(2)?)).await?;
        if unit.is_empty() {
            continue;
        }
        let attempts = standing.deaths;
        tracing::warn!(
            kind = kind.name(),
            tenant,
            unit,
            attempts,
            "background work is put aside: {REASON}. `threadkeep doctor` lists it"
        );
        let binds = [
            kind.name().into(),
            tenant.into(),
            unit.into(),
            attempts.into(),
            REASON.into(),
            row.integer(4)?.into(),
            now.into(),
        ];
        access.rows(PARK, &binds).await?;
        standing.parked.insert((tenant.to_owned(), unit.to_owned()));
    }
    Ok(())
}

fn parked(row: &SqlRow) -> Result<Parked> {
    Ok(Parked {
        tenant: row.text(0)?.to_owned(),
        kind: row.text(1)?.to_owned(),
        unit: row.text(2)?.to_owned(),
        attempts: row.integer(3)?,
        reason: row.text(4)?.to_owned(),
        parked_at: row.integer(5)?,
    })
}
