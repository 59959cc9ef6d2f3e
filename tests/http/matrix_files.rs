//! Defines what the permission matrix expects of files and of the drive.

use serde_json::{Value, json};

use crate::matrix_table::{
    ABSENT, ADMINISTER, APPEND_ITEM, Answers, DENIED, OK, READ, Request, Row, WRITE_ITEM, answers,
    body, query, row,
};

const NO_FILE: &str = "404 file_not_found";
/// Of an id that its caller cannot reach.
const UPLOAD: Answers = answers([ABSENT, ABSENT, ABSENT, DENIED, OK]);
const READ_FILE: Answers = answers([NO_FILE, NO_FILE, NO_FILE, OK, DENIED]);
const CHANGE_FILE: Answers = answers([NO_FILE, DENIED, DENIED, DENIED, DENIED]);

pub const ROWS: &[Row] = &[
    // The item is a file too.
    row("list_files", |thread, _| file(thread, json!({})), READ),
    row("download_files", |thread, _| files(thread, json!({"paths": ["k"]})), READ),
    row("glob_files", |thread, _| files(thread, json!({"pattern": "*"})), READ),
    row("grep_files", |thread, _| files(thread, json!({"pattern": "only"})), READ),
    row("read_file", |thread, _| file(thread, json!({})), READ_FILE),
    row("stat_file", |thread, _| file(thread, json!({})), READ_FILE),
    row(
        "write_file",
        |thread, _| files(thread, json!({"path": "/new", "content": ""})),
        WRITE_ITEM,
    ),
    row(
        "append_file",
        |thread, _| files(thread, json!({"path": "/new", "content": ""})),
        answers([OK, DENIED, DENIED, DENIED, OK]),
    ),
    row(
        "edit_file",
        |thread, _| file(thread, json!({"old_string": "only", "new_string": ""})),
        CHANGE_FILE,
    ),
    row(
        "upload_files",
        |thread, _| files(thread, json!({"files": [{"path": "/new", "bytes": ""}]})),
        WRITE_ITEM,
    ),
    row("delete_files", |thread, _| file(thread, json!({})), CHANGE_FILE),
    row("move_files", |thread, _| files(thread, json!({"from": "k", "to": "/new"})), CHANGE_FILE),
    row("copy_files", |thread, _| files(thread, json!({"from": "k", "to": "/new"})), CHANGE_FILE),
    row(
        "get_file_content",
        |thread, _| of_place(thread),
        answers([ABSENT, ABSENT, ABSENT, OK, DENIED]),
    ),
    row(
        "get_file_url",
        |thread, _| of_place(thread),
        answers([ABSENT, ABSENT, ABSENT, OK, DENIED]),
    ),
    // Who may only add is told that there is one.
    row(
        "put_file_content",
        |thread, _| raw(&place(thread)),
        answers([OK, DENIED, DENIED, DENIED, "409 version_conflict"]),
    ),
    row(
        "begin_upload",
        |thread, _| body(json!({"namespace": ["ann", thread], "path": "/x"})),
        APPEND_ITEM,
    ),
    row("put_upload_part", |_, _| raw(""), UPLOAD),
    row("get_upload", |_, _| query(""), UPLOAD),
    row("complete_upload", |_, _| body(json!({})), UPLOAD),
    row("abort_upload", |_, _| query(""), answers([OK, OK, OK, DENIED, OK])),
    // A drive is that of the subject of who asks; a key of the whole tenant names one. Tokens without a subject have none.
    row("list_drive", |_, _| query("?subject=ann"), answers([OK, DENIED, OK, OK, DENIED])),
    row(
        "upload_to_drive",
        |_, _| raw("?subject=ann&path=/f"),
        answers([OK, DENIED, DENIED, DENIED, DENIED]),
    ),
    row(
        "download_from_drive",
        |_, _| query("?subject=ann&path=/f"),
        answers([ABSENT, DENIED, ABSENT, ABSENT, DENIED]),
    ),
    row(
        "delete_from_drive",
        |_, _| query("?subject=ann&path=/f"),
        answers([OK, DENIED, DENIED, DENIED, DENIED]),
    ),
    row(
        "get_drive_url",
        |_, _| query("?subject=ann&path=/f"),
        answers([ABSENT, DENIED, ABSENT, ABSENT, DENIED]),
    ),
    row(
        "store_artifacts",
        |_, _| raw("?subject=ann&path=x"),
        answers([OK, DENIED, DENIED, DENIED, DENIED]),
    ),
    row("export_tenant", |_, _| body(json!({})), ADMINISTER),
    row("import_tenant", |_, _| Request::File("?dry_run=true".into()), ADMINISTER),
];

fn raw(query: &str) -> Request {
    Request::Raw(query.to_owned())
}

fn place(thread: &str) -> String {
    format!("?ns=ann&ns={thread}&path=/f")
}

fn of_place(thread: &str) -> Request {
    Request::Query(place(thread))
}

fn files(thread: &str, mut more: Value) -> Request {
    more["namespace"] = json!(["ann", thread]);
    body(more)
}

fn file(thread: &str, mut more: Value) -> Request {
    more["path"] = json!("k");
    files(thread, more)
}
