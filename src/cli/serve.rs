//! Implements `threadkeep serve`: opens the storage, starts the app, listens, and stops in order.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::descriptors::connections_max;
use super::form::Form;
use super::opening::{journal, storage_config, unless_refused};
use super::stopping::{Signals, Stopped, Times, conduct, stop_alone};
use super::{bootstrap, encryption, io, listening, measuring, print, sources, waiting};
use crate::app::{AgentServer, App, Browsers, DifferenceMemory, Facts, Outside, Settings};
use crate::auth::issuers::Issuers;
use crate::auth::secret::Secret;
use crate::config::{self, EmbeddingsEndpoint, ObjectStore, Serve};
use crate::domain::agentrail::OtherUser;
use crate::domain::checkpoints::channel_rule::ChannelRule;
use crate::domain::clock::Clock;
use crate::domain::limits::LIMITS;
use crate::domain::names;
use crate::domain::storage::Storage;
use crate::domain::store::embedding::{Embedder, Embeddings};
use crate::domain::tenants::rates::Rates;
use crate::domain::threads::graphs::DefaultGraph;
use crate::domain::{Error, Result};
use crate::embed::{self, OpenAi};
use crate::http;
use crate::http::connections::listener;
use crate::http::connections::listener::Bounds;
use crate::http::connections::tls::Tls;
use crate::storage::content::redis::Redis;
use crate::storage::objects::{Objects, Packing};

/// What Redis remembers of objects, from when it was read: they never change.
const REMEMBERED_FOR: Duration = Duration::from_mins(10);
const EMBEDDINGS_KEY: &str = "THREADKEEP_EMBEDDINGS_KEY";

pub(super) async fn run(serve: Serve, form: Form) -> Result<()> {
    let mut signals = Signals::listen()?;
    let connections_max = connections_max(&serve)?;
    let first_key = bootstrap::given()?;
    encryption::warn_of_readable_keys(&serve.database.encryption);
    // A server that cannot listen makes no database. The address is taken for good when the database is open.
    drop(listeners(&serve).await?);
    let metrics = measuring::start()?;
    // A migration, or a database that is waited for, may take long.
    let storage = tokio::select! {
        opened = open(&serve, first_key.as_ref()) => opened?,
        name = signals.next() => {
            tracing::info!("{name} before the server listened: it ends");
            return Ok(());
        }
    };
    measuring::describe(storage.name());
    let ground = Ground { form, connections_max, metrics, storage: Arc::clone(&storage) };
    let result = listen(&serve, ground, &mut signals).await;
    if result.is_err() {
        storage.close().await;
    }
    result
}

async fn open(serve: &Serve, first_key: Option<&Secret>) -> Result<Arc<dyn Storage>> {
    let mut config = storage_config(&serve.database, !serve.no_migrate, serve.allow_unsafe)?;
    config.exclusive = true;
    let slow = serve.slow_statement_ms;
    config.read_times.slow = (slow > 0).then(|| Duration::from_millis(slow.into()));
    let shared = redis(serve.redis_url.as_deref())?;
    config.objects = objects(&serve.objects, shared, serve.allow_unsafe).await?;
    let patience = Duration::from_secs(serve.wait_for_database.into());
    let storage = waiting::open(&config, patience).await?;
    if config.encryption.masters().is_some() {
        tracing::info!("content is encrypted");
    }
    let begun = match storage.check_restored().await {
        Ok(()) => bootstrap::make(storage.as_ref(), first_key).await,
        unfinished => unfinished,
    };
    unless_refused(storage, begun).await
}

