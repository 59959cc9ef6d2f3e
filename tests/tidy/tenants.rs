//! Reads the SQL in the source and finds statements that could mix tenants. Every table that a statement names must be bound to a tenant
//! there: in its key, its join or its columns.
//!
//! It reads pieces, not whole statements: a string that names a table must also bind it to a tenant. It cannot see a wrong condition on the
//! tenant; the contract suite tests those.

use std::collections::BTreeSet;

/// A string of the source, without what is quoted in it, in lower case.
pub struct Literal {
    pub line: usize,
    pub text: String,
}

/// All strings of a source file. Comments and characters are no strings.
pub fn literals(source: &str) -> Vec<Literal> {
    let bytes = source.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    let find = |from: usize, what: &str| source[from..].find(what).map(|it| from + it);
    while at < bytes.len() {
        let rest = &source[at..];
        let raw_hashes =
            rest.strip_prefix('r').map(|it| it.len() - it.trim_start_matches('#').len());
        let starts_word =
            at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
        let (start, end, next) = match (bytes[at], raw_hashes) {
            (b'/', _) if rest.starts_with("//") => {
                at = find(at, "\n").unwrap_or(bytes.len());
                continue;
            }
            (b'\'', _) => {
                // A character, or the tick of a lifetime.
                let end = if rest.starts_with("'\\") { find(at + 3, "'") } else { None };
                let plain =
                    rest.char_indices().nth(2).filter(|it| it.1 == '\'').map(|it| at + it.0);
                at = end.or(plain).unwrap_or(at) + 1;
                continue;
            }
            (b'r', Some(hashes)) if !starts_word && bytes.get(at + 1 + hashes) == Some(&b'"') => {
                let start = at + hashes + 2;
                let close = format!("\"{}", "#".repeat(hashes));
                let end = find(start, &close).unwrap_or(bytes.len());
                (start, end, end + close.len())
            }
            (b'"', _) => {
                let mut end = at + 1;
                while end < bytes.len() && bytes[end] != b'"' {
                    end += if bytes[end] == b'\\' { 2 } else { 1 };
                }
                (at + 1, end, end + 1)
            }
            _ => {
                at += rest.chars().next().map_or(1, char::len_utf8);
                continue;
            }
        };
        let line = source[..at].matches('\n').count() + 1;
        let text = source[start..end.min(bytes.len())].to_lowercase();
        // The tenant in the collation of an index.
        let text = text.replace("{tenant_in_index}", "tenant");
        // What SQL quotes is no SQL.
        let unquoted: Vec<&str> = text.split('\'').step_by(2).collect();
        found.push(Literal { line, text: unquoted.join("''") });
        at = next;
    }
    found
}

/// A word or sign of SQL, or a pair of parentheses with what is in it.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Word(String),
    Group(Vec<Part>),
}

impl Part {
    fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(it) if it == word)
    }

    fn word(&self) -> Option<&str> {
        if let Self::Word(word) = self { Some(word) } else { None }
    }

    fn group(&self) -> Option<&[Part]> {
        if let Self::Group(parts) = self { Some(parts) } else { None }
    }
}

/// A placeholder of `format!` is the word `{}`.
fn parse(text: &str) -> Vec<Part> {
    let mut stack: Vec<Vec<Part>> = vec![Vec::new()];
    let in_word = |it: char| it.is_alphanumeric() || "_$.:{}".contains(it);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|it: char| !in_word(it)).unwrap_or(rest.len());
        let depth = stack.len();
        let top = stack.last_mut().expect("the lowest level stays");
        match first {
            '(' => stack.push(Vec::new()),
            ')' if depth > 1 => {
                let group = stack.pop().expect("it has been looked at");
                stack.last_mut().expect("there was one below").push(Part::Group(group));
            }
            // The end of what an earlier string began.
            ')' => top.push(Part::Word(";".into())),
            _ if length > 0 => {
                let is_hole = rest.starts_with('{');
                top.push(Part::Word(if is_hole { "{}".into() } else { rest[..length].into() }));
                rest = &rest[length..];
                continue;
            }
            _ if first.is_whitespace() || first == '\\' => {}
            _ => top.push(Part::Word(first.to_string())),
        }
        rest = &rest[first.len_utf8()..];
    }
    while stack.len() > 1 {
        let open = stack.pop().expect("it has been looked at");
        stack.last_mut().expect("there was one below").push(Part::Group(open));
    }
    stack.pop().expect("one is left")
}

/// Words that end the list of what is read, or cannot be a name for it.
const NO_NAMES: &[&str] = &[
    "where",
    "on",
    "set",
    "join",
    "left",
    "cross",
    "inner",
    "order",
    "group",
    "limit",
    "for",
    "returning",
    "using",
    "select",
    "values",
    "default",
    "and",
    "or",
    "not",
    "union",
    "offset",
    "as",
    ";",
    ",",
    "=",
    "lateral",
    "with",
    "except",
    "from",
    "then",
    "end",
    "is",
    "does",
    "{}",
];

/// Which tables a piece of SQL reads or writes without binding them to a tenant, and how many it names at all.
pub fn unbound(text: &str, tables: &BTreeSet<String>) -> (Vec<String>, usize) {
    let (mut found, mut named) = (Vec::new(), 0);
    check_level(&parse(text), tables, &mut found, &mut named);
    (found, named)
}

