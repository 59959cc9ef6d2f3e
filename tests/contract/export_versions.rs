//! Tests that an import or a restore gives no version, generation or fence a second time: clients send these to say
//! which state they have read.

use threadkeep::domain::Conflict;
use threadkeep::domain::checkpoints::checkpoint::Commit;
use threadkeep::domain::export::records::Existing;
use threadkeep::domain::files::raw_files::PutFile;
use threadkeep::domain::sessions::change::Step;
use threadkeep::domain::snapshots::History;
use threadkeep::domain::snapshots::take::TakeSnapshot;
use threadkeep::domain::threads::storage::DeleteThread;

use crate::conditions::{expire_leases, lease, one};
use crate::contents::{Files, LARGE, noise, place, put as put_file};
use crate::export_files::{exported, imported, options, read_in};
use crate::harness::{Harness, conflict, thread_id};
use crate::session_calls::{Desk as Sessions, name, put, version};
use crate::snapshot_calls::{Desk, in_place, of};
use crate::store::{Store, change, namespace};

/// How something comes back.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Import,
    Restore,
}

/// In the order of their clocks: that of imports is fixed in the future.
const WAYS: [Way; 2] = [Way::Restore, Way::Import];

/// What brings back the state of the moment at which it was made.
struct Return {
    way: Way,
    file: Vec<u8>,
    desk: Desk,
}

impl Return {
    async fn made(h: &Harness, way: Way, what: TakeSnapshot) -> Self {
        let desk = Desk::on(h).await;
        let file = exported(h).await;
        if way == Way::Restore {
            desk.take(&h.caller, what).await.unwrap();
        }
        Self { way, file, desk }
    }

    async fn carry_out(&self, h: &Harness) {
        match self.way {
            Way::Import => {
                let replace = options(Existing::Replace);
                read_in(h, &h.caller, &self.file, &replace).await.unwrap();
                let again = read_in(h, &h.caller, &self.file, &replace).await.unwrap();
                for it in [again.items, again.sessions, again.threads] {
                    assert_eq!((it.replaced, it.created), (0, 0), "the same file changes nothing");
                }
                imported(h, &self.file).await;
            }
            Way::Restore => {
                self.desk.restore(&h.caller, &in_place("s")).await.unwrap();
            }
        }
    }
}

