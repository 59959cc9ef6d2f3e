//! Tests that threads go when nobody changed them for their ttl, and only then, on one server or several.

use threadkeep::domain::doctor::{Noun, State};
use threadkeep::domain::names::LeaseHolder;
use threadkeep::domain::snapshots::History;
use threadkeep::domain::threads::details::{Change, CreateThread, UpdateThread};
use threadkeep::domain::threads::thread::LeaseRequest;
use threadkeep::domain::threads::ttl::{Ttl, TtlStrategy};
use threadkeep::domain::tokens::grants::Actions;

use crate::commands::Put;
use crate::delta::{chain, id};
use crate::doctor::examine;
use crate::export_files::{exported, imported, other_engine};
use crate::forks::forking;
use crate::granted_callers::{assert_not_granted, copying, owned, prefix, subject, tenant, with};
use crate::harness::{Harness, NEVER, commit, thread_id};
use crate::rewinds::to as rewind_to;
use crate::run_states::now;
use crate::snapshot_calls::{Desk, check_sound, in_place, into, of};
use crate::sweeping::{SECOND, Server, lengths};
use crate::thread_details::{create, thread, update};

const HOUR: i64 = 3_600 * SECOND;
const AN_HOUR: Ttl = Ttl { micros: HOUR, strategy: TtlStrategy::Delete };
const KEEP_AFTER_AN_HOUR: Ttl = Ttl { micros: HOUR, strategy: TtlStrategy::KeepLatest };

async fn set(h: &Harness, thread: &str, ttl: Change<Ttl>) {
    let change = UpdateThread { ttl, ..update(thread) };
    h.storage.update_thread(&h.caller, &change).await.unwrap();
}

async fn ttl(h: &Harness, id: &str) -> Option<Ttl> {
    thread(h, id).await.unwrap().details.ttl_of(id)
}

/// As if the last change were so much longer ago.
async fn age(h: &Harness, thread: &str, micros: i64) {
    let text = format!(
        "update threads set updated_at = updated_at - {micros} where thread_id = '{thread}'"
    );
    h.sql(&text).await;
}

/// Lets so much time pass by the database's clock: all that was before it is so much longer ago.
async fn pass(h: &Harness, micros: i64) {
    h.sql(&format!("update threads set updated_at = updated_at - {micros}")).await;
    let due = format!(
        "update thread_details set ttl_due = ttl_due - {micros} where ttl_due < {}",
        i64::MAX
    );
    h.sql(&due).await;
}

/// How many threads went or lost something when so much time had passed.
async fn expire_after(h: &Harness, micros: i64) -> u64 {
    pass(h, micros).await;
    Server::on(&h.storage).expire().await
}

pub async fn a_thread_goes_when_nobody_changed_it_for_its_ttl(h: Harness) {
    for name in ["goes", "shrinks", "stays"] {
        chain(&h, name, 5, &[2]).await;
    }
    set(&h, "goes", Change::Set(AN_HOUR)).await;
    set(&h, "shrinks", Change::Set(KEEP_AFTER_AN_HOUR)).await;
    let made = CreateThread { ttl: Some(AN_HOUR), ..create("made", None, None) };
    h.storage.create_thread(&h.caller, &made).await.unwrap();
    assert_eq!(ttl(&h, "made").await, Some(AN_HOUR));
    assert_eq!(expire_after(&h, 0).await, 0);
    assert_eq!(expire_after(&h, HOUR - 60 * SECOND).await, 0);
    assert_eq!(lengths(&h, &["goes", "shrinks", "stays"]).await, [5, 5, 5]);
    assert_eq!(expire_after(&h, 120 * SECOND).await, 3);
    assert_eq!(lengths(&h, &["goes", "shrinks", "stays"]).await, [0, 1, 5]);
    for gone in ["goes", "made"] {
        assert!(thread(&h, gone).await.is_none(), "{gone}");
    }
    assert_eq!(ttl(&h, "shrinks").await, Some(KEEP_AFTER_AN_HOUR));
    // Nothing is left to remove of it, so the sweep of the next hour changes nothing.
    assert_eq!(expire_after(&h, HOUR + SECOND).await, 0);
    assert_eq!(lengths(&h, &["shrinks"]).await, [1]);
    check_sound(&h).await;
}

