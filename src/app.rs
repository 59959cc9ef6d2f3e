//! Wires storage, authentication and the domain together, and hands them to every request. No other file does.

pub mod archives;
pub mod artifacts;
mod readiness;
mod settings;
mod upkeep;
pub mod values;

use std::net::SocketAddr;
use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;

pub use self::readiness::Readiness;
pub use self::settings::{AgentServer, Browsers, DifferenceMemory, Facts, Outside, Settings};
use self::values::Values;
use crate::auth::authenticator::Authenticator;
use crate::auth::keys::Keys;
use crate::auth::tokens::Tokens;
use crate::decode::run_state::READ_STATE;
use crate::domain::Result;
use crate::domain::agentrail::OtherUser;
use crate::domain::checkpoints::group_commit::GroupCommit;
use crate::domain::checkpoints::run_states::{DerivedRunStates, RunStateSweeper};
use crate::domain::checkpoints::service::Checkpoints;
use crate::domain::clock::{Clock, Micros};
use crate::domain::files::drive_files::DriveFiles;
use crate::domain::files::raw_files::RawFiles;
use crate::domain::files::uploads::Uploads;
use crate::domain::files::{Files, MEMORY_BYTES};
use crate::domain::scheduling::background_tasks;
use crate::domain::scheduling::open_streams::OpenStreams;
use crate::domain::scheduling::shares::{Shares, Sizes};
use crate::domain::scheduling::task_health::TaskHealth;
use crate::domain::scheduling::turns::Turns;
use crate::domain::scheduling::write_health::WriteHealth;
use crate::domain::sessions::commit::SessionCommit;
use crate::domain::sessions::service::Sessions;
use crate::domain::snapshots::archives::Archives;
use crate::domain::snapshots::service::Snapshots;
use crate::domain::storage::Storage;
use crate::domain::store::commit::ItemCommit;
use crate::domain::store::embedding::Embedder;
use crate::domain::store::feeds::Feeds;
use crate::domain::store::indexing::Indexer;
use crate::domain::store::namespace_settings::NamespaceSettings;
use crate::domain::store::service::Items;
use crate::domain::store::word_walks::WordWalks;
use crate::domain::tenants::audit::{Audit, AuditStorage};
use crate::domain::tenants::erasure::Erasures;
use crate::domain::tenants::quotas::Quotas;
use crate::domain::tenants::refusals::Refusals;
use crate::domain::tenants::subjects::Subjects;
use crate::domain::threads::alias_lookup::AliasSweeper;
use crate::domain::threads::changes::ThreadChanges;
use crate::domain::threads::retention_policies::Policies;
use crate::domain::threads::service::Threads;
use crate::domain::threads::sweeper::Sweeper;
use crate::domain::tokens::key_uses::KeyUses;
use crate::domain::tokens::storage::CredentialStorage;

/// Everything that handlers use. Shared by all requests of a server.
pub struct App {
    pub quotas: Arc<Quotas>,
    pub audit: Audit,
    pub refusals: Arc<Refusals>,
    pub checkpoints: Checkpoints,
    pub threads: Threads,
    pub policies: Policies,
    pub items: Arc<Items>,
    pub files: Files,
    pub sessions: Sessions,
    pub snapshots: Snapshots,
    pub archives: Archives,
    pub raw_files: RawFiles,
    pub uploads: Uploads,
    pub drive: DriveFiles,
    pub browsers: Browsers,
    pub facts: Facts,
    pub started_at: Micros,
    pub agentrail_other_user: OtherUser,
    pub agent_server: AgentServer,
    /// Of updates of the state of one thread.
    pub state_update_turns: Turns,
    pub namespace_settings: Arc<NamespaceSettings>,
    pub feeds: Arc<Feeds>,
    pub thread_changes: Arc<ThreadChanges>,
    pub streams: Arc<OpenStreams>,
    pub tokens: Tokens,
    pub keys: Keys,
    pub key_uses: Arc<KeyUses>,
    pub erasures: Erasures,
    pub subjects: Subjects,
    pub storage: Arc<dyn Storage>,
    /// Whether writes fail for a reason of the whole database.
    pub writes: Arc<WriteHealth>,
    pub authenticator: Arc<Authenticator>,
    pub clock: Arc<Clock>,
    pub readiness: Arc<Readiness>,
    /// Bodies of requests and answers in memory.
    pub shares: Arc<Shares>,
    /// Stored values that reads have opened.
    pub opened: Arc<Shares>,
    /// Bases of differences.
    pub values: Values,
    pub memory: DifferenceMemory,
    /// One permit per byte that differences of running requests expand to.
    pub expanded_bytes: Arc<Semaphore>,
    /// None where nobody reads metrics (tests).
    pub metrics: Option<PrometheusHandle>,
    commits: Arc<GroupCommit>,
    item_commits: Arc<ItemCommit>,
    session_commits: Arc<SessionCommit>,
    background: Vec<JoinHandle<()>>,
}

