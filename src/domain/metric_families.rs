//! Lists every metric that a server exports: its kind, unit, labels and meaning. The page docs/operate/monitoring.md has the same list.
//!
//! **Invariant:** labels have words of the program only. None has a tenant, a key, a name or a value of a client.

use metrics::{Label, Unit};

/// Seconds; from a request served from memory to one at the end of its budget.
const LATENCY_BUCKETS: &[f64] = &[
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0,
];
const BATCH_BUCKETS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Counter,
    Gauge,
    /// With the upper ends of its buckets.
    Histogram(&'static [f64]),
}

/// A metric with all its label values.
#[derive(Debug)]
pub struct Family {
    pub name: &'static str,
    pub kind: Kind,
    pub unit: Unit,
    /// Names of labels. With values: these, and no others.
    pub labels: &'static [(&'static str, &'static [&'static str])],
    /// None: on both engines.
    pub engine: Option<&'static str>,
    pub help: &'static str,
}

/// Declares the name of each family as a constant, and the list of all.
macro_rules! families {
    ($($id:ident = $name:literal $kind:expr, $unit:ident, [$($label:literal: $values:expr),*], $engine:expr, $help:literal;)*) => {
        $(pub const $id: &str = $name;)*

        pub const ALL: &[Family] = &[$(Family {
            name: $name,
            kind: $kind,
            unit: Unit::$unit,
            labels: &[$(($label, $values)),*],
            engine: $engine,
            help: $help,
        }),*];
    };
}

const POSTGRES: Option<&str> = Some("postgres");
const SQLITE: Option<&str> = Some("sqlite");
const ANY: &[&str] = &[];

use Kind::{Counter, Gauge, Histogram};