pub async fn an_item_that_comes_back_never_has_a_version_twice(h: Harness) {
    let store = Store::on(&h).await;
    let at = |key: &str, value: &str| change(&["way", "n"], key, Some(value));
    for way in WAYS {
        for key in ["replaced", "removed"] {
            store.try_put(at(key, r#"{"v":"exported"}"#)).await.unwrap();
        }
        let what =
            TakeSnapshot { namespaces: vec![namespace(&["way"])], ..of("s", &[], History::All) };
        let back = Return::made(&h, way, what).await;
        let mut seen = Vec::new();
        for key in ["replaced", "removed"] {
            seen.push((key, store.try_put(at(key, r#"{"v":"A read this"}"#)).await.unwrap()));
        }
        store.delete(&["way", "n"], "removed").await;
        back.carry_out(&h).await;
        for (key, held) in seen {
            let now = store.get(&["way", "n"], key).await.unwrap();
            assert_eq!(now.value.as_deref(), Some(&br#"{"v":"exported"}"#[..]));
            for puts in 0..3 {
                let mut stale = at(key, r#"{"v":"of A"}"#);
                stale.if_version = Some(held);
                let refused = conflict(store.try_put(stale).await);
                assert!(
                    matches!(refused, Conflict::VersionConflict { current } if current > held),
                    "{way:?} {key} after {puts} puts: {refused}"
                );
                store.try_put(at(key, r#"{"v":"B put this"}"#)).await.unwrap();
            }
        }
    }
}

pub async fn a_file_that_an_import_replaces_accepts_no_stale_version(h: Harness) {
    let files = Files::on(&h).await;
    files.upload("/large", &noise(1, LARGE)).await;
    let file = exported(&h).await;
    let held = files.upload("/large", &noise(2, LARGE)).await.version;
    read_in(&h, &h.caller, &file, &options(Existing::Replace)).await.unwrap();
    assert_eq!(files.read("/large").await.unwrap(), noise(1, LARGE));
    let later = files.upload("/large", &noise(3, LARGE)).await;
    assert!(later.version > held + 1, "{} after {held}", later.version);
    let caller = &files.store.caller;
    let id = files.uploads.begin(caller, &place("/large")).await.unwrap();
    files.send(id, 1, b"of A").await.unwrap();
    let whole = files.uploads.finish(caller, id, None).await.unwrap();
    let stale = PutFile { if_version: Some(held), ..put_file("/large") };
    let refused = conflict(files.raw.show(caller, stale, &whole).await);
    assert_eq!(refused, Conflict::VersionConflict { current: later.version });
}

pub async fn a_session_that_comes_back_never_gives_a_version_twice(h: Harness) {
    let agents = Sessions::on(&h).await;
    let session = name(&["p"]);
    let put_to = async |document: &str, text: &str, held: Option<i64>| {
        let done = agents.change(&session, vec![put(document, text, held)]).await?;
        Ok(version(&done.steps[0]))
    };
    for way in WAYS {
        for document in ["replaced", "removed", "untouched"] {
            put_to(document, "exported", None).await.unwrap();
        }
        let what = crate::snapshot_sessions::taking("s", std::slice::from_ref(&session));
        let back = Return::made(&h, way, what).await;
        let mut seen = Vec::new();
        for document in ["replaced", "removed"] {
            seen.push((document, put_to(document, "A read this", None).await.unwrap()));
        }
        let removal = Step::DeleteDocument { name: "removed".into() };
        agents.change(&session, vec![removal]).await.unwrap();
        back.carry_out(&h).await;
        for (document, held) in seen {
            assert_eq!(agents.document(&session, document).await.as_deref(), Some("exported"));
            for _ in 0..3 {
                let refused = conflict(put_to(document, "of A", Some(held)).await);
                assert!(
                    matches!(refused, Conflict::VersionConflict { current } if current > held),
                    "{way:?} {document}: {refused}"
                );
                put_to(document, "B put this", None).await.unwrap();
            }
        }
    }
}

pub async fn a_thread_that_comes_back_accepts_no_former_generation_or_fence(h: Harness) {
    for way in WAYS {
        for deletes in [false, true] {
            let what = of("s", &["t"], History::All);
            let first = h.commit(one("1")).await.unwrap();
            let back = Return::made(&h, way, what).await;
            let mut generations = vec![first];
            h.commit(one("2")).await.unwrap();
            // The file has the first generation, which is not the last.
            back.desk.take(&h.caller, of("other", &["t"], History::All)).await.unwrap();
            h.commit(one("3")).await.unwrap();
            back.desk.restore(&h.caller, &in_place("other")).await.unwrap();
            generations.extend(h.found("t", "", None, &[]).await.generation);
            let held = lease(&h, "A").await.fence;
            expire_leases(&h).await;
            if deletes {
                let all = DeleteThread { thread_id: thread_id("t"), generation: None, fence: None };
                h.storage.delete_thread(&h.caller, &all).await.unwrap();
            }
            back.carry_out(&h).await;
            let it = format!("{way:?}, deleted before: {deletes}");
            for generation in generations {
                let stale = Commit { generation: Some(generation), ..one("9") };
                let refused = conflict(h.commit(stale).await);
                assert!(matches!(refused, Conflict::ThreadRestored { .. }), "{it}: {refused}");
            }
            let stale = Commit { fence: Some(held), ..one("9") };
            let refused = conflict(h.commit(stale).await);
            assert!(
                matches!(refused, Conflict::FenceStale { current } if current > held),
                "{it}: {refused}"
            );
            assert!(lease(&h, "B").await.fence > held);
            expire_leases(&h).await;
            for snapshot in ["s", "other"] {
                back.desk.delete(&h, snapshot).await;
            }
        }
    }
}