pub async fn a_change_begins_the_ttl_anew(h: Harness) {
    for name in ["committed", "touched", "left"] {
        chain(&h, name, 2, &[]).await;
        set(&h, name, Change::Set(AN_HOUR)).await;
        age(&h, name, 2 * HOUR).await;
    }
    h.commit(commit("committed", vec![Put::new("9").op()])).await.unwrap();
    h.storage.update_thread(&h.caller, &update("touched")).await.unwrap();
    assert_eq!(expire_after(&h, 0).await, 1);
    assert_eq!(lengths(&h, &["committed", "touched", "left"]).await, [3, 2, 0]);
    // The sweep that found them changed looks again when their ttl ends.
    assert_eq!(expire_after(&h, HOUR / 2).await, 0);
    assert_eq!(expire_after(&h, HOUR / 2 + 60 * SECOND).await, 2);
    assert_eq!(lengths(&h, &["committed", "touched"]).await, [0, 0]);
    // The id has no ttl when it is used again.
    chain(&h, "left", 2, &[]).await;
    assert_eq!(ttl(&h, "left").await, None);
    assert_eq!(expire_after(&h, 2 * HOUR).await, 0);
    // Of a checkpoint that comes late, the older ones go again.
    set(&h, "left", Change::Set(KEEP_AFTER_AN_HOUR)).await;
    for _ in 0..2 {
        age(&h, "left", 5 * HOUR).await;
        h.sql("update thread_details set ttl_due = 0 where ttl_due is not null").await;
        assert_eq!(expire_after(&h, 0).await, 1);
        assert_eq!(lengths(&h, &["left"]).await, [1]);
        h.commit(commit("left", vec![Put::new("a").op(), Put::new("b").op()])).await.unwrap();
    }
}

pub async fn a_ttl_is_changed_and_taken_away(h: Harness) {
    for name in ["longer", "none", "shorter"] {
        chain(&h, name, 2, &[]).await;
        set(&h, name, Change::Set(AN_HOUR)).await;
    }
    assert_eq!(expire_after(&h, 0).await, 0);
    let version = thread(&h, "longer").await.unwrap().details.version;
    set(&h, "longer", Change::Set(Ttl { micros: 3 * HOUR, ..AN_HOUR })).await;
    set(&h, "none", Change::Remove).await;
    set(&h, "shorter", Change::Set(Ttl { micros: HOUR / 4, ..AN_HOUR })).await;
    assert!(thread(&h, "longer").await.unwrap().details.version > version);
    // Title and metadata leave it as it is.
    let titled = UpdateThread { title: Change::Set("A title".into()), ..update("shorter") };
    h.storage.update_thread(&h.caller, &titled).await.unwrap();
    assert_eq!(ttl(&h, "shorter").await.unwrap().micros, HOUR / 4);
    assert_eq!(expire_after(&h, HOUR / 2).await, 1);
    assert_eq!(lengths(&h, &["longer", "none", "shorter"]).await, [2, 2, 0]);
    assert_eq!(expire_after(&h, 2 * HOUR).await, 0);
    assert_eq!(expire_after(&h, 2 * HOUR).await, 1);
    assert_eq!(lengths(&h, &["longer", "none"]).await, [0, 2]);
}

