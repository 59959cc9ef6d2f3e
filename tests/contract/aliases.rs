//! Tests that every thread is found by its UUID alias, whoever wrote its row and however it got its id.

use std::collections::BTreeSet;
use std::sync::Arc;

use threadkeep::domain::Error;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::doctor::{Noun, State};
use threadkeep::domain::names::ThreadId;
use threadkeep::domain::threads::alias::{alias, stored_alias};
use threadkeep::domain::threads::alias_lookup::{ADDED_PER_LOOKUP_MAX, AliasSweeper};
use threadkeep::domain::threads::service::Threads;
use threadkeep::domain::threads::storage::DeleteThread;
use threadkeep::domain::threads::thread::ThreadQuery;
use threadkeep::domain::tokens::grants::Actions;

use crate::commands::Put;
use crate::doctor::examine;
use crate::export_files::{exported, imported, other_engine};
use crate::granted_callers::{copying, exact, leasing, owned, prefix, tenant, with};
use crate::harness::{Harness, commit, masters, thread_id};
use crate::run_states::now;
use crate::snapshot_calls::{Desk, in_place};
use crate::subjects::{ANN, commit_as};

const USUAL: &str = "0198a3c2-7b1e-7c55-9d1f-0123456789ab";
const LACKING: &str =
    "select count(*) from threads where alias is null and octet_length(thread_id) <= 512";

async fn resolved(threads: &Threads, caller: &Caller, asked: &str) -> String {
    threads.resolve_one(caller, thread_id(asked)).await.unwrap().into_string()
}

async fn put(h: &Harness, thread: &str) {
    h.commit(commit(thread, vec![Put::new("1").sets("a", "1", "x").op()])).await.unwrap();
}

async fn delete(h: &Harness, thread: &str) {
    let request = DeleteThread { thread_id: thread_id(thread), generation: None, fence: None };
    assert!(h.storage.delete_thread(&h.caller, &request).await.unwrap());
}

async fn all(h: &Harness) -> Vec<String> {
    let query = ThreadQuery { limit: 1_000, ..ThreadQuery::default() };
    let page = h.storage.list_threads(&h.caller, &query).await.unwrap();
    page.threads.into_iter().map(|it| it.thread_id).collect()
}

/// Every thread by its alias, and by what spells its id.
async fn check_all(h: &Harness) {
    let threads = now(h).await;
    let all = all(h).await;
    let aliases: Vec<_> = all.iter().map(|it| thread_id(&alias(it))).collect();
    let found = threads.resolve(&h.caller, aliases).await.unwrap();
    let found: Vec<String> = found.into_iter().map(ThreadId::into_string).collect();
    assert_eq!(found, all);
    for id in all {
        assert_eq!(resolved(&threads, &h.caller, &id).await, id);
        assert_eq!(resolved(&threads, &h.caller, &alias(&id).to_uppercase()).await, id);
        let elsewhere = Caller { tenant: "tenant-b".into(), ..h.caller.clone() };
        assert_eq!(resolved(&threads, &elsewhere, &alias(&id)).await, alias(&id));
    }
}

pub async fn whatever_makes_a_thread_writes_its_alias(h: Harness) {
    put(&h, "a commit/1").await;
    put(&h, USUAL).await;
    let made = crate::thread_details::create("made", Some("A title"), None);
    h.storage.create_thread(&h.caller, &made).await.unwrap();
    h.storage.acquire_lease(&h.caller, &leasing("leased", None)).await.unwrap();
    h.storage.copy_thread(&h.caller, &copying("a commit/1", "copy")).await.unwrap();
    let desk = Desk::on(&h).await;
    desk.taken(&h, "s", &["made", "copy"]).await;
    delete(&h, "copy").await;
    desk.restore(&h.caller, &in_place("s")).await.unwrap();
    assert_eq!(h.count(LACKING).await, 1, "a UUID needs none");
    assert_eq!(all(&h).await.len(), 5);
    check_all(&h).await;
    let file = exported(&h).await;
    let other = other_engine(&h).await;
    imported(&other, &file).await;
    assert_eq!(other.count(LACKING).await, 1);
    check_all(&other).await;
}

