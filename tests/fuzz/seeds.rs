//! Makes the seeds: sealed forms of what threads consist of.

use std::collections::BTreeMap;
use std::fs;

use bytes::Bytes;
use serde_json::json;
use threadkeep::content::envelope::{open_at_most, seal, seal_plain};
use threadkeep::content::keys::TenantSecret;
use threadkeep::domain::checkpoints::checkpoint::Value;
use threadkeep::domain::names::Tag;
use threadkeep::storage::content::associated_data::{CheckpointAt, ValueRow};
use threadkeep::storage::content::documents::{seal_document, seal_documents};
use threadkeep::storage::content::sealing::Sealer;

use crate::{folder, text_seeds};

const CHUNK_BYTES_MAX: usize = 8_192;

/// The fuzzer found that it took seconds: each of the texts that its braces stand for had two groups `!(…)`.
const TEXTS_OF_GROUPS: &str = "*!(*!(*a),{a,{a,{a,{a,{a,{a,,a{{a){,a,{a,{a,{a,{a,{a,{a,{a,{a,{a,{a,a{a,{a,a}}}(}}}}}}}u}\
    a,{a,{a,{a,{a,{a,{a,{a,{a,{a,{a,a{a,{a,a}}}}}}}}}}a)b";

pub fn write() {
    let secret = TenantSecret::new([7; 32]);
    let metadata = br#"{"source":"loop","step":4,"parents":{},"thread_id":"t-1"}"#;
    let skeleton = br#"{"v":4,"id":"1f0","channel_versions":{"messages":"00000000000000000000000000000004.0.5"}}"#;
    let at = CheckpointAt { scope_id: 7, ns: "", id: "1" };
    let documents = seal_documents(&secret, at, skeleton, metadata);
    let document = at.base("messages", |aad| seal_document(&secret, aad, metadata));
    for (name, size, envelope) in [
        ("short", 5, seal(b"short")),
        ("metadata", metadata.len(), seal(metadata)),
        ("plain", metadata.len(), seal_plain(metadata)),
        ("messages", messages(30).len(), seal(&messages(30))),
        // Larger than what the dictionary is for.
        ("large", messages(400).len(), seal(&messages(400))),
        ("documents", 4_096, Bytes::copy_from_slice(&documents[8..])),
        ("document", 4_096, Bytes::copy_from_slice(&document[20..])),
    ] {
        let limit = u32::try_from(size).unwrap().to_le_bytes();
        save("envelope", name, &[&limit[..], &envelope].concat());
    }
    for (name, count) in [("leaves", 30), ("grown", 45), ("nodes", 380)] {
        save("parts", name, &parts(&secret, &messages(count)));
    }
    for (name, from, value) in [
        ("whole", 100_u16, messages(5)),
        ("split", 9_000, messages(60)),
        ("zeros", 20_000, vec![0; 30_000]),
        ("json", 12_000, [&b"["[..], &metadata.repeat(400), b"]"].concat()),
    ] {
        save("chunking", name, &[&from.to_le_bytes()[..], &value].concat());
    }
    display();
    states();
    decoders();
    patterns();
    text_seeds::write();
}

