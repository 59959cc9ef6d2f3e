//! Declares how many entries the lists of requests may have, by the names of their fields. `metered.rs` counts by it. A test compares it
//! with the API document, so that no list lacks a limit.

use crate::domain::limits::{LIMITS, Limits};
use crate::domain::threads::run_state::STATUSES_MAX;
use crate::http::threads::preview::INCLUDED_MAX;

/// How the entries of one list or map are counted.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    /// What the limit is told of.
    pub field: &'static str,
    pub entries_max: u64,
    /// It counts towards `writes_per_commit_max`.
    pub is_of_commit: bool,
    /// Whoever reads it keeps no more than it may have, and no entry is larger than a number or a piece.
    pub is_of_numbers: bool,
}

/// Fields with lists in them, and how many entries they may have where their owner is not named in [`of`].
const FIELDS: &[(&str, u64)] = &{
    const L: Limits = LIMITS;
    [
        ("actions", L.grants_max),
        ("carried", L.channels_max),
        ("channels", L.channels_max),
        ("conditions", L.filter_terms_max),
        ("entries", L.session_entries_max),
        ("envelopes", L.session_entries_max),
        ("events", L.session_entries_max),
        ("extract", L.extracts_max),
        ("files", L.files_per_request_max),
        ("have_values", L.have_values_max),
        ("history_channels", L.channels_max),
        ("ids", L.ids_per_request_max),
        ("index", L.index_paths_max),
        ("into", L.namespace_labels_max),
        ("key", L.session_key_parts_max),
        ("key_prefix", L.session_key_parts_max),
        ("labels", L.snapshot_labels_max),
        ("leases", L.snapshot_threads_max),
        ("messages", L.session_entries_max),
        ("namespace", L.namespace_labels_max),
        ("namespace_prefix", L.namespace_labels_max),
        ("namespaces", L.snapshot_namespaces_max),
        ("path", L.namespace_labels_max),
        ("paths", L.files_per_request_max),
        ("prefix", L.namespace_labels_max),
        ("replacement", L.session_entries_max),
        ("run_ids", L.ids_per_request_max),
        ("select", L.filter_terms_max),
        ("sessions", L.snapshot_sessions_max),
        ("snapshots", L.grants_max),
        ("status", STATUSES_MAX),
        ("include", INCLUDED_MAX),
        ("subjects", L.snapshot_threads_max),
        ("tenant", L.grants_max),
        ("suffix", L.namespace_labels_max),
        ("text_fields", L.text_fields_max),
        ("thread_ids", L.ids_per_request_max),
        ("threads", L.snapshot_threads_max),
        ("to_namespace", L.namespace_labels_max),
        ("values", L.channels_max),
        ("vectors", L.vectors_per_item_max),
        ("writes", L.writes_per_op_max),
    ]
};
/// Fields whose readers keep what they may have and pass over the rest: numbers of vectors, and what a difference or a value in
/// parts consists of.
const NUMBERS: &[&str] = &["copy", "ops", "parts", "query_vector", "vector"];

/// How the list in this field is counted; `lists`: how many lists are around it, inside of the field.
pub fn of(owner: &str, field: &'static str, lists: u32) -> Counted {
    let usual = || FIELDS.iter().find(|it| it.0 == field).map(|it| it.1);
    let most = LIMITS.body_entries_max;
    let entries_max = match (owner, field) {
        // A namespace among namespaces.
        (_, "namespaces") if lists > 0 => LIMITS.namespace_labels_max,
        _ if lists > 0 => most,
        ("CommitBody", "ops") => LIMITS.ops_per_commit_max,
        ("BatchBody", "ops") => LIMITS.store_ops_max,
        ("CompleteBody", "parts") => LIMITS.upload_parts_max,
        ("GrantsBody", _) | ("NamespaceGrantBody", "prefix") => LIMITS.grants_max,
        ("ExportWire", _) => most,
        _ => usual().unwrap_or(most),
    };
    let is_of_commit = match owner {
        "CheckpointBody" => matches!(field, "values" | "carried"),
        "WritesBody" => field == "writes",
        _ => false,
    };
    let is_of_numbers = entries_max == most && NUMBERS.contains(&field);
    let field = match (owner, field) {
        ("GrantsBody", "threads") => "grants.threads",
        ("GrantsBody", "namespaces") => "grants.namespaces",
        ("GrantsBody", "sessions") => "grants.sessions",
        ("GrantsBody", "snapshots") => "grants.snapshots",
        ("GrantsBody", "tenant") => "grants.tenant",
        (_, "") => "body",
        _ => field,
    };
    Counted { field, entries_max, is_of_commit: is_of_commit && lists == 0, is_of_numbers }
}

/// The name as it stands in the tables; empty for another.
pub fn known(name: &str) -> &'static str {
    let named = FIELDS.iter().map(|it| it.0).chain(NUMBERS.iter().copied());
    named.into_iter().find(|it| *it == name).unwrap_or_default()
}