fn check_level(
    parts: &[Part],
    tables: &BTreeSet<String>,
    found: &mut Vec<String>,
    named: &mut usize,
) {
    let ends = |it: &Part| it.is(";") || it.is("union") || it.is("except");
    for statement in parts.split(ends) {
        let (reads, writes) = named_tables(statement, tables);
        *named += reads.len() + writes.len();
        for (table, name) in &reads {
            let alone = reads.len() == 1;
            if !is_bound(statement, name, alone) {
                found.push(format!("{table} as {name}"));
            }
        }
        for at in writes {
            if !inserts_tenant(&statement[at..]) {
                found.push(format!("into {:?}", statement[at].word().unwrap_or_default()));
            }
        }
    }
    for group in parts.iter().filter_map(Part::group) {
        check_level(group, tables, found, named);
    }
}

/// (table, name in the statement) of what is read, changed or deleted; positions of what is inserted into.
fn named_tables(
    statement: &[Part],
    tables: &BTreeSet<String>,
) -> (Vec<(String, String)>, Vec<usize>) {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    let word = |at: usize| statement.get(at).and_then(Part::word).unwrap_or_default();
    let mut in_list = false;
    for at in 0..statement.len() {
        in_list = match word(at) {
            "from" | "using" | "join" | "update" => true,
            "," | "lateral" | "only" => in_list,
            it if NO_NAMES.contains(&it) => false,
            _ => in_list,
        };
        let begins =
            ["from", "using", "join", "update"].contains(&word(at)) || (word(at) == "," && in_list);
        let table = word(at + 1);
        if word(at) == "into" && (tables.contains(table) || table == "{}") {
            writes.push(at + 1);
        }
        if begins && (tables.contains(table) || table == "{}") {
            let name = if word(at + 2) == "as" { word(at + 3) } else { word(at + 2) };
            let is_name = !name.is_empty() && !NO_NAMES.contains(&name);
            let name = if is_name { name } else { table };
            // `on conflict do update set` names no table.
            if !(word(at) == "update" && table == "set") {
                reads.push((table.to_owned(), name.to_owned()));
            }
        }
    }
    (reads, writes)
}

/// Whether the rows called `name` are compared by tenant here, and nothing else lets them in.
fn is_bound(statement: &[Part], name: &str, alone: bool) -> bool {
    let own = format!("{name}.tenant");
    let is_tenant = |it: &Part| it.is(&own) || (alone && it.is("tenant"));
    let begins_with_tenant = |it: &Part| it.group().and_then(<[_]>::first).is_some_and(is_tenant);
    let where_at = statement.iter().position(|it| it.is("where"));
    let wide = statement[where_at.unwrap_or(statement.len())..].iter().any(|it| it.is("or"));
    let compares = |pair: &[Part]| {
        let to = |it: &Part| !it.is(&own) && !it.is("tenant");
        (is_tenant(&pair[0]) && pair[1].is("=") && to(&pair[2]))
            || (is_tenant(&pair[2]) && pair[1].is("=") && to(&pair[0]))
            || (begins_with_tenant(&pair[0]) && (pair[1].is("=") || pair[1].is("in")))
    };
    // Rows that a checked select inside has found, by where they lie.
    let rowid = format!("{name}.rowid");
    let by_place = |pair: &[Part]| {
        (pair[0].is("rowid") && pair[1].is("in") && pair[2].group().is_some())
            || (pair[0].is("ctid") && pair[1].is("=") && pair[2].is("any"))
            || (pair[0].is(&rowid) && pair[1].is("="))
    };
    // A condition of its own, no branch of a `case` and nothing that is set.
    let decides = |it: &Part| ["where", "and", "on"].iter().any(|word| it.is(word));
    let holds = |it: &[Part]| decides(&it[0]) && (compares(&it[1..]) || by_place(&it[1..]));
    !wide && statement.windows(4).any(holds)
}

/// Whether the columns begin with the tenant, the row's key does, and the first value is one. From the table's name on.
fn inserts_tenant(statement: &[Part]) -> bool {
    let begins = |it: Option<&Part>| {
        it.and_then(Part::group).and_then(<[_]>::first).is_some_and(|it| it.is("tenant"))
    };
    let columns = statement.iter().position(|it| it.group().is_some());
    let Some(columns) = columns.filter(|at| *at <= 3 && begins(statement.get(*at))) else {
        return false;
    };
    let after = &statement[columns + 1..];
    let conflicts = after
        .windows(2)
        .all(|it| !(it[0].is("conflict") && it[1].group().is_some()) || begins(it.get(1)));
    let is_value = |it: &Part| {
        let named = |it: &str| {
            it.starts_with('$') || it == "tenant" || it.ends_with(".tenant") || it == "j.value"
        };
        it.word().is_some_and(named)
    };
    let value = match after.iter().position(|it| it.is("values") || it.is("select")) {
        None => return conflicts && after.is_empty(),
        Some(at) if after[at].is("values") => {
            after.get(at + 1).and_then(Part::group).and_then(<[_]>::first)
        }
        // `distinct on (…)` stands before the first value.
        Some(at) => after[at + 1..]
            .iter()
            .find(|it| it.word().is_some_and(|it| !["distinct", "on"].contains(&it))),
    };
    conflicts && value.is_some_and(is_value)
}
