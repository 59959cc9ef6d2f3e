//! Tests reads of more than fits in memory: it is counted before it is opened, and refused, told by its size, or read in pages.

use bytes::Bytes;
use threadkeep::domain::Error;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::checkpoints::checkpoint::{LargeValues, ListQuery, Target, View};
use threadkeep::domain::checkpoints::timeline::TimelineQuery;
use threadkeep::domain::limits::LIMITS;
use threadkeep::domain::names::CheckpointId;
use threadkeep::domain::scheduling::read_memory::ReadMemory;
use threadkeep::domain::scheduling::shares::{Holder, Shares, Sizes};
use threadkeep::domain::threads::retention::{PruneRequest, Rule};

use crate::commands::{Put, Writes};
use crate::delta::counting;
use crate::harness::{Harness, commit, everything, pruning, target, text, thread_id, value};
use crate::store::{Store, address, keys, search};
use crate::timelines::all;
use crate::value_parts::service;

/// Three of them are more than an answer holds.
const MUCH: usize = 44 << 20;

fn read(thread: &str, large_values: LargeValues) -> Target {
    Target { large_values, ..target(thread, "", None) }
}

fn listed(thread: &str, large_values: LargeValues) -> ListQuery {
    ListQuery { thread_id: Some(thread_id(thread)), large_values, ..everything() }
}

fn assert_refused<T: std::fmt::Debug>(result: Result<T, Error>) {
    let most = LIMITS.bytes_in_flight_per_tenant_max;
    match result {
        Err(Error::ValuesTooLarge { limit }) => assert_eq!(limit, most),
        other => panic!("{:.200}", format!("{other:?}")),
    }
}

fn ids(views: &[View]) -> Vec<&str> {
    views.iter().map(|it| it.id.as_str()).collect()
}

pub async fn values_that_no_answer_holds_are_refused_or_told_by_size(h: Harness) {
    let of = service(&h).await;
    let zeros = Bytes::from(vec![0; MUCH]);
    let much = || value("msgpack", zeros.clone());
    h.put(Put::new("1").sets("a", "1", "short")).await;
    let put = Put::new("2").parent("1").carries("a", "1").sets_value("x", "1", much());
    h.put(put.sets_value("y", "1", much()).sets_value("z", "1", much())).await;
    for large_values in [LargeValues::Inline, LargeValues::InParts] {
        assert_refused(of.get(&h.caller, &read("t", large_values), &[], None).await.map(drop));
        assert_refused(of.list(&h.caller, listed("t", large_values)).await.map(drop));
    }
    let bare = ListQuery { values: false, ..listed("t", LargeValues::Inline) };
    assert_eq!(ids(&of.list(&h.caller, bare).await.unwrap().views), ["2", "1"]);
    // To be shown, the short ones come, and of the others the size.
    let (shown, _) = of.get(&h.caller, &read("t", LargeValues::Shown), &[], None).await.unwrap();
    let view = shown.view.unwrap();
    assert_eq!(text(&view.values[0].1), "short");
    for (channel, value) in &view.values[1..] {
        assert!(value.data.is_empty() && value.size_bytes() == MUCH as u64, "{channel}");
    }
    let page = of.list(&h.caller, listed("t", LargeValues::Shown)).await.unwrap();
    assert_eq!(ids(&page.views), ["2", "1"]);
    assert_eq!(page.views[0].values, view.values);
    // What comes before it in a listing is a page of its own.
    h.put(Put::new("3").sets("a", "3", "short")).await;
    let first = of.list(&h.caller, listed("t", LargeValues::Inline)).await.unwrap();
    assert_eq!(ids(&first.views), ["3"]);
    let next = ListQuery { after: first.next, ..listed("t", LargeValues::Inline) };
    assert!(next.after.is_some());
    assert_refused(of.list(&h.caller, next).await.map(drop));
    let whole = h.get("2").await;
    assert!(whole.values[1..].iter().all(|(_, it)| it.data == zeros), "who needs all gets all");
}

