//! Tests differences in requests: the value that one stands for is stored whole, and one that cannot be resolved stores nothing.

use serde::Serialize;
use serde_bytes::Bytes;
use serde_json::{Value, json};
use threadkeep::app::DifferenceMemory;
use threadkeep::domain::Error;
use threadkeep::domain::batch_error::BatchError;
use threadkeep::domain::checkpoints::checkpoint::Op;
use threadkeep::domain::limits::LIMITS;

use crate::memory::Memory;
use crate::server::{Answer, HOST, JSON, MEMORY, MSGPACK, Server};
use crate::wire::{COMMIT, base64, commit, copy, difference, insert, list_of, name, put, writes};

const GET: &str = "/v1/checkpoints/get";

/// Everything stored, in the order of arrival: (channel, data).
fn stored(server: &Server) -> Vec<(String, Vec<u8>)> {
    let commits = server.storage.commits.lock().unwrap();
    let ops = commits.values().flatten().flat_map(|commit| &commit.ops);
    let all = ops.flat_map(|op| match op {
        Op::Checkpoint(put) => {
            let values = put.values.iter().chain(&put.carried);
            values.map(|it| (it.channel.to_string(), it.value.data.to_vec())).collect::<Vec<_>>()
        }
        Op::Writes(group) => {
            let values = group.writes.iter();
            values.map(|it| (it.channel.to_string(), it.value.data.to_vec())).collect()
        }
    });
    all.collect()
}

async fn send(server: &Server, thread_id: &str, op: Value) -> Answer {
    server.post(COMMIT, &commit(thread_id, &[op])).await
}

/// A server that was sent `list_of(10)` in thread `t`.
async fn with_base() -> Server {
    let server = Server::keyless().await;
    send(&server, "t", put("1", &base64(&list_of(10)))).await.ok();
    server
}

/// Refused with this field, and nothing but the base is stored.
#[track_caller]
fn refused(server: &Server, answer: &Answer, (status, code): (u16, &str), field: &str) {
    answer.assert_problem(status, code);
    assert_eq!(answer.field(), field, "{}", answer.json());
    assert_eq!(stored(server).len(), 1);
}

const RESEND: (u16, &str) = (409, "resend_whole");
const INVALID: (u16, &str) = (422, "invalid");
const TOO_LARGE: (u16, &str) = (413, "too_large");

/// `list_of(11)` out of `list_of(10)`, as a client makes it.
fn grown() -> Value {
    let (base, value) = (list_of(10), list_of(11));
    let ops = [copy(0, base.len()), insert(&value[base.len()..])];
    difference(&base, &ops, &value)
}

#[tokio::test]
async fn a_difference_is_stored_as_the_value_it_stands_for() {
    let server = with_base().await;
    send(&server, "t", put("2", &grown())).await.ok();
    // What came as a difference is itself a base, and so is a write.
    let (base, value) = (list_of(11), list_of(12));
    let next = difference(&base, &[copy(0, base.len()), insert(&value[base.len()..])], &value);
    send(&server, "t", writes("2", &[next, base64(b"small")])).await.ok();
    let twice = [&value[..], &value[..]].concat();
    let again = [copy(0, value.len()), copy(0, value.len())];
    send(&server, "t", put("3", &difference(&value, &again, &twice))).await.ok();
    let expected = [
        ("messages", list_of(10)),
        ("messages", list_of(11)),
        ("w0", value),
        ("w1", b"small".to_vec()),
        ("messages", twice),
    ];
    assert_eq!(stored(&server), expected.map(|(channel, data)| (channel.to_owned(), data)));
    assert_eq!(server.app.expanded_bytes.available_permits(), MEMORY.expanded_bytes_max as usize);
}

