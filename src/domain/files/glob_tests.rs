use super::*;

fn python(pattern: &str, path: &str) -> bool {
    Glob::of_listing(Dialect::Python, pattern).unwrap().matches(path)
}

fn javascript(pattern: &str, path: &str) -> bool {
    Glob::of_listing(Dialect::JavaScript, pattern).unwrap().matches(path)
}

#[test]
fn python_holds_bare_patterns_against_names_at_any_depth() {
    assert!(python("*.md", "a.md") && python("*.md", "x/y/a.md") && python("*.md", ".git/a.md"));
    assert!(!python("*.md", ".md") && python(".*", "x/.md") && !python("?md", ".md"));
    assert!(python("/*.md", "a.md") && !python("/*.md", "x/a.md"));
    assert!(python("*.{md,txt}", "x/a.txt") && python("[a-c]?", "x/b1") && !python("[!a]", "a"));
}
