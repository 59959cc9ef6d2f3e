//! Imports data from elsewhere: tables of LangGraph's own savers and stores, and folders of files. It only ever reads there, and writes
//! here through the domain, as any client would. Imported data is never executed or built into objects.

mod files;
mod folder;
mod items;
mod msgpack;
mod place;
mod postgres;
mod report;
mod rows;
mod sqlite;
mod stamps;
mod step;
mod target;
mod threads;

pub use self::place::Source;
pub use self::report::{Failure, Report, Show, Tally};
pub use self::target::Target;

use self::folder::Folder;
use self::postgres::PostgresRows;
use self::rows::Rows;
use self::sqlite::SqliteRows;
use crate::domain::Result;

/// Brings what is at a place into the target. Again: what is there already is left as it is.
///
/// # Errors
/// What makes all of it impossible: the place cannot be read, or is not laid out as anything known. What is wrong with one
/// thread, item or file is in the report.
pub async fn import(place: &Source, target: &Target, show: &mut Show<'_>) -> Result<Report> {
    let mut report = Report::default();
    match place {
        Source::Postgres(url) => {
            let mut rows = PostgresRows::open(url).await?;
            rows_into(&mut rows, target, &mut report, show).await?;
        }
        Source::Sqlite(path) => {
            let mut rows = SqliteRows::open(path).await?;
            rows_into(&mut rows, target, &mut report, show).await?;
        }
        Source::Folder(_) | Source::Bucket(_) => {
            files::import(&Folder::open(place).await?, target, &mut report, show).await?;
        }
    }
    Ok(report)
}

async fn rows_into(
    rows: &mut dyn Rows,
    target: &Target,
    report: &mut Report,
    show: &mut Show<'_>,
) -> Result<()> {
    let tables = rows.tables();
    if tables.threads {
        threads::import(rows, target, report, show).await?;
    }
    if tables.items {
        items::import(rows, target, report, show).await?;
    }
    if tables.vectors {
        report.notes.push(
            "store_vectors were left out: vectors are made anew, by the client or by the server"
                .into(),
        );
    }
    Ok(())
}