pub async fn a_row_of_an_old_server_is_found(h: Harness) {
    for id in ["a", "b", USUAL] {
        put(&h, id).await;
    }
    let threads = now(&h).await;
    h.sql("update threads set alias = null").await;
    assert_eq!(resolved(&threads, &h.caller, &alias("a")).await, "a");
    assert_eq!(h.count(LACKING).await, 1);
    // A restore of the release before gives a thread another id. Where rows are signed, no statement of a test can.
    if masters().is_none() {
        h.sql("update threads set thread_id = 'renamed' where thread_id = 'b'").await;
        assert_eq!(h.count(LACKING).await, 2);
        assert_eq!(resolved(&threads, &h.caller, &alias("b")).await, alias("b"));
    }
    check_all(&h).await;
    h.sql("update threads set alias = null").await;
    let sweeper = AliasSweeper::new(Arc::clone(&h.storage) as _);
    let mut position = (String::new(), i64::MIN);
    assert!(sweeper.sweep(&mut position).await.unwrap());
    assert!(!sweeper.sweep(&mut position).await.unwrap());
    assert_eq!(h.count(LACKING).await, 1);
    check_all(&h).await;
}

/// A look-up of a thread that is not there ends, whatever the ids are like.
pub async fn rows_need_an_alias_where_their_id_is_no_usual_uuid(h: Harness) {
    let ids = [
        USUAL.to_owned(),
        USUAL.to_uppercase(),
        USUAL.replace('-', ""),
        format!("{USUAL}\n"),
        format!(" {}", &USUAL[1..]),
        format!("g{}", &USUAL[1..]),
        USUAL.replace("ab", "\u{e4}"),
        format!("{{{USUAL}}}"),
        "*".into(),
        "\u{1}".into(),
    ];
    for id in &ids {
        put(&h, id).await;
    }
    let needing =
        |ids: Vec<String>| ids.into_iter().filter(|it| stored_alias(it).is_some()).collect();
    let needing: BTreeSet<String> = needing(ids.to_vec());
    assert_eq!(needing.len(), 9);
    h.sql("update threads set alias = null").await;
    let lacking = h.storage.list_unaliased_threads("tenant-a", i64::MIN, 100).await.unwrap();
    assert_eq!(lacking.iter().map(|it| it.thread_id.clone()).collect::<BTreeSet<_>>(), needing);
    let threads = now(&h).await;
    let nobody = "00000000-0000-0000-0000-000000000000";
    assert_eq!(resolved(&threads, &h.caller, nobody).await, nobody);
    let lacking = h.storage.list_unaliased_threads("tenant-a", i64::MIN, 100).await.unwrap();
    assert_eq!(lacking, []);
}

pub async fn the_doctor_finds_and_mends_aliases(h: Harness) {
    for id in ["a", "b", "c", USUAL] {
        put(&h, id).await;
    }
    let wrong = alias("c");
    h.sql(&format!("update threads set alias = '{wrong}' where thread_id in ('a', '{USUAL}')"))
        .await;
    h.sql("update threads set alias = null where thread_id = 'b'").await;
    let examine = async |fix: bool| {
        let report = examine(&h, fix).await;
        [State::Checked, State::WrongCounter, State::Repaired]
            .map(|it| report.tally(it, Noun::Aliases).count)
    };
    assert_eq!(examine(false).await, [3, 2, 0]);
    assert_eq!(examine(true).await, [3, 0, 2]);
    assert_eq!(examine(false).await, [2, 0, 0]);
    check_all(&h).await;
}

pub async fn the_exact_text_comes_first_then_the_uuid_then_the_alias(h: Harness) {
    let (upper, bare) = (USUAL.to_uppercase(), USUAL.replace('-', ""));
    let threads = now(&h).await;
    let found = async |asked: &str| resolved(&threads, &h.caller, asked).await;
    assert_eq!(found(&upper).await, upper, "nothing is there");
    put(&h, &upper).await;
    assert_eq!((found(USUAL).await, found(&bare).await), (upper.clone(), upper.clone()));
    put(&h, USUAL).await;
    assert_eq!((found(&upper).await, found(&bare).await), (upper.clone(), USUAL.to_owned()));
    put(&h, &bare).await;
    assert_eq!((found(USUAL).await, found(&bare).await), (USUAL.to_owned(), bare.clone()));
    delete(&h, USUAL).await;
    // Of several with one alias, always the first by bytes.
    assert_eq!(found(USUAL).await, upper);
    put(&h, "t").await;
    put(&h, &alias("t")).await;
    assert_eq!(found(&alias("t")).await, alias("t"));
    let asked = [alias("t"), "t".into(), upper.clone(), "none".into(), alias("none")];
    let asked = asked.iter().map(|it| thread_id(it)).collect::<Vec<_>>();
    assert_eq!(threads.resolve(&h.caller, asked.clone()).await.unwrap(), asked);
}

