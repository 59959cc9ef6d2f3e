//! Restores snapshots. Each thread is first copied from the snapshot's under a hidden name: in slices on SQLite, in full for another owner.
//! Then one transaction exchanges names. The thread that callers see gets the name of a safety snapshot's, or of leftovers. The copy gets
//! its name and a new generation. So no rows are moved, and all of it happens or nothing.

use super::exchange::{Exchange, Exchanged, check_owner, check_part};
use super::items::Items;
use super::rows::insert;
use super::{SnapshotEngine, answers, leftovers, rehoming, sessions};
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros, random_id};
use crate::domain::names::{SnapshotId, ThreadId};
use crate::domain::scheduling::contention::Contention;
use crate::domain::sessions::name::SessionName;
use crate::domain::snapshots::restore::{
    NamespaceMove, Restore, Restored, RestoredNamespace, RestoredSession, RestoredThread,
    SessionMove, ThreadMove,
};
use crate::domain::snapshots::storage::What;
use crate::domain::snapshots::{
    History, NamespacePart, SNAPSHOT, SessionPart, Snapshot, ThreadPart,
};
use crate::domain::tenants::audit::Act;
use crate::domain::threads::storage::CopyThread;
use crate::domain::{Error, Result};
use crate::storage::db::access::{Access, SqlValue, lock_scope};
use crate::storage::tenants::audit_rows::record;

/// Says in the labels of a safety snapshot which restore it is from.
const SAFETY_OF: &str = "safety_of";

/// # Errors
/// As `SnapshotStorage::restore_snapshot`.
pub async fn restore<T: SnapshotEngine>(
    engine: &T,
    caller: &Caller,
    request: &Restore,
    what: What<'_>,
    act: &Act,
) -> Result<Restored> {
    let secret = &engine.session_secret(&caller.tenant).await?;
    let mut contention = Contention::default();
    loop {
        let plan = Plan {
            caller,
            secret,
            request,
            snapshot: what.snapshot,
            moves: what.threads,
            namespaces: what.namespaces,
            sessions: what.sessions,
            staged: random_id(),
            replaced: random_id(),
            safety_id: SnapshotId::made_up(),
        };
        let done = if request.dry_run {
            plan.look(engine, act).await
        } else {
            plan.carry_out(engine, act).await
        };
        match done {
            Err(Error::Unavailable { .. }) if contention.may_try_again().await => {}
            done => return done,
        }
    }
}

struct Plan<'a> {
    caller: &'a Caller,
    secret: &'a TenantSecret,
    request: &'a Restore,
    snapshot: &'a Snapshot,
    moves: &'a [ThreadMove],
    namespaces: &'a [NamespaceMove],
    sessions: &'a [SessionMove],
    /// Hidden names of the copies, till they have the names that callers see.
    staged: i64,
    /// Hidden names of what was there.
    replaced: i64,
    safety_id: SnapshotId,
}

