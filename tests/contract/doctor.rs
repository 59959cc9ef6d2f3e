//! Tests that an examination finds exactly the damage, names its place and reports nothing else. A repair changes only what cannot lose
//! data.

use std::collections::BTreeSet;

use threadkeep::domain::doctor::Noun::{
    Bases, Chunks, Documents, Holders, Maps, Rows, Scopes, Tenants, Threads, Values,
    Writes as AsWrites,
};
use threadkeep::domain::doctor::State::{
    Checked, Damaged, Garbage, Missing, Orphan, Repaired, Undecided, Unlisted, Unreadable,
    WrongCounter,
};
use threadkeep::domain::doctor::{Examine, Noun, Report, State};

use crate::commands::{Put, Writes};
use crate::harness::{Harness, commit, masters, value};

const LATER: i64 = 1 << 60;

pub async fn examine(h: &Harness, fix: bool) -> Report {
    let request = Examine { tenant: None, fix, now: LATER };
    h.storage.examine(&request).await.unwrap()
}

/// What was found, without what was found in order.
fn found(report: &Report) -> BTreeSet<(State, Noun)> {
    let found = report.counts().filter(|(state, _, _)| *state != Checked);
    found.map(|(state, noun, _)| (state, noun)).collect()
}

fn count(report: &Report, state: State, noun: Noun) -> u64 {
    report.tally(state, noun).count
}

fn large(from: u32) -> String {
    (from..from + 60_000).map(|it| it.to_string()).collect()
}

