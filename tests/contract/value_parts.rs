//! Tests values in parts: put ahead of the commit that names them, read one after the other.

use std::sync::Arc;

use bytes::Bytes;
use threadkeep::domain::caller::{Caller, Grants};
use threadkeep::domain::checkpoints::checkpoint::{
    InParts, LargeValues, ListQuery, NewPart, Target, Value,
};
use threadkeep::domain::checkpoints::group_commit::GroupCommit;
use threadkeep::domain::checkpoints::service::Checkpoints;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::limits::LIMITS;
use threadkeep::domain::names::Tag;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::tenants::quotas::Quotas;
use threadkeep::domain::tenants::rates::Rates;
use threadkeep::domain::tokens::grants::Scoped;
use threadkeep::domain::{Conflict, Error, Result};

use crate::commands::{Put, Writes};
use crate::conditions::lease;
use crate::doctor::examine;
use crate::export_files::{exported, imported};
use crate::harness::{Harness, NEVER, commit, conflict, everything, target, thread_id, value};
use crate::packs::delete;

pub const PART: usize = 2 << 20;
/// A little more than what comes whole to a reader of parts.
pub const LARGE: usize = (8 << 20) + 1_000;

/// Bytes that do not repeat, of which an eighth can be compressed.
pub fn noise(seed: u64, length: usize) -> Bytes {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut data = Vec::with_capacity(length + 8);
    while data.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        data.extend_from_slice(&state.to_le_bytes()[..7]);
        data.push(0);
    }
    data.truncate(length);
    Bytes::from(data)
}

/// Checkpoints as routes reach them.
pub async fn service(h: &Harness) -> Checkpoints {
    let clock = Arc::new(Clock::System);
    let storage: Arc<dyn Storage> = Arc::clone(&h.storage);
    let quotas = Quotas::load(storage.clone(), Arc::clone(&clock), Rates::default()).await.unwrap();
    let queue = Arc::new(GroupCommit::start(storage.clone(), &clock));
    Checkpoints::new(storage, queue, clock, Arc::new(quotas))
}

pub fn part(thread: &str, index: u64, data: Bytes) -> NewPart {
    NewPart { thread_id: thread_id(thread), generation: None, fence: None, index, data }
}

/// Puts the parts of a value. Answers what a commit says instead of it.
pub async fn put_parts(of: &Checkpoints, caller: &Caller, thread: &str, data: &Bytes) -> Value {
    let mut names = Vec::new();
    for (at, index) in (0..data.len()).step_by(PART).zip(0..) {
        let bytes = data.slice(at..data.len().min(at + PART));
        names.push(of.put_part(caller, &part(thread, index, bytes), NEVER).await.unwrap());
    }
    named(names, data.len())
}

pub fn named(names: Vec<Bytes>, length: usize) -> Value {
    let in_parts = Box::new(InParts { names, size_bytes: length as u64 });
    Value { tag: Tag::new("msgpack").unwrap(), data: Bytes::new(), in_parts: Some(in_parts) }
}

/// Parts of a value, and the thread's checkpoint 1 with it in channel `m`.
pub async fn put_large(h: &Harness, of: &Checkpoints, thread: &str, data: &Bytes) {
    let value = put_parts(of, &h.caller, thread, data).await;
    let put = Put::new("1").sets_value("m", "1", value);
    of.commit(&h.caller, commit(thread, vec![put.op()]), NEVER).await.unwrap();
}

fn in_parts(thread: &str) -> Target {
    Target { large_values: LargeValues::InParts, ..target(thread, "", None) }
}

/// The bytes of a value that came as the names of its parts.
async fn fetched(h: &Harness, of: &Checkpoints, thread: &str, value: &Value) -> Result<Bytes> {
    let in_parts = value.in_parts.as_ref().expect("the value comes in parts");
    let mut bytes = Vec::new();
    for name in &in_parts.names {
        let part = of.get_part(&h.caller, &thread_id(thread), name).await?;
        assert!(part.len() <= 4 << 20, "{} bytes", part.len());
        bytes.extend_from_slice(&part);
    }
    assert_eq!(bytes.len() as u64, in_parts.size_bytes);
    Ok(Bytes::from(bytes))
}