impl Plan<'_> {
    /// What would happen, from one state of the database.
    async fn look<T: SnapshotEngine>(&self, engine: &T, act: &Act) -> Result<Restored> {
        let mut access = engine.begin_read().await?;
        let mut threads = Vec::new();
        for (at, it) in self.moves.iter().enumerate() {
            let there = self.exchange(engine, at, it).check(access.as_mut()).await?;
            threads.push(RestoredThread {
                thread_id: it.part.thread_id.clone(),
                into: it.into.as_str().to_owned(),
                generation: there.as_ref().map_or_else(String::new, |it| it.generation.clone()),
                checkpoints: it.part.checkpoints,
                replaced_checkpoints: there.as_ref().map_or(0, |it| it.checkpoints),
                created: there.is_none(),
            });
        }
        let mut namespaces = Vec::new();
        let items = self.items(engine, self.snapshot.no, act.at);
        for part in self.namespaces {
            namespaces.push(items.look(access.as_mut(), part).await?);
        }
        let mut done = Vec::new();
        for part in self.sessions {
            let there = sessions::check(access.as_mut(), self.whose(), part).await?;
            done.push(sessions::answer(part, there.as_ref()));
        }
        access.end().await?;
        Ok(self.answer(act, (threads, namespaces, done), false))
    }

    async fn carry_out<T: SnapshotEngine>(&self, engine: &T, act: &Act) -> Result<Restored> {
        let tenant = self.caller.tenant.as_str();
        let mut access = engine.begin_write().await?;
        for number in [self.staged, self.replaced] {
            leftovers::note(access.as_mut(), tenant, number, Clock::System.now()).await?;
        }
        access.end().await?;
        let staged = self.stage(engine, act.at).await;
        let done = match staged {
            Ok(()) => self.flip(engine, act).await,
            Err(error) => Err(error),
        };
        // What is seen or kept by now has other names, or is the safety snapshot's.
        for number in [self.staged, self.replaced] {
            let removed = leftovers::remove(engine, tenant, number, Clock::System.now()).await;
            if let Err(error) = removed {
                // The restore stays what it is; the sweep removes by their notes what is left.
                tracing::warn!(%error, "copies of a restore were not removed yet");
            }
        }
        done
    }

    /// Copies of the snapshot's threads, each for its owner.
    async fn stage<T: SnapshotEngine>(&self, engine: &T, now: Micros) -> Result<()> {
        for (at, it) in self.moves.iter().enumerate() {
            let mut access = engine.begin_read().await?;
            let there = self.exchange(engine, at, it).check(access.as_mut()).await?;
            let part = usize::try_from(it.part.part_no).unwrap_or(usize::MAX);
            let source = ThreadId::hidden(self.snapshot.no, part);
            let of = (self.caller.tenant.as_str(), self.secret);
            let owner = it.part.owner.as_deref();
            check_part(access.as_mut(), of, (&source, owner)).await?;
            access.end().await?;
            let as_owner = Caller {
                subject: match there {
                    Some(there) => there.owner,
                    None => it.owner.clone(),
                },
                ..Caller::of_tenant(self.caller.tenant.as_str())
            };
            let copy = CopyThread {
                source,
                target: ThreadId::hidden(self.staged, at),
                idempotency: None,
                full: None,
            };
            engine.copy_thread(&as_owner, &copy).await?;
        }
        for it in self.namespaces.iter().filter(|it| !it.in_place()) {
            let numbers = (self.snapshot.no, self.staged);
            rehoming::move_items(engine, self.caller, numbers, it, now).await?;
        }
        for it in self.sessions {
            self.stage_session(engine, it).await?;
        }
        Ok(())
    }

    /// Who asks, and what the tenant's content is sealed with.
    fn whose(&self) -> (&Caller, &TenantSecret) {
        (self.caller, self.secret)
    }

    fn asked(&self) -> Option<&answers::Asked> {
        self.request.idempotency.as_ref()
    }

    /// Whether copies of items are staged under names of their own.
    fn moves_items(&self) -> bool {
        self.namespaces.iter().any(|it| !it.in_place())
    }

    /// A copy of a session: in its scope where it stays what and whose it is, else in one of its own.
    async fn stage_session<T: SnapshotEngine>(&self, engine: &T, it: &SessionMove) -> Result<()> {
        let (tenant, part) = (self.caller.tenant.as_str(), &it.part);
        let kind = part.session.hidden_kind(self.snapshot.no);
        let mut access = engine.begin_read().await?;
        let there = sessions::check(access.as_mut(), self.whose(), it).await?;
        let from =
            sessions::find(access.as_mut(), (tenant, self.secret), &kind, &part.session).await?;
        access.end().await?;
        let from = from.ok_or(Error::NotFound(SNAPSHOT))?;
        check_owner(self.secret, part.owner.as_deref(), from.owner.as_deref())?;
        let owner = there.map_or(it.owner.clone(), |it| it.owner);
        let staged = it.into.hidden_kind(self.staged);
        if !it.in_place() || owner != from.owner {
            let named = |kind, of: &SessionName| SessionName::stored(kind, &of.key_bytes());
            let names = named(kind, &part.session).zip(named(staged, &it.into));
            let (from, to) = names.ok_or(Error::NotFound(SNAPSHOT))?;
            return rehoming::copy_session(engine, tenant, (&from, &to), owner.as_deref()).await;
        }
        let to = random_id();
        engine.stage_session(tenant, from.scope_id, (from.session_no, to)).await?;
        let mut access = engine.begin_write().await?;
        lock_scope(access.as_mut(), engine.dialect(), tenant, from.scope_id).await?;
        let mac = SqlValue::Bytes(from.mac_as((&staged, &part.session), to, self.secret));
        let binds =
            [tenant.into(), from.session_no.into(), to.into(), SqlValue::from(&*staged), mac];
        for text in sessions::MAKE {
            access.rows(text, &binds).await?;
        }
        let text = "delete from garbage where tenant = $1 and thread_key = $2 returning scope_id";
        let was_there = access.rows(text, &[tenant.into(), to.into()]).await?;
        if was_there.is_empty() {
            return Err(again("the restore took too long"));
        }
        access.end().await
    }

    async fn flip<T: SnapshotEngine>(&self, engine: &T, act: &Act) -> Result<Restored> {
        let tenant = self.caller.tenant.as_str();
        let secret = self.secret;
        let mut access = engine.begin_write().await?;
        if let Some(answer) = answers::find(access.as_mut(), self.caller, self.asked()).await? {
            access.end().await?;
            return Ok(answer);
        }
        for number in [self.staged, self.replaced] {
            if !leftovers::settle(access.as_mut(), tenant, number).await? {
                return Err(again("the restore took too long"));
            }
        }
        let exchanges: Vec<Exchange<'_>> =
            self.moves.iter().enumerate().map(|(at, it)| self.exchange(engine, at, it)).collect();
        let of_sessions =
            sessions::scopes(access.as_mut(), (tenant, secret), self.sessions, self.staged).await?;
        Exchange::lock_all(access.as_mut(), (engine.dialect(), tenant), &exchanges, of_sessions)
            .await?;
        let (mut threads, mut parts) = (Vec::new(), Vec::new());
        for (exchange, it) in exchanges.iter().zip(self.moves) {
            let Exchanged { generation, replaced } =
                exchange.carry_out(access.as_mut(), it.owner.clone()).await?;
            threads.push(RestoredThread {
                thread_id: it.part.thread_id.clone(),
                into: it.into.as_str().to_owned(),
                generation,
                checkpoints: it.part.checkpoints,
                replaced_checkpoints: replaced.as_ref().map_or(0, |it| it.checkpoints),
                created: replaced.is_none(),
            });
            if let Some(replaced) = replaced {
                parts.push(ThreadPart {
                    part_no: i64::try_from(exchange.at).unwrap_or(i64::MAX),
                    thread_id: it.into.as_str().to_owned(),
                    generation: replaced.generation,
                    history: History::All,
                    checkpoints: replaced.checkpoints,
                    size_bytes: replaced.size_bytes,
                    owner: replaced.owner,
                });
            }
        }
        let kept = if self.request.safety {
            self.keep_items(engine, access.as_mut(), act).await?
        } else {
            Vec::new()
        };
        let mut namespaces = Vec::new();
        for it in self.namespaces {
            let number = if it.in_place() { self.snapshot.no } else { self.staged };
            let items = self.items(engine, number, act.at);
            namespaces.push(items.restore(access.as_mut(), it, self.snapshot.created_at).await?);
        }
        if self.moves_items() {
            // The copies have served.
            leftovers::note(access.as_mut(), tenant, self.staged, Clock::System.now()).await?;
        }
        let (mut done, mut kept_sessions) = (Vec::new(), Vec::new());
        for part in self.sessions {
            let numbers = (self.staged, self.replaced);
            let at = (engine.dialect(), act.at);
            let (answer, kept) =
                sessions::exchange(access.as_mut(), self.whose(), part, numbers, at).await?;
            done.push(answer);
            kept_sessions.extend(kept);
        }
        let replaces = !(parts.is_empty() && kept.is_empty() && kept_sessions.is_empty());
        let is_safe = self.request.safety && replaces;
        if is_safe {
            let safety = self.safety(act, (parts, kept, kept_sessions));
            insert(access.as_mut(), (tenant, secret), &safety, &[]).await?;
        } else {
            leftovers::note(access.as_mut(), tenant, self.replaced, Clock::System.now()).await?;
        }
        let answer = self.answer(act, (threads, namespaces, done), is_safe);
        record(access.as_mut(), act).await?;
        answers::keep(access.as_mut(), self.caller, self.asked(), &answer, act.at).await?;
        access.end().await?;
        for it in self.sessions {
            engine.sessions().forget(tenant, &it.into);
        }
        Ok(answer)
    }

    /// The snapshot of what is replaced: the very rows, under other names.
    fn safety(
        &self,
        act: &Act,
        (threads, namespaces, sessions): (Vec<ThreadPart>, Vec<NamespacePart>, Vec<SessionPart>),
    ) -> Snapshot {
        Snapshot {
            id: self.safety_id.as_str().to_owned(),
            no: self.replaced,
            owner: self.caller.subject.clone(),
            created_at: act.at,
            taken_at: act.at,
            expires_at: self.snapshot.expires_at,
            labels: [(SAFETY_OF.to_owned(), self.snapshot.id.clone())].into(),
            document: None,
            threads,
            namespaces,
            sessions,
            archive: None,
        }
    }

    /// Copies of the items that are there, for the safety snapshot.
    async fn keep_items<T: SnapshotEngine>(
        &self,
        engine: &T,
        access: &mut dyn Access,
        act: &Act,
    ) -> Result<Vec<NamespacePart>> {
        let items = self.items(engine, self.replaced, act.at);
        let mut kept = Vec::new();
        let in_place = self.namespaces.iter().filter(|it| it.in_place());
        for (at, part) in in_place.map(|it| &it.part).enumerate() {
            items.copy(access, &part.namespace).await?;
            let (count, size_bytes) = items.count(access, &part.namespace).await?;
            let part_no = i64::try_from(self.moves.len() + at).unwrap_or(i64::MAX);
            let namespace = part.namespace.clone();
            kept.push(NamespacePart { part_no, namespace, items: count, size_bytes });
        }
        Ok(kept)
    }

    fn items<'a, T: SnapshotEngine>(&'a self, engine: &T, number: i64, now: Micros) -> Items<'a> {
        Items { sql: engine.item_sql(), tenant: &self.caller.tenant, number, now }
    }

    fn answer(&self, act: &Act, (threads, namespaces, sessions): Done, is_safe: bool) -> Restored {
        Restored {
            snapshot_id: self.snapshot.id.clone(),
            dry_run: self.request.dry_run,
            safety_snapshot_id: is_safe.then(|| self.safety_id.as_str().to_owned()),
            restored_at: act.at,
            threads,
            namespaces,
            sessions,
        }
    }

    fn exchange<'a, T: SnapshotEngine>(
        &'a self,
        engine: &'a T,
        at: usize,
        it: &'a ThreadMove,
    ) -> Exchange<'a> {
        Exchange {
            caller: self.caller,
            secret: self.secret,
            dialect: engine.dialect(),
            at,
            it,
            staged: ThreadId::hidden(self.staged, at),
            replaced: ThreadId::hidden(self.replaced, at),
        }
    }
}

/// What was done with each part.
type Done = (Vec<RestoredThread>, Vec<RestoredNamespace>, Vec<RestoredSession>);

pub fn again(detail: &str) -> Error {
    Error::Unavailable {
        detail: detail.to_owned(),
        retry_after: std::time::Duration::from_millis(100),
    }
}
