//! Rewinds threads in place. A hidden copy loses what is not on the path to the checkpoint, as a fork does, and replaces the thread as a
//! restore does. The rows of the thread as it was become a safety snapshot, or go.
//!
//! **Invariant:** nothing that was acknowledged is lost between the copy and the exchange. The exchange holds the scope lock and is refused
//! where the thread changed after it was read.

use super::exchange::{Exchange, There};
use super::forks::{count_removed, cut};
use super::restore::again;
use super::rows::insert;
use super::{SnapshotEngine, answers, leftovers};
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, random_id};
use crate::domain::names::{SnapshotId, ThreadId};
use crate::domain::scheduling::contention::Contention;
use crate::domain::snapshots::restore::ThreadMove;
use crate::domain::snapshots::rewind::{RewindThread, Rewound};
use crate::domain::snapshots::{History, Snapshot, ThreadPart};
use crate::domain::tenants::audit::Act;
use crate::domain::threads::storage::CopyThread;
use crate::domain::threads::thread::THREAD;
use crate::domain::{Conflict, Error, Result};
use crate::storage::db::access::Access;
use crate::storage::tenants::audit_rows::record;

/// Says in the labels of a safety snapshot which checkpoint the thread went back to.
const REWOUND_TO: &str = "rewound_to";

/// # Errors
/// As `SnapshotStorage::rewind_thread`.
pub async fn rewind<T: SnapshotEngine>(
    engine: &T,
    caller: &Caller,
    request: &RewindThread,
    act: &Act,
) -> Result<Rewound> {
    let secret = &engine.session_secret(&caller.tenant).await?;
    let it = &ThreadMove {
        part: ThreadPart {
            part_no: 0,
            thread_id: request.thread_id.as_str().to_owned(),
            generation: String::new(),
            history: History::All,
            checkpoints: 0,
            size_bytes: 0,
            owner: None,
        },
        into: request.thread_id.clone(),
        fence: request.fence,
        owner: None,
    };
    let mut contention = Contention::default();
    loop {
        let (staged, replaced) = (random_id(), random_id());
        let rewind = Rewind { caller, secret, request, it, staged, replaced };
        let done = if request.dry_run {
            rewind.look(engine).await
        } else {
            rewind.carry_out(engine, act).await
        };
        match done {
            Err(Error::Unavailable { .. }) if contention.may_try_again().await => {}
            done => return done,
        }
    }
}

struct Rewind<'a> {
    caller: &'a Caller,
    secret: &'a TenantSecret,
    request: &'a RewindThread,
    it: &'a ThreadMove,
    /// Hidden name of the copy, till it has the thread's.
    staged: i64,
    /// Hidden name of the thread as it was.
    replaced: i64,
}

