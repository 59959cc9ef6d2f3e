//! `threadkeep serve`: opens the storage, starts the app, listens, and ends in order.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use super::{io, listening, print, storage_config};
use crate::app::{App, Browsers, DifferenceMemory, Outside, Settings};
use crate::auth::issuers::Issuers;
use crate::config::{self, EmbeddingsEndpoint, ObjectStore, Serve};
use crate::domain::agentrail::OtherUser;
use crate::domain::background_tasks;
use crate::domain::clock::Clock;
use crate::domain::embedding::{Embedder, Embeddings};
use crate::domain::rates::Rates;
use crate::domain::storage::Storage;
use crate::domain::{Error, Result};
use crate::embed::{self, OpenAi};
use crate::http::listener::Bounds;
use crate::http::{self, listener};
use crate::storage;
use crate::storage::objects::{Objects, Packing};
use crate::storage::redis::Redis;

/// Seconds; from a request served from memory to one at the end of its budget.
const LATENCY_BUCKETS: &[f64] = &[
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0,
];
/// What Redis remembers of objects, from when it was read: they never change.
const REMEMBERED_FOR: Duration = Duration::from_mins(10);
/// Files of the embedded database, connections to an object store, to Redis, to issuers and endpoints.
const RESERVED_DESCRIPTORS: usize = 256;
const EMBEDDINGS_KEY: &str = "THREADKEEP_EMBEDDINGS_KEY";
const BATCH_BUCKETS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

pub(super) async fn run(serve: Serve) -> Result<()> {
    let metrics = metrics()?;
    let mut config = storage_config(&serve.database, !serve.no_migrate, serve.allow_unsafe)?;
    config.exclusive = true;
    let shared = redis(serve.redis_url.as_deref())?;
    config.objects = objects(&serve.objects, shared, serve.allow_unsafe).await?;
    let storage = storage::open(&config).await?;
    if config.encryption.masters().is_some() {
        tracing::info!("content is encrypted");
    }
    let result = listen(&serve, Arc::clone(&storage), metrics).await;
    if result.is_err() {
        storage.close().await;
    }
    result
}

/// What is remembered of objects for all servers.
fn redis(url: Option<&str>) -> Result<Option<Arc<Redis>>> {
    url.map(|url| Redis::new(url, REMEMBERED_FOR).map(Arc::new)).transpose()
}

async fn objects(
    settings: &ObjectStore,
    shared: Option<Arc<Redis>>,
    allow_unsafe: bool,
) -> Result<Option<Arc<Objects>>> {
    let Some(url) = &settings.object_store_url else {
        if shared.is_some() {
            tracing::warn!("--redis-url has nothing to do without --object-store-url");
        }
        return Ok(None);
    };
    let micros = |seconds: u32| i64::from(seconds) * 1_000_000;
    let packing = Packing {
        every: Duration::from_secs(settings.object_store_every_seconds.into()),
        after: micros(settings.object_store_after_seconds),
        pack_bytes_min: settings.object_store_pack_bytes_min as usize,
        keep: micros(settings.object_store_keep_seconds),
        ..Packing::default()
    };
    let objects = Objects::open(url, packing, allow_unsafe).await?.sharing(shared);
    tracing::info!("cold content moves to the object store");
    Ok(Some(Arc::new(objects)))
}

async fn listen(serve: &Serve, storage: Arc<dyn Storage>, metrics: PrometheusHandle) -> Result<()> {
    let listener = listening::listen(&serve.listen).await?;
    let local = address_of(&listener)?;
    let operators = match &serve.metrics_listen {
        Some(address) => Some(listening::listen_for_metrics(address).await?),
        None => None,
    };
    // They are shown at one place.
    let shown = operators.is_none().then(|| metrics.clone());
    let memory = DifferenceMemory {
        recent_bytes_max: serve.recent_bytes_max,
        expanded_bytes_max: serve.expanded_bytes_max,
    };
    let settings = Settings {
        memory,
        retention_interval: Duration::from_secs(serve.retention_interval),
        audit_keep_days: serve.audit_keep_days,
        rates: Rates {
            per_tenant: serve.requests_per_second,
            per_token: serve.requests_per_second_per_token,
        },
        keyless: serve.keyless,
    };
    let clock = Arc::new(Clock::System);
    let outside = Outside {
        issuers: issuers(serve.issuers.as_deref())?,
        embedder: Embedder::new(embeddings(&serve.embeddings)?),
        browsers: Browsers {
            files_origin: serve.browsers.files_origin.clone(),
            cors_origins: serve.browsers.cors_origins.clone(),
        },
        agentrail_other_user: match serve.agentrail_other_user {
            config::OtherUser::Answered => OtherUser::Answered,
            config::OtherUser::Conflict => OtherUser::Conflict,
            config::OtherUser::Forbidden => OtherUser::Forbidden,
        },
    };
    let app = App::start(storage, clock, local, settings, shown, outside).await?;
    if app.gate.is_unprotected() {
        return Err(unprotected(local));
    }
    let app = Arc::new(app);
    let router = http::router(&app);
    let (stop, feeds) = (stop_signal()?, Arc::clone(&app.feeds));
    let storage = Arc::clone(&app.storage);
    let (gate, seen) = (Arc::clone(&app.gate), Arc::clone(&app.gate));
    // Who follows the change feed would else keep the server until its patience ends.
    let stop = async move {
        tokio::select! {
            () = stop => {}
            () = seen.outdated() => tracing::error!("the database was encrypted meanwhile: stopping"),
        }
        feeds.close();
        // Before requests have ended: whoever loses patience with them kills a server that was in order.
        background_tasks::stop(&*storage).await;
    };
    if app.gate.is_keyless() {
        tracing::info!(
            "no key exists: only local programs are answered, as tenant `default`. A proxy or tunnel in front of this server is \
             a local program: make a key before there is one, or everybody who reaches it is the local user"
        );
    }
    if app.gate.is_closed() {
        tracing::warn!(
            "every key was revoked: nobody is let in. Make a key (threadkeep keys create --tenant NAME), or let local programs in \
             without one (--keyless)"
        );
    }
    if let Some(operators) = &operators {
        print(&format!("metrics on http://{}/metrics\n", address_of(operators)?))?;
    }
    print(&format!("listening on http://{local}\n"))?;
    let operators = operators.map(|it| (it, http::operators(&app, metrics)));
    let (served, ended) = oneshot::channel::<()>();
    let api = async {
        listener::serve(listener, router, bounds(serve), stop).await;
        drop(served);
    };
    // Operators see how it stops.
    let beside = async {
        if let Some((listener, router)) = operators {
            let ended = async { drop(ended.await) };
            listener::serve(listener, router, Bounds::default(), ended).await;
        }
    };
    tokio::join!(api, beside);
    if let Some(app) = Arc::into_inner(app) {
        app.stop().await;
    } else {
        tracing::warn!("requests still run, the storage is left as it is");
    }
    if gate.is_outdated() {
        return Err(Error::invalid(
            "master-key-file",
            "the database was encrypted while this server ran without the master key: run `threadkeep encrypt --repair`, which seals what it \
             wrote meanwhile, then start it with --master-key-file",
        ));
    }
    Ok(())
}

