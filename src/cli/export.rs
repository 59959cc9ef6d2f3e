//! Implements `threadkeep export`: writes a tenant, or parts of it, as one file. Works beside a running server.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::json;

use super::form::{Answer, Form};
use super::opening::{embedded_path, embedded_url, open_existing, open_existing_as};
use super::part_file::PartFile;
use super::progress::Telling;
use super::{io, tenants};
use crate::config::Export;
use crate::domain::caller::{Caller, check_tenant};
use crate::domain::clock::Clock;
use crate::domain::error::Obstacle;
use crate::domain::names::SnapshotId;
use crate::domain::progress::Progress;
use crate::domain::sessions::name::SessionName;
use crate::domain::storage::Storage;
use crate::domain::store::namespace::Namespace;
use crate::domain::tenants::audit::{Act, ActKind};
use crate::domain::{Error, Result};
use crate::export::{
    Exported, LeftOut, Output, Parts, Selection, SigningKey, export, export_whole_only,
    require_parts,
};
use crate::storage::StorageConfig;
use crate::storage::objects::{Objects, Packing};
use crate::storage::sqlite::{RebuiltCopy, rebuilt_copy};

/// Bytes that are gathered before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// Something was left out.
const NOT_WHOLE: u8 = 1;

pub(super) async fn run(command: Export, form: Form) -> Result<ExitCode> {
    check_tenant(&command.tenant)?;
    if form == Form::Json && command.to == Path::new("-") {
        let detail = "--json prints the report on standard output, where --to - writes the file: name a file with --to";
        return Err(Error::invalid("to", detail));
    }
    let key = command.signing_key_file.as_deref().map(read_key).transpose()?;
    let objects = objects(command.object_store_url.as_deref()).await?;
    let database = open_existing(&command.database, objects.clone()).await?;
    let mut salvage = Salvage { form, left_out: BTreeMap::new(), copy: None };
    let exported = async {
        if command.skip_damaged {
            salvage.copy_if_indexes_are_damaged(&command).await;
        }
        let Some(copy) = &salvage.copy else {
            return write(&command, (&*database, &*database), key, &mut salvage).await;
        };
        let url = embedded_url(copy.data_dir(), false)?;
        let copy =
            open_existing_as(&command.database, |config| StorageConfig { url, objects, ..config });
        let copy = copy.await?;
        let exported = write(&command, (&*database, &*copy), key, &mut salvage).await;
        copy.close().await;
        exported
    };
    let exported = exported.await;
    database.close().await;
    let mut report = json!(exported?);
    if command.skip_damaged {
        report["left_out"] = json!(salvage.left_out);
    }
    match form {
        // Standard output may be the file.
        Form::Text => form.note(&format!("exported {report}")),
        Form::Json => form.print(&Answer::new("", &report)?)?,
    }
    form.note("the file is NOT ENCRYPTED; keep it as you keep the database");
    Ok(if salvage.left_out.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(NOT_WHOLE) })
}

/// Writes the file from what is read of `from`; the act is the database's.
async fn write(
    command: &Export,
    (database, from): (&dyn Storage, &dyn Storage),
    key: Option<SigningKey>,
    salvage: &mut Salvage,
) -> Result<Exported> {
    let caller = Caller::of_tenant(&command.tenant);
    let selection = selection(command)?;
    let now = Clock::System.now();
    let known = tenants::require(from, &command.tenant).await;
    unless_damaged(command.skip_damaged, known)?;
    let checked = require_parts(from, &caller, &selection).await;
    unless_damaged(command.skip_damaged, checked)?;
    let steps = Arc::new(Progress::default());
    steps.begin(&command.tenant, "bytes written", 0);
    let mut output = Destination::make(&command.to, Arc::clone(&steps))?;
    let act = Act::of_operator(&command.tenant, ActKind::Exported, "", now);
    unless_damaged(command.skip_damaged, record(database, &act, salvage.form).await)?;
    let to = (&mut output as &mut dyn Output, key);
    let telling = Telling::new(salvage.form);
    let exported = Box::pin(async {
        if command.skip_damaged {
            let mut tell = |it: LeftOut| salvage.leave_out(&it);
            return export_whole_only(from, &caller, &selection, to, (now, &mut tell)).await;
        }
        export(from, &caller, &selection, to, now).await
    });
    let exported = telling.watch_steps(&steps, exported).await?;
    output.finish()?;
    Ok(exported)
}

/// What is brought off a damaged database.
struct Salvage {
    form: Form,
    /// Of each kind, how much is not in the file.
    left_out: BTreeMap<&'static str, u64>,
    /// What is read in place of the database.
    copy: Option<RebuiltCopy>,
}