/// The newest checkpoint shows the value in every way of reading.
pub async fn check(h: &Harness, of: &Checkpoints, thread: &str, data: &Bytes) {
    let whole = h.latest(thread).await.unwrap();
    assert!(whole.values[0].1.data == *data, "whole");
    let (found, _) = of.get(&h.caller, &in_parts(thread), &[], None).await.unwrap();
    let view = found.view.unwrap();
    assert!(fetched(h, of, thread, &view.values[0].1).await.unwrap() == *data, "in parts");
    let query = ListQuery {
        thread_id: Some(thread_id(thread)),
        large_values: LargeValues::InParts,
        ..everything()
    };
    let page = of.list(&h.caller, query).await.unwrap();
    assert_eq!(page.views[0].values, view.values);
}

pub async fn sound(h: &Harness) {
    let report = examine(h, false).await;
    assert!(report.is_sound(), "{report:?}");
}

pub async fn values_come_back_whole_and_in_parts(h: Harness) {
    let of = service(&h).await;
    let (state, write) = (noise(1, LARGE), noise(2, LARGE + PART));
    let (small, tiny) = (noise(3, 3 * PART), noise(4, 10));
    let value_of = async |data: &Bytes| put_parts(&of, &h.caller, "t", data).await;
    let put = Put::new("1")
        .sets_value("a", "1", value_of(&state).await)
        .sets_value("b", "1", value_of(&small).await)
        .sets_value("c", "1", value_of(&tiny).await)
        .sets("d", "1", "of the body");
    let writes = Writes::new("1", "task").write_value(0, "a", value_of(&write).await);
    of.commit(&h.caller, commit("t", vec![put.op(), writes.op()]), NEVER).await.unwrap();
    let whole = h.latest("t").await.unwrap();
    let expected = [&state, &small, &tiny, &Bytes::from_static(b"of the body")];
    for ((channel, value), expected) in whole.values.iter().zip(expected) {
        assert!(value.data == *expected && value.in_parts.is_none(), "{channel}");
    }
    assert!(whole.writes[0].value.data == write);
    let (found, _) = of.get(&h.caller, &in_parts("t"), &[], None).await.unwrap();
    let view = found.view.unwrap();
    assert!(fetched(&h, &of, "t", &view.values[0].1).await.unwrap() == state);
    assert!(fetched(&h, &of, "t", &view.writes[0].value).await.unwrap() == write);
    let inline = |at: usize| &view.values[at].1.data;
    assert!(*inline(1) == small && *inline(2) == tiny && inline(3) == "of the body");
    // To a reader who knows nothing of parts they come as all values do.
    let target = Target { large_values: LargeValues::Inline, ..target("t", "", None) };
    let (found, _) = of.get(&h.caller, &target, &[], None).await.unwrap();
    assert_eq!(found.view.unwrap().values, whole.values);
    h.check_counts("t").await;
    sound(&h).await;
}

pub async fn what_does_not_fit_a_body_comes_in_parts_only(h: Harness) {
    let of = service(&h).await;
    let data = noise(1, usize::try_from(LIMITS.value_inline_bytes_max).unwrap() + 1);
    put_large(&h, &of, "t", &data).await;
    let inline = Target { large_values: LargeValues::Inline, ..target("t", "", None) };
    let refused = of.get(&h.caller, &inline, &[], None).await.map(drop);
    let size_bytes = data.len() as u64;
    assert!(
        matches!(refused, Err(Error::ComesInParts { size_bytes: it }) if it == size_bytes),
        "{refused:?}"
    );
    let shown = Target { large_values: LargeValues::Shown, ..inline };
    let (found, _) = of.get(&h.caller, &shown, &[], None).await.unwrap();
    assert_eq!(found.view.unwrap().values[0].1.size_bytes(), size_bytes);
    check(&h, &of, "t", &data).await;
    // An import has its bytes at hand, and stores them so that they are read in parts.
    let file = exported(&h).await;
    let other = if h.is_sqlite() { Harness::postgres().await } else { Harness::sqlite().await };
    imported(&other, &file).await;
    check(&other, &service(&other).await, "t", &data).await;
    sound(&other).await;
}

