//! Implements `threadkeep support`: one file about a server for whoever helps with it. It has versions, settings without secrets, sizes and
//! counts, and never contents, keys or names of tenants.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::Client;
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use url::Url;

use super::form::{Answer, Form};
use super::part_file::PartFile;
use super::sources::{self, Setting};
use super::{exit, io, opening, settings};
use crate::config::{Database, Support};
use crate::domain::clock::Clock;
use crate::domain::engine::{DatabaseSize, Inventory};
use crate::domain::storage::Storage;
use crate::domain::time::rfc3339;
use crate::domain::{Error, Result};
use crate::storage::{ReadTimes, StorageConfig};

const KEY: &str = "THREADKEEP_API_KEY";
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
const ANSWER_BYTES_MAX: usize = 4 << 20;
/// A table whose rows take longer to count is told without their number.
const COUNT_WITHIN: Duration = Duration::from_secs(30);

/// What goes into the file.
#[derive(Default)]
struct Bundle {
    files: Vec<(&'static str, Vec<u8>)>,
    /// What could not be read, and why.
    missing: Vec<(&'static str, Error)>,
}

/// Writes what can be read, and says what cannot.
///
/// # Errors
/// Where the file cannot be written.
pub(super) async fn run(command: Support, given: &[Setting], form: Form) -> Result<ExitCode> {
    let key = sources::secret(KEY, |name| std::env::var_os(name))?;
    let mut bundle = Bundle::default();
    let shown: String = given.iter().map(settings::shareable).collect();
    bundle.files.push(("settings.toml", shown.into_bytes()));
    let database = match of_database(&command.serve.database).await {
        Ok((about, tables)) => {
            bundle.add("tables.json", &tables);
            about
        }
        Err(error) => {
            bundle.missing.push(("database", error));
            Value::Null
        }
    };
    if let Some(url) = &command.url {
        let client = client(url)?;
        for (path, name) in [("/metrics", "metrics.txt"), ("/readyz", "readiness.json")] {
            match ask(&client, url, path, key.as_deref()).await {
                Ok(bytes) => bundle.files.push((name, bytes)),
                Err(error) => bundle.missing.push((name, error)),
            }
        }
    }
    let missing: Vec<Value> = bundle
        .missing
        .iter()
        .map(|(what, error)| json!({"what": what, "why": error.to_string()}))
        .collect();
    let about = json!({
        "made_at": rfc3339(Clock::System.now()), "version": env!("CARGO_PKG_VERSION"),
        "system": std::env::consts::OS, "processor": std::env::consts::ARCH,
        "cpus": std::thread::available_parallelism().map_or(0, usize::from),
        "database": database, "missing": missing,
    });
    bundle.add("about.json", &about);
    write(&command.to, &packed(&bundle.files)?)?;
    let made = json!({ "made": command.to.display().to_string() });
    form.print(&Answer::new(format!("made {}\n", command.to.display()), &made)?)?;
    for (what, error) in &bundle.missing {
        form.note(&format!("the bundle lacks {what}: {error}"));
    }
    let code = bundle.missing.first().map_or(ExitCode::SUCCESS, |(_, it)| exit::code(it).into());
    Ok(code)
}

impl Bundle {
    fn add(&mut self, name: &'static str, document: &Value) {
        self.files.push((name, format!("{document:#}\n").into_bytes()));
    }
}

/// What the database is, and its tables.
async fn of_database(database: &Database) -> Result<(Value, Value)> {
    let read_times = ReadTimes { statement: Some(COUNT_WITHIN), ..ReadTimes::default() };
    let timed = |config| StorageConfig { read_times, ..config };
    let storage = opening::open_existing_as(database, timed).await?;
    let told = tell(storage.as_ref()).await;
    storage.close().await;
    told
}

async fn tell(storage: &dyn Storage) -> Result<(Value, Value)> {
    let DatabaseSize { main_bytes, log_bytes, free_bytes } = storage.measure().await?;
    let Inventory { schema_version, tables } = storage.take_inventory().await?;
    let about = json!({
        "engine": storage.name(), "schema_version": schema_version, "main_bytes": main_bytes,
        "log_bytes": log_bytes, "free_bytes": free_bytes,
    });
    let tables = tables.iter().map(|it| (it.name, json!({"rows": it.rows, "bytes": it.bytes})));
    Ok((about, tables.map(|(name, it)| (name.to_owned(), it)).collect()))
}

fn client(url: &Url) -> Result<Client> {
    // A second installation changes nothing; the first one is this one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let local = matches!(url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"));
    let builder = Client::builder().redirect(Policy::none()).timeout(ANSWER_WITHIN);
    let builder = if local { builder.no_proxy() } else { builder };
    builder.build().map_err(|error| Error::Internal(error.to_string()))
}

/// Readiness is told with 503, too.
async fn ask(client: &Client, url: &Url, path: &str, key: Option<&str>) -> Result<Vec<u8>> {
    let away = |why: String| {
        let detail = format!("{path} of the server cannot be read: {why}");
        Error::Unavailable { detail, retry_after: ANSWER_WITHIN }
    };
    let mut place = url.clone();
    place.set_path(&format!("{}{path}", url.path().trim_end_matches('/')));
    let mut request = client.get(place).header("accept", "application/json, text/plain;q=0.5");
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    let failed = |error: reqwest::Error| away(error.without_url().to_string());
    let mut answer = request.send().await.map_err(failed)?;
    let status = answer.status().as_u16();
    if status != 200 && status != 503 {
        return Err(away(format!("it answers {status}")));
    }
    let mut bytes = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(failed)? {
        bytes.extend_from_slice(&part);
        if bytes.len() > ANSWER_BYTES_MAX {
            return Err(away(format!("it answers more than {ANSWER_BYTES_MAX} bytes")));
        }
    }
    Ok(bytes)
}

fn packed(files: &[(&'static str, Vec<u8>)]) -> Result<Vec<u8>> {
    let failed = |error| io("the bundle cannot be packed", &error);
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        let name = format!("threadkeep-support/{name}");
        archive.append_data(&mut header, name, &bytes[..]).map_err(failed)?;
    }
    archive.into_inner().and_then(GzEncoder::finish).map_err(failed)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut to = PartFile::begin(path, "the bundle")?;
    let written = to.file.write_all(bytes).and_then(|()| to.finish());
    written.map_err(|error| io("the bundle cannot be written", &error))
}