pub async fn writes_and_histories_count_like_values(h: Harness) {
    let of = service(&h).await;
    let zeros = Bytes::from(vec![0; MUCH]);
    let (mut writes, mut chain) = (vec![Put::new("1").op()], Vec::new());
    for at in 1..=3 {
        let write = |id: &str| Writes::new(id, &format!("task {at}"));
        writes.push(write("1").write_value(0, "m", value("msgpack", zeros.clone())).op());
        let id = at.to_string();
        let put = if at == 1 { Put::new(&id) } else { Put::new(&id).parent(&(at - 1).to_string()) };
        chain.push(put.op());
        chain.push(write(&id).write_value(0, "m", value("msgpack", zeros.clone())).op());
    }
    chain.push(Put::new("4").parent("3").empties("m", "1").op());
    h.commit(commit("writes", writes)).await.unwrap();
    h.commit(commit("chain", chain)).await.unwrap();
    let inline = |thread: &str| read(thread, LargeValues::Inline);
    let channels = ["m".to_owned()];
    assert_refused(of.get(&h.caller, &inline("writes"), &[], None).await.map(drop));
    assert_refused(of.get(&h.caller, &inline("chain"), &channels, None).await.map(drop));
    assert_refused(of.history(&h.caller, &inline("chain"), &channels, None).await.map(drop));
    assert!(of.get(&h.caller, &inline("chain"), &[], None).await.is_ok());
    let shown = read("writes", LargeValues::Shown);
    let (shown, _) = of.get(&h.caller, &shown, &[], None).await.unwrap();
    let sizes: Vec<u64> =
        shown.view.unwrap().writes.iter().map(|it| it.value.size_bytes()).collect();
    assert_eq!(sizes, [MUCH as u64; 3]);
    let shown = read("chain", LargeValues::Shown);
    let (shown, _) = of.get(&h.caller, &shown, &channels, None).await.unwrap();
    assert_eq!(shown.chain.nodes.len(), 3);
}

