//! Implements `threadkeep import --from`: copies threads, items and files of other stores into a tenant. Works beside a running server. The
//! output names failures, but never shows values or credentials.

use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tempfile::TempDir;

use super::form::{Answer, Form};
use super::opening::{open_for_dry_run, open_or_make};
use super::progress::Telling;
use super::tenants;
use crate::config::Import;
use crate::domain::Result;
use crate::domain::caller::check_tenant;
use crate::domain::storage::Storage;
use crate::import::{Report, Source, Tally, Target, import};
use crate::storage::objects::{Objects, Packing};

/// Something was not brought over, and is named.
const INCOMPLETE: u8 = 1;
const NOT_POISONED: &str = "nothing panics while it holds the counts";

pub(super) async fn run(command: Import, form: Form) -> Result<ExitCode> {
    check_tenant(&command.tenant)?;
    let source = Source::parse(command.from.as_deref().unwrap_or_default())?;
    let (storage, _folder) = open(&command).await?;
    let reported = take_over(&storage, &source, &command, form);
    let report = if command.dry_run {
        reported.await
    } else {
        tenants::telling_new(form, &*storage, &command.tenant, reported).await
    };
    storage.close().await;
    let report = report?;
    let mut document = json!(report);
    document["dry_run"] = json!(command.dry_run);
    let answer = Answer::new(as_text(&report, command.dry_run), &document)?;
    form.or(command.format).print(&answer)?;
    Ok(if report.failed() == 0 { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) })
}

async fn take_over(
    storage: &Arc<dyn Storage>,
    source: &Source,
    command: &Import,
    form: Form,
) -> Result<Report> {
    let target = Target::open(storage, &command.tenant, command.dry_run).await?;
    form.note(&format!("importing from {source}"));
    let latest = Arc::new(Mutex::new(Report::default().tallies()));
    let mut show = |so_far: &Report| *latest.lock().expect(NOT_POISONED) = so_far.tallies();
    let imported = import(source, &target, &mut show);
    let seen = Arc::clone(&latest);
    let say = move || progress(&*seen.lock().expect(NOT_POISONED));
    let report = Telling::new(form).watch(say, Box::pin(imported)).await;
    target.stop().await;
    report
}

/// The storage, and the folder that a dry run of a new tenant keeps it in.
async fn open(command: &Import) -> Result<(Arc<dyn Storage>, Option<TempDir>)> {
    let objects = match &command.object_store_url {
        // Settings of the packer do not matter here: nothing is moved.
        Some(url) => Some(Arc::new(Objects::open(url, Packing::default(), true).await?)),
        None => None,
    };
    if command.dry_run {
        return open_for_dry_run(&command.database, objects, &command.tenant).await;
    }
    Ok((open_or_make(&command.database, objects).await?, None))
}

fn progress(tallies: &[(&str, Tally)]) -> String {
    let seen = tallies.iter().map(|(name, it)| {
        let count = it.imported + it.unchanged + it.skipped + it.failed;
        format!("{count} {name}")
    });
    let failed: u64 = tallies.iter().map(|(_, it)| it.failed).sum();
    format!("{} so far, {failed} failed", seen.collect::<Vec<_>>().join(", "))
}

fn as_text(report: &Report, dry_run: bool) -> String {
    let mut text = String::from(if dry_run { "would import\n" } else { "imported\n" });
    for (name, it) in report.tallies() {
        text += &format!(
            "  {name:<12} {:>9} new, {} unchanged, {} skipped, {} failed\n",
            it.imported, it.unchanged, it.skipped, it.failed
        );
    }
    text += &format!("  {:<12} {:>9}\n", "bytes", report.bytes);
    for note in &report.notes {
        text += &format!("  note: {note}\n");
    }
    for failure in &report.failures {
        text += &format!("  failed: {}: {}\n", failure.place, failure.reason);
    }
    text
}
