//! Implements `threadkeep doctor`: examines the stored data and prints the findings. The output has names of tenants, threads and
//! checkpoints, never values or contents.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::exit;
use super::form::{Answer, Form};
use super::opening::open_existing_as;
use super::progress::Telling;
use crate::config::Doctor;
use crate::decode::run_state::READ_STATE;
use crate::domain::caller::check_tenant;
use crate::domain::checkpoints::run_states::{COUNTED_MAX, DerivedRunStates};
use crate::domain::clock::Clock;
use crate::domain::doctor::{Examine, Finding, FindingPlace, Noun, Report, State};
use crate::domain::scheduling::background_tasks::Parked;
use crate::domain::storage::Storage;
use crate::domain::time::rfc3339;
use crate::domain::{Error, Result};
use crate::storage::objects::{Objects, Packing};
use crate::storage::{ReadTimes, StorageConfig};

/// Something is damaged, missing, unread or counted wrongly.
const UNSOUND: u8 = 1;

/// Background work that is put aside, or to be done.
#[derive(Default)]
struct Aside {
    parked: Vec<Parked>,
    /// Threads of all tenants whose states, titles and values are to be derived, up to [`COUNTED_MAX`].
    stale_threads: u64,
    /// It is tried again from here on.
    is_released: bool,
}

/// Nothing is known: the examination could not run, for a reason that has no exit code of its own.
const FAILED: u8 = 2;

pub(super) async fn run(command: Doctor, form: Form) -> ExitCode {
    match examine(&command, form).await {
        Ok(report) if report.is_sound() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(UNSOUND),
        Err(error) => {
            let why = match &error {
                Error::ReadTooLong => format!(
                    "a statement took longer than {} seconds and was ended; --statement-seconds gives it more",
                    command.statement_seconds
                ),
                other => other.to_string(),
            };
            let sentence = format!("the examination could not run: {why}");
            form.fail(&sentence, exit::code(&error).max(FAILED))
        }
    }
}

async fn examine(command: &Doctor, form: Form) -> Result<Report> {
    if let Some(tenant) = &command.tenant {
        check_tenant(tenant)?;
    }
    let objects = objects(command).await?;
    let statement = Duration::from_secs(command.statement_seconds);
    // Searches by states are statements like others here.
    let read_times =
        ReadTimes { search: statement, statement: Some(statement), ..ReadTimes::default() };
    let opened = |config| StorageConfig { objects, read_times, ..config };
    let storage = match open_existing_as(&command.database, opened).await {
        // That is what the examination finds then.
        Err(Error::Integrity(cause)) => return show_unopened(command, &cause, form),
        storage => storage?,
    };
    let request =
        Examine { tenant: command.tenant.clone(), fix: command.fix, now: Clock::System.now() };
    let telling = Telling::new(form);
    let telling = if command.progress { telling.each_second() } else { telling };
    let steps = Arc::default();
    let report = telling.watch_steps(&steps, storage.examine_watched(&request, &steps)).await;
    let report = match report {
        Ok(report) => examine_states(&request, &storage, report).await,
        error => error,
    };
    let aside = put_aside(command, &*storage).await;
    let engine = storage.name();
    storage.close().await;
    let report = report?;
    let aside = match aside {
        // It is found already.
        Err(Error::Integrity(_)) => Aside::default(),
        aside => aside?,
    };
    let has_tenant = report.tally(State::Checked, Noun::Tenants).count > 0;
    if command.tenant.is_some() && !has_tenant && report.is_all_read() {
        return Err(Error::NotFound("a tenant with anything stored was"));
    }
    form.or(command.format).print(&shown(engine, &report, &aside)?)?;
    Ok(report)
}

/// Not where pages are damaged: what was derived from them says nothing.
async fn examine_states(
    request: &Examine,
    storage: &Arc<dyn Storage>,
    mut report: Report,
) -> Result<Report> {
    if report.is_all_read() {
        let states = DerivedRunStates::new(Arc::clone(storage) as _, READ_STATE);
        states.examine(request, &mut report).await?;
    }
    Ok(report)
}

/// A database that cannot be opened is a finding.
fn show_unopened(command: &Doctor, cause: &str, form: Form) -> Result<Report> {
    let mut report = Report::default();
    let detail = format!("the database cannot be opened: {cause}");
    report.find(State::Damaged, Noun::Pages, 0, FindingPlace::default(), detail);
    let aside = Aside::default();
    let engine = match &command.database.database_url {
        Some(url) if !url.starts_with("sqlite://") => "postgres",
        _ => "sqlite",
    };
    form.or(command.format).print(&shown(engine, &report, &aside)?)?;
    Ok(report)
}

