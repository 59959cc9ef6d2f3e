//! The house rules that a program can check: which room may import what, how files begin and how long they are,
//! what they are not called, and that no statement forgets the tenant.

use std::fs;
use std::path::{Path, PathBuf};

/// One source file.
struct Source {
    /// From the root of the package, with `/`.
    path: String,
    text: String,
}

impl Source {
    /// The room, for files in `src`.
    fn room(&self) -> &str {
        let inside = self.path.strip_prefix("src/").unwrap_or_default();
        inside.split('/').next().unwrap_or_default().trim_end_matches(".rs")
    }

    /// Lines that are code: no comments, no tests at the end of the file.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let code = self.text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let lines = code.lines().enumerate().map(|(at, line)| (at + 1, line));
        lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

fn sources(folders: &[&str]) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).collect();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            found.push(Source { path, text });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!found.is_empty());
    found
}

#[track_caller]
fn assert_none(rule: &str, violations: &[String]) {
    assert!(violations.is_empty(), "{rule}:\n{}", violations.join("\n"));
}

/// Whether code names the crate: `name::…`, or `use name;`.
fn names_crate(line: &str, name: &str) -> bool {
    let follows = |at: usize| {
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        let starts = !before.ends_with(|it: char| it.is_alphanumeric() || it == '_' || it == ':');
        starts && (after.starts_with("::") || after.starts_with(';'))
    };
    line.match_indices(name).any(|(at, _)| follows(at))
}

#[test]
fn only_the_front_doors_know_http_and_only_the_back_door_knows_databases() {
    let rules: [(&[&str], &[&str]); 2] = [
        (
            &["http", "console"],
            &["axum", "hyper", "hyper_util", "tower", "tower_http", "utoipa_axum"],
        ),
        (&["storage"], &["sqlx", "redis", "object_store", "deadpool"]),
    ];
    let mut violations = Vec::new();
    for source in sources(&["src"]) {
        for (rooms, crates) in rules.iter().filter(|(rooms, _)| !rooms.contains(&source.room())) {
            for (number, line) in source.code() {
                for name in crates.iter().filter(|name| names_crate(line, name)) {
                    violations.push(format!("{}:{number}: {name} is for {rooms:?}", source.path));
                }
            }
        }
    }
    assert_none("imports of crates", &violations);
}

#[test]
fn rooms_import_only_what_the_arrows_allow() {
    let allowed: [(&str, &[&str]); 8] = [
        ("domain", &["domain"]),
        ("content", &["content"]),
        ("config", &["config"]),
        ("auth", &["auth", "domain"]),
        ("storage", &["storage", "domain", "content"]),
        ("http", &["http", "domain", "auth", "app"]),
        ("app", &["app", "domain", "auth", "storage", "content"]),
        ("cli", &["cli", "config", "app", "http", "storage", "auth", "domain"]),
    ];
    let rooms = [
        "app", "auth", "cli", "config", "console", "content", "domain", "embed", "http", "storage",
    ];
    let mut violations = Vec::new();
    for source in sources(&["src"]) {
        let Some((_, may)) = allowed.iter().find(|(room, _)| *room == source.room()) else {
            let top = ["main", "lib"].contains(&source.room());
            assert!(top, "{}: the room has no arrows yet", source.path);
            continue;
        };
        for (number, line) in source.code() {
            let imports = |room: &&&str| line.contains(&format!("crate::{room}"));
            for room in rooms.iter().filter(|room| !may.contains(room)).filter(imports) {
                violations.push(format!("{}:{number}: imports {room}", source.path));
            }
        }
    }
    assert_none("arrows between rooms", &violations);
}

#[test]
fn every_file_says_what_it_is_for_and_ends_in_time() {
    const LINES_MAX: usize = 400;
    let mut violations = Vec::new();
    for source in sources(&["src", "tests", "examples"]) {
        if !source.text.starts_with("//! ") {
            violations.push(format!("{}: does not begin with //!", source.path));
        }
        let lines = source.text.lines().count();
        if lines > LINES_MAX {
            violations.push(format!("{}: {lines} lines, at most {LINES_MAX}", source.path));
        }
    }
    assert_none("files", &violations);
}

#[test]
fn main_stays_small() {
    let main = sources(&["src/main.rs"]);
    assert!(main[0].text.lines().count() < 50);
}

#[test]
fn no_file_has_a_name_that_says_nothing() {
    const EMPTY_NAMES: &[&str] = &[
        "utils", "util", "common", "helpers", "helper", "types", "manager", "data", "info", "misc",
    ];
    let mut violations = Vec::new();
    for source in sources(&["src", "tests", "examples"]) {
        let parts: Vec<&str> = source.path.trim_end_matches(".rs").split('/').collect();
        if parts.iter().any(|part| EMPTY_NAMES.contains(part)) {
            violations.push(source.path);
        }
    }
    assert_none("names", &violations);
}