families! {
    BUILD_INFO = "threadkeep_build_info" Gauge, Count, ["version": ANY, "engine": ANY], None,
        "Always 1; its labels are the version of the server and its engine.";
    START_TIME = "threadkeep_start_time_seconds" Gauge, Seconds, [], None,
        "When the server started, as unix time.";
    REQUEST_SECONDS = "threadkeep_http_request_seconds" Histogram(LATENCY_BUCKETS), Seconds,
        ["operation": ANY, "method": ANY, "route": ANY, "status": ANY], None,
        "Time from the head of a request to the head of its answer, by operation of the API document.";
    PROBLEMS = "threadkeep_problems_total" Counter, Count, ["code": ANY], None,
        "Requests that were answered with a problem, by its code.";
    RECEIVED_BYTES = "threadkeep_received_bytes_total" Counter, Bytes, [], None,
        "Bytes that came on connections, with heads and with what TLS adds.";
    SENT_BYTES = "threadkeep_sent_bytes_total" Counter, Bytes, [], None,
        "Bytes that were sent on connections, with heads and with what TLS adds.";
    BODY_BYTES = "threadkeep_body_bytes" Gauge, Bytes, ["turn": &["server", "sender", "receiver"]], None,
        "Bytes of bodies in memory, by who has to move next.";
    BODIES_ENDED = "threadkeep_bodies_ended_total" Counter, Count, ["reason": &["share"]], None,
        "Bodies that were ended because others needed the memory.";
    CONNECTIONS_CUT_OFF = "threadkeep_connections_cut_off_total" Counter, Count, [], None,
        "Connections that were ended because nothing was taken of what was sent.";
    CONNECTIONS_TURNED_AWAY = "threadkeep_connections_turned_away_total" Counter, Count, [], None,
        "Connections that were refused because there were as many as there may be.";
    CONNECTIONS_TURNED_OUT = "threadkeep_connections_turned_out_total" Counter, Count, [], None,
        "Connections without a known credential that made room for others.";
    EVENT_STREAMS = "threadkeep_event_streams" Gauge, Count, [], None,
        "Streams of events that are open.";
    FEED_FOLLOWERS = "threadkeep_feed_followers" Gauge, Count, [], None,
        "Followers of changes of items.";
    QUEUE_WAIT = "threadkeep_queue_wait_seconds" Histogram(LATENCY_BUCKETS), Seconds,
        ["queue": &["checkpoints", "items", "sessions"], "size": &["small", "large"]], None,
        "Time that a write waited in its lane before its batch began, by queue and size of the write.";
    COMMIT_BATCH = "threadkeep_batch_commands" Histogram(BATCH_BUCKETS), Count, [], None,
        "Commits of checkpoints in one batch.";
    ITEM_BATCH = "threadkeep_item_batch_commands" Histogram(BATCH_BUCKETS), Count, [], None,
        "Writes of items in one batch.";
    SESSION_BATCH = "threadkeep_session_batch_commands" Histogram(BATCH_BUCKETS), Count, [], None,
        "Writes of sessions in one batch.";
    COMMIT_BATCHES = "threadkeep_commit_batches_total" Counter, Count, ["form": &["lean", "full", "repeated"]], POSTGRES,
        "Batches of commits by the statement they took: lean, full, or lean and then full because another server had changed a thread.";
    DATABASE_CONNECTIONS = "threadkeep_database_connections" Gauge, Count,
        ["pool": ANY, "state": &["in_use", "idle", "max"]], None,
        "Connections to the database, by pool: in use, open and free, and how many there may be.";
    DATABASE_WAITING = "threadkeep_database_waiting" Gauge, Count, ["pool": ANY], None,
        "Calls that wait for a connection to the database.";
    DATABASE_OPENED = "threadkeep_database_connections_opened_total" Counter, Count, ["pool": ANY], None,
        "Connections to the database that were opened.";
    DATABASE_ERRORS = "threadkeep_database_errors_total" Counter, Count, ["class": ANY], None,
        "Errors of the database: the class of the SQLSTATE, or the name of SQLite's code; `connection` where none came.";
    DATABASE_BYTES = "threadkeep_database_bytes" Gauge, Bytes, ["part": &["main", "log"]], None,
        "Size of the database, and on SQLite of its log (-wal). Measured every 30 seconds.";
    DISK_FREE = "threadkeep_disk_free_bytes" Gauge, Bytes, [], SQLITE,
        "Free bytes of the disk that the database file is on. Measured every 30 seconds.";
    TASK_SUCCESS = "threadkeep_background_last_success_timestamp_seconds" Gauge, Seconds, ["task": ANY], None,
        "When a background task last ended a round well, as unix time; 0 before the first.";
    TASK_FAILURES = "threadkeep_background_failures_total" Counter, Count, ["task": ANY], None,
        "Rounds of a background task that failed.";
    TASK_INTERVAL = "threadkeep_background_interval_seconds" Gauge, Seconds, ["task": ANY], None,
        "The pause of a background task between two rounds.";
    TASKS_PARKED = "threadkeep_background_parked" Gauge, Count,
        ["task": &["words", "vectors", "packing", "retention", "run_states"]], None,
        "Background work that was put aside because it ended the process. Counted every minute.";
    STALE_THREADS = "threadkeep_stale_threads" Gauge, Count, [], None,
        "Threads whose state is still to be derived, up to 100,000. Counted every 30 seconds.";
    PACKS_WRITTEN = "threadkeep_packs_written_total" Counter, Count, [], None,
        "Packs that were written to the object store.";
    PACKED_BYTES = "threadkeep_packed_bytes_total" Counter, Bytes, [], None,
        "Bytes that were moved to the object store.";
    PACK_BYTES_READ = "threadkeep_pack_bytes_read_total" Counter, Bytes, [], None,
        "Bytes that were read from the object store.";
    OBJECTS_DELETED = "threadkeep_objects_deleted_total" Counter, Count, [], None,
        "Objects that were deleted from the object store.";
    OBJECT_STORE_FAILURES = "threadkeep_object_store_failures_total" Counter, Count, [], None,
        "Calls of the object store that failed.";
    REDIS_HITS = "threadkeep_redis_hits_total" Counter, Count, [], None,
        "Chunks that Redis had.";
    REDIS_MISSES = "threadkeep_redis_misses_total" Counter, Count, [], None,
        "Chunks that Redis did not have.";
    REDIS_FAILURES = "threadkeep_redis_failures_total" Counter, Count, [], None,
        "Calls of Redis that failed.";
}

