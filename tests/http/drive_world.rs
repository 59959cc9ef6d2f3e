//! Opens a server over a real engine, with the keys of two people and of their tenant, and a clock that tests move.

use std::sync::Arc;

use serde_json::Value;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Executor as _};
use tempfile::TempDir;
use threadkeep::app::{App, Browsers, Outside};
use threadkeep::domain::clock::Clock;
use threadkeep::domain::storage::Storage;
use threadkeep::http;

use crate::memory::Memory;
use crate::ownership::{make_keys, open};
use crate::server::{Answer, HOST, SETTINGS, Server, no_metrics};
use crate::tokens::START;

pub struct World {
    pub server: Server,
    pub storage: Arc<dyn Storage>,
    pub clock: Arc<Clock>,
    pub ann: String,
    pub bob: String,
    pub tenant: String,
    folder: TempDir,
}

impl World {
    pub async fn new() -> Self {
        Self::with(Browsers::default()).await
    }

    pub async fn with(browsers: Browsers) -> Self {
        Self::serving(Outside { browsers, ..Outside::default() }).await
    }

    pub async fn serving(outside: Outside) -> Self {
        let folder = TempDir::new().unwrap();
        let storage = open(&folder).await;
        let [ann, bob, tenant] = make_keys(&storage).await;
        let (server, clock) = serve_with(&storage, outside).await;
        Self { server, storage, clock, ann, bob, tenant, folder }
    }

    /// What the database has, whoever may see it.
    pub async fn count(&self, statement: &str) -> i64 {
        let file = self.folder.path().join("threadkeep.db");
        let options = SqliteConnectOptions::new().filename(file).read_only(true);
        let mut connection = options.connect().await.unwrap();
        let statement = sqlx::AssertSqlSafe(statement.to_owned());
        sqlx::query_scalar(statement).fetch_one(&mut connection).await.unwrap()
    }

    /// Changes the database past the server.
    pub async fn execute(&self, statements: &str) {
        let file = self.folder.path().join("threadkeep.db");
        let options = SqliteConnectOptions::new().filename(file).foreign_keys(false);
        let mut connection = options.connect().await.unwrap();
        connection.execute(sqlx::AssertSqlSafe(statements.to_owned())).await.unwrap();
    }

    pub async fn get(&self, who: &str, path: &str) -> Answer {
        self.server.get_with(path, &[("x-api-key", who)]).await
    }

    pub async fn get_with(&self, who: &str, path: &str, header: (&str, &str)) -> Answer {
        self.server.get_with(path, &[("x-api-key", who), header]).await
    }

    pub async fn upload(&self, who: &str, path: &str, bytes: &[u8]) -> Answer {
        let path = format!("/api/storage/upload?path={path}");
        self.server.send("POST", &path, &[("x-api-key", who)], bytes.to_vec()).await
    }

    pub async fn put(&self, who: &str, path: &str, bytes: &[u8]) -> Answer {
        self.server.send("PUT", path, &[("x-api-key", who)], bytes.to_vec()).await
    }

    pub async fn delete(&self, who: &str, path: &str) -> u16 {
        let path = format!("/api/storage/delete?path={path}");
        self.server.send("DELETE", &path, &[("x-api-key", who)], Vec::new()).await.status
    }

    /// The paths that a listing has.
    pub async fn paths(&self, who: &str, query: &str) -> Vec<String> {
        let listed = self.get(who, &format!("/api/storage/list{query}")).await.ok().json();
        let entries = listed["entries"].as_array().unwrap().iter();
        let path = |it: &Value| {
            let end = if it["is_dir"] == true { "/" } else { "" };
            format!("{}{end}", it["path"].as_str().unwrap())
        };
        entries.map(path).collect()
    }

    /// A signed address of a file.
    pub async fn url(&self, who: &str, query: &str) -> String {
        let made = self.get(who, &format!("/api/storage/url{query}")).await.ok().json();
        made["url"].as_str().unwrap().to_owned()
    }
}

/// A server on this storage.
pub async fn serve(storage: &Arc<dyn Storage>, browsers: Browsers) -> (Server, Arc<Clock>) {
    serve_with(storage, Outside { browsers, ..Outside::default() }).await
}

async fn serve_with(storage: &Arc<dyn Storage>, outside: Outside) -> (Server, Arc<Clock>) {
    let (clock, listen) = (Arc::new(Clock::Fixed(START.into())), HOST.parse().unwrap());
    let storage = Arc::clone(storage);
    let app =
        App::start(storage, Arc::clone(&clock), listen, SETTINGS, Some(no_metrics()), outside)
            .await;
    let app = Arc::new(app.unwrap());
    let router = http::router(&app);
    (Server { app, storage: Arc::new(Memory::default()), router }, clock)
}

/// Bytes that do not repeat.
pub fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}