#[test]
fn what_is_left_to_do_has_an_issue() {
    // Spelled in two parts, so that this file does not find itself.
    let marks =
        [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("todo", "!(")];
    let mut violations = Vec::new();
    for source in sources(&["src", "tests", "examples"]) {
        for (at, line) in source.text.lines().enumerate() {
            if marks.iter().any(|mark| line.contains(mark)) && !line.contains('#') {
                violations.push(format!("{}:{}: {}", source.path, at + 1, line.trim()));
            }
        }
    }
    assert_none("things left to do without an issue number", &violations);
}

#[test]
fn every_statement_names_the_tenant() {
    let mut violations = Vec::new();
    let mut seen = 0;
    for source in sources(&["src/storage"]) {
        for (number, statement) in statements(&source.text) {
            seen += 1;
            if !statement.contains("tenant") && !is_about_no_tenant(&statement) {
                let start: String =
                    statement.split_whitespace().take(9).collect::<Vec<_>>().join(" ");
                violations.push(format!("{}:{number}: {start}", source.path));
            }
        }
    }
    assert_none("statements without a tenant", &violations);
    assert!(seen > 50, "only {seen} statements were found");
}

/// Statements about the database itself: its settings, its schema, its own bookkeeping.
fn is_about_no_tenant(statement: &str) -> bool {
    const OTHERS: &[&str] = &[
        "schema_version",
        "sqlite_master",
        "sqlite_schema",
        "pg_",
        "current_setting(",
        "now()",
        "select 1",
        // Sweeping by age is the same for all.
        "delete from idempotency where created_at <",
    ];
    OTHERS.iter().any(|it| statement.contains(it))
}

/// String literals that are statements on tables, with their line. Best effort: pieces that are joined to others at run
/// time are left out, because a piece need not name what the whole names.
fn statements(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while let Some((before, after)) = rest.split_once('"') {
        line += before.matches('\n').count();
        let raw = before.trim_end_matches('#').ends_with('r');
        let end = literal_end(after, raw && before.ends_with('#'));
        let (literal, next) = after.split_at(end.min(after.len()));
        let lower = literal.trim_start().to_lowercase();
        let reads = lower.starts_with("select ") && lower.contains(" from ");
        let writes = ["insert into ", "update ", "delete from ", "with "];
        let pieces = literal.contains('{');
        if !pieces
            && (reads || writes.iter().any(|it| lower.starts_with(it)) && lower.contains(' '))
        {
            found.push((line, lower));
        }
        line += literal.matches('\n').count();
        rest = next.strip_prefix('"').unwrap_or(next);
    }
    found
}

fn literal_end(after: &str, hashes: bool) -> usize {
    if hashes {
        return after.find("\"#").unwrap_or(after.len());
    }
    let mut escaped = false;
    for (at, byte) in after.bytes().enumerate() {
        match byte {
            b'"' if !escaped => return at,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    after.len()
}

#[test]
fn every_table_begins_with_the_tenant_on_both_engines() {
    let tables = |engine: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(engine);
        let mut tables = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            for part in text.split("create table ").skip(1) {
                let (name, columns) = part.split_once('(').unwrap();
                let name = name.trim().trim_start_matches("if not exists ").to_owned();
                let mut lines = columns.lines().map(str::trim);
                let first = lines.find(|it| !it.is_empty() && !it.starts_with("--"));
                tables.push((name, first.unwrap_or_default().starts_with("tenant ")));
            }
        }
        tables.sort();
        tables
    };
    let (postgres, sqlite) = (tables("postgres"), tables("sqlite"));
    for (name, has_tenant) in postgres.iter().chain(&sqlite) {
        let own = ["schema_version", "server", "sql_roles"].iter().any(|it| name.contains(it));
        assert!(*has_tenant || own, "table {name} does not begin with the tenant");
    }
    let shared = |all: &[(String, bool)]| -> Vec<String> {
        all.iter().filter(|it| it.1).map(|it| it.0.clone()).collect()
    };
    assert_eq!(shared(&postgres), shared(&sqlite), "the engines have different tables");
}

#[test]
fn the_rules_see_violations() {
    assert!(names_crate("use axum::Router;", "axum"));
    assert!(names_crate("    let x: sqlx::Row = y;", "sqlx"));
    assert!(!names_crate("use crate::sqlx_like::Row;", "sqlx"));
    assert!(!names_crate("my_axum::x", "axum"));
    let text = "x(\"select a\n from threads where b\"); y(r#\"delete from \"t\" where c\"#);";
    let found = statements(text);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!((found[0].0, found[1].0), (1, 2));
    assert!(statements("\"select 1\", \"update\", \"{} from\"").is_empty());
}
