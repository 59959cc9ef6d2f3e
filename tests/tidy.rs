//! Checks the house rules on the source files: imports of rooms, openers, length and names of files.
//! Another rule binds every table of an SQL statement to a tenant.

#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/tenants.rs"]
mod tenants;

#[path = "tidy/console.rs"]
mod console;
#[path = "tidy/migrations.rs"]
mod migrations;

#[path = "tidy/over_tenants.rs"]
mod over_tenants;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tenants::{literals, unbound};

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
    let rules: [(&[&str], &[&str]); 3] = [
        (
            &["http", "console"],
            &["axum", "hyper", "hyper_util", "tower", "tower_http", "utoipa_axum"],
        ),
        (&["storage", "import"], &["sqlx"]),
        (&["storage"], &["redis", "deadpool_redis", "object_store", "deadpool"]),
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
    let allowed: [(&str, &[&str]); 12] = [
        ("domain", &["domain"]),
        ("content", &["content"]),
        ("config", &["config"]),
        ("auth", &["auth", "domain"]),
        ("embed", &["embed", "domain"]),
        ("storage", &["storage", "domain", "content"]),
        ("decode", &["decode", "domain"]),
        ("import", &["import", "domain", "storage"]),
        ("export", &["export", "domain", "content"]),
        ("http", &["http", "domain", "auth", "app", "decode", "export"]),
        ("app", &["app", "domain", "auth", "storage", "content", "decode"]),
        (
            "cli",
            &[
                "cli", "config", "app", "http", "storage", "auth", "embed", "domain", "export",
                "import", "decode",
            ],
        ),
    ];
    let rooms = [
        "app", "auth", "cli", "config", "console", "content", "decode", "domain", "embed",
        "export", "import", "http", "storage",
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

/// Folders of the domain. Each may import those before it, so none is in a circle.
const DOMAIN: &str = "limits json scheduling tenants tokens threads checkpoints store files sessions export snapshots";

/// The folder of the domain that a line imports against that order.
fn imports_upwards(folder: &str, line: &str) -> Option<&'static str> {
    let mut later = DOMAIN.split(' ').skip_while(|it| *it != folder).skip(1);
    later.find(|it| line.contains(&format!("domain::{it}::")))
}

#[test]
fn folders_of_the_domain_import_each_other_in_one_direction() {
    let mut violations = Vec::new();
    for source in sources(&["src/domain"]) {
        let inside = source.path.strip_prefix("src/domain/").unwrap();
        let Some((folder, _)) = inside.split_once('/') else { continue };
        assert!(
            DOMAIN.split(' ').any(|it| it == folder),
            "{}: the folder has no place yet",
            source.path
        );
        for (number, line) in source.code() {
            if let Some(later) = imports_upwards(folder, line) {
                violations.push(format!("{}:{number}: imports {later}", source.path));
            }
        }
    }
    assert_none("order of the domain's folders", &violations);
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
fn no_two_schemas_have_one_name() {
    // The document would have one of them only.
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources(&["src"]) {
        let mut lines = source.text.lines();
        while let Some(line) = lines.next() {
            if !(line.starts_with("#[derive(") && line.contains("ToSchema")) {
                continue;
            }
            let mut name = String::new();
            for line in lines.by_ref() {
                if let Some((_, given)) = line.split_once("schema(as = ") {
                    given.split([',', ')']).next().unwrap().clone_into(&mut name);
                }
                let declared = line.trim_start_matches("pub ").trim_start_matches("pub(crate) ");
                let kinds = ["struct ", "enum "].iter().find_map(|it| declared.strip_prefix(it));
                if let Some(rest) = kinds {
                    if name.is_empty() {
                        let end = rest.find(|it: char| !it.is_alphanumeric());
                        rest[..end.unwrap_or(rest.len())].clone_into(&mut name);
                    }
                    break;
                }
            }
            places.entry(name).or_default().push(source.path.clone());
        }
    }
    assert!(places.len() > 100, "only {} schemas were found", places.len());
    let twice = places.into_iter().filter(|it| it.1.len() > 1);
    assert_none("names", &twice.map(|it| format!("{}: {:?}", it.0, it.1)).collect::<Vec<_>>());
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
            let comment = line.split_once("//").map_or("", |(_, comment)| comment);
            // A name of a file is none.
            let is_mark =
                |mark: &&str| comment.contains(mark) && !comment.contains(&format!("{mark}.md"));
            let is_left = marks[..3].iter().any(is_mark) || line.contains(marks[3]);
            if is_left && !line.contains('#') {
                violations.push(format!("{}:{}: {}", source.path, at + 1, line.trim()));
            }
        }
    }
    assert_none("things left to do without an issue number", &violations);
}

