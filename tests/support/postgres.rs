//! Starts a PostgreSQL for the tests: once per test program, on a unix socket in a temporary folder, stopped with the program.
//! `THREADKEEP_TEST_DATABASE_URL` names another to use. Each test gets its own database, a copy of one migrated template.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use threadkeep::storage::{self, Encryption, StorageConfig};
use tokio::sync::OnceCell;

/// initdb and postgres refuse to run as root.
const NOBODY: u32 = 65_534;

static SERVER: OnceCell<Server> = OnceCell::const_new();
static DATABASES: AtomicU32 = AtomicU32::new(0);
/// Databases of tests that have ended, for the next test to drop: hundreds of them would fill a disk.
static ENDED: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Server {
    /// URL without the database: `prefix`, name, `suffix`.
    prefix: String,
    suffix: String,
    template: String,
}

/// A fresh database with the newest schema. Fails the test when there is no PostgreSQL: half a contract is none.
pub async fn fresh_database() -> String {
    let server = SERVER.get_or_init(start).await;
    let number = DATABASES.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}_{number}", server.template);
    server.create(&name, Some(&server.template)).await;
    server.url(&name)
}

/// Lets go of a database that no test uses any more.
pub fn ended(url: &str) {
    let base = url.split_once('?').map_or(url, |(base, _)| base);
    if let Some((_, name)) = base.rsplit_once('/') {
        ENDED.lock().unwrap().push(name.to_owned());
    }
}

impl Server {
    fn url(&self, database: &str) -> String {
        format!("{}{database}{}", self.prefix, self.suffix)
    }

    async fn create(&self, name: &str, template: Option<&str>) {
        let template = template.map_or_else(String::new, |it| format!(" template \"{it}\""));
        let mut admin = PgConnection::connect(&self.url("postgres")).await.unwrap();
        // PostgreSQL copies one template at a time, and refuses the second instead of letting it wait.
        admin.execute("select pg_advisory_lock(7067)").await.unwrap();
        let ended = std::mem::take(&mut *ENDED.lock().unwrap());
        for name in ended {
            let statement = AssertSqlSafe(format!("drop database \"{name}\" with (force)"));
            if let Err(error) = admin.execute(statement).await {
                // Sessions end in their own time: the next test tries again.
                eprintln!("{name} is not dropped yet: {error}");
                ENDED.lock().unwrap().push(name);
            }
        }
        let statement = AssertSqlSafe(format!("create database \"{name}\"{template}"));
        admin.execute(statement).await.unwrap();
        admin.close().await.unwrap();
    }
}

async fn start() -> Server {
    let (prefix, suffix) = if let Ok(url) = std::env::var("THREADKEEP_TEST_DATABASE_URL") {
        split(&url)
    } else {
        let folder = start_own();
        ("postgres://postgres@localhost/".to_owned(), format!("?host={}", folder.display()))
    };
    let template = format!("tk_contract_{}", std::process::id());
    let server = Server { prefix, suffix, template };
    wait_until_ready(&server).await;
    server.create(&server.template, None).await;
    let config = StorageConfig {
        create: true,
        url: server.url(&server.template),
        migrate: true,
        allow_unsafe: true,
        connections: 2,
        exclusive: false,
        objects: None,
        encryption: Encryption::Off,
        read_times: threadkeep::storage::ReadTimes::default(),
    };
    storage::open(&config).await.unwrap().close().await;
    server
}

fn split(url: &str) -> (String, String) {
    let (base, query) =
        url.split_once('?').map_or((url, None), |(base, query)| (base, Some(query)));
    let (prefix, _) = base.rsplit_once('/').expect("a database URL ends with /name");
    (format!("{prefix}/"), query.map_or_else(String::new, |it| format!("?{it}")))
}

async fn wait_until_ready(server: &Server) {
    for _ in 0..600 {
        if let Ok(connection) = PgConnection::connect(&server.url("postgres")).await {
            connection.close().await.unwrap();
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("PostgreSQL did not accept connections within 30 seconds");
}

/// Starts a server and answers the folder of its socket.
fn start_own() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tk-contract-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let as_root = unprivileged(&folder);
    let command = |program: &Path| {
        let mut command = Command::new(program);
        command.current_dir("/");
        if as_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    };
    let data = folder.join("data");
    let done = command(&program("initdb"))
        .args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync", "-D"])
        .arg(&data)
        .output()
        .expect("the contract needs a PostgreSQL: THREADKEEP_TEST_PG_BIN, or initdb on the PATH");
    assert!(done.status.success(), "initdb: {}", String::from_utf8_lossy(&done.stderr));
    // Who is not the tests' own user logs in with a password, as roles that tests make.
    let logins = "local all postgres trust\nlocal all all scram-sha-256\n";
    std::fs::write(data.join("pg_hba.conf"), logins).unwrap();
    // The shell outlives the tests only until its standard input closes, however they end.
    let script = "\"$1\" -D \"$2\" -k \"$3\" -c listen_addresses= -c fsync=off -c max_connections=300 \
                  >\"$3/log\" 2>&1 </dev/null & server=$!; cat >/dev/null; kill -INT $server; \
                  wait $server; rm -rf \"$3\"";
    #[allow(clippy::zombie_processes)] // It ends after this program, whose parent waits for nobody.
    let mut child = command(Path::new("/bin/sh"))
        .args(["-c", script, "sh"])
        .args([&program("postgres"), &data, &folder])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    // Kept open until the program ends, and never waited for.
    std::mem::forget(child.stdin.take());
    std::mem::forget(child);
    folder
}

/// Whether the server must run as somebody else; the folder is his then.
fn unprivileged(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let as_root = std::fs::metadata(folder).unwrap().uid() == 0;
    if as_root {
        chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    as_root
}

fn program(name: &str) -> PathBuf {
    match std::env::var_os("THREADKEEP_TEST_PG_BIN") {
        Some(folder) => PathBuf::from(folder).join(name),
        None => std::env::var_os("PATH")
            .into_iter()
            .flat_map(|path| std::env::split_paths(&path).collect::<Vec<_>>())
            .map(|folder| folder.join(name))
            .find(|path| path.exists())
            .unwrap_or_else(|| PathBuf::from(name)),
    }
}