impl App {
    /// Starts the commit queue, the reading of keys and the sweepers.
    ///
    /// # Errors
    /// When the keys cannot be read.
    pub async fn start(
        storage: Arc<dyn Storage>,
        clock: Arc<Clock>,
        listen: SocketAddr,
        settings: Settings,
        metrics: Option<PrometheusHandle>,
        outside: impl Into<Outside>,
    ) -> Result<Self> {
        let outside: Outside = outside.into();
        let (issuers, embedder, journal) = (outside.issuers, outside.embedder, outside.journal);
        let Settings { memory, retention_interval, rates, keyless, .. } = settings;
        // Each service takes it as the storage of its noun.
        let of_noun = || Arc::<dyn Storage>::clone(&storage);
        let time = || Arc::clone(&clock);
        let credentials: Arc<dyn CredentialStorage> = of_noun();
        let acts: Arc<dyn AuditStorage> = of_noun();
        let authenticator = Authenticator::load(Arc::clone(&credentials), time(), listen, issuers);
        let key_uses = Arc::new(KeyUses::new(of_noun(), time()));
        let authenticator = Arc::new(authenticator.await?.reopening(keyless).noting(&key_uses));
        let commits = Arc::new(GroupCommit::start(of_noun(), &clock));
        let item_commits = Arc::new(ItemCommit::start(of_noun(), &clock));
        let session_commits = Arc::new(SessionCommit::start(of_noun(), &clock));
        let feeds = Arc::new(Feeds::new(of_noun(), time(), item_commits.written()));
        let thread_changes = Arc::new(ThreadChanges::new(of_noun(), time()));
        let quotas = Arc::new(Quotas::load(of_noun(), time(), rates).await?);
        let settings_of = NamespaceSettings::load(of_noun(), time());
        let namespace_settings = Arc::new(settings_of.await?);
        let walks = WordWalks::new(of_noun(), Arc::clone(&namespace_settings), time());
        let refusals = Arc::new(Refusals::new(of_noun(), time(), settings.audit_keep_days));
        let wake = Arc::new(Notify::new());
        let sweeper = Sweeper::new(of_noun(), time(), retention_interval, Arc::clone(&wake));
        let (threads, derivation) = threads(&storage, &clock, &quotas, &settings);
        let writes = Arc::new(WriteHealth::new(of_noun()));
        let task = |name| TaskHealth::new(name, &clock);
        let mut background = vec![
            tokio::spawn(Arc::clone(&writes).run()),
            tokio::spawn(sweeper.run(task("retention"))),
            tokio::spawn(derivation),
            tokio::spawn(Arc::clone(&quotas).run(task("quotas"))),
            tokio::spawn(Arc::clone(&namespace_settings).run(task("namespace_settings"))),
            tokio::spawn(Arc::clone(&feeds).run()),
            tokio::spawn(Arc::clone(&thread_changes).run()),
            tokio::spawn(walks.run(task("words"))),
            tokio::spawn(Arc::clone(&refusals).run(task("audit"))),
            tokio::spawn(Arc::clone(&key_uses).run(task("key_uses"))),
            tokio::spawn(Arc::clone(&authenticator).poll(task("credentials"))),
            tokio::spawn(upkeep::sweep(Arc::clone(&storage), time(), Arc::clone(&writes))),
            tokio::spawn(upkeep::fold_metrics(metrics.clone())),
            tokio::spawn(upkeep::measure(Arc::clone(&storage))),
        ];
        background.extend(upkeep::move_content(&storage, &clock));
        let indexer = Arc::new(Notify::new());
        background.extend(index(&storage, &clock, &embedder, &indexer));
        let items = Items::new(
            of_noun(),
            Arc::clone(&item_commits),
            time(),
            Arc::clone(&quotas),
            Arc::clone(&namespace_settings),
        );
        let items = Arc::new(items.with_embeddings(embedder, indexer));
        Ok(Self {
            checkpoints: checkpoints(&storage, &commits, &clock, &quotas),
            threads,
            erasures: Erasures::new(of_noun(), time()).journaled(journal.clone()),
            subjects: Subjects::new(of_noun(), time()),
            audit: Audit::new(of_noun()),
            files: Files::new(of_noun(), Arc::clone(&items), MEMORY_BYTES),
            raw_files: RawFiles::new(of_noun(), Arc::clone(&items), time()),
            uploads: Uploads::new(of_noun(), Arc::clone(&quotas), time()),
            drive: DriveFiles::new(of_noun(), Arc::clone(&items), time()),
            browsers: outside.browsers,
            facts: outside.facts,
            started_at: clock.now(),
            agentrail_other_user: outside.agentrail_other_user,
            agent_server: outside.agent_server,
            state_update_turns: Turns::default(),
            items,
            sessions: sessions(&storage, &session_commits, &clock, &quotas),
            snapshots: snapshots(&storage, &clock, &quotas),
            archives: archives(&storage, &clock, &quotas),
            namespace_settings,
            feeds,
            thread_changes,
            quotas,
            refusals,
            policies: Policies::new(of_noun(), time(), wake),
            tokens: Tokens::new(credentials, acts, Arc::clone(&authenticator), time()),
            key_uses,
            keys: Keys::new(of_noun(), Arc::clone(&authenticator), time(), journal),
            storage,
            writes,
            authenticator,
            clock,
            readiness: Arc::default(),
            streams: Arc::default(),
            shares: Shares::new(Sizes::default()),
            opened: Shares::new(Sizes::default()),
            memory,
            values: Values::new(memory.recent_bytes_max),
            expanded_bytes: Arc::new(Semaphore::new(memory.expanded_bytes_max as usize)),
            metrics,
            commits,
            item_commits,
            session_commits,
            background,
        })
    }