#[test]
fn every_statement_binds_every_table_to_a_tenant() {
    let tables: BTreeSet<String> =
        tables_of("postgres").into_iter().filter_map(|it| it.1.then_some(it.0)).collect();
    let (mut violations, mut named, mut used) = (Vec::new(), 0, BTreeSet::new());
    for source in sources(&["src/storage"]) {
        for literal in literals(&source.text) {
            let (found, count) = unbound(&literal.text, &tables);
            named += count;
            let text = literal.text.split_whitespace().collect::<Vec<_>>().join(" ");
            let is_known = |it: &usize| {
                let (path, words, _) = over_tenants::OVER_TENANTS[*it];
                source.path.ends_with(path) && text.contains(words)
            };
            let known: Vec<usize> =
                (0..over_tenants::OVER_TENANTS.len()).filter(is_known).collect();
            if !found.is_empty() && known.is_empty() {
                let start: String = text.chars().take(90).collect();
                violations.push(format!("{}:{}: {found:?} in: {start}", source.path, literal.line));
            }
            if !found.is_empty() {
                used.extend(known);
            }
        }
    }
    let unused = (0..over_tenants::OVER_TENANTS.len()).filter(|it| !used.contains(it));
    violations.extend(
        unused.map(|it| format!("an exception that is none: {:?}", over_tenants::OVER_TENANTS[it])),
    );
    assert_none("tables that are not bound to a tenant", &violations);
    assert!(named > 300, "only {named} tables were found in statements");
}

#[test]
fn every_table_begins_with_the_tenant_on_both_engines() {
    let (postgres, sqlite) = (tables_of("postgres"), tables_of("sqlite"));
    for (name, has_tenant) in postgres.iter().chain(&sqlite) {
        let own = ["schema_version", "server", "sql_roles"].iter().any(|it| name.contains(it));
        assert!(*has_tenant || own, "table {name} does not begin with the tenant");
    }
    let shared = |all: &[(String, bool)]| -> Vec<String> {
        all.iter().filter(|it| it.1).map(|it| it.0.clone()).collect()
    };
    assert_eq!(shared(&postgres), shared(&sqlite), "the engines have different tables");
}

/// Tables of the migrations, and whether they begin with the tenant.
fn tables_of(engine: &str) -> Vec<(String, bool)> {
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
}

#[test]
fn the_rules_see_violations() {
    assert!(names_crate("use axum::Router;", "axum"));
    assert!(names_crate("    let x: sqlx::Row = y;", "sqlx"));
    assert!(!names_crate("use crate::sqlx_like::Row;", "sqlx"));
    assert!(!names_crate("my_axum::x", "axum"));
    let store = "use crate::domain::store::item::Item;";
    assert_eq!(imports_upwards("tokens", store), Some("store"));
    assert_eq!(imports_upwards("files", store), None);
    let source = "x(\"select 'A'\n\"); // \"no\"\n let c = '\"'; y(r#\"From \"t\" it\"#); z::<'a>(\"b\\\"c\");";
    let found: Vec<(usize, String)> =
        literals(source).into_iter().map(|it| (it.line, it.text)).collect();
    let expected = [(1, "select ''\n"), (3, "from \"t\" it"), (3, "b\\\"c")];
    assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
}

#[test]
fn statements_that_could_mix_tenants_are_seen() {
    let tables: BTreeSet<String> = ["threads", "writes"].map(str::to_owned).into();
    for (bad, count) in [
        ("select 1 from threads where thread_id = $1", 1),
        ("select 1 from threads where tenant = tenant", 1),
        ("select 1 from threads where tenant = $1 or thread_id = $2", 1),
        ("select 1 from threads where (tenant = $1 or true)", 1),
        ("select 1 from threads where case when $1 is null then true else tenant = $1 end", 1),
        ("update threads set tenant = $1", 1),
        (
            "select 1 from threads t join writes w on w.thread_key = t.thread_key where t.tenant = $1",
            1,
        ),
        ("select 1 from threads t, writes w where w.tenant = $1", 1),
        (
            "select 1 from threads t left join lateral (select from writes w where w.x = t.x) x on true",
            2,
        ),
        ("select 1 from x where exists (select 1 from writes) and tenant = $1", 1),
        ("update threads set a = 1 where thread_id = $1", 1),
        ("update threads x set a = 1 from t where x.thread_id = t.id and t.tenant = $1", 1),
        ("delete from writes using threads t where writes.tenant = t.other", 1),
        ("delete from writes where rowid in (select rowid from writes limit 3)", 1),
        ("insert into threads (thread_id, tenant) values ($1, $2)", 1),
        ("insert into threads (tenant, thread_id) values ('x', $2)", 1),
        ("insert into threads (tenant, a) select $1, a from writes", 1),
        ("insert into threads (tenant, a) values ($1, $2) on conflict (a) do nothing", 1),
        ("with a as (select 1 from threads) select 1 from writes where tenant = $1", 1),
        ("select 1 from threads where tenant = $1 union all select 1 from writes", 1),
        ("delete from {table} where thread_key = $1", 1),
    ] {
        let (found, _) = unbound(bad, &tables);
        assert_eq!(found.len(), count, "{bad}: {found:?}");
    }
    for good in [
        "select 1 from threads where tenant = $1 and (a = 1 or b = 2)",
        "select 1 from threads t join writes w on w.tenant = t.tenant and w.a = t.a where t.tenant = $1",
        "select 1 from threads where (tenant, thread_id) in (select j.value ->> 0 from jsonb_each($1) j)",
        "insert into threads as x (tenant, a) select b.tenant, 1 from born b on conflict (tenant, a) do update set a = 1",
        "insert into threads (tenant, a) values ($1, $2)",
        "delete from writes where rowid in (select rowid from writes where tenant = $1 limit 3)",
        "delete from {table} where tenant = $1",
        "content was removed from these threads",
    ] {
        let (found, _) = unbound(good, &tables);
        assert!(found.is_empty(), "{good}: {found:?}");
    }
}