pub async fn equal_values_are_one_however_they_came(h: Harness) {
    let of = service(&h).await;
    let data = noise(1, LARGE);
    put_large(&h, &of, "t", &data).await;
    let digests = "select count(distinct digest) from manifests";
    h.put(Put::new("2").sets_value("n", "1", value("msgpack", data.clone()))).await;
    assert_eq!(h.count(digests).await, 1, "the digest of the parts is that of the whole");
    // A branch with another value of the same version, and a fork that holds the first one.
    let branch = Put::new("3").sets("m", "1", "another");
    h.put(branch).await;
    let mut fork = Put::new("4").carries("m", "1");
    fork = fork.holds_value("m", "1", put_parts(&of, &h.caller, "t", &data).await);
    of.commit(&h.caller, commit("t", vec![fork.op()]), NEVER).await.unwrap();
    assert!(h.get("4").await.values[0].1.data == data);
    // Put again: nothing more is kept.
    let chunks = "select count(*) from chunks";
    let before = h.count(chunks).await;
    put_large(&h, &of, "t", &data).await;
    assert_eq!(h.count(chunks).await, before);
}

pub async fn parts_that_are_not_there_are_named_by_their_field(h: Harness) {
    let of = service(&h).await;
    let data = noise(1, PART + 5);
    let commit_of = async |thread: &str, value: Value| {
        let put = Put::new("1").sets_value("m", "1", value);
        of.commit(&h.caller, commit(thread, vec![put.op()]), NEVER).await.map(drop)
    };
    let missing = |field: &str| Conflict::PartsMissing { field: field.into() };
    let unknown = named(vec![Bytes::from_static(&[7; 16])], 5);
    assert_eq!(conflict(commit_of("t", unknown.clone()).await), missing("values.data"));
    let writes = Writes::new("1", "task").write_value(0, "m", unknown);
    let refused = of.commit(&h.caller, commit("t", vec![writes.op()]), NEVER).await.map(drop);
    assert_eq!(conflict(refused), missing("writes.data"));
    assert!(h.latest("t").await.is_none(), "nothing is half written");
    let own = put_parts(&of, &h.caller, "t", &data).await;
    assert_eq!(conflict(commit_of("other", own.clone()).await), missing("values.data"));
    let stranger = Caller::of_tenant("tenant-b");
    let put = commit("t", vec![Put::new("1").sets_value("m", "1", own.clone()).op()]);
    let refused = of.commit(&stranger, put, NEVER).await.map(drop);
    assert_eq!(conflict(refused), missing("values.data"));
    commit_of("t", own.clone()).await.unwrap();
    commit_of("t", own.clone()).await.unwrap();
    // Gone with the thread, also for one that is made again.
    delete(&h, "t").await;
    h.put(Put::new("1")).await;
    assert_eq!(conflict(commit_of("t", own).await), missing("values.data"));
}