/// Requests as clients send them, and bodies that once took gigabytes, cut to what the rules can tell.
fn decoders() {
    let commit = json!({"thread_id": "t", "writer": "w", "ops": [{"checkpoint": {
        "checkpoint_id": "1", "skeleton": {"v": 4, "channel_versions": {"m": "1"}}, "metadata": {"step": 1},
        "values": [{"channel": "m", "version": "1", "tag": "msgpack", "data": "kaVoZWxsbw=="}]
    }}, {"writes": {"checkpoint_id": "1", "task_id": "a", "seq": 1,
        "writes": [{"idx": 0, "channel": "m", "tag": "msgpack", "data": "pWhlbGxv"}]
    }}]});
    let batch = json!({"ops": [{"put": {"namespace": ["a"], "key": "k", "value": {"t": "x"}, "index": ["t"]}},
        {"get": {"namespace": ["a"], "key": "k"}}, {"search": {"prefix": ["a"], "filter": {"t": {"$in": ["x"]}}}}]});
    let restore = json!({"snapshot_id": "s", "threads": [{"thread_id": "t", "into": "u"}], "namespaces": "all",
        "sessions": [{"kind": "k", "key": ["a"]}], "subjects": {"ann": "bob"}});
    let prune = json!({"thread_ids": ["t", "u"], "keep_last": 2, "older_than": 60});
    let get = json!({"thread_id": "t", "history_channels": ["m"], "have_values": []});
    let list = json!({"thread_id": "t", "filter": {"step": 1}, "limit": 3});
    let history = json!({"thread_id": "t", "channels": ["m"]});
    for (number, name, body) in [
        (0, "commit", &commit),
        (1, "batch", &batch),
        (2, "restore", &restore),
        (3, "prune", &prune),
        (4, "get", &get),
        (5, "list", &list),
        (6, "history", &history),
    ] {
        save(
            "decoders",
            name,
            &[&[0x80 | number], &serde_json::to_vec(body).unwrap()[..]].concat(),
        );
        // Those without numbers, which these documents hold as texts.
        if [2, 4, 6].contains(&number) {
            let packed = rmp_serde::to_vec(body).unwrap();
            save("decoders", &format!("{name}-packed"), &[&[number], &packed[..]].concat());
        }
    }
    let many = |name: &[u8], entry: &[u8], count: usize| {
        [&[0x81][..], name, b"\xdd\xff\xff\xff\xff", &entry.repeat(count)].concat()
    };
    for (number, name, body) in [
        (3, "texts", many(b"\xaathread_ids", b"\xa0", 1_100)),
        (6, "channels", many(b"\xa8channels", b"\xa1a", 4_200)),
        (2, "subjects", b"\x81\xa8subjects\xdf\xff\xff\xff\xff\xa1a\xa1b".to_vec()),
        (2, "deep", many(b"\xa7threads", b"\xdd\xff\xff\xff\xff", 300)),
        (
            0,
            "claims",
            b"\x81\xa3ops\xdd\xff\xff\xff\xff\x81\xa6writes\xdf\xff\xff\xff\xff".to_vec(),
        ),
        (1, "groups", many(b"\xa3ops", b"\x81\xa5count\x80", 1_100)),
    ] {
        save("decoders", &format!("hostile-{name}"), &[&[number], &body[..]].concat());
    }
}

/// Patterns and field paths that took everything, and others that are usual.
fn patterns() {
    let nested = |open: &str, close: &str, depth| open.repeat(depth) + "a" + &close.repeat(depth);
    let long = "a".repeat(100);
    let texts_of_brackets = format!("*!(*!(*ab)a)a[{},{}b]a)b", nested("{a,", "}", 9), "{a,a}(}}");
    for (mode, name, pattern, path) in [
        (1, "stars-in-groups", "*(*(*(*(*(*(a))))))b", long.as_str()),
        (1, "negations", "*!(*!(*a)a)b", &long),
        (1, "groups-refused", &nested("@(", ")", 6_000), "a"),
        (0, "braces-refused", &nested("{a,", "}", 8_000), "a"),
        (0, "braces", &nested("{a,", "}", 30), "a"),
        (2, "sequence", "{1..20..3}*.[!a-z]", "7.0"),
        (1, "directories", "{src,te?t}/**/{a,*.@(js|ts)}", "src/x/y/z.ts"),
        (0, "climbing", "**/{**/,}.*[[:alpha:]]\\*", ".a*"),
        (3, "names", "!*.md", "x/y.md"),
        (1, "choices-in-groups", "!(*.{md,t{x,s}t})@({a,b}|c)", "x.yc"),
        (1, "texts-of-groups", TEXTS_OF_GROUPS, &long),
        (1, "texts-of-brackets", &texts_of_brackets, &long),
        (0, "brackets", "x/[{a,b}{c..f}]*[!{a,]}]", "x/ab"),
        (1, "brackets-behind-braces", &(nested("{,", "}", 31) + &"[".repeat(900)), "a"),
        (0, "brackets-refused", &"[{a,b}]".repeat(9), "a"),
    ] {
        save("globs", name, &[&[mode], pattern.as_bytes(), &[0], path.as_bytes()].concat());
    }
    let many = format!("{{{}}}", ["a"; 250].join(","));
    let document = r#"{"a":{"b":["x",1.5,null,{"c":"\ud800\u0000"}]},"c":true}"#;
    for (name, path) in
        [("copies", many.as_str()), ("whole", "$"), ("entries", "a.b[*]"), ("last", "*.b[-1].c")]
    {
        save("paths", name, &[&[7, 20], path.as_bytes(), &[0], document.as_bytes()].concat());
    }
    save("paths", "boolean-cut", &[&[7, 2], &b"c"[..], &[0], document.as_bytes()].concat());
}

