//! Defines what the permission matrix expects of snapshots. The snapshot is named after the thread that it keeps.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::matrix_table::{ADMINISTER, DENIED, OK, REMOVE, Request, Row, answers, body, row};

const NO_SNAPSHOT: &str = "404 snapshot_not_found";
const NO_THREAD: &str = "404 thread_not_found";

pub const ROWS: &[Row] = &[
    row(
        "take_snapshot",
        |thread, _| body(taking(thread)),
        answers([NO_THREAD, NO_THREAD, DENIED, DENIED, NO_THREAD]),
    ),
    row(
        "get_snapshot",
        |thread, _| named(thread, json!({})),
        answers([NO_SNAPSHOT, NO_SNAPSHOT, NO_SNAPSHOT, OK, DENIED]),
    ),
    row("list_snapshots", |_, _| body(json!({})), answers([OK, OK, OK, OK, DENIED])),
    row("delete_snapshot", |thread, _| named(thread, json!({})), REMOVE),
    // The target is granted to none of the tokens that name one thread.
    row(
        "fork_thread",
        |thread, _| {
            let target = format!("fork-of-{thread}");
            body(json!({"source": thread, "target": target, "checkpoint_id": "1"}))
        },
        answers([NO_THREAD, NO_THREAD, DENIED, DENIED, DENIED]),
    ),
    row(
        "rewind_thread",
        |thread, _| body(json!({"thread_id": thread, "checkpoint_id": "1", "dry_run": true})),
        answers([NO_THREAD, NO_THREAD, NO_THREAD, DENIED, DENIED]),
    ),
    row("break_lease", |thread, _| body(json!({"thread_id": thread})), ADMINISTER),
    // A workspace is the caller's own, whatever its name.
    row(
        "stage_archive",
        |_, _| Request::Tar("?workspace=w".into()),
        answers([OK, OK, OK, DENIED, OK]),
    ),
    row(
        "get_archive",
        |thread, _| Request::Query(format!("?snapshot_id={}", with_archive(thread))),
        answers([NO_SNAPSHOT, NO_SNAPSHOT, NO_SNAPSHOT, OK, DENIED]),
    ),
    // To read a snapshot is not to write to the thread.
    row(
        "restore_snapshot",
        |thread, _| named(thread, json!({"dry_run": true})),
        answers([NO_SNAPSHOT, NO_SNAPSHOT, NO_SNAPSHOT, DENIED, DENIED]),
    ),
];

pub fn name(thread: &str) -> String {
    format!("snapshot-of-{thread}")
}

/// Of a snapshot that has an archive and nothing else.
pub fn with_archive(thread: &str) -> String {
    format!("archive-of-{thread}")
}

/// What ann has taken.
pub fn taking(thread: &str) -> Value {
    json!({"snapshot_id": name(thread), "threads": [{"thread_id": thread}]})
}

fn named(thread: &str, mut rest: Value) -> Request {
    rest["snapshot_id"] = json!(name(thread));
    body(rest)
}

/// Two frames: what it is, and that it ends.
pub fn empty_export() -> Vec<u8> {
    let begin: &[u8] = b"\x81\xa5begin\x85\xa6format\x01\xa7made_by\xa0\xa7made_at\xa0\xa6tenant\xa0\xa9is_signed\xc2";
    let finish: &[u8] = b"\x81\xa6finish\x82\xa6counts\x80\xa9signature\xc0";
    let mut file = threadkeep::export::PREAMBLE.as_bytes().to_vec();
    let mut check = Sha256::digest(&file);
    for payload in [begin, finish] {
        check = Sha256::new().chain_update(check).chain_update(payload).finalize();
        file.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes());
        file.extend_from_slice(payload);
        file.extend_from_slice(&check);
    }
    file
}