pub async fn a_thread_with_a_lease_stays_until_it_is_free(h: Harness) {
    chain(&h, "t", 3, &[]).await;
    set(&h, "t", Change::Set(AN_HOUR)).await;
    let lease = LeaseRequest {
        thread_id: thread_id("t"),
        holder: LeaseHolder::new("worker").unwrap(),
        fence: None,
        ttl_seconds: 3_600,
        full: None,
    };
    let held = h.storage.acquire_lease(&h.caller, &lease).await.unwrap();
    assert_eq!(expire_after(&h, 2 * HOUR).await, 0);
    let release = LeaseRequest { fence: Some(held.fence), ..lease };
    h.storage.release_lease(&h.caller, &release).await.unwrap();
    assert_eq!(expire_after(&h, 60 * SECOND).await, 0, "it was just taken");
    assert_eq!(expire_after(&h, 61 * SECOND).await, 1);
    assert!(thread(&h, "t").await.is_none());
}

pub async fn a_ttl_is_of_one_thread_through_snapshots_and_restores(h: Harness) {
    chain(&h, "t", 3, &[]).await;
    set(&h, "t", Change::Set(AN_HOUR)).await;
    h.storage.copy_thread(&h.caller, &copying("t", "copy")).await.unwrap();
    let desk = Desk::on(&h).await;
    desk.take(&h.caller, of("s", &["t"], History::All)).await.unwrap();
    assert_eq!((ttl(&h, "t").await, ttl(&h, "copy").await), (Some(AN_HOUR), None));
    assert_eq!(expire_after(&h, 2 * HOUR).await, 1);
    assert_eq!(lengths(&h, &["t", "copy"]).await, [0, 3]);
    // What the snapshot keeps has no end.
    assert_eq!(expire_after(&h, 48 * HOUR).await, 0);
    desk.restore(&h.caller, &into("s", &[("t", "other")])).await.unwrap();
    desk.restore(&h.caller, &in_place("s")).await.unwrap();
    assert_eq!(lengths(&h, &["t", "other"]).await, [3, 3]);
    assert_eq!((ttl(&h, "t").await, ttl(&h, "other").await), (Some(AN_HOUR), None));
    assert_eq!(expire_after(&h, HOUR / 2).await, 0, "it begins anew");
    assert_eq!(expire_after(&h, HOUR).await, 1);
    assert_eq!(lengths(&h, &["t", "other", "copy"]).await, [0, 3, 3]);
    // A change of the copy takes what was the other thread's away.
    set(&h, "copy", Change::Set(AN_HOUR)).await;
    assert_eq!(ttl(&h, "copy").await, Some(AN_HOUR));
    check_sound(&h).await;
}

pub async fn a_ttl_is_of_one_thread_through_forks_rewinds_and_exports(h: Harness) {
    for name in ["t", "old"] {
        chain(&h, name, 6, &[2]).await;
        set(&h, name, Change::Set(AN_HOUR)).await;
    }
    let desk = Desk::on(&h).await;
    desk.snapshots.fork(&h.caller, &forking("t", "f", &id(4)), NEVER).await.unwrap();
    desk.snapshots.rewind(&h.caller, &rewind_to(&id(4)), NEVER).await.unwrap();
    age(&h, "old", 2 * HOUR).await;
    let file = exported(&h).await;
    let other = other_engine(&h).await;
    imported(&other, &file).await;
    for it in [&h, &other] {
        let left = [ttl(it, "t").await, ttl(it, "f").await, ttl(it, "old").await];
        assert_eq!(left, [Some(AN_HOUR), None, Some(AN_HOUR)], "{}", it.url());
        // An import keeps the time of the last change, so a ttl that has ended in the file ends here.
        assert_eq!(expire_after(it, HOUR / 2).await, 1);
        assert_eq!(lengths(it, &["t", "f", "old"]).await, [4, 4, 0]);
        assert_eq!(expire_after(it, HOUR).await, 1);
        assert_eq!(lengths(it, &["t", "f"]).await, [0, 4]);
        check_sound(it).await;
    }
}

