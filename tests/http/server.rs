//! Runs a server without a socket, and sends requests to it. Every answer is checked against the OpenAPI document. A status or a code that
//! is not documented for the route fails the test.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use http_body_util::BodyExt as _;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use serde_json::Value;
use threadkeep::app::{App, DifferenceMemory, Outside, Settings};
use threadkeep::auth::issuers::Issuers;
use threadkeep::auth::secret::{Secret, Terms};
use threadkeep::domain::clock::Clock;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::tenants::audit::{Act, ActKind};
use threadkeep::domain::tenants::operators::OPERATORS;
use threadkeep::domain::tenants::rates::Rates;
use threadkeep::domain::tokens::key::{Key, ShownKey};
use threadkeep::http;
use tower::ServiceExt as _;

use crate::memory::Memory;

pub const JSON: &str = "application/json";
pub const MSGPACK: &str = "application/msgpack";
/// The sweeper looks once at the start and not again.
pub const NEVER: Duration = Duration::from_hours(24);
pub const HOST: &str = "127.0.0.1:7070";

pub const MEMORY: DifferenceMemory =
    DifferenceMemory { recent_bytes_max: 64 << 20, expanded_bytes_max: 128 << 20 };

pub const SETTINGS: Settings = Settings {
    memory: MEMORY,
    retention_interval: NEVER,
    audit_keep_days: 90,
    rates: Rates { per_tenant: None, per_token: None },
    keyless: false,
    busy_for: Duration::from_mins(2),
    thread_metadata_keys: Vec::new(),
};

/// Every operation with every form of its bodies: what the served documents describe together.
pub static DOCUMENT: LazyLock<Value> = LazyLock::new(http::openapi::document::whole);

/// A place for metrics where none is counted.
pub fn no_metrics() -> PrometheusHandle {
    PrometheusBuilder::new().build_recorder().handle()
}

pub struct Server {
    pub app: Arc<App>,
    pub storage: Arc<Memory>,
    pub router: Router,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Server {
    /// Without keys, on the loopback address.
    pub async fn keyless() -> Self {
        Self::on(HOST, Memory::default()).await
    }

    /// With a key for each tenant. The keys' texts come back in that order.
    pub async fn with_keys(tenants: &[&str]) -> (Self, Vec<String>) {
        let storage = Memory::default();
        let texts = tenants.iter().map(|tenant| add_key(&storage, tenant)).collect();
        (Self::on(HOST, storage).await, texts)
    }

    /// With the key of an operator, whose text comes back.
    pub async fn with_operator() -> (Self, String) {
        let storage = Memory::default();
        let (key, text) = key_with(operator_secret(), OPERATORS, "key_operator", None);
        storage.keys.lock().unwrap().push(key);
        (Self::on(HOST, storage).await, text)
    }

    pub async fn on(listen: &str, storage: Memory) -> Self {
        Self::with_memory(listen, storage, MEMORY).await
    }

    pub async fn with_memory(listen: &str, storage: Memory, memory: DifferenceMemory) -> Self {
        let settings = Settings { memory, ..SETTINGS };
        Self::with_settings(listen, storage, settings, Clock::System).await
    }

    pub async fn with_settings(
        listen: &str,
        storage: Memory,
        settings: Settings,
        clock: Clock,
    ) -> Self {
        let (storage, clock) = (Arc::new(storage), Arc::new(clock));
        let listen: SocketAddr = listen.parse().unwrap();
        let none = Issuers::default();
        let app =
            App::start(storage.clone(), clock, listen, settings, Some(no_metrics()), none).await;
        let app = Arc::new(app.unwrap());
        Self { router: http::router(&app), app, storage }
    }

    /// On the loopback address, with what is set up outside of it.
    pub async fn with(storage: Memory, outside: impl Into<Outside>) -> Self {
        Self::beside(&Arc::new(storage), &Arc::new(Clock::System), outside).await
    }

    /// On a real engine.
    pub async fn over(storage: Arc<dyn Storage>, outside: impl Into<Outside>) -> Self {
        let (clock, listen) = (Arc::new(Clock::System), HOST.parse().unwrap());
        let app = App::start(storage, clock, listen, SETTINGS, None, outside).await;
        let app = Arc::new(app.unwrap());
        Self { router: http::router(&app), app, storage: Arc::new(Memory::default()) }
    }

    /// With a clock that the test moves, beside others on the same storage.
    pub async fn beside(
        storage: &Arc<Memory>,
        clock: &Arc<Clock>,
        outside: impl Into<Outside>,
    ) -> Self {
        let (storage, clock) = (Arc::clone(storage), Arc::clone(clock));
        let listen: SocketAddr = HOST.parse().unwrap();
        let app =
            App::start(storage.clone(), clock, listen, SETTINGS, Some(no_metrics()), outside).await;
        let app = Arc::new(app.unwrap());
        Self { router: http::router(&app), app, storage }
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("content-type", JSON)], body.to_string().into_bytes()).await
    }

    pub async fn post_bytes(&self, path: &str, media: &str, body: impl Into<Vec<u8>>) -> Answer {
        self.send("POST", path, &[("content-type", media)], body.into()).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], Vec::new()).await
    }

    pub async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send("GET", path, headers, Vec::new()).await
    }

    /// A `host` in the headers replaces the server's own.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Answer {
        self.send_body(method, path, headers, Body::from(body)).await
    }

    pub async fn send_body(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Body,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", HOST);
        }
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            request = request.header(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let request = request.body(body).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, mut body) = response.into_parts();
        let body = if parts.headers.get("content-type").is_some_and(|it| it == "text/event-stream")
        {
            // It does not end: the first events are enough.
            body.frame().await.unwrap().unwrap().into_data().unwrap().to_vec()
        } else {
            body.collect().await.unwrap().to_bytes().to_vec()
        };
        let answer = Answer { status: parts.status.as_u16(), headers: parts.headers, body };
        let path = path.split('?').next().unwrap_or_default();
        answer.check_documented(&method.parse().unwrap(), &documented(path));
        answer
    }
}