fn address_of(listener: &TcpListener) -> Result<SocketAddr> {
    listener.local_addr().map_err(|error| io("the listening address", &error))
}

/// What connections of clients may take. What else needs file descriptors is left enough of them.
fn bounds(serve: &Serve) -> Bounds {
    let wanted = serve.client_connections_max as usize;
    let free = descriptors()
        .map(|it| it.saturating_sub(RESERVED_DESCRIPTORS + serve.database.connections));
    let connections_max = free.map_or(wanted, |it| wanted.min(it.max(1)));
    if connections_max < wanted {
        tracing::warn!(
            connections_max,
            wanted,
            "the system grants fewer file descriptors (ulimit -n)"
        );
    }
    let head_within = Duration::from_secs(serve.head_seconds_max.into());
    Bounds {
        connections_max,
        per_address_max: serve.connections_per_address_max.map(|it| it as usize),
        trusted: serve.trusted_proxies.clone(),
        head_within,
        ..Bounds::default()
    }
}

/// How many file descriptors there are, after taking all that are granted; None: without a limit.
fn descriptors() -> Option<usize> {
    let granted = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: granted.maximum, ..granted };
    let now = if setrlimit(Resource::Nofile, raised).is_ok() { raised } else { granted };
    now.current.map(|it| usize::try_from(it).unwrap_or(usize::MAX))
}

/// What makes vectors.
fn embeddings(settings: &EmbeddingsEndpoint) -> Result<Option<Arc<dyn Embeddings>>> {
    let EmbeddingsEndpoint { embeddings_url, embeddings_model, embeddings_dims } = settings;
    let (Some(url), Some(model), Some(dims)) = (embeddings_url, embeddings_model, embeddings_dims)
    else {
        return Ok(None);
    };
    let key = std::env::var(EMBEDDINGS_KEY).ok().filter(|it| !it.is_empty());
    let (url, model, dims) = (url.clone(), model.clone(), *dims as usize);
    let made = OpenAi::new(embed::Settings { url, model, dims, key })?;
    tracing::info!(model = made.model().as_str(), "an endpoint makes vectors");
    Ok(Some(Arc::new(made)))
}

/// Other issuers of tokens.
fn issuers(path: Option<&Path>) -> Result<Issuers> {
    let Some(path) = path else { return Ok(Issuers::default()) };
    let text = std::fs::read_to_string(path)
        .map_err(|error| io(&format!("--issuers {}", path.display()), &error))?;
    Issuers::parse(&text, &|name| std::env::var(name).ok())
}

fn unprotected(local: SocketAddr) -> Error {
    Error::invalid(
        "listen",
        format!(
            "refusing to listen on {local} without any key: everybody who reaches this address could read and \
             write everything. Make a key first (threadkeep keys create --tenant NAME), or listen on 127.0.0.1"
        ),
    )
}

fn stop_signal() -> Result<impl Future<Output = ()>> {
    let failed = |error| io("signals cannot be received", &error);
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => tracing::info!("SIGTERM: stopping"),
            _ = interrupt.recv() => tracing::info!("SIGINT: stopping"),
        }
    })
}

fn metrics() -> Result<PrometheusHandle> {
    let request_seconds = Matcher::Full(http::REQUEST_SECONDS.into());
    let batch = Matcher::Full("threadkeep_batch_commands".into());
    PrometheusBuilder::new()
        .set_buckets_for_metric(request_seconds, LATENCY_BUCKETS)
        .and_then(|it| it.set_buckets_for_metric(batch, BATCH_BUCKETS))
        .and_then(PrometheusBuilder::install_recorder)
        .map_err(|error| Error::Internal(format!("metrics could not be started: {error}")))
}