pub async fn only_who_may_delete_a_thread_sets_its_ttl(h: Harness) {
    let threads = now(&h).await;
    let ann = subject("ann");
    h.storage.create_thread(&ann, &create("anns", None, None)).await.unwrap();
    chain(&h, "team:1", 1, &[]).await;
    let setting = |name: &str| UpdateThread { ttl: Change::Set(AN_HOUR), ..update(name) };
    let appends = Actions::READ | Actions::APPEND;
    let team = with("team", vec![prefix("team:", appends)]);
    threads.update(&team, &update("team:1"), NEVER).await.unwrap();
    assert_not_granted(threads.update(&team, &setting("team:1"), NEVER).await);
    let removing = UpdateThread { ttl: Change::Remove, ..update("team:1") };
    assert_not_granted(threads.update(&team, &removing, NEVER).await);
    let appends_to_all = with("all", vec![prefix("", appends), owned(Actions::ALL)]);
    threads.update(&appends_to_all, &update("anns"), NEVER).await.unwrap();
    let refused = threads.update(&appends_to_all, &setting("anns"), NEVER).await;
    assert!(refused.is_err(), "{refused:?}");
    for name in ["anns", "team:1"] {
        assert_eq!(ttl(&h, name).await, None, "{name}");
    }
    threads.update(&ann, &setting("anns"), NEVER).await.unwrap();
    threads.update(&tenant(), &setting("team:1"), NEVER).await.unwrap();
    assert_eq!(ttl(&h, "anns").await, Some(AN_HOUR));
}

pub async fn a_server_whose_clock_is_ahead_ends_no_ttl_early(h: Harness) {
    chain(&h, "t", 2, &[]).await;
    set(&h, "t", Change::Set(AN_HOUR)).await;
    let server = Server::on(&h.storage);
    server.clock.advance(24 * HOUR);
    for _ in 0..2 {
        assert_eq!(server.expire().await, 0);
    }
    assert_eq!(lengths(&h, &["t"]).await, [2]);
    pass(&h, HOUR).await;
    assert_eq!(server.expire().await, 1);
}

pub async fn two_servers_expire_each_thread_once(h: Harness) {
    const THREADS: u64 = 230;
    for number in 0..THREADS {
        let ttl = if number % 2 == 0 { AN_HOUR } else { Ttl { micros: 4 * HOUR, ..AN_HOUR } };
        let made = CreateThread { ttl: Some(ttl), ..create(&format!("t-{number}"), None, None) };
        h.storage.create_thread(&h.caller, &made).await.unwrap();
    }
    let servers = [Server::on(&h.storage), Server::on(&h.storage)];
    let both = async |micros: i64| {
        pass(&h, micros).await;
        let (one, two) = tokio::join!(servers[0].expire(), servers[1].expire());
        one + two
    };
    assert_eq!(both(2 * HOUR).await, THREADS / 2);
    let left = || h.count("select count(*) from threads where octet_length(thread_id) <= 512");
    assert_eq!(left().await, 115);
    assert_eq!(both(3 * HOUR).await, THREADS / 2);
    assert_eq!(left().await, 0);
}

pub async fn the_doctor_finds_and_mends_a_time_that_is_lost(h: Harness) {
    chain(&h, "t", 2, &[]).await;
    set(&h, "t", Change::Set(AN_HOUR)).await;
    h.sql("update thread_details set ttl_due = null").await;
    let report = examine(&h, false).await;
    assert_eq!(report.tally(State::Damaged, Noun::ThreadDetails).count, 1, "{report:?}");
    let report = examine(&h, true).await;
    assert_eq!(report.tally(State::Repaired, Noun::ThreadDetails).count, 1, "{report:?}");
    assert_eq!(expire_after(&h, 2 * HOUR).await, 1);
    // A time without a ttl goes by itself.
    chain(&h, "t", 2, &[]).await;
    set(&h, "t", Change::Remove).await;
    h.storage
        .update_thread(
            &h.caller,
            &UpdateThread { title: Change::Set("A title".into()), ..update("t") },
        )
        .await
        .unwrap();
    h.sql("update thread_details set ttl_due = 0").await;
    assert_eq!(expire_after(&h, 2 * HOUR).await, 0);
    assert_eq!(h.count("select count(*) from thread_details where ttl_due is not null").await, 0);
    assert_eq!(lengths(&h, &["t"]).await, [2]);
}