pub async fn parts_that_do_not_make_the_value_are_refused(h: Harness) {
    let of = service(&h).await;
    let data = noise(1, 2 * PART + 5);
    let whole = put_parts(&of, &h.caller, "t", &data).await;
    let names = whole.in_parts.unwrap().names;
    let [a, b, c] = [0, 1, 2].map(|at: usize| names[at].clone());
    let all = || vec![a.clone(), b.clone(), c.clone()];
    let short = of.put_part(&h.caller, &part("t", 1, noise(2, 9)), NEVER).await.unwrap();
    for (value, because) in [
        (named(all(), data.len() + 1), "must have 6 bytes"),
        (named(all(), data.len() - 5), "makes 2 parts, not 3"),
        (named(vec![a.clone(), b.clone()], data.len()), "makes 3 parts, not 2"),
        (named(Vec::new(), 0), "no parts"),
        (named(vec![b.clone(), a.clone(), c.clone()], data.len()), "was put with the index 1"),
        (named(vec![a.clone(), a.clone(), c.clone()], data.len()), "was put with the index 0"),
        (named(vec![a.clone(), short, c.clone()], data.len()), "part 1 must have 2097152 bytes"),
    ] {
        let put = Put::new("1").sets_value("m", "1", value);
        let refused = of.commit(&h.caller, commit("t", vec![put.op()]), NEVER).await.unwrap_err();
        let Error::Invalid { field, detail, .. } = &refused else { panic!("{refused:?}") };
        assert!(field == "values.data" && detail.contains(because), "{detail}");
    }
    let too_many = named(vec![a.clone(); 513], 513 * PART);
    let put = Put::new("1").sets_value("m", "1", too_many);
    let refused = of.commit(&h.caller, commit("t", vec![put.op()]), NEVER).await.unwrap_err();
    assert!(matches!(&refused, Error::Invalid { field, limit: Some(512), .. } if field == "parts"));
    for (index, data, field) in
        [(128, noise(1, 1), "index"), (0, Bytes::new(), "data"), (0, noise(1, PART + 1), "data")]
    {
        let refused = of.put_part(&h.caller, &part("t", index, data), NEVER).await.unwrap_err();
        let Error::Invalid { field: named, limit: Some(_), .. } = &refused else {
            panic!("{refused:?}")
        };
        assert_eq!(named, field);
    }
}

pub async fn a_part_needs_what_its_commit_needs(h: Harness) {
    let of = service(&h).await;
    let put = async |part: NewPart| of.put_part(&h.caller, &part, NEVER).await.map(drop);
    let plain = || part("t", 0, noise(1, 10));
    put(plain()).await.unwrap();
    let made = h.found("t", "", None, &[]).await.generation.unwrap();
    put(NewPart { generation: Some(made), ..plain() }).await.unwrap();
    let other = put(NewPart { generation: Some("another".into()), ..plain() }).await;
    assert!(matches!(conflict(other), Conflict::ThreadRestored { .. }));
    let held = lease(&h, "a").await;
    assert_eq!(conflict(put(plain()).await), Conflict::LeaseHeld);
    put(NewPart { fence: Some(held.fence), ..plain() }).await.unwrap();
    let stale = put(NewPart { fence: Some(held.fence - 1), ..plain() }).await;
    assert_eq!(conflict(stale), Conflict::FenceStale { current: held.fence });
    // Of somebody else's thread: what a commit to it says, and nothing to read.
    let data = noise(2, LARGE);
    put_large(&h, &of, "large", &data).await;
    let mut ann = Caller::of_tenant("tenant-a");
    ann.subject = Some("ann".into());
    ann.grants = Grants::Scoped(Arc::new(Scoped::of_subject("ann")));
    let taken = of.put_part(&ann, &part("large", 0, noise(1, 10)), NEVER).await.map(drop);
    assert_eq!(conflict(taken), Conflict::ThreadTaken);
    let (found, _) = of.get(&h.caller, &in_parts("large"), &[], None).await.unwrap();
    let value = found.view.unwrap().values.remove(0).1;
    let name = &value.in_parts.as_ref().unwrap().names[0];
    let gone = Conflict::PartsMissing { field: "name".into() };
    let read = of.get_part(&ann, &thread_id("large"), name).await;
    assert_eq!(conflict(read), gone);
    // A name is good for its thread only, and nobody makes one.
    of.get_part(&h.caller, &thread_id("large"), name).await.unwrap();
    assert_eq!(conflict(of.get_part(&h.caller, &thread_id("t"), name).await), gone);
    assert_eq!(conflict(of.get_part(&h.caller, &thread_id("none"), name).await), gone);
    for at in [0, 15, 16, name.len() - 1] {
        let mut forged = name.to_vec();
        forged[at] ^= 1;
        assert_eq!(conflict(of.get_part(&h.caller, &thread_id("large"), &forged).await), gone);
    }
    for cut in [0, 15, 16, 17, name.len() - 1] {
        let read = of.get_part(&h.caller, &thread_id("large"), &name[..cut]).await;
        assert_eq!(conflict(read), gone);
    }
}