#[tokio::test]
async fn differences_stand_among_whole_and_absent_and_carried_values() {
    let server = with_base().await;
    let mut op = put("2", &base64(b"whole"));
    let value = |channel: &str, tag: &str, data: Value| json!({"channel": channel, "version": 1, "tag": tag, "data": data});
    op["checkpoint"]["values"]
        .as_array_mut()
        .unwrap()
        .extend([value("gone", "empty", Value::Null), value("a", "x", grown())]);
    op["checkpoint"]["carried"] = json!([value("b", "x", base64(b"b")), value("c", "x", grown())]);
    send(&server, "t", op).await.ok();
    let expected = [
        ("messages", list_of(10)),
        ("messages", b"whole".to_vec()),
        ("gone", vec![]),
        ("a", list_of(11)),
        ("b", b"b".to_vec()),
        ("c", list_of(11)),
    ];
    assert_eq!(stored(&server), expected.map(|(channel, data)| (channel.to_owned(), data)));
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Piece<'a> {
    Copy([u64; 2]),
    Insert(&'a Bytes),
}

#[derive(Serialize)]
struct Difference<'a> {
    base: &'a Bytes,
    ops: Vec<Piece<'a>>,
    sha256: &'a Bytes,
    length: usize,
}

#[tokio::test]
async fn in_message_pack_digests_and_inserts_are_bin() {
    #[derive(Serialize)]
    struct Write<'a> {
        idx: i32,
        channel: &'a str,
        tag: &'a str,
        data: Difference<'a>,
    }
    #[derive(Serialize)]
    struct Group<'a> {
        checkpoint_id: &'a str,
        task_id: &'a str,
        writes: [Write<'a>; 1],
    }
    #[derive(Serialize)]
    struct Commit<'a> {
        thread_id: &'a str,
        ops: [std::collections::BTreeMap<&'a str, Group<'a>>; 1],
    }
    let server = with_base().await;
    let (base, value) = (list_of(10), list_of(11));
    let (base_name, value_name) = (name(&base), name(&value));
    let data = Difference {
        base: Bytes::new(&base_name),
        ops: vec![
            Piece::Copy([0, base.len() as u64]),
            Piece::Insert(Bytes::new(&value[base.len()..])),
        ],
        sha256: Bytes::new(&value_name),
        length: value.len(),
    };
    let writes = [Write { idx: 0, channel: "w0", tag: "x", data }];
    let op = [("writes", Group { checkpoint_id: "1", task_id: "a", writes })].into();
    let body = rmp_serde::to_vec_named(&Commit { thread_id: "t", ops: [op] }).unwrap();
    server.post_bytes(COMMIT, MSGPACK, body).await.ok();
    assert_eq!(stored(&server)[1].1, value);
}

#[tokio::test]
async fn a_base_that_is_not_known_here_asks_for_the_whole_value() {
    let server = with_base().await;
    let unknown = difference(&list_of(9), &[copy(0, 9)], &list_of(9)[..9]);
    refused(&server, &send(&server, "t", put("2", &unknown)).await, RESEND, "values.data");
    let answer = send(&server, "t", writes("2", &[unknown])).await;
    refused(&server, &answer, RESEND, "writes.data");
    // Of another thread.
    refused(&server, &send(&server, "u", put("2", &grown())).await, RESEND, "values.data");
}

#[tokio::test]
async fn a_base_of_another_tenant_is_no_base() {
    let (server, keys) = Server::with_keys(&["acme", "globex"]).await;
    let send = async |key: &str, op: Value| {
        let headers = [("content-type", JSON), ("x-api-key", key)];
        server.send("POST", COMMIT, &headers, commit("t", &[op]).to_string().into_bytes()).await
    };
    send(&keys[0], put("1", &base64(&list_of(10)))).await.ok();
    refused(&server, &send(&keys[1], put("2", &grown())).await, RESEND, "values.data");
    send(&keys[0], put("2", &grown())).await.ok();
}

#[tokio::test]
async fn only_what_is_durable_and_large_enough_is_a_base() {
    let server = Server::keyless().await;
    *server.storage.batch_failure.lock().unwrap() =
        Some(Box::new(|| BatchError::Statement("no".into())));
    send(&server, "t", put("1", &base64(&list_of(10)))).await.assert_problem(500, "internal");
    *server.storage.batch_failure.lock().unwrap() = None;
    send(&server, "t", put("2", &grown())).await.assert_problem(409, "resend_whole");
    let small = vec![7; usize::try_from(LIMITS.difference_bytes_min).unwrap() - 1];
    send(&server, "t", put("1", &base64(&small))).await.ok();
    let of_small = difference(&small, &[copy(0, 9)], &small[..9]);
    send(&server, "t", put("2", &of_small)).await.assert_problem(409, "resend_whole");
}