    /// Ends the background tasks, waits for what the commit queue has taken, closes the storage.
    pub async fn stop(self) {
        for task in self.background {
            task.abort();
            // What it was writing is written or not from here on.
            let _ = task.await;
        }
        background_tasks::stop(&*self.storage).await;
        drop((self.checkpoints, self.items, self.files, self.raw_files, self.drive, self.sessions));
        if let Some(commits) = Arc::into_inner(self.commits) {
            commits.stop().await;
        }
        if let Some(commits) = Arc::into_inner(self.item_commits) {
            commits.stop().await;
        }
        if let Some(commits) = Arc::into_inner(self.session_commits) {
            commits.stop().await;
        }
        if let Err(error) = self.refusals.flush().await {
            tracing::warn!(%error, "the last refusals are not in the audit log");
        }
        if let Err(error) = self.key_uses.flush().await {
            tracing::warn!(%error, "the last uses of keys are not in the list of keys");
        }
        self.storage.close().await;
    }
}

/// The work on vectors that the server makes, where it makes any.
fn index(
    storage: &Arc<dyn Storage>,
    clock: &Arc<Clock>,
    embedder: &Embedder,
    wake: &Arc<Notify>,
) -> Option<JoinHandle<()>> {
    let storage = Arc::<dyn Storage>::clone(storage);
    let (clock, wake) = (Arc::clone(clock), Arc::clone(wake));
    let embeddings = Arc::clone(embedder.get()?);
    let health = TaskHealth::new("vectors", &clock);
    Some(tokio::spawn(Indexer::new(storage, embeddings, clock, wake).run(health)))
}

/// With the work that derives what threads show: their states and their aliases.
fn threads(
    storage: &Arc<dyn Storage>,
    clock: &Arc<Clock>,
    quotas: &Arc<Quotas>,
    settings: &Settings,
) -> (Threads, impl Future<Output = ()> + use<>) {
    let of_noun = || Arc::<dyn Storage>::clone(storage);
    let states = DerivedRunStates::new(of_noun(), READ_STATE);
    let states = Arc::new(states.with_metadata(settings.thread_metadata_keys.clone()));
    let sweeper = RunStateSweeper::new(Arc::clone(&states), Arc::clone(clock));
    let aliases = AliasSweeper::new(of_noun());
    let (of_states, of_aliases) =
        (TaskHealth::new("run_states", clock), TaskHealth::new("aliases", clock));
    let upkeep = async {
        let ((), ()) = tokio::join!(sweeper.run(of_states), aliases.run(of_aliases));
    };
    let (clock, quotas) = (Arc::clone(clock), Arc::clone(quotas));
    (Threads::new(of_noun(), states, clock, quotas, settings.busy_for), upkeep)
}

fn checkpoints(
    storage: &Arc<dyn Storage>,
    commits: &Arc<GroupCommit>,
    clock: &Arc<Clock>,
    quotas: &Arc<Quotas>,
) -> Checkpoints {
    let storage = Arc::<dyn Storage>::clone(storage);
    Checkpoints::new(storage, Arc::clone(commits), Arc::clone(clock), Arc::clone(quotas))
}

fn sessions(
    storage: &Arc<dyn Storage>,
    commits: &Arc<SessionCommit>,
    clock: &Arc<Clock>,
    quotas: &Arc<Quotas>,
) -> Sessions {
    let storage = Arc::<dyn Storage>::clone(storage);
    Sessions::new(storage, Arc::clone(commits), Arc::clone(clock), Arc::clone(quotas))
}

fn snapshots(storage: &Arc<dyn Storage>, clock: &Arc<Clock>, quotas: &Arc<Quotas>) -> Snapshots {
    Snapshots::new(Arc::<dyn Storage>::clone(storage), Arc::clone(clock), Arc::clone(quotas))
}

fn archives(storage: &Arc<dyn Storage>, clock: &Arc<Clock>, quotas: &Arc<Quotas>) -> Archives {
    Archives::new(Arc::<dyn Storage>::clone(storage), Arc::clone(quotas), Arc::clone(clock))
}