/// The path as the document has it: ids stand in segments.
fn documented(path: &str) -> String {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    if paths.contains_key(path) {
        return path.to_owned();
    }
    let segments: Vec<&str> = path.split('/').collect();
    let is_id = |it: &str| it.starts_with('{') && it.ends_with('}');
    let fits = |template: &&String| {
        let all: Vec<&str> = template.split('/').collect();
        all.len() == segments.len()
            && all.iter().zip(&segments).all(|(one, it)| one == it || is_id(one) && !it.is_empty())
    };
    let ids = |template: &&String| template.split('/').filter(|it| is_id(it)).count();
    paths.keys().filter(fits).min_by_key(ids).map_or_else(|| path.to_owned(), Clone::clone)
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|it| it.to_str().unwrap())
    }

    /// Status and code of a problem; the body must be a whole one.
    pub fn problem(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let body = self.json();
        let code = body["code"].as_str().unwrap();
        assert_eq!(body["status"], self.status);
        assert_eq!(body["type"], format!("urn:threadkeep:problem:{code}"));
        assert_eq!(body["request_id"], self.header("x-request-id").unwrap());
        assert!(body["title"].is_string() && body["detail"].is_string());
        let comes_again = [429, 503].contains(&self.status);
        assert_eq!(comes_again, self.header("retry-after").is_some(), "{self:?}");
        (self.status, code.to_owned())
    }

    #[track_caller]
    pub fn assert_problem(&self, status: u16, code: &str) {
        assert_eq!(self.problem(), (status, code.to_owned()), "{}", self.json());
    }

    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        self
    }

    pub fn field(&self) -> String {
        self.json()["field"].as_str().unwrap_or_default().to_owned()
    }

    fn check_documented(&self, method: &Method, path: &str) {
        let json = |it: &str| {
            it.starts_with("application/json") || it.starts_with("application/problem+json")
        };
        if self.header("content-type").is_some_and(json) {
            let cached = self.header("cache-control").unwrap_or_default();
            assert!(
                cached.contains("no-store") || cached.contains("private"),
                "{method} {path}: {cached:?}"
            );
            assert_eq!(self.header("x-content-type-options"), Some("nosniff"), "{method} {path}");
        }
        let operation = &DOCUMENT["paths"][path][method.as_str().to_lowercase()];
        if operation.is_null() {
            return;
        }
        let mut response = &operation["responses"][self.status.to_string()];
        assert!(!response.is_null(), "{method} {path}: status {} is not documented", self.status);
        if let Some(reference) = response["$ref"].as_str() {
            response = DOCUMENT.pointer(reference.trim_start_matches('#')).unwrap();
        }
        // Readiness as JSON is the same body in both cases.
        let is_readiness = path == "/readyz" && self.header("content-type") == Some(JSON);
        if self.status >= 400 && !is_readiness {
            let codes = response["x-codes"].as_array();
            let (_, code) = self.problem();
            let documented = codes.unwrap().iter().any(|it| *it == code);
            assert!(documented, "{method} {path}: code {code} is not documented");
        }
    }
}

pub fn add_key(storage: &Memory, tenant: &str) -> String {
    let (key, text) = new_key(tenant, &format!("key_{tenant}"), None);
    storage.keys.lock().unwrap().push(key);
    text
}

/// A key, and its text.
pub fn new_key(tenant: &str, key_id: &str, subject: Option<&str>) -> (Key, String) {
    key_with(Secret::random(), tenant, key_id, subject)
}

fn key_with(secret: Secret, tenant: &str, key_id: &str, subject: Option<&str>) -> (Key, String) {
    let key = Key {
        key_id: key_id.into(),
        tenant: tenant.into(),
        subject: subject.map(str::to_owned),
        hash: secret.hash(),
        created_at: 0,
        revoked_at: None,
        expires_at: None,
        shown: ShownKey::default(),
    };
    (key, secret.text().to_owned())
}

fn operator_secret() -> Secret {
    Secret::with(Terms { is_operator: true, ..Terms::default() })
}

/// The text of an operator's key that the storage keeps for this tenant.
pub async fn create_operator(storage: &Arc<dyn Storage>, tenant: &str) -> String {
    let (key, text) = key_with(operator_secret(), tenant, "key_operator", None);
    let act = Act::of_operator(tenant, ActKind::KeyCreated, "key_operator", 0);
    storage.create_key(&key, &act).await.unwrap();
    text
}

/// Its text. The storage has it.
pub async fn create_key(
    storage: &Arc<dyn Storage>,
    tenant: &str,
    key_id: &str,
    subject: Option<&str>,
) -> String {
    let (key, text) = new_key(tenant, key_id, subject);
    let act = Act::of_operator(tenant, ActKind::KeyCreated, key_id, 0);
    storage.create_key(&key, &act).await.unwrap();
    text
}