#[tokio::test]
async fn a_difference_that_lies_stores_nothing() {
    let server = with_base().await;
    let (base, value) = (list_of(10), list_of(11));
    let good = grown();
    let with = |name: &str, value: Value| {
        let mut it = good.clone();
        it[name] = value;
        it
    };
    let far = |offset: u64, length: u64| {
        let mut it = with("ops", json!([{"copy": [offset, length]}]));
        it["length"] = json!(length);
        it
    };
    let size = base.len() as u64;
    let inside = "ops[0].checkpoint.values[0].data";
    for (it, expected, field) in [
        (with("sha256", base64(&name(&base))), RESEND, "values.data"),
        (with("length", json!(value.len() + 1)), RESEND, "values.data"),
        (with("length", json!(0)), RESEND, "values.data"),
        (with("length", json!(u64::MAX)), TOO_LARGE, "values.data"),
        (with("ops", json!([])), RESEND, "values.data"),
        (
            with("ops", json!([{"copy": [0, u64::MAX]}, {"copy": [0, u64::MAX]}])),
            RESEND,
            "values.data",
        ),
        (far(1, size), INVALID, "values.data"),
        (far(u64::MAX, 1), INVALID, "values.data"),
        (far(size + 1, 0), INVALID, "values.data"),
        (with("sha256", base64(b"short")), INVALID, "values.data.sha256"),
        (with("base", base64(b"short")), INVALID, "values.data.base"),
        (with("length", json!(-1)), INVALID, &format!("{inside}.length")),
        (with("ops", json!([{"copy": [1]}])), INVALID, &format!("{inside}.ops[0].copy")),
        (with("ops", json!([{"copy": [1, 2, 3]}])), INVALID, &format!("{inside}.ops[0].copy")),
        (with("ops", json!([{"move": [1, 2]}])), INVALID, &format!("{inside}.ops[0]")),
        (with("ops", json!([{"insert": 5}])), INVALID, &format!("{inside}.ops[0].insert")),
        (with("more", json!(1)), INVALID, &format!("{inside}.more")),
        (json!({}), INVALID, &format!("{inside}.base")),
        (json!(5), INVALID, inside),
        (json!([1]), INVALID, inside),
    ] {
        let answer = send(&server, "t", put("2", &it)).await;
        refused(&server, &answer, expected, field);
    }
    assert_eq!(server.app.expanded_bytes.available_permits(), MEMORY.expanded_bytes_max as usize);
}

#[tokio::test]
async fn ten_thousand_tiny_copies_are_too_many() {
    let server = with_base().await;
    let base = list_of(10);
    let max = usize::try_from(LIMITS.difference_ops_max).unwrap();
    let tiny = |count: usize| {
        let ops: Vec<Value> = (0..count).map(|_| copy(0, 1)).collect();
        put("2", &difference(&base, &ops, &vec![base[0]; count]))
    };
    let answer = send(&server, "t", tiny(10_000)).await;
    refused(&server, &answer, INVALID, "values.data.ops");
    assert_eq!(answer.json()["limit"], max);
    refused(&server, &send(&server, "t", tiny(max + 1)).await, INVALID, "values.data.ops");
    send(&server, "t", tiny(max)).await.ok();
}

#[tokio::test]
async fn what_a_request_expands_to_is_bounded_before_anything_is_allocated() {
    let server = with_base().await;
    let base = list_of(10);
    // Asked in this order, a limit shows that neither the base nor memory was looked for.
    let claim = |bytes: u64, ops: Value| json!({"base": base64(&[0; 32]), "ops": ops, "sha256": base64(&[0; 32]), "length": bytes});
    let copies = |bytes: u64| json!([{"copy": [0, bytes]}]);
    let over = LIMITS.value_inline_bytes_max + 1;
    let answer = send(&server, "t", put("2", &claim(over, copies(over)))).await;
    refused(&server, &answer, TOO_LARGE, "values.data");
    assert_eq!(answer.json()["limit"], LIMITS.value_inline_bytes_max);
    let half = LIMITS.body_bytes_max / 2 + 1;
    let ops = [put("2", &claim(half, copies(half))), writes("2", &[claim(half, copies(half))])];
    let answer = server.post(COMMIT, &commit("t", &ops)).await;
    refused(&server, &answer, TOO_LARGE, "writes.data");
    assert_eq!(answer.json()["limit"], LIMITS.body_bytes_max);
    // Within the limits, and from a base that is there: the ranges end it.
    let wide = json!({
        "base": base64(&name(&base)), "ops": copies(60 << 20), "sha256": base64(&[0; 32]), "length": 60 << 20
    });
    refused(&server, &send(&server, "t", put("2", &wide)).await, INVALID, "values.data");
}