/// A thread with everything that can be stored, and another one.
pub async fn fill(h: &Harness) {
    let run = |run: &str| {
        format!(r#"{{"run_id":"{run}","counters_since_delta_snapshot":{{"m":[1,1]}}}}"#)
    };
    h.put(Put::new("0").metadata(&run("r0")).sets("m", "1", "seed")).await;
    h.write(Writes::new("0", "task").write(0, "m", "delta")).await;
    h.put(Put::new("1").parent("0").metadata(&run("r1")).empties("m", "2").sets("s", "1", "abc"))
        .await;
    h.storage.delete_for_runs(&h.caller, &["r0".into()]).await.unwrap();
    h.put(Put::new("2").parent("1").carries("s", "1").sets("large", "2", &large(0))).await;
    let writes = Writes::new("2", "t").write(0, "a", "pending").write(1, "b", &large(70_000));
    h.write(writes).await;
    h.commit(commit("u", vec![Put::new("1").sets("a", "1", &large(200_000)).op()])).await.unwrap();
}

/// Flips the last bits of a column in some rows; twice is as before.
pub fn flip(h: &Harness, table: &str, column: &str, rows: &str) -> String {
    if h.is_sqlite() {
        let nibble = format!(
            "substr('FEDCBA9876543210', instr('0123456789ABCDEF', substr(hex({column}), -1, 1)), 1)"
        );
        let rest = format!("substr(hex({column}), 1, 2 * length({column}) - 1)");
        format!("update {table} set {column} = unhex({rest} || {nibble}) where {rows}")
    } else {
        let last = format!("length({column}) - 1");
        format!(
            "update {table} set {column} = set_byte({column}, {last}, get_byte({column}, {last}) # 15) where {rows}"
        )
    }
}

const OF_T: &str = "scope_id = (select scope_id from threads where thread_id = 't')";

/// One chunk of thread `t`: with content of its large value, or with names.
fn a_chunk(h: &Harness, node: bool) -> String {
    let codec = if h.is_sqlite() { "substr(hex(body), 3, 2)" } else { "get_byte(body, 1)" };
    let code = match (h.is_sqlite(), node) {
        (true, true) => "'00'",
        (true, false) => "'02'",
        (false, true) => "0",
        (false, false) => "2",
    };
    format!(
        "{OF_T} and name = (select name from chunks where {OF_T} and {codec} = {code} order by name limit 1)"
    )
}

/// Breaks something, sees what is found, mends it, and sees that nothing is found any more.
async fn finds(h: &Harness, break_it: &str, mend_it: &str, expected: &[(State, Noun)]) -> Report {
    h.sql(break_it).await;
    let report = examine(h, false).await;
    assert_eq!(found(&report), expected.iter().copied().collect(), "{break_it}\n{report:?}");
    let harmless = [Undecided, Orphan, Garbage, Unlisted];
    let sound = expected.iter().all(|(state, _)| harmless.contains(state));
    assert_eq!(report.is_sound(), sound, "{break_it}");
    h.sql(mend_it).await;
    let mended = examine(h, false).await;
    assert_eq!(found(&mended), BTreeSet::new(), "after {mend_it}\n{mended:?}");
    report
}

/// Twice the same statement is as before.
async fn finds_flip(h: &Harness, place: (&str, &str, &str), expected: &[(State, Noun)]) -> Report {
    let statement = flip(h, place.0, place.1, place.2);
    finds(h, &statement, &statement, expected).await
}

async fn finds_step(
    h: &Harness,
    table: &str,
    column: &str,
    rows: &str,
    expected: &[(State, Noun)],
) {
    let step = |sign: &str| format!("update {table} set {column} = {column} {sign} 1 where {rows}");
    finds(h, &step("+"), &step("-"), expected).await;
}

async fn finds_deletion(
    h: &Harness,
    table: &str,
    rows: &str,
    expected: &[(State, Noun)],
) -> Report {
    let delete = format!(
        "create table saved as select * from {table} where {rows}; delete from {table} where {rows}"
    );
    let mend = format!("insert into {table} select * from saved; drop table saved");
    finds(h, &delete, &mend, expected).await
}

pub async fn a_sound_database_is_read_completely(h: Harness) {
    fill(&h).await;
    let report = examine(&h, false).await;
    assert!(report.is_sound());
    assert_eq!(found(&report), BTreeSet::new(), "{report:?}");
    for (noun, table) in [
        (Tenants, "tenants"),
        (Threads, "threads"),
        (Scopes, "scopes"),
        (Documents, "checkpoints"),
        (Maps, "checkpoints"),
        (Bases, "delta_bases"),
        (AsWrites, "writes"),
        (Values, "manifests"),
        (Chunks, "chunks"),
    ] {
        let rows = h.count(&format!("select count(*) from {table}")).await.unsigned_abs();
        assert!(rows > 0, "{table}");
        assert_eq!(count(&report, Checked, noun), rows, "{table}");
    }
    let bytes = h.count("select cast(sum(length(body)) as bigint) from chunks").await;
    assert_eq!(report.tally(Checked, Chunks).bytes, bytes.unsigned_abs());
    let other = Examine { tenant: Some("tenant-b".into()), fix: false, now: LATER };
    let none = h.storage.examine(&other).await.unwrap();
    assert_eq!(none.counts().count(), 0);
}

pub async fn damage_in_every_column_is_found_and_placed(h: Harness) {
    fill(&h).await;
    let of_two = "checkpoint_id = '2'";
    let report =
        finds_flip(&h, ("checkpoints", "documents", of_two), &[(Damaged, Documents)]).await;
    let place = &report.places[0].place;
    assert_eq!(
        (place.tenant.as_str(), place.thread_id.as_deref(), place.checkpoint_ns.as_deref()),
        ("tenant-a", Some("t"), Some(""))
    );
    assert_eq!(place.checkpoint_id.as_deref(), Some("2"));
    let small = format!("parts is null and {OF_T}");
    for column in ["body", "digest"] {
        let report = finds_flip(&h, ("manifests", column, &small), &[(Damaged, Values)]).await;
        assert_eq!(count(&report, Damaged, Values), 1);
        assert_eq!(report.places[0].place.checkpoint_id.as_deref(), Some("1"), "{report:?}");
    }
    let lists = [(Unreadable, Values), (Missing, Chunks), (Undecided, Scopes)];
    let large = format!("parts is not null and {OF_T}");
    finds_flip(&h, ("manifests", "parts", &large), &lists).await;
    for column in ["body", "digest"] {
        finds_flip(&h, ("writes", column, "idx = 0"), &[(Damaged, AsWrites)]).await;
    }
    let lists = [(Unreadable, AsWrites), (Missing, Chunks), (Undecided, Scopes)];
    finds_flip(&h, ("writes", "parts", "idx = 1"), &lists).await;
    finds_flip(&h, ("delta_bases", "document", "true"), &[(Damaged, Bases)]).await;
    let secret =
        if masters().is_some() { ("tenant_keys", "wrapped") } else { ("tenants", "secret") };
    let expected =
        if masters().is_some() { vec![(Damaged, Tenants)] } else { everything_damaged() };
    let report = finds_flip(&h, (secret.0, secret.1, "true"), &expected).await;
    if masters().is_some() {
        return;
    }
    assert!(count(&report, Damaged, Chunks) > 100);
    assert!(report.places.len() == 100 && report.places_left_off > 0);
}

/// Under another secret nothing matches.
fn everything_damaged() -> Vec<(State, Noun)> {
    let damaged = [Documents, Values, AsWrites, Bases, Chunks].map(|noun| (Damaged, noun));
    let unreadable = [Values, AsWrites].map(|noun| (Unreadable, noun));
    [&damaged[..], &unreadable[..], &[(Undecided, Scopes)]].concat()
}

pub async fn damaged_numbers_are_found(h: Harness) {
    fill(&h).await;
    let small = format!("parts is null and {OF_T}");
    let sized = [(Damaged, Values), (WrongCounter, Threads)];
    finds_step(&h, "manifests", "size_bytes", &small, &sized).await;
    // What is encrypted is bound to its version.
    let version = [(Damaged, Maps), (Damaged, Values)];
    let version = if masters().is_some() { &version[..] } else { &version[..1] };
    finds_step(&h, "manifests", "version_key", &small, version).await;
    let sized = [(Damaged, Documents), (WrongCounter, Threads)];
    finds_step(&h, "checkpoints", "size_bytes", "checkpoint_id = '2'", &sized).await;
    let sized = [(Damaged, AsWrites), (WrongCounter, Threads)];
    finds_step(&h, "writes", "size_bytes", "idx = 0", &sized).await;
    let (break_it, mend_it) = if h.is_sqlite() {
        let statement = flip(&h, "checkpoints", "map", "checkpoint_id = '2'");
        (statement.clone(), statement)
    } else {
        let set = |sign| {
            format!(
                "update checkpoints set value_nos[2] = value_nos[2] {sign} 9000 where checkpoint_id = '2'"
            )
        };
        (set("+"), set("-"))
    };
    finds(&h, &break_it, &mend_it, &[(Missing, Values), (Undecided, Scopes)]).await;
    let run =
        |run: &str| format!("update checkpoints set run_id = '{run}' where run_id is not null");
    finds(&h, &run("r9"), &run("r1"), &[(Damaged, Documents)]).await;
    for column in ["checkpoint_count", "size_bytes"] {
        finds_step(&h, "threads", column, "thread_id = 't'", &[(WrongCounter, Threads)]).await;
    }
}

pub async fn a_damaged_chunk_is_told_from_the_values_that_need_it(h: Harness) {
    fill(&h).await;
    let leaf = a_chunk(&h, false);
    let report =
        finds_flip(&h, ("chunks", "body", &leaf), &[(Damaged, Chunks), of_either(&h).await]).await;
    assert_eq!(count(&report, Damaged, Chunks), 1);
    let node = a_chunk(&h, true);
    h.sql(&flip(&h, "chunks", "body", &node)).await;
    let report = examine(&h, true).await;
    assert_eq!(count(&report, Damaged, Chunks), 1);
    assert_eq!(count(&report, Undecided, Scopes), 1);
    // What the node named looks like orphans now; none of it may go.
    assert_eq!(count(&report, Repaired, Chunks), 0);
    h.sql(&flip(&h, "chunks", "body", &node)).await;
    assert_eq!(found(&examine(&h, false).await), BTreeSet::new());
}

/// Whether the first chunk belongs to the large value or to the large write.
async fn of_either(h: &Harness) -> (State, Noun) {
    let leaf = a_chunk(h, false);
    h.sql(&flip(h, "chunks", "body", &leaf)).await;
    let report = examine(h, false).await;
    h.sql(&flip(h, "chunks", "body", &leaf)).await;
    let noun = if count(&report, Unreadable, Values) > 0 { Values } else { AsWrites };
    (Unreadable, noun)
}

pub async fn what_is_missing_is_found(h: Harness) {
    fill(&h).await;
    let unreadable = of_either(&h).await;
    let leaf = a_chunk(&h, false);
    let chunk = [(Missing, Chunks), unreadable, (Undecided, Scopes)];
    let report = finds_deletion(&h, "chunks", &leaf, &chunk).await;
    assert_eq!(count(&report, Missing, Chunks), 1);
    let values = [(Missing, Values), (WrongCounter, Threads), (Undecided, Scopes)];
    let report =
        finds_deletion(&h, "manifests", &format!("parts is null and {OF_T}"), &values).await;
    // Two checkpoints show it.
    assert_eq!(count(&report, Missing, Values), 2);
    finds_deletion(&h, "scopes", OF_T, &[(Missing, Scopes)]).await;
    finds_deletion(&h, "scope_holders", OF_T, &[(Missing, Holders)]).await;
    let thread = [(Missing, Threads), (Orphan, Rows), (Undecided, Scopes)];
    finds_deletion(&h, "threads", "thread_id = 't'", &thread).await;
}

pub async fn nothing_of_a_damaged_thread_is_repaired_away(h: Harness) {
    fill(&h).await;
    h.sql("create table saved as select * from threads where thread_id = 't'").await;
    h.sql("delete from threads where thread_id = 't'").await;
    let tables = ["checkpoints", "writes", "delta_bases", "manifests", "chunks", "scopes"];
    let mut before = Vec::new();
    for table in tables {
        before.push(h.count(&format!("select count(*) from {table}")).await);
    }
    let report = examine(&h, true).await;
    assert!(!report.is_sound() && !found(&report).iter().any(|(state, _)| *state == Repaired));
    for (table, before) in tables.iter().zip(before) {
        assert_eq!(h.count(&format!("select count(*) from {table}")).await, before, "{table}");
    }
    h.sql("insert into threads select * from saved; drop table saved").await;
    assert_eq!(found(&examine(&h, false).await), BTreeSet::new());
}

pub async fn orphans_are_found_and_removed_and_nothing_else(h: Harness) {
    fill(&h).await;
    let before = (h.all("t").await, h.all("u").await);
    // Nodes: they are bound to no scope.
    let node = if h.is_sqlite() {
        "substr(hex(body), 3, 4) = '0000'"
    } else {
        "substr(body, 2, 2) = '\\x0000'"
    };
    let of_u =
        format!("scope_id = (select scope_id from threads where thread_id = 'u') and {node}");
    let scope = h.count("select scope_id from threads where thread_id = 't'").await;
    h.sql(&format!(
        "insert into chunks (tenant, scope_id, name, body)
            select tenant, {scope}, name, body from chunks where {of_u} order by name limit 3;
         insert into chunks (tenant, scope_id, name, body)
            select tenant, 4711, name, body from chunks where {of_u} order by name limit 2;
         insert into scopes (tenant, scope_id, epoch, next_no) values ('tenant-a', 4711, 1, 1);
         insert into writes (tenant, thread_key, ns, checkpoint_id, task_id, idx, task_path, channel, writer, seq,
                tag, size_bytes, digest, body)
            select tenant, 4712, ns, checkpoint_id, task_id, idx, task_path, channel, writer, seq, tag,
                size_bytes, digest, body from writes where idx = 0;
         insert into garbage (tenant, thread_key, scope_id, created_at) values ('tenant-a', 4713, 4714, 1);
         insert into garbage (tenant, thread_key, scope_id, created_at) values ('tenant-a', 4715, 4716, {LATER})"
    ))
    .await;
    let orphans = [(Orphan, Chunks), (Orphan, Scopes), (Orphan, Rows), (Garbage, Rows)];
    let report = examine(&h, false).await;
    assert_eq!(found(&report), BTreeSet::from(orphans), "{report:?}");
    assert!(report.is_sound());
    assert_eq!(count(&report, Orphan, Chunks), 3);
    assert!(report.tally(Orphan, Chunks).bytes > 0 && report.tally(Orphan, Scopes).bytes > 0);
    let epoch = h.count(&format!("select epoch from scopes where scope_id = {scope}")).await;
    let fixed = examine(&h, true).await;
    let repaired = [(Repaired, Chunks), (Repaired, Scopes), (Repaired, Rows), (Garbage, Rows)];
    assert_eq!(found(&fixed), BTreeSet::from(repaired), "{fixed:?}");
    let raised = h.count(&format!("select epoch from scopes where scope_id = {scope}")).await;
    assert_eq!(raised, epoch + 1, "whoever remembers the scope's chunks must forget them");
    assert_eq!(h.count("select count(*) from garbage where created_at = 1").await, 0);
    assert_eq!(found(&examine(&h, false).await), BTreeSet::from([(Garbage, Rows)]));
    assert_eq!((h.all("t").await, h.all("u").await), before);
}

pub async fn replaced_values_are_orphans_and_unlisted_ones_are_not(h: Harness) {
    h.put(Put::new("1").sets("a", "1", &large(0)).sets("b", "1", "b")).await;
    let put = Put::new("1").sets("a", "1", &large(300_000)).carries("b", "1");
    h.put(put.unlisted("later", "9", value("msgpack", "for a checkpoint to come"))).await;
    let report = examine(&h, false).await;
    let unlisted = (Unlisted, Values);
    assert_eq!(found(&report), BTreeSet::from([(Orphan, Values), unlisted]), "{report:?}");
    assert_eq!((count(&report, Orphan, Values), count(&report, Unlisted, Values)), (1, 1));
    let fixed = examine(&h, true).await;
    let repaired = [(Repaired, Values), (Repaired, Chunks), unlisted];
    assert_eq!(found(&fixed), BTreeSet::from(repaired), "{fixed:?}");
    assert_eq!(found(&examine(&h, false).await), BTreeSet::from([unlisted]));
    h.check_counts("t").await;
    h.put(Put::new("2").parent("1").carries("later", "9").carries("a", "1")).await;
    assert_eq!(h.get("2").await.values.len(), 2);
    assert_eq!(found(&examine(&h, false).await), BTreeSet::new());
}

pub async fn counters_are_corrected(h: Harness) {
    fill(&h).await;
    h.sql("update threads set checkpoint_count = 77, size_bytes = 5 where thread_id = 't'").await;
    let fixed = examine(&h, true).await;
    assert!(fixed.is_sound());
    assert_eq!(found(&fixed), BTreeSet::from([(Repaired, Threads)]));
    h.check_counts("t").await;
    assert_eq!(found(&examine(&h, false).await), BTreeSet::new());
}