pub async fn nobody_finds_by_an_alias_what_he_may_not_see(h: Harness) {
    put(&h, "shared:1").await;
    commit_as(&h, Some(ANN), "private", Put::new("1").sets("a", "1", "x")).await;
    h.sql("update threads set alias = null").await;
    let threads = now(&h).await;
    let reads = |grants| with("token", grants);
    let ann = Caller { subject: Some(ANN.into()), ..reads(vec![owned(Actions::READ)]) };
    let bob = Caller { subject: Some("bob".into()), ..ann.clone() };
    let team = reads(vec![prefix("shared:", Actions::READ)]);
    let named = reads(vec![exact("shared:1", Actions::WRITE)]);
    let writes_only = reads(vec![prefix("shared:", Actions::APPEND)]);
    for (caller, thread, sees) in [
        (&ann, "private", true),
        (&bob, "private", false),
        (&team, "private", false),
        (&team, "shared:1", true),
        (&named, "shared:1", true),
        (&writes_only, "shared:1", false),
        (&ann, "shared:1", false),
    ] {
        let found = resolved(&threads, caller, &alias(thread)).await;
        assert_eq!(found == thread, sees, "{thread}: {caller:?}");
        assert!(sees || found == alias(thread));
    }
    // A foreign thread of the same name hides none of one's own.
    let upper = USUAL.to_uppercase();
    commit_as(&h, Some(ANN), &upper, Put::new("1").sets("a", "1", "x")).await;
    commit_as(&h, Some("bob"), USUAL, Put::new("1").sets("a", "1", "x")).await;
    assert_eq!(resolved(&threads, &ann, USUAL).await, upper);
    assert_eq!(resolved(&threads, &bob, USUAL).await, USUAL);
    assert_eq!(resolved(&threads, &tenant(), USUAL).await, USUAL);
}

/// Threads that were there before aliases were kept.
pub async fn many_threads_get_their_aliases_and_none_is_left_out(h: Harness) {
    if masters().is_some() {
        return;
    }
    put(&h, "t").await;
    let many = ADDED_PER_LOOKUP_MAX + 1;
    let numbers = format!(
        "with recursive n (n) as (select 1 union all select n + 1 from n where n < {many})"
    );
    let columns = "tenant, thread_id, thread_key, scope_id, generation, fence, created_at, updated_at, checkpoint_count, size_bytes";
    let values = "'tenant-a', 'old:' || n, n, n, 'g', 0, n, n, 0, 0";
    h.sql(&format!("insert into threads ({columns}) {numbers} select {values} from n")).await;
    let threads = now(&h).await;
    // What has an alias is found all the same.
    assert_eq!(resolved(&threads, &tenant(), &alias("t")).await, "t");
    let last = format!("old:{many}");
    let error = threads.resolve_one(&tenant(), thread_id(&alias(&last))).await.unwrap_err();
    let limit = ADDED_PER_LOOKUP_MAX;
    assert!(matches!(error, Error::AliasesIndexing { limit: it, .. } if it == limit), "{error}");
    // It added most of them; what is left is few enough for one look-up.
    assert_eq!(resolved(&threads, &tenant(), &alias(&last)).await, last);
    assert_eq!(h.count(LACKING).await, 0);
    h.sql("update threads set alias = null").await;
    let sweeper = AliasSweeper::new(Arc::clone(&h.storage) as _);
    let mut position = (String::new(), i64::MIN);
    while sweeper.sweep(&mut position).await.unwrap() {}
    assert_eq!(h.count(LACKING).await, 0);
}