/// Samples of both languages, and states of a graph whose node `a` is next.
fn display() {
    let samples =
        [include_str!("../vectors/serde.jsonl"), include_str!("../vectors/serde_json.jsonl")];
    let chosen = [
        "set",
        "dict int keys",
        "date",
        "time",
        "uuid",
        "Send",
        "Interrupt",
        "_DeltaSnapshot",
        "Item",
        "np F",
        "AIMessage",
        "pydantic",
        "ai",
        "map of others",
        "bytes nested",
        "command",
        "lone",
        "python legacy date",
        "int 2**63",
    ];
    for line in samples.iter().flat_map(|it| it.lines()) {
        let sample: serde_json::Value = serde_json::from_str(line).unwrap();
        let name = sample["name"].as_str().unwrap();
        if chosen.contains(&name) {
            let mode = u8::from(sample["type"] == "json");
            let data = hex::decode(sample["hex"].as_str().unwrap()).unwrap();
            save("display", &name.replace([' ', '*'], "-"), &[&[mode, 0, 4][..], &data].concat());
        }
    }
    let skeleton = br#"{"v":4,"ts":"2026","channel_versions":{"branch:to:a":"2.0"},"versions_seen":{"a":{"branch:to:a":"1.0"}}}"#;
    let metadata =
        br#"{"step":1,"counters_since_delta_snapshot":{"messages":[1,1],"files":[1,1]}}"#;
    let said = br#"[{"content":"x","type":"human","id":"1"},["user","y"],"z"]"#;
    let files = br#"{"/a":{"content":"1"},"/b":null}"#;
    let removed = br#"[{"content":"","type":"remove","id":"1"}]"#;
    let overwritten = br#"{"__overwrite__":{"/c":{"content":"2"}}}"#;
    for (mode, name, all) in [
        (4, "newest", vec![&said[..], files, removed, overwritten, metadata, skeleton]),
        (5, "record", vec![&said[..], overwritten, removed, files, metadata, skeleton]),
    ] {
        // The target takes parts of odd lengths for JSON.
        let part = |it: &&[u8]| {
            let padded = [*it, &b" "[it.len() % 2..]].concat();
            [&u16::try_from(padded.len()).unwrap().to_le_bytes(), &padded[..]].concat()
        };
        let parts: Vec<u8> = all.iter().flat_map(part).collect();
        save("display", name, &[&[mode, 0, 4][..], &parts].concat());
    }
}

/// Checkpoints with tasks.
fn states() {
    let data = |number: u64| {
        let byte =
            |at: u64| (number * 512 + at).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[0];
        (0..400).map(byte).collect::<Vec<u8>>()
    };
    let with_tasks = (0..).map(data).filter(|it| crate::states::has_tasks(it));
    for (number, seed) in with_tasks.take(12).enumerate() {
        save("states", &format!("tasks-{number}"), &seed);
    }
}

/// A list of messages as MessagePack holds it: an array of maps.
fn messages(count: u16) -> Vec<u8> {
    let message = |at: u16| {
        let content = format!("message {at}: {:x}", u64::from(at) * 0x9e37_79b9_7f4a);
        BTreeMap::from([("content", content.repeat(4)), ("id", format!("m-{at}"))])
    };
    let all: Vec<_> = (0..count).map(message).collect();
    rmp_serde::to_vec(&all).unwrap()
}

/// A sealed value as the target takes it.
fn parts(secret: &TenantSecret, data: &[u8]) -> Vec<u8> {
    let mut sealer = Sealer::new(secret, 9, None);
    let tag = Tag::new("msgpack").unwrap();
    let value = Value::new(tag, Bytes::copy_from_slice(data));
    let sealed = sealer.value("data", ValueRow::Version(11), &value).unwrap();
    let (made, _) = sealer.finish();
    let list = sealed.parts.unwrap();
    let ends = open_at_most(&sealed.body, data.len()).unwrap();
    let size = u32::try_from(data.len()).unwrap().to_le_bytes();
    let length = u16::try_from(list.len()).unwrap().to_le_bytes();
    let length_of_ends = u16::try_from(ends.len()).unwrap().to_le_bytes();
    let mut input = [&size[..], &length, &length_of_ends].concat();
    input.extend_from_slice(&list);
    input.extend_from_slice(&ends);
    for chunk in made {
        let opened = open_at_most(&chunk.body, CHUNK_BYTES_MAX).unwrap();
        input.extend_from_slice(&chunk.name);
        input.extend_from_slice(&u16::try_from(opened.len()).unwrap().to_le_bytes());
        input.extend_from_slice(&opened);
    }
    input
}

pub fn save(target: &str, name: &str, seed: &[u8]) {
    fs::create_dir_all(folder(target)).unwrap();
    fs::write(folder(target).join(name), seed).unwrap();
}