/// Tells the recorder what each family is. What counts from a known set of labels begins at 0, so that the first event is an increase.
pub fn describe(engine: &str) {
    for family in ALL.iter().filter(|it| it.engine.is_none_or(|only| only == engine)) {
        let Family { name, unit, help, .. } = *family;
        match family.kind {
            Counter => metrics::describe_counter!(name, unit, help),
            Gauge => metrics::describe_gauge!(name, unit, help),
            Histogram(_) => metrics::describe_histogram!(name, unit, help),
        }
        for labels in family.known_labels() {
            match family.kind {
                Counter => metrics::counter!(name, labels).increment(0),
                Gauge if labels.is_empty() => metrics::gauge!(name, labels).increment(0.0),
                Gauge | Histogram(_) => {}
            }
        }
    }
}

impl Family {
    /// The sets of labels that it can have, where they are known: with no label or with one.
    fn known_labels(&self) -> Vec<Vec<Label>> {
        match self.labels {
            [] => vec![Vec::new()],
            [(name, values)] => values.iter().map(|it| vec![Label::new(*name, *it)]).collect(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::Path;

    use super::*;

    const BEGIN: &str = "<!-- metrics: written by `UPDATE_METRICS=1 cargo test --lib metric` -->\n";
    const END: &str = "<!-- end of metrics -->";

    fn row(family: &Family) -> String {
        let kind = match family.kind {
            Counter => "counter",
            Gauge => "gauge",
            Histogram(_) => "histogram",
        };
        let unit = match family.unit {
            Unit::Seconds => "seconds",
            Unit::Bytes => "bytes",
            _ => "count",
        };
        let labels = family.labels.iter().map(|(name, values)| match values {
            [] => format!("`{name}`"),
            some => format!("`{name}`: {}", some.join(", ")),
        });
        let labels = labels.collect::<Vec<_>>().join("; ");
        let help = family.help;
        let only = match family.engine {
            Some("postgres") => " PostgreSQL only.",
            Some(_) => " SQLite only.",
            None => "",
        };
        format!("| `{}` | {kind} | {unit} | {labels} | {help}{only} |\n", family.name)
    }

    #[test]
    fn the_page_has_every_family_as_it_is() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operate/monitoring.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once(BEGIN).expect("the page has the mark");
        let (there, after) = rest.split_once(END).expect("the page has the second mark");
        let mut table =
            "| metric | kind | unit | labels | what |\n|---|---|---|---|---|\n".to_owned();
        for family in ALL {
            table.push_str(&row(family));
        }
        if std::env::var_os("UPDATE_METRICS").is_some() {
            std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
            return;
        }
        assert_eq!(there, table, "UPDATE_METRICS=1 writes the table");
    }

    #[test]
    fn names_follow_the_rules_of_prometheus() {
        let mut names = HashSet::new();
        for Family { name, kind, unit, .. } in ALL {
            assert!(names.insert(name), "{name} stands twice");
            assert!(name.starts_with("threadkeep_"), "{name}");
            assert_eq!(name.ends_with("_total"), *kind == Counter, "{name}");
            let has_unit = |word: &str| name.contains(word);
            match unit {
                Unit::Seconds => assert!(has_unit("_seconds"), "{name}"),
                Unit::Bytes => assert!(has_unit("_bytes"), "{name}"),
                _ => assert!(!has_unit("_seconds"), "{name}"),
            }
        }
    }
}