/// A base of so much would be too large to be read again.
pub async fn a_removal_that_would_make_too_large_a_base_removes_nothing(h: Harness) {
    let zeros = Bytes::from(vec![0; MUCH]);
    let of_run = counting(&["m"]).replacen('{', r#"{"run_id":"run","#, 1);
    let mut chain = Vec::new();
    for at in 1..=3 {
        let id = at.to_string();
        let put = if at == 1 { Put::new(&id) } else { Put::new(&id).parent(&(at - 1).to_string()) };
        let write = Writes::new(&id, &format!("task {at}"));
        chain.push(put.metadata(&of_run).empties("m", &id).op());
        chain.push(write.write_value(0, "m", value("msgpack", zeros.clone())).op());
    }
    let head = Put::new("4").parent("3").metadata(&counting(&["m"])).empties("m", "4");
    chain.push(head.op());
    h.commit(commit("t", chain)).await.unwrap();
    let too_large = |result: Result<(), Error>| {
        let most = LIMITS.bytes_in_flight_per_tenant_max;
        assert!(
            matches!(result, Err(Error::BaseTooLarge { limit }) if limit == most),
            "{result:?}"
        );
    };
    for dry_run in [true, false] {
        let request = PruneRequest { dry_run, ..pruning(&["t"], Rule::KEEP_LATEST) };
        too_large(h.storage.prune_threads(&h.caller, &request).await.map(drop));
    }
    too_large(h.storage.delete_for_runs(&h.caller, &["run".into()]).await.map(drop));
    let of = service(&h).await;
    let bare = ListQuery { values: false, ..listed("t", LargeValues::Inline) };
    assert_eq!(ids(&of.list(&h.caller, bare).await.unwrap().views), ["4", "3", "2", "1"]);
    // With less to keep it goes.
    let request = pruning(&["t"], Rule::keep(2, None));
    let pruned = h.storage.prune_threads(&h.caller, &request).await.unwrap();
    assert_eq!(pruned[0].removed.checkpoints, 2);
    h.storage.prune_threads(&h.caller, &pruning(&["t"], Rule::DELETE)).await.unwrap();
}

/// The bytes that each way to read three values holds, and what all of them say when there is no room.
pub async fn reads_hold_memory_until_their_request_is_answered(h: Harness) {
    const VALUE: usize = 2 << 20;
    let of = service(&h).await;
    let much = || value("msgpack", Bytes::from(vec![0; VALUE]));
    let put = |id: &str| Put::new(id).sets_value("x", id, much()).sets_value("y", id, much());
    let write = |id: &str| Writes::new(id, "task").write_value(0, "m", much()).op();
    h.commit(commit("t", vec![put("1").op(), write("1")])).await.unwrap();
    let next = put("2").parent("1").empties("m", "1").op();
    h.commit(commit("t", vec![next, write("2")])).await.unwrap();
    let channels = ["m".to_owned()];
    let inline = read("t", LargeValues::Inline);
    let shares = Shares::new(Sizes::default());
    for (way, values) in [("get", 3), ("get with history", 4), ("history", 1), ("list", 6)] {
        let read = async |caller: &Caller| match way {
            "get" => of.get(caller, &inline, &[], None).await.map(drop),
            "get with history" => of.get(caller, &inline, &channels, None).await.map(drop),
            "history" => of.history(caller, &inline, &channels, None).await.map(drop),
            _ => of.list(caller, listed("t", LargeValues::Inline)).await.map(drop),
        };
        let account = shares.account(Holder::new("acme", "key"));
        let caller = Caller { memory: ReadMemory::of(&account), ..h.caller.clone() };
        read(&caller).await.unwrap();
        let held = shares.held_bytes();
        assert_eq!(held, (values * VALUE) as u64, "{way}");
        drop(caller);
        assert_eq!(shares.held_bytes(), 0, "{way}");
        let full = Shares::new(Sizes { all: held - 1, ..Sizes::default() });
        let account = full.account(Holder::new("acme", "key"));
        let caller = Caller { memory: ReadMemory::of(&account), ..h.caller.clone() };
        let refused = read(&caller).await;
        assert!(matches!(refused, Err(Error::NoRoom { limit }) if limit == held - 1), "{way}");
    }
}

/// 3 MiB of JSON text.
fn long_document(fields: &str) -> String {
    format!(r#"{{{fields}"pad":"{}"}}"#, "a".repeat(3 << 20))
}

pub async fn documents_are_listed_as_far_as_a_page_holds_them(h: Harness) {
    for at in 1..=3 {
        h.put(Put::new(&at.to_string()).metadata(&long_document(r#""source":"loop","#))).await;
    }
    let filter = Some(serde_json::json!({"source": "loop"}));
    for filter in [None, filter] {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let filter = filter.clone();
            let page = h.list(ListQuery { after, filter, values: false, ..everything() }).await;
            assert!(page.views.len() <= 1, "{} in a page", page.views.len());
            seen.extend(page.views.into_iter().map(|it| it.id));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, ["3", "2", "1"]);
    }
}

pub async fn a_timeline_ends_where_skeletons_of_parents_do_not_fit(h: Harness) {
    for at in 1..=3 {
        let skeleton = long_document(r#""v":4,"channel_versions":{},"#);
        h.put(Put::new(&at.to_string()).skeleton(&skeleton)).await;
    }
    for at in 4..=6 {
        h.put(Put::new(&at.to_string()).parent(&(at - 3).to_string())).await;
    }
    let after = Some(CheckpointId::new("3").unwrap());
    let (mut seen, mut position) = (Vec::new(), None);
    loop {
        let query = TimelineQuery { after: after.clone(), position, ..all("t") };
        let page = h.storage.list_timeline(&h.caller, &query).await.unwrap();
        assert!(page.nodes.len() <= 1, "{} in a page", page.nodes.len());
        assert!(page.nodes.iter().all(|it| it.before.is_some()));
        seen.extend(page.nodes.into_iter().map(|it| it.id));
        position = page.next;
        if position.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["6", "5", "4"]);
}

pub async fn large_items_are_opened_a_few_at_a_time(h: Harness) {
    let store = Store::on(&h).await;
    let value = |bytes: usize| format!(r#"{{"a":"{}"}}"#, "a".repeat(bytes));
    let mut names: Vec<String> = (0..6).map(|at| format!("k{at}")).collect();
    for key in &names {
        store.put(&["n"], key, &value(3 << 19)).await;
    }
    names.push("large".into());
    store.put(&["n"], "large", &value(6 << 20)).await;
    names.insert(0, "missing".into());
    let addresses: Vec<_> = names.iter().map(|it| address(&["n"], it)).collect();
    let (mut rest, mut seen, mut parts) = (addresses.as_slice(), Vec::new(), Vec::new());
    while !rest.is_empty() {
        let found = h.storage.get_first_items(&h.caller, rest, 1).await.unwrap();
        parts.push(found.len());
        rest = &rest[found.len()..];
        seen.extend(found.into_iter().flatten());
    }
    assert_eq!(parts, [3, 2, 2, 1], "4 MiB, or one item that is larger");
    assert_eq!(keys(&seen), names[1..]);
    assert!(seen.iter().all(|it| it.value.as_ref().unwrap().len() as u64 == it.value_bytes()));
    // A search goes through all of them all the same.
    assert_eq!(store.scan(search(&["n"], "{}")).await.len(), 7);
    let none = store.scan(search(&["n"], r#"{"a":"b"}"#)).await;
    assert!(none.is_empty());
}