fn shown(engine: &str, report: &Report, aside: &Aside) -> Result<Answer> {
    Answer::new(as_text(engine, report, aside), &document(engine, report, aside))
}

async fn put_aside(command: &Doctor, storage: &dyn Storage) -> Result<Aside> {
    let tenant = command.tenant.as_deref();
    let parked = storage.list_parked(tenant).await?;
    let is_released = command.retry_parked && storage.release_parked(tenant).await? > 0;
    let stale_threads = storage.count_stale_threads(COUNTED_MAX).await?;
    Ok(Aside { parked, stale_threads, is_released })
}

/// Settings of the packer do not matter here: nothing is moved.
async fn objects(command: &Doctor) -> Result<Option<Arc<Objects>>> {
    let Some(url) = &command.object_store_url else { return Ok(None) };
    Ok(Some(Arc::new(Objects::open(url, Packing::default(), true).await?)))
}

fn document(engine: &str, report: &Report, aside: &Aside) -> serde_json::Value {
    let mut document = json!(report);
    let parked = aside.parked.iter().map(|it| {
        json!({
            "kind": it.kind, "tenant": it.tenant, "unit": it.unit, "attempts": it.attempts, "reason": it.reason,
            "since": rfc3339(it.parked_at), "released": aside.is_released,
        })
    });
    document["parked"] = parked.collect();
    document["stale_threads"] = json!(aside.stale_threads);
    document["engine"] = json!(engine);
    document["sound"] = json!(report.is_sound());
    document
}

fn as_text(engine: &str, report: &Report, aside: &Aside) -> String {
    let mut text = format!("examined ({engine})\n");
    for (state, noun, tally) in report.counts() {
        let line = format!("  {:<14} {:<10} {:>9}", name(state), name(noun), tally.count);
        text += &if tally.bytes > 0 {
            format!("{line}  {} bytes\n", tally.bytes)
        } else {
            format!("{line}\n")
        };
    }
    for finding in &report.places {
        text += &place(finding);
    }
    if report.places_left_off > 0 {
        text += &format!("  and {} more places\n", report.places_left_off);
    }
    text += &aside.parked.iter().map(parked).collect::<String>();
    text += match (aside.parked.is_empty(), aside.is_released) {
        (true, _) => "",
        (false, true) => "  background work that was put aside is tried again\n",
        (false, false) => "  --retry-parked has background work tried again that is put aside\n",
    };
    if aside.stale_threads > 0 {
        let count = aside.stale_threads;
        text += &format!("  {count} threads whose states a server derives in the background\n");
    }
    text + verdict(report) + "\n"
}

fn parked(it: &Parked) -> String {
    let Parked { tenant, kind, unit, attempts, reason, parked_at } = it;
    let since = rfc3339(*parked_at);
    format!(
        "  put aside {kind}: tenant {}, unit {unit}, {attempts} attempts, since {since}: {reason}\n",
        json!(tenant)
    )
}

/// Ids as JSON strings: they may hold line breaks.
fn place(finding: &Finding) -> String {
    let place = &finding.place;
    let mut text = format!("  {} {}: {}", name(finding.state), name(finding.what), finding.detail);
    for (what, id) in [
        ("table", place.table.as_ref()),
        ("tenant", Some(&place.tenant).filter(|it| !it.is_empty())),
        ("thread", place.thread_id.as_ref()),
        ("namespace", place.checkpoint_ns.as_ref()),
        ("checkpoint", place.checkpoint_id.as_ref()),
    ] {
        text += &id.map_or_else(String::new, |id| format!(", {what} {}", json!(id)));
    }
    text + "\n"
}

fn verdict(report: &Report) -> &'static str {
    let has = |states: &[State]| report.counts().any(|(state, _, _)| states.contains(&state));
    if !report.is_all_read() {
        return "NOT SOUND: pages of the database are damaged. Nothing was repaired, because what could not be read may name \
                what looks left over: restore the database from a backup; `threadkeep export --skip-damaged` brings off \
                what is whole";
    }
    if has(&[State::Damaged, State::Missing, State::Unreadable]) {
        return "NOT SOUND: stored data is damaged or missing. Nothing of it was removed: restore the database from a \
                backup, or delete the threads that are named, or prune them to a checkpoint that is whole";
    }
    if has(&[State::WrongCounter]) {
        return "NOT SOUND: counters, states or aliases are wrong; --fix corrects them";
    }
    if has(&[State::Moved]) {
        return "sound as far as it was read: with --object-store-url content that was moved is read too";
    }
    if has(&[State::Orphan]) {
        return "sound; orphans take space, --fix removes them";
    }
    "sound"
}

fn name(it: impl serde::Serialize) -> String {
    json!(it).as_str().unwrap_or_default().replace('_', " ")
}