impl Salvage {
    /// Copies an embedded database whose indexes are damaged to the folder of the file that is asked for. Where that fails, rows are missing
    /// that nobody can name.
    async fn copy_if_indexes_are_damaged(&mut self, command: &Export) {
        let Some(path) = embedded_path(&command.database) else { return };
        let folder = match command.to.parent() {
            _ if command.to == Path::new("-") => std::env::temp_dir(),
            Some(folder) if folder != Path::new("") => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        match rebuilt_copy(&path, &folder).await {
            Ok(None) => {}
            Ok(Some(copy)) => {
                let indexes = copy.indexes.join(", ");
                self.form.note(&format!("damaged indexes are made anew in a copy: {indexes}"));
                for it in copy.left_out.iter().filter(|it| it.tenant == command.tenant) {
                    self.leave_out(&LeftOut {
                        kind: it.kind,
                        name: None,
                        reason: it.reason.clone(),
                    });
                }
                self.copy = Some(copy);
            }
            Err(error) => {
                let reason = format!("the indexes cannot be checked: {error}");
                self.leave_out(&LeftOut { kind: "row", name: None, reason });
            }
        }
    }

    fn leave_out(&mut self, it: &LeftOut) {
        self.form.note(&shown(it));
        *self.left_out.entry(it.kind).or_default() += 1;
    }
}

/// Writes the act. What is brought off a full disk matters more than the line that says so, and a copy that may only be read has no
/// log of its own.
async fn record(storage: &dyn Storage, act: &Act, form: Form) -> Result<()> {
    match storage.record_act(act).await {
        Err(Error::Obstacle { kind: Obstacle::DiskFull, detail }) => {
            lacks_act(&detail, form);
        }
        Err(Error::Obstacle { kind: Obstacle::PermissionDenied, detail })
            if storage.name() == "sqlite" =>
        {
            lacks_act(&detail, form);
        }
        recorded => recorded?,
    }
    Ok(())
}

fn lacks_act(detail: &str, form: Form) {
    form.note(&format!("warning: the audit log lacks this export: {detail}"));
}

/// Damage ends an export, unless what is whole is wanted.
fn unless_damaged(skip_damaged: bool, done: Result<()>) -> Result<()> {
    match done {
        Err(Error::Integrity(_)) if skip_damaged => Ok(()),
        done => done,
    }
}

/// The name as a JSON string: it may hold line breaks.
fn shown(it: &LeftOut) -> String {
    let LeftOut { kind, name, reason } = it;
    match name {
        Some(name) => format!("left out: {kind} {}: {reason}", json!(name)),
        None => format!(
            "left out: perhaps more of the kind {kind}, whose names cannot be read: {reason}"
        ),
    }
}

fn selection(command: &Export) -> Result<Selection> {
    let session = |text: &String| {
        let mut parts = text.split('/').map(str::to_owned);
        let kind = parts.next().unwrap_or_default();
        SessionName::new(kind, parts.collect())
    };
    let sessions = command.sessions.iter().map(session).collect::<Result<_>>()?;
    let namespace = |text: &String| {
        let labels = serde_json::from_str(text);
        let labels = labels.map_err(|_| {
            let detail = "a namespace is a JSON list of its labels, such as [\"ann\",\"memories\"]";
            Error::invalid("namespace", detail)
        })?;
        Namespace::new(labels)
    };
    let namespaces = command.namespaces.iter().map(namespace).collect::<Result<_>>()?;
    let snapshot = |id: &String| SnapshotId::new(id.as_str());
    let snapshots = command.snapshots.iter().map(snapshot).collect::<Result<_>>()?;
    let parts = Parts { threads: command.threads.clone(), sessions, namespaces, snapshots };
    let is_empty = parts == Parts::default();
    Ok(if is_empty { Selection::Tenant } else { Selection::Parts(parts) })
}

/// A key as its file has it, without the line break that editors put behind it.
pub(super) fn read_key(path: &Path) -> Result<SigningKey> {
    let bytes = std::fs::read(path);
    let bytes = bytes.map_err(|error| io(&format!("the key {}", path.display()), &error))?;
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    SigningKey::new(bytes.strip_suffix(b"\r").unwrap_or(bytes))
}

/// Settings of the packer do not matter here: nothing is moved.
pub(super) async fn objects(url: Option<&str>) -> Result<Option<Arc<Objects>>> {
    let Some(url) = url else { return Ok(None) };
    Ok(Some(Arc::new(Objects::open(url, Packing::default(), true).await?)))
}

/// A file beside the one that is asked for, which takes its name once it is whole; or standard output.
struct Destination {
    waiting: Vec<u8>,
    to: To,
    steps: Arc<Progress>,
}

enum To {
    Stdout,
    File(PartFile),
}

impl Destination {
    fn make(path: &Path, steps: Arc<Progress>) -> Result<Self> {
        let to = if path == Path::new("-") {
            To::Stdout
        } else {
            To::File(PartFile::begin(path, &format!("{}.part", path.display()))?)
        };
        Ok(Self { waiting: Vec::with_capacity(BUFFER_BYTES), to, steps })
    }

    fn flush(&mut self) -> Result<()> {
        let written = match &mut self.to {
            To::Stdout => std::io::stdout().lock().write_all(&self.waiting),
            To::File(to) => to.file.write_all(&self.waiting),
        };
        self.steps.advance(self.waiting.len() as u64);
        self.waiting.clear();
        written.map_err(|error| io("the export cannot be written", &error))
    }

    fn finish(mut self) -> Result<()> {
        self.flush()?;
        let finished = match self.to {
            To::Stdout => std::io::stdout().flush(),
            To::File(to) => to.finish(),
        };
        finished.map_err(|error| io("the export cannot be written", &error))
    }
}

#[async_trait]
impl Output for Destination {
    async fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.waiting.extend_from_slice(&bytes);
        if self.waiting.len() < BUFFER_BYTES {
            return Ok(());
        }
        tokio::task::block_in_place(|| self.flush())
    }
}
