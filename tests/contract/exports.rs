//! Tests exports and imports of threads: an imported thread equals the exported one, from either engine. No import is visible before it is
//! complete.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use threadkeep::domain::checkpoints::checkpoint::{ListQuery, View};
use threadkeep::domain::error::FileFault;
use threadkeep::domain::export::records::Existing;
use threadkeep::domain::threads::retention::Rule;
use threadkeep::domain::threads::thread::{Thread, ThreadQuery, ThreadSort};
use threadkeep::domain::{Conflict, Error};
use threadkeep::export::{ImportOptions, Parts, Selection, export};

use crate::commands::{Put, Writes};
use crate::conditions::lease;
use crate::delta::{chain, replay_view};
use crate::doctor::{examine, fill};
use crate::export_files::{
    Memory, exported, fault_of, file_of, frames, imported, options, other_engine, read_in, signing,
};
use crate::harness::{Harness, caller_of, commit, conflict, everything, pruning, thread_id, value};
use crate::run_states::{now, shown};
use crate::subjects::{ANN, commit_as};
use crate::thread_details::details;

/// Threads with everything that a thread can have.
async fn populate(h: &Harness) {
    fill(h).await;
    details(h, "t", "A title", r#"{"a": 1.0,"b":"\ud800"}"#).await;
    // One has its title from its first message.
    commit_as(h, None, "talk", talking("Hello")).await;
    let talk = shown(&now(h).await, "talk").await;
    assert_eq!(talk.details.first_message.as_deref(), Some("Hello"));
    h.write(Writes::new("2", "t").seq(3).write(-1, "__error__", "e").write(-4, "__resume__", "r"))
        .await;
    h.write(Writes::new("9", "early").path("~1").write(0, "a", "z")).await;
    h.put(Put::new("1").ns("child:x").sets("c", "1", "child")).await;
    h.put(Put::new("2b").parent("1").sets("s", "1", "a fork").empties("e", "1").sets_value(
        "n",
        "\"00\\u00e9\"",
        value("null", ""),
    ))
    .await;
    lease(h, "holder").await;
    h.sql("update threads set lease_expires_at = 1 where lease_expires_at is not null").await;
    chain(h, "pruned", 8, &[2]).await;
    let rule = Rule::keep(2, None);
    h.storage.prune_threads(&h.caller, &pruning(&["pruned"], rule)).await.unwrap();
    let old = |put: Put| commit("old", vec![put.format(1).op()]);
    h.commit(old(Put::new("1"))).await.unwrap();
    let sends = Writes::new("1", "task-2").write_value(0, "__pregel_tasks", value("json", "two"));
    h.commit(commit("old", vec![sends.op()])).await.unwrap();
    let sends = Writes::new("1", "task-1").write(0, "__pregel_tasks", "one");
    h.commit(commit("old", vec![sends.op()])).await.unwrap();
    h.commit(old(Put::new("2").parent("1"))).await.unwrap();
    let rule = Rule::keep(1, None);
    h.storage.prune_threads(&h.caller, &pruning(&["old"], rule)).await.unwrap();
    commit_as(h, Some(ANN), "owned", Put::new("1").sets("a", "1", "x")).await;
}

fn talking(text: &str) -> Put {
    let messages = format!(r#"[{{"type":"human","content":"{text}"}}]"#);
    Put::new("1").sets_value("messages", "1", value("json", messages))
}

async fn threads(h: &Harness) -> Vec<Thread> {
    let query = ThreadQuery {
        limit: 100,
        sort: ThreadSort::ThreadId,
        ascending: true,
        ..ThreadQuery::default()
    };
    h.storage.list_threads(&h.caller, &query).await.unwrap().threads
}

/// Everything that callers read of a thread, with what its delta channels replay to.
async fn readable(h: &Harness, thread: &str) -> Vec<(View, String)> {
    let query = ListQuery {
        thread_id: Some(thread_id(thread)),
        history_channels: Some(vec!["m".into()]),
        ..everything()
    };
    let page = h.list(query).await;
    let replayed = |mut view: View| {
        // The calls of writers do not travel.
        view.writes.iter_mut().for_each(|it| it.call = None);
        let replayed = replay_view(&view, &page.chain, "m");
        (view, replayed)
    };
    page.views.into_iter().map(replayed).collect()
}

pub async fn threads_travel_to_the_other_engine_and_back(h: Harness) {
    populate(&h).await;
    let first = exported(&h).await;
    let between = other_engine(&h).await;
    let created = imported(&between, &first).await.threads.created;
    let second = exported(&between).await;
    assert_eq!(first, second, "the file of {} and that of the other engine", h.url());
    let back = if h.is_sqlite() { Harness::sqlite().await } else { Harness::postgres().await };
    imported(&back, &second).await;
    assert_eq!(exported(&back).await, first);
    let (here, there) = (threads(&h).await, threads(&between).await);
    assert_eq!(here.len() as u64, created);
    for (thread, other) in here.iter().zip(&there) {
        let id = &thread.thread_id;
        // What no checkpoint shows does not travel; keys and states are each engine's own.
        let Thread { size_bytes, run, .. } = *other;
        assert_eq!(&Thread { size_bytes, run, ..thread.clone() }, other);
        for it in [&between, &back] {
            assert_eq!(readable(it, id).await, readable(&h, id).await, "{id}");
            it.check_counts(id).await;
        }
    }
    for it in [&between, &back] {
        let report = examine(it, false).await;
        assert!(report.is_sound(), "{report:?}");
    }
    // A thread goes on where it came from: carried values, delta channels and fences.
    for it in [&h, &between, &back] {
        it.sql("update threads set lease_holder = null").await;
        it.commit(commit("t", vec![Put::new("3").parent("2").carries("s", "1").op()]))
            .await
            .unwrap();
        assert_eq!(lease(it, "next").await.fence, lease(&h, "next").await.fence);
    }
    let third = |views: Vec<(View, String)>| views.into_iter().find(|it| it.0.id == "3").unwrap();
    assert_eq!(third(readable(&between, "t").await), third(readable(&h, "t").await));
}

pub async fn a_repeated_import_changes_nothing(h: Harness) {
    populate(&h).await;
    let file = exported(&h).await;
    let count = threads(&h).await.len() as u64;
    let again = imported(&h, &file).await;
    assert_eq!((again.threads.unchanged, again.threads.created), (count, 0));
    // A title that was derived since is no difference.
    commit_as(&h, None, "untitled", talking("Hi")).await;
    let before = exported(&h).await;
    let derived = shown(&now(&h).await, "untitled").await.details.first_message;
    assert_eq!(derived.as_deref(), Some("Hi"));
    for file in [&before, &exported(&h).await] {
        assert_eq!(imported(&h, file).await.threads.unchanged, count + 1);
    }
    let between = other_engine(&h).await;
    let dry = ImportOptions { dry_run: true, ..options(Existing::Refuse) };
    let would = read_in(&between, &between.caller, &file, &dry).await.unwrap();
    assert_eq!((would.threads.created, would.dry_run), (count, true));
    assert!(threads(&between).await.is_empty());
    imported(&between, &file).await;
    let again = read_in(&between, &between.caller, &file, &options(Existing::Replace)).await;
    assert_eq!(again.unwrap().threads.unchanged, count);
    assert_eq!(exported(&between).await, file);
    // Nothing is left over of what was staged and not needed.
    let report = examine(&between, true).await;
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(between.count("select count(*) from garbage").await, 0);
}

pub async fn what_moved_on_is_refused_or_replaced(h: Harness) {
    h.put(Put::new("1").sets("a", "1", "before")).await;
    let generation = h.commit(commit("u", vec![Put::new("1").op()])).await.unwrap();
    let file = exported(&h).await;
    h.put(Put::new("2").parent("1").sets("a", "2", "after")).await;
    let refused = read_in(&h, &h.caller, &file, &options(Existing::Refuse)).await;
    let refused = conflict(refused);
    assert!(matches!(&refused, Conflict::ImportConflict { name, .. } if name == "t"), "{refused}");
    assert_eq!(h.latest("t").await.unwrap().id, "2");
    let dry = ImportOptions { dry_run: true, ..options(Existing::Refuse) };
    let would = read_in(&h, &h.caller, &file, &dry).await.unwrap();
    assert_eq!((would.threads.conflicts, would.threads.unchanged), (1, 1));
    lease(&h, "somebody").await;
    let held = read_in(&h, &h.caller, &file, &options(Existing::Replace)).await;
    assert_eq!(conflict(held), Conflict::LeaseHeld);
    h.sql("update threads set lease_expires_at = 1 where lease_expires_at is not null").await;
    let before = h.found("t", "", None, &[]).await.generation;
    let done = read_in(&h, &h.caller, &file, &options(Existing::Replace)).await.unwrap();
    assert_eq!((done.threads.replaced, done.threads.unchanged), (1, 1));
    assert_eq!(h.latest("t").await.unwrap().id, "1");
    h.check_counts("t").await;
    // Who wrote what is gone is told so; of the thread that stayed nobody is.
    let mut stale = commit("t", vec![Put::new("3").parent("2").op()]);
    stale.generation = before;
    let stale = conflict(h.commit(stale).await);
    assert!(matches!(stale, Conflict::ThreadRestored { .. }), "{stale}");
    let mut right = commit("u", vec![Put::new("2").op()]);
    right.generation = Some(generation);
    h.commit(right).await.unwrap();
    let report = examine(&h, true).await;
    assert!(report.is_sound(), "{report:?}");
}

/// One bit at every frame's length, payload and check, in the preamble, and cuts everywhere: each is found, and what is there
/// afterwards are whole threads of before the damage.
pub async fn a_damaged_file_is_refused_wherever_it_is_damaged(h: Harness) {
    for (at, thread) in ["a", "b", "c"].into_iter().enumerate() {
        let list = "message, ".repeat(400 * (at + 1));
        let put = Put::new("1").sets("m", "1", &list);
        h.commit(commit(thread, vec![put.op(), Writes::new("1", "t").write(0, "x", "y").op()]))
            .await
            .unwrap();
    }
    let file = exported(&h).await;
    let all = frames(&file);
    let between = other_engine(&h).await;
    let mut places: BTreeSet<usize> = [0, 20, all[0] - 1].into();
    for frame in all.windows(2) {
        places.extend([frame[0], frame[0] + 3, frame[0] + 8, frame[1] - 33, frame[1] - 1]);
    }
    for (number, place) in places.into_iter().enumerate() {
        let mut damaged = file.clone();
        damaged[place] ^= 4;
        let caller = caller_of(&format!("flip-{number}"));
        let refused = read_in(&between, &caller, &damaged, &options(Existing::Refuse)).await;
        let fault = fault_of(refused);
        assert!(matches!(fault, FileFault::Damaged | FileFault::Truncated), "{place}: {fault:?}");
        check_whole(&between, &caller.tenant, &file, &all, place).await;
    }
    let cuts = (0..file.len()).step_by(97).chain(all.iter().copied().take(all.len() - 1));
    for (number, cut) in cuts.enumerate() {
        let caller = caller_of(&format!("cut-{number}"));
        let refused = read_in(&between, &caller, &file[..cut], &options(Existing::Refuse)).await;
        let fault = fault_of(refused);
        let expected = if cut < all[0] { FileFault::Damaged } else { FileFault::Truncated };
        assert_eq!(fault, expected, "{cut}");
        check_whole(&between, &caller.tenant, &file, &all, cut).await;
    }
    let longer = [&file[..], b"x"].concat();
    let refused =
        read_in(&between, &caller_of("longer"), &longer, &options(Existing::Refuse)).await;
    assert!(matches!(fault_of(refused), FileFault::Damaged | FileFault::Truncated));
    assert_eq!(between.count("select count(*) from garbage").await, 0);
}

/// Threads of a tenant are those whose ends come before a place in the file.
async fn check_whole(h: &Harness, tenant: &str, file: &[u8], all: &[usize], place: usize) {
    let ends = all.windows(2).filter(|frame| {
        file[frame[0] + 4..frame[1]].starts_with(b"\x81\xa3end") && frame[1] <= place
    });
    let whole = i64::try_from(ends.count()).unwrap();
    let threads = format!("select count(*) from threads where tenant = '{tenant}'");
    assert_eq!(h.count(&threads).await, whole, "threads before {place}");
    for table in ["checkpoints", "writes"] {
        let rows = format!("select count(*) from {table} where tenant = '{tenant}'");
        assert_eq!(h.count(&rows).await, whole, "{table} before {place}");
    }
}

pub async fn a_signature_has_to_be_of_the_key(h: Harness) {
    h.put(Put::new("1").sets("a", "1", "x")).await;
    let signed = file_of(&*h.storage, &h.caller, &Selection::Tenant, Some(signing(1))).await;
    let plain = exported(&h).await;
    let with = |byte: u8| {
        let key = Some(signing(byte));
        ImportOptions { key, ..options(Existing::Refuse) }
    };
    for (number, (file, key)) in [(&plain, with(1)), (&signed, with(2))].into_iter().enumerate() {
        let caller = caller_of(&format!("other-{number}"));
        let refused = read_in(&h, &caller, file, &key).await;
        assert_eq!(fault_of(refused), FileFault::Signature);
        let rows = format!("select count(*) from threads where tenant = '{}'", caller.tenant);
        assert_eq!(h.count(&rows).await, 0);
    }
    // A file that was changed with its checks made anew.
    let forged = forge(&signed);
    let refused = read_in(&h, &caller_of("forged"), &forged, &with(1)).await;
    assert_eq!(fault_of(refused), FileFault::Signature);
    let done = read_in(&h, &caller_of("right"), &signed, &with(1)).await.unwrap();
    assert_eq!((done.threads.created, done.is_signed), (1, true));
    // Without a key a signature is not asked for.
    let done = read_in(&h, &caller_of("unasked"), &signed, &options(Existing::Refuse)).await;
    assert_eq!(done.unwrap().threads.created, 1);
}

/// The file with another value of `a`, and checks that fit.
fn forge(file: &[u8]) -> Vec<u8> {
    use sha2::{Digest as _, Sha256};
    let all = frames(file);
    let mut forged = file[..all[0]].to_vec();
    let mut check: [u8; 32] = Sha256::digest(&forged).into();
    for frame in all.windows(2) {
        let mut payload = file[frame[0] + 4..frame[1] - 32].to_vec();
        if payload.starts_with(b"\x81\xa5value") {
            let at = payload.iter().rposition(|it| *it == b'x').unwrap();
            payload[at] = b'z';
        }
        let both = [&check[..], &payload].concat();
        check = Sha256::digest(&both).into();
        forged.extend_from_slice(&file[frame[0]..frame[0] + 4]);
        forged.extend_from_slice(&payload);
        forged.extend_from_slice(&check);
    }
    assert_ne!(forged, file);
    forged
}

pub async fn a_later_format_is_refused_by_its_number(h: Harness) {
    use sha2::{Digest as _, Sha256};
    let file = exported(&h).await;
    let all = frames(&file);
    // {"begin": {"format": 3, "something": "new"}}
    let payload = b"\x81\xa5begin\x82\xa6format\x03\xa9something\xa3new";
    let before: [u8; 32] = Sha256::digest(&file[..all[0]]).into();
    let check = Sha256::digest([&before[..], payload].concat());
    let length = u32::try_from(payload.len()).unwrap().to_le_bytes();
    let later = [&file[..all[0]], &length, payload, &check].concat();
    let refused = read_in(&h, &h.caller, &later, &options(Existing::Refuse)).await;
    assert_eq!(fault_of(refused), FileFault::Version);
}

/// A list that grows by a message with each of many states is said once.
pub async fn a_long_conversation_does_not_blow_up(h: Harness) {
    let mut list = String::new();
    let (mut raw, mut id) = (0, String::new());
    for at in 0..200_u32 {
        list.extend((0..60).map(|word| format!("word {} of message {at}, ", word * 7919 % 1000)));
        let next = format!("{at:04}");
        let mut put = Put::new(&next).sets("messages", &at.to_string(), &list);
        if at > 0 {
            put = put.parent(&id);
        }
        h.put(put).await;
        raw += list.len();
        id = next;
    }
    let file = exported(&h).await;
    assert!(raw > 50 * list.len());
    assert!(file.len() < 5 * list.len(), "{} bytes for a list of {}", file.len(), list.len());
    let between = other_engine(&h).await;
    imported(&between, &file).await;
    assert_eq!(between.all("t").await, h.all("t").await);
    let report = examine(&between, false).await;
    assert!(report.is_sound(), "{report:?}");
}

/// Whoever writes beside an export finds in the file a moment of the thread.
pub async fn a_file_shows_one_moment_of_a_thread(h: Harness) {
    let large = "x".repeat(20_000);
    let h = Arc::new(h);
    h.put(Put::new("0000").sets("a", "0", &large)).await;
    let done = Arc::new(AtomicBool::new(false));
    let writer = {
        let (h, done, large) = (Arc::clone(&h), Arc::clone(&done), large.clone());
        tokio::spawn(async move {
            for at in 1..400_u32 {
                // First the writes on the one before, then the checkpoint: as a graph does.
                let (id, before) = (format!("{at:04}"), format!("{:04}", at - 1));
                h.write(Writes::new(&before, "t").write(0, "w", &large)).await;
                let put = Put::new(&id).parent(&before);
                h.put(put.sets("a", &at.to_string(), &format!("{at}{large}"))).await;
            }
            done.store(true, Ordering::SeqCst);
        })
    };
    let mut files = Vec::new();
    while !done.load(Ordering::SeqCst) {
        files.push(exported(&h).await);
    }
    writer.await.unwrap();
    assert!(files.len() > 2, "{} exports", files.len());
    for (number, file) in files.iter().rev().step_by(2).take(6).enumerate() {
        let caller = caller_of(&format!("moment-{number}"));
        read_in(&h, &caller, file, &options(Existing::Refuse)).await.unwrap();
        let query = ListQuery { thread_id: Some(thread_id("t")), ..everything() };
        let views = h.storage.list_checkpoints(&caller, &query).await.unwrap().views;
        for (view, older) in views.iter().zip(&views[1..]) {
            assert_eq!(view.parent.as_ref(), Some(&older.id));
            assert_eq!(older.writes.len(), 1, "writes of {}", older.id);
        }
    }
}

pub async fn only_whole_tenants_export_and_import(h: Harness) {
    use threadkeep::domain::caller::Grants;
    use threadkeep::domain::tokens::grants::Scoped;
    h.put(Put::new("1")).await;
    let file = exported(&h).await;
    let scoped = Grants::Scoped(Arc::new(Scoped::default()));
    let caller = threadkeep::domain::caller::Caller { grants: scoped, ..h.caller.clone() };
    let refused = read_in(&h, &caller, &file, &options(Existing::Refuse)).await;
    assert!(matches!(refused, Err(Error::NotGranted(_))));
    let mut out = Memory::default();
    let refused = export(&*h.storage, &caller, &Selection::Tenant, (&mut out, None), 0).await;
    assert!(matches!(refused, Err(Error::NotGranted(_))));
    assert!(out.0.is_empty());
    // Another tenant's threads are not in it.
    let another = caller_of("another");
    let empty = file_of(&*h.storage, &another, &Selection::Tenant, None).await;
    assert_eq!(frames(&empty).len(), 3);
    let parts = Selection::Parts(Parts { threads: vec!["t".into()], ..Parts::default() });
    let mut out = Memory::default();
    let absent = export(&*h.storage, &another, &parts, (&mut out, None), 0).await;
    assert!(matches!(absent, Err(Error::NotFound(_))));
}
