//! Tests that files of the domain import each other in circles only inside of one folder, and that services take the storage of their noun.

use std::collections::{BTreeMap, BTreeSet};

use super::{assert_none, sources};

type Imports = BTreeMap<String, BTreeSet<String>>;

/// `domain::threads::thread` of `src/domain/threads/thread.rs`.
fn module_of(path: &str) -> String {
    let path = path.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
    path.replace('/', "::")
}

/// The paths that a `use` names, each written out.
fn paths(text: &str) -> Vec<String> {
    let Some((before, rest)) = text.split_once('{') else {
        return vec![text.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for character in inner.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().unwrap().push(character);
    }
    let parts = parts.iter().filter(|it| !it.trim().is_empty());
    parts.flat_map(|it| paths(&format!("{}{}", before.trim(), it.trim()))).collect()
}

/// What each file of the domain imports of it.
fn imports() -> Imports {
    let files = sources(&["src/domain"]);
    let modules: BTreeSet<String> = files.iter().map(|it| module_of(&it.path)).collect();
    let mut all = Imports::new();
    for file in &files {
        let own = module_of(&file.path);
        let found = all.entry(own.clone()).or_default();
        let code: Vec<&str> = file.code().map(|(_, line)| line).collect();
        for statement in code.join("\n").split(';') {
            let Some((_, used)) = statement.rsplit_once("use ") else { continue };
            for path in paths(&used.split_whitespace().collect::<Vec<_>>().join(" ")) {
                let mut base: Vec<&str> = own.split("::").collect();
                let mut rest = path.as_str();
                if let Some(absolute) = rest.strip_prefix("crate::") {
                    (base, rest) = (Vec::new(), absolute);
                } else if rest.starts_with("super::") || rest.starts_with("self::") {
                    while let Some(upper) = rest.strip_prefix("super::") {
                        base.pop();
                        rest = upper;
                    }
                    rest = rest.trim_start_matches("self::");
                } else {
                    continue;
                }
                let mut whole: Vec<&str> = base.into_iter().chain(rest.split("::")).collect();
                while !whole.is_empty() && !modules.contains(&whole.join("::")) {
                    whole.pop();
                }
                let target = whole.join("::");
                // A folder names its files, and a file its folder, in the tree.
                if target != own && target != "domain" && !target.is_empty() {
                    found.insert(target);
                }
            }
        }
    }
    all
}

fn reached<'a>(from: &'a str, imports: &'a Imports) -> BTreeSet<&'a str> {
    let (mut seen, mut waiting) = (BTreeSet::new(), vec![from]);
    while let Some(at) = waiting.pop() {
        for next in imports.get(at).into_iter().flatten() {
            if seen.insert(next.as_str()) {
                waiting.push(next);
            }
        }
    }
    seen
}

/// `domain::threads` of what lies in `src/domain/threads`.
fn folder_of(module: &str) -> String {
    module.split("::").take(2).collect::<Vec<_>>().join("::")
}

#[test]
fn circles_of_imports_stay_inside_of_a_folder_of_the_domain() {
    let imports = imports();
    assert!(imports.values().map(BTreeSet::len).sum::<usize>() > 500, "few imports were found");
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|it| (it.as_str(), reached(it, &imports))).collect();
    let mut violations = Vec::new();
    for (from, targets) in &reach {
        for to in targets.iter().filter(|to| folder_of(to) != folder_of(from)) {
            if from < to && reach.get(to).is_some_and(|back| back.contains(from)) {
                violations
                    .push(format!("{from} and {to} import each other, perhaps through others"));
            }
        }
    }
    assert_none("circles between folders", &violations);
}

#[test]
fn a_service_takes_the_storage_of_its_noun() {
    let all = sources(&["src/domain"]);
    let takes_all =
        |text: &str| text.contains("domain::storage::Storage") || text.contains("dyn Storage");
    let wrong = all.iter().filter(|it| it.path != "src/domain/storage.rs" && takes_all(&it.text));
    assert_none("services", &wrong.map(|it| it.path.clone()).collect::<Vec<_>>());
}