#[tokio::test]
async fn bytes_that_differences_expand_to_are_bounded_and_given_back() {
    let server = with_base().await;
    let budget = &server.app.expanded_bytes;
    let all = budget.available_permits();
    let left = u32::try_from(list_of(11).len() - 1).unwrap();
    let taken = budget.clone().try_acquire_many_owned(u32::try_from(all).unwrap() - left).unwrap();
    let answer = send(&server, "t", put("2", &grown())).await;
    refused(&server, &answer, (503, "overloaded"), "values.data");
    drop(taken);
    send(&server, "t", put("2", &grown())).await.ok();
    assert_eq!(budget.available_permits(), all);
}

#[tokio::test]
async fn a_server_that_may_not_expand_so_much_at_all_asks_for_the_whole_value() {
    let memory = DifferenceMemory { expanded_bytes_max: 100, ..MEMORY };
    let server = Server::with_memory(HOST, Memory::default(), memory).await;
    send(&server, "t", put("1", &base64(&list_of(10)))).await.ok();
    refused(&server, &send(&server, "t", put("2", &grown())).await, RESEND, "values.data");
}

#[tokio::test]
async fn the_memory_of_values_is_bounded_and_can_be_nothing() {
    let memory = DifferenceMemory { recent_bytes_max: 100_000, ..MEMORY };
    let server = Server::with_memory(HOST, Memory::default(), memory).await;
    for count in 0..60 {
        send(&server, "t", put("1", &base64(&list_of(10 + count)))).await.ok();
    }
    let bytes = server.app.values.bytes();
    assert!((50_000..=100_000).contains(&bytes), "{bytes}");
    let none = DifferenceMemory { recent_bytes_max: 0, ..MEMORY };
    let server = Server::with_memory(HOST, Memory::default(), none).await;
    send(&server, "t", put("1", &base64(&list_of(10)))).await.ok();
    refused(&server, &send(&server, "t", put("2", &grown())).await, RESEND, "values.data");
}

#[tokio::test]
async fn a_thread_that_was_deleted_or_pruned_has_no_bases() {
    let server = with_base().await;
    server.post("/v1/threads/delete", &json!({"thread_id": "t"})).await.ok();
    send(&server, "t", put("2", &grown())).await.assert_problem(409, "resend_whole");
    send(&server, "t", put("1", &base64(&list_of(10)))).await.ok();
    let prune = json!({"thread_ids": ["u", "t"], "strategy": "keep_latest"});
    server.post("/v1/checkpoints/prune", &prune).await.ok();
    refused(&server, &send(&server, "t", put("2", &grown())).await, RESEND, "values.data");
    // A deletion that failed removed nothing.
    send(&server, "t", put("1", &base64(&list_of(10)))).await.ok();
    server.storage.fail(|| Error::Internal("no".into()));
    server
        .post("/v1/threads/delete", &json!({"thread_id": "t"}))
        .await
        .assert_problem(500, "internal");
    *server.storage.failure.lock().unwrap() = None;
    send(&server, "t", put("2", &grown())).await.ok();
}

#[tokio::test]
async fn a_value_that_was_read_by_a_caller_who_keeps_values_is_a_base() {
    let server = with_base().await;
    let forget = || server.app.values.of(&caller(), &thread()).forget();
    forget();
    server.post(GET, &json!({"thread_id": "t"})).await.ok();
    send(&server, "t", put("2", &grown())).await.assert_problem(409, "resend_whole");
    server.post(GET, &json!({"thread_id": "t", "have_values": []})).await.ok();
    send(&server, "t", put("2", &grown())).await.ok();
}

fn caller() -> threadkeep::domain::caller::Caller {
    threadkeep::domain::caller::Caller::of_tenant("default")
}

fn thread() -> threadkeep::domain::names::ThreadId {
    threadkeep::domain::names::ThreadId::new("t").unwrap()
}
