//! Serves the console: a page that calls the API from the browser as any other client does. Its files are built into the program. They
//! hold nothing of a tenant, so they need no credential.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use include_dir::{Dir, DirEntry, File};
use sha2::{Digest as _, Sha256};

use crate::app::App;
use crate::http::files::raw_bytes::is_held;
use crate::http::request::problem::{Code, Problem};

#[cfg(feature = "console")]
static DIST: Dir<'_> = include_dir::include_dir!("$CARGO_MANIFEST_DIR/clients/console/dist");
#[cfg(not(feature = "console"))]
static DIST: Dir<'_> = Dir::new("", &[]);

const BASE: &str = "/console/";
const INDEX: &str = "index.html";
/// Names of these files change with their content.
const HASHED: &str = "assets/";
const ZSTD_LEVEL: i32 = 19;
/// Besides what is only for those who build it.
const MEDIA_TYPES: [(&str, &str); 9] = [
    ("html", "text/html; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("ico", "image/x-icon"),
    ("woff2", "font/woff2"),
    ("json", "application/json"),
    ("md", "text/markdown; charset=utf-8"),
];

/// A file as it is sent.
struct Asset {
    media_type: &'static str,
    etag: HeaderValue,
    plain: Bytes,
    gzip: Bytes,
    zstd: Bytes,
}

/// Made once, when the first one is asked for: compressing them takes about a second.
static ASSETS: LazyLock<HashMap<String, Asset>> = LazyLock::new(|| {
    let mut files = Vec::new();
    list(&DIST, &mut files);
    files.into_iter().filter_map(Asset::of).collect()
});

fn list(folder: &'static Dir<'static>, files: &mut Vec<&'static File<'static>>) {
    for entry in folder.entries() {
        match entry {
            DirEntry::Dir(inner) => list(inner, files),
            DirEntry::File(file) => files.push(file),
        }
    }
}

impl Asset {
    /// None for a file that no browser is sent.
    fn of(file: &'static File<'static>) -> Option<(String, Self)> {
        let name = file.path().to_str()?.replace('\\', "/");
        let ending = file.path().extension()?.to_str()?;
        let (_, media_type) = MEDIA_TYPES.into_iter().find(|it| it.0 == ending)?;
        let plain = file.contents();
        let etag = format!("\"{}\"", hex::encode(&Sha256::digest(plain)[..16]));
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(plain).ok()?;
        let asset = Self {
            media_type,
            etag: HeaderValue::from_str(&etag).ok()?,
            plain: Bytes::from_static(plain),
            gzip: gzip.finish().ok()?.into(),
            zstd: zstd::encode_all(plain, ZSTD_LEVEL).ok()?.into(),
        };
        Some((name, asset))
    }

    /// In the first of these codings that the browser takes.
    fn coded(&self, headers: &HeaderMap) -> (Option<&'static str>, Bytes) {
        let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|it| it.to_str().ok());
        let takes = |coding: &str| {
            let mut codings = accepted.unwrap_or_default().split(',').map(str::trim);
            codings.any(|it| it == coding)
        };
        if takes("zstd") {
            (Some("zstd"), self.zstd.clone())
        } else if takes("gzip") {
            (Some("gzip"), self.gzip.clone())
        } else {
            (None, self.plain.clone())
        }
    }
}

/// Not part of the API document.
pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/console", get(async || redirect("console/")))
        .route(BASE, get(async |state, headers| file(state, headers, INDEX).await))
        .route(
            "/console/{*path}",
            get(async |state, Path(path): Path<String>, headers| file(state, headers, &path).await),
        )
}

/// Whether it asks for a file of the console, which is the same for everybody.
pub fn is_file(request: &Request) -> bool {
    let path = request.uri().path();
    is_read(request) && (path.starts_with(BASE) || path == "/console")
}

/// Leads a browser that opens the address of the server to the console. Programs get what they always got there.
pub async fn lead(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if !app.browsers.has_console || request.uri().path() != "/" || !is_read(&request) {
        return next.run(request).await;
    }
    let wants_page = |it: &HeaderValue| it.to_str().is_ok_and(|it| it.contains("text/html"));
    let is_page = request.headers().get(header::ACCEPT).is_some_and(wants_page);
    let mut response = if is_page { redirect(&BASE[1..]) } else { next.run(request).await };
    response.headers_mut().append(header::VARY, HeaderValue::from_static("accept"));
    response
}

fn is_read(request: &Request) -> bool {
    [Method::GET, Method::HEAD].contains(request.method())
}

/// Relative: a proxy may have taken the beginning of the path away.
fn redirect(location: &str) -> Response {
    (StatusCode::FOUND, [(header::LOCATION, location)]).into_response()
}

async fn file(State(app): State<Arc<App>>, headers: HeaderMap, path: &str) -> Response {
    let absent = || Problem::new(Code::NotFound, "there is no such file of the console");
    if !app.browsers.has_console {
        return absent().into_response();
    }
    let made = tokio::task::spawn_blocking(|| &*ASSETS).await;
    let Some(asset) = made.ok().and_then(|it| it.get(path)) else {
        return absent().into_response();
    };
    let age =
        if path.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "no-cache" };
    let mut answer = HeaderMap::new();
    for (name, value) in [
        (header::CACHE_CONTROL, age),
        (header::VARY, "accept-encoding"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), PERMISSIONS),
    ] {
        answer.insert(name, HeaderValue::from_static(value));
    }
    answer.insert(header::ETAG, asset.etag.clone());
    if let Ok(policy) = HeaderValue::from_str(&policy(app.browsers.files_origin.as_deref())) {
        answer.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    if asset.etag.to_str().is_ok_and(|it| is_held(&headers, it)) {
        return (StatusCode::NOT_MODIFIED, answer).into_response();
    }
    answer.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.media_type));
    let (coding, body) = asset.coded(&headers);
    if let Some(coding) = coding {
        answer.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    (answer, body).into_response()
}

/// What a page may ask of the machine: nothing.
const PERMISSIONS: &str = "camera=(), clipboard-read=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()";

/// Nothing from elsewhere but files on their own origin; no text becomes HTML or script.
fn policy(files_origin: Option<&str>) -> String {
    let files = files_origin.map(|it| format!(" {it}")).unwrap_or_default();
    let frames = files_origin.unwrap_or("'none'");
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:{files}; media-src 'self' blob:{files}; \
         connect-src 'self'; worker-src 'self'; frame-src {frames}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types threadkeep-worker"
    )
}