impl Rewind<'_> {
    /// What would go, from one state of the database.
    async fn look<T: SnapshotEngine>(&self, engine: &T) -> Result<Rewound> {
        let mut access = engine.begin_read().await?;
        let there = self.check(engine, access.as_mut()).await?;
        let place = (self.caller.tenant.as_str(), there.thread_key());
        let removed = count_removed(access.as_mut(), place, self.checkpoint()).await?;
        access.end().await?;
        Ok(Rewound {
            dry_run: true,
            checkpoints: there.checkpoints - removed.checkpoints,
            checkpoints_removed: removed.checkpoints,
            writes_removed: removed.writes,
            generation: there.generation,
            safety_snapshot_id: None,
        })
    }

    async fn carry_out<T: SnapshotEngine>(&self, engine: &T, act: &Act) -> Result<Rewound> {
        let tenant = self.caller.tenant.as_str();
        let mut access = engine.begin_write().await?;
        if let Some(answer) = answers::find(access.as_mut(), self.caller, self.asked()).await? {
            access.end().await?;
            return Ok(answer);
        }
        for number in [self.staged, self.replaced] {
            leftovers::note(access.as_mut(), tenant, number, Clock::System.now()).await?;
        }
        access.end().await?;
        let done = match self.stage(engine).await {
            Ok(seen) => self.replace(engine, &seen, act).await,
            Err(error) => Err(error),
        };
        // What is seen or kept by now has other names, or is the safety snapshot's.
        for number in [self.staged, self.replaced] {
            let removed = leftovers::remove(engine, tenant, number, Clock::System.now()).await;
            if let Err(error) = removed {
                // The rewind stays what it is; the sweep removes by their notes what is left.
                tracing::warn!(%error, "copies of a rewind were not removed yet");
            }
        }
        done
    }

    /// Copies the thread under a hidden name. Answers what it was before the copy.
    async fn stage<T: SnapshotEngine>(&self, engine: &T) -> Result<There> {
        let mut access = engine.begin_read().await?;
        let there = self.check(engine, access.as_mut()).await?;
        access.end().await?;
        let tenant = self.caller.tenant.as_str();
        let as_owner = Caller { subject: there.owner.clone(), ..Caller::of_tenant(tenant) };
        let copy = CopyThread {
            source: self.request.thread_id.clone(),
            target: ThreadId::hidden(self.staged, 0),
            idempotency: None,
            full: None,
        };
        engine.copy_thread(&as_owner, &copy).await?;
        Ok(there)
    }

    /// The cut copy becomes the thread, where that is still as it was `seen`.
    async fn replace<T: SnapshotEngine>(
        &self,
        engine: &T,
        seen: &There,
        act: &Act,
    ) -> Result<Rewound> {
        let tenant = self.caller.tenant.as_str();
        let exchange = self.exchange(engine);
        let mut access = engine.begin_write().await?;
        if let Some(answer) = answers::find(access.as_mut(), self.caller, self.asked()).await? {
            access.end().await?;
            return Ok(answer);
        }
        for number in [self.staged, self.replaced] {
            if !leftovers::settle(access.as_mut(), tenant, number).await? {
                return Err(again("the rewind took too long"));
            }
        }
        Exchange::lock_all(
            access.as_mut(),
            (engine.dialect(), tenant),
            std::slice::from_ref(&exchange),
            Vec::new(),
        )
        .await?;
        if !self.check(engine, access.as_mut()).await?.is_unchanged_since(seen) {
            return Err(again("somebody writes to the thread"));
        }
        let place = (engine.dialect(), tenant);
        let left = cut(access.as_mut(), place, &exchange.staged, self.checkpoint()).await?;
        let done = exchange.carry_out(access.as_mut(), None).await?;
        let replaced = done.replaced.ok_or_else(|| again("the thread was deleted meanwhile"))?;
        let safety_id = SnapshotId::made_up();
        if self.request.safety {
            let safety = self.safety(&safety_id, &replaced, act);
            insert(access.as_mut(), (tenant, self.secret), &safety, &[]).await?;
        } else {
            leftovers::note(access.as_mut(), tenant, self.replaced, Clock::System.now()).await?;
        }
        let answer = Rewound {
            dry_run: false,
            checkpoints: left.checkpoints,
            checkpoints_removed: left.removed.checkpoints,
            writes_removed: left.removed.writes,
            generation: done.generation,
            safety_snapshot_id: self.request.safety.then(|| safety_id.as_str().to_owned()),
        };
        record(access.as_mut(), act).await?;
        answers::keep(access.as_mut(), self.caller, self.asked(), &answer, act.at).await?;
        access.end().await?;
        Ok(answer)
    }

    /// The snapshot of the thread as it was: the very rows, under another name.
    fn safety(&self, id: &SnapshotId, replaced: &There, act: &Act) -> Snapshot {
        let part = ThreadPart {
            generation: replaced.generation.clone(),
            checkpoints: replaced.checkpoints,
            size_bytes: replaced.size_bytes,
            owner: replaced.owner.clone(),
            ..self.it.part.clone()
        };
        Snapshot {
            id: id.as_str().to_owned(),
            no: self.replaced,
            owner: self.caller.subject.clone(),
            created_at: act.at,
            taken_at: act.at,
            expires_at: None,
            labels: [(REWOUND_TO.to_owned(), self.request.checkpoint_id.as_str().to_owned())]
                .into(),
            document: None,
            threads: vec![part],
            namespaces: Vec::new(),
            sessions: Vec::new(),
            archive: None,
        }
    }

    /// The thread, if the caller may rewind it.
    async fn check<T: SnapshotEngine>(&self, engine: &T, access: &mut dyn Access) -> Result<There> {
        match self.exchange(engine).check(access).await {
            // Another's looks like none.
            Ok(None) | Err(Error::Conflict(Conflict::ThreadTaken)) => Err(Error::NotFound(THREAD)),
            Ok(Some(there)) => Ok(there),
            Err(error) => Err(error),
        }
    }

    fn checkpoint(&self) -> (&str, &str) {
        (self.request.ns.as_str(), self.request.checkpoint_id.as_str())
    }

    fn asked(&self) -> Option<&answers::Asked> {
        self.request.idempotency.as_ref()
    }

    fn exchange<'a, T: SnapshotEngine>(&'a self, engine: &'a T) -> Exchange<'a> {
        Exchange {
            caller: self.caller,
            secret: self.secret,
            dialect: engine.dialect(),
            at: 0,
            it: self.it,
            staged: ThreadId::hidden(self.staged, 0),
            replaced: ThreadId::hidden(self.replaced, 0),
        }
    }
}