/// What a server listens with.
struct Ground {
    form: Form,
    storage: Arc<dyn Storage>,
    metrics: PrometheusHandle,
    connections_max: usize,
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

/// For clients, and for metrics where they have an address of their own.
async fn listeners(serve: &Serve) -> Result<(TcpListener, Option<TcpListener>)> {
    let listener = listening::listen(&serve.listen).await?;
    let operators = match &serve.metrics_listen {
        Some(address) => Some(listening::listen_for_metrics(address).await?),
        None => None,
    };
    Ok((listener, operators))
}

fn agent_server(config: &config::AgentServer) -> Result<AgentServer> {
    names::at_most("assistants", config.assistants.len(), LIMITS.list_rows_max)?;
    let channels = config.state_update_channels.iter();
    names::at_most("state-update-channels", channels.len(), LIMITS.channels_max)?;
    let with_rule = |(name, rule): &(String, config::ChannelRule)| {
        let rule = match rule {
            config::ChannelRule::Last => ChannelRule::Last,
            config::ChannelRule::Messages => ChannelRule::Messages,
            config::ChannelRule::Merge => ChannelRule::Merge,
        };
        (name.clone(), rule)
    };
    Ok(AgentServer {
        is_off: config.no_agent_server,
        assistants: config.assistants.clone(),
        default_graph: config.default_graph_id.clone().map(DefaultGraph::new),
        state_update_channels: Arc::new(channels.map(with_rule).collect()),
    })
}

fn browsers(serve: &Serve) -> Browsers {
    let config = &serve.browsers;
    Browsers {
        files_origin: config.files_origin.clone(),
        cors_origins: config.cors_origins.clone(),
        has_console: cfg!(feature = "console") && !config.no_console,
    }
}

fn facts(serve: &Serve) -> Facts {
    Facts {
        has_encryption: encryption::is_on(&serve.database.encryption),
        has_object_store: serve.objects.object_store_url.is_some(),
        has_redis: serve.redis_url.is_some(),
    }
}

async fn listen(serve: &Serve, ground: Ground, signals: &mut Signals) -> Result<()> {
    let Ground { form, storage, metrics, connections_max } = ground;
    let (listener, operators) = listeners(serve).await?;
    let local = address_of(&listener)?;
    let tls = followed_certificate(&serve.tls, local)?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    // They are shown at one place.
    let shown = operators.is_none().then(|| metrics.clone());
    let memory = DifferenceMemory {
        recent_bytes_max: serve.recent_bytes_max,
        expanded_bytes_max: serve.expanded_bytes_max,
    };
    check_metadata_keys(serve)?;
    let settings = Settings {
        memory,
        retention_interval: Duration::from_secs(serve.retention_interval),
        audit_keep_days: serve.audit_keep_days,
        rates: Rates {
            per_tenant: serve.requests_per_second,
            per_token: serve.requests_per_second_per_token,
        },
        keyless: serve.keyless,
        busy_for: Duration::from_secs(serve.busy_seconds.into()),
        thread_metadata_keys: serve.thread_metadata_keys.clone(),
    };
    let clock = Arc::new(Clock::System);
    let outside = Outside {
        issuers: issuers(serve.issuers.as_deref())?,
        embedder: Embedder::new(embeddings(&serve.embeddings)?),
        browsers: browsers(serve),
        facts: facts(serve),
        agentrail_other_user: match serve.agentrail_other_user {
            config::OtherUser::Answered => OtherUser::Answered,
            config::OtherUser::Conflict => OtherUser::Conflict,
            config::OtherUser::Forbidden => OtherUser::Forbidden,
        },
        agent_server: agent_server(&serve.agent_server)?,
        journal: journal(&serve.database)?,
    };
    let app = App::start(storage, clock, local, settings, shown, outside).await?;
    if app.authenticator.is_unprotected() {
        return Err(unprotected(local));
    }
    let app = Arc::new(app);
    let router = http::router(&app);
    let authenticator = Arc::clone(&app.authenticator);
    if app.authenticator.is_keyless() {
        tracing::info!(
            "no key exists: only local programs are answered, as tenant `default`. A proxy or tunnel in front of this server is \
             a local program: make a key before there is one, or everybody who reaches it is the local user"
        );
    }
    if app.authenticator.is_closed() {
        tracing::warn!(
            "every key was revoked or has expired: nobody is let in. Make a key (threadkeep keys create --tenant NAME), or revoke those \
             that expired and let local programs in without one (--keyless)"
        );
    }
    announce(form, &format!("{scheme}://{local}"), operators.as_ref())?;
    let operators = operators.map(|it| (it, http::operators(&app, metrics)));
    let times = Times::of(&serve.stopping);
    let bounds = bounds(serve, connections_max, times.of_requests());
    let (stop, stopped) = oneshot::channel::<()>();
    let (served, ended) = oneshot::channel::<()>();
    let api = async {
        listener::serve_over(listener, tls, router, bounds, async { drop(stopped.await) }).await;
        drop(served);
    };
    // Operators see how it stops.
    let beside = async {
        if let Some((listener, router)) = operators {
            let ended = async { drop(ended.await) };
            let bounds = Bounds { finish_within: times.of_operators(), ..Bounds::default() };
            listener::serve(listener, router, bounds, ended).await;
        }
    };
    let told = Stopped::of(&app);
    let stops = async {
        tokio::join!(api, beside);
        stop_alone(app).await;
    };
    tokio::select! {
        () = stops => {}
        () = conduct((&told, signals), times, stop) => {}
    }
    if authenticator.is_outdated() {
        return Err(Error::invalid(
            "master-key-file",
            "the database was encrypted while this server ran without the master key: run `threadkeep encrypt --repair`, which seals what it \
             wrote meanwhile, then start it with --master-key-file",
        ));
    }
    Ok(())
}

/// Whether a server could run with these settings, as far as its files and values tell.
///
/// # Errors
/// What is wrong.
pub fn check(serve: &Serve) -> Result<()> {
    certificate(&serve.tls)?;
    bootstrap::given()?;
    storage_config(&serve.database, false, true)?;
    issuers(serve.issuers.as_deref())?;
    embeddings(&serve.embeddings)?;
    redis(serve.redis_url.as_deref())?;
    agent_server(&serve.agent_server)?;
    check_metadata_keys(serve)
}

fn check_metadata_keys(serve: &Serve) -> Result<()> {
    let count = serve.thread_metadata_keys.len();
    names::at_most("thread-metadata-keys", count, LIMITS.filter_terms_max)
}

/// What the API is served with; None: plain HTTP.
fn certificate(settings: &config::Tls) -> Result<Option<Arc<Tls>>> {
    let files = settings.tls_cert.clone().zip(settings.tls_key.clone());
    files.map(|(certificate, key)| Tls::open(certificate, key)).transpose()
}

/// The same for this address, with its files followed from now on.
fn followed_certificate(settings: &config::Tls, local: SocketAddr) -> Result<Option<Arc<Tls>>> {
    let tls = certificate(settings)?;
    if let Some(followed) = tls.clone() {
        tokio::spawn(async move { followed.follow_files().await });
    } else if !local.ip().is_loopback() {
        tracing::warn!(
            "--listen is plain HTTP on an address that others reach: whoever listens on the way reads keys and content. Give the server \
             a certificate (--tls-cert and --tls-key), or put a proxy with TLS in front"
        );
    }
    Ok(tls)
}

/// Says where the server is. In one line in both forms: programs wait for it.
fn announce(form: Form, url: &str, operators: Option<&TcpListener>) -> Result<()> {
    let metrics = operators.map(address_of).transpose()?.map(|it| format!("http://{it}/metrics"));
    if form == Form::Json {
        let mut document = json!({ "listening": url });
        if let Some(metrics) = metrics {
            document["metrics"] = json!(metrics);
        }
        return print(&format!("{document}\n"));
    }
    if let Some(metrics) = metrics {
        print(&format!("metrics on {metrics}\n"))?;
    }
    print(&format!("listening on {url}\n"))
}

fn address_of(listener: &TcpListener) -> Result<SocketAddr> {
    listener.local_addr().map_err(|error| io("the listening address", &error))
}

/// What connections of clients may take.
fn bounds(serve: &Serve, connections_max: usize, finish_within: Duration) -> Bounds {
    Bounds {
        connections_max,
        per_address_max: serve.connections_per_address_max.map(|it| it as usize),
        trusted: serve.trusted_proxies.clone(),
        head_within: Duration::from_secs(serve.head_seconds_max.into()),
        finish_within,
        ..Bounds::default()
    }
}

/// What makes vectors.
fn embeddings(settings: &EmbeddingsEndpoint) -> Result<Option<Arc<dyn Embeddings>>> {
    let EmbeddingsEndpoint { embeddings_url, embeddings_model, embeddings_dims } = settings;
    let (Some(url), Some(model), Some(dims)) = (embeddings_url, embeddings_model, embeddings_dims)
    else {
        return Ok(None);
    };
    let key = sources::secret(EMBEDDINGS_KEY, |name| std::env::var_os(name))?;
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
