//! Tests the bounds of globs: the steps of expensive patterns, the limits, and the agreement with a reference that tries everything.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::glob_braces::{self, Piece, written_out};
use super::super::glob_matcher::MATCHED_WORDS_MAX;
use super::super::glob_name::{Group, Take, Unit, units};
use super::super::glob_program::group;
use super::*;

const DIALECTS: [Dialect; 2] = [Dialect::Python, Dialect::JavaScript];

/// Steps for each byte of a pattern, times the length of the path, squared.
const STEPS_PER_BYTE: u64 = 128;

#[test]
fn a_path_takes_no_more_steps_than_the_pattern_allows() {
    let nested =
        |open: &str, close: &str, depth: usize| open.repeat(depth) + "a" + &close.repeat(depth);
    let patterns = [
        "*(*(*(*(*(*(a))))))b".to_owned(),
        nested("*(", ")", 32) + "b",
        nested("+(", "|aa)", 32) + "b",
        nested("?(a|*", ")", 32) + "b",
        nested("@(a|", ")", 32) + "b",
        "*(*|a|aa|@(a|*))b".to_owned(),
        "!(*!(*a)a)b".to_owned(),
        "*!(*!(*a)*!(a*))*!(*!(a)*)b".to_owned(),
        "+(!(*!(a)))b".to_owned(),
        "*!(a*!(*a*)*)".repeat(8),
        nested("{a,", "}", 32) + "b",
        nested("{a*,", "*}", 32) + "b",
        "{a,*}".repeat(9) + "b",
        "{*,a,?}".repeat(6) + "b",
        "{1..1000}*".to_owned(),
        "*a".repeat(300) + "b",
        "**/".repeat(300) + "b",
        "{**/,*,a}".repeat(6) + "b",
        "@({a,b}|*)".repeat(9) + "c",
        "[a{b,]}".to_owned() + &"*[a-z]".repeat(100) + "0",
        "**{1..999}".to_owned(),
        "*{1..31}*{1..31}*b".to_owned(),
        "*{,*,**,a*}{,**/,*/}{,*,**}{,a}{,*}{,/}".to_owned(),
        "{,*{,*{,*{,*{,*{,*{,*{,*{,*{,*}}}}}}}}}}b".to_owned(),
        "{,*,**,/,*/,**/}".repeat(3) + &nested("{,", "}", 3) + "b",
        "[{a,b}]".repeat(5) + "*",
        "*[{a,b}{c,*}]*[{a,b}]".to_owned(),
        "*({a,b}{a,c})b".to_owned(),
        "*!(*!(*{a,b}{a,c}{a,d}){a,b}{a,c}{a,d})b".to_owned(),
        "*!(!(a)!(b)!(c)!(d))b".to_owned(),
        "*!(*!(*ab)a)aa,{a,{a,,a}}}(}}aa{a,{a,{a,{a,{a,{a,{a,{a,{a,{a}(}}}}}}}}}a,{a,{a,{a,{a}}}}a)b"
            .to_owned(),
        "*!(*!(*a),".to_owned() + &nested("{a,", "}", 30) + &nested("{a,", "}a)b", 1),
    ];
    let names = [
        "a".repeat(20),
        "a".repeat(200),
        "a".repeat(1_024),
        "a/".repeat(512),
        "aab".repeat(300),
        "12345".repeat(100),
    ];
    for (dialect, pattern) in
        DIALECTS.into_iter().flat_map(|it| patterns.iter().map(move |p| (it, p)))
    {
        let glob = match Glob::of_listing(dialect, pattern) {
            Ok(glob) => glob,
            Err(Error::Glob { .. }) => continue,
            Err(other) => panic!("{pattern}: {other}"),
        };
        for name in &names {
            let (_, steps) = glob.matches_in(name);
            let length = name.len() as u64 + 2;
            let linear = STEPS_PER_BYTE * pattern.len() as u64 * length * length;
            let most = linear.min(4 * glob.steps_max(name.len()));
            assert!(
                steps <= most,
                "{pattern:?} against {} characters: {steps} of {most}",
                name.len()
            );
        }
    }
}

/// Without `!(…)` a path that is twice as long takes about twice as many steps, with it four times.
#[test]
fn steps_grow_as_the_path_does_or_as_its_square() {
    for (pattern, growth) in [
        ("*(*(*(*(*(*(a))))))b", 3),
        ("*{a,*}{*,a}**b", 3),
        ("!(*(!(a)|b))b", 6),
        ("*!(*!(*a)a)b", 6),
    ] {
        let glob = Glob::of_listing(Dialect::JavaScript, pattern).unwrap();
        let steps = |length| glob.matches_in(&"a".repeat(length)).1;
        assert!(steps(400) <= growth * steps(200), "{pattern}: {} and {}", steps(400), steps(200));
    }
}

#[test]
fn a_program_grows_as_its_pattern_and_not_as_what_braces_stand_for() {
    let size = |count: usize| {
        let glob = Glob::of_listing(Dialect::Python, &("{abc,def}".repeat(count) + "*.md"));
        glob.unwrap().program.size
    };
    assert!(size(8) - size(7) == size(7) - size(6), "{} {} {}", size(8), size(7), size(6));
    let deep = "{a,".repeat(32) + "*" + &"}".repeat(32) + "/**/{x,y}*/{**/,}z";
    for dialect in DIALECTS {
        let glob = Glob::of_listing(dialect, &deep).unwrap();
        assert!(glob.program.size < 10 * deep.len(), "{}", glob.program.size);
    }
}

#[test]
fn braces_in_groups_are_no_more_than_their_bytes() {
    for pattern in ["*({a,b}c)", "!({a,b}c)", "@(x{a,!(b)}c)"] {
        let size = |count: usize| {
            let braces = "{a,b}".repeat(count);
            let pattern = pattern.replace('c', &braces);
            Glob::of_listing(Dialect::JavaScript, &pattern).unwrap().program.size
        };
        assert_eq!(size(8) - size(7), size(2) - size(1), "{pattern}");
    }
}

#[test]
fn a_long_sequence_costs_a_name_few_steps() {
    let steps = |pattern: &str| {
        let glob = Glob::of_listing(Dialect::Python, pattern).unwrap();
        glob.matches_in("x/12345.md").1
    };
    assert!(steps("**/*{1..999}.md") < 2 * steps("**/*{1..99}.md"));
}

#[test]
fn what_is_too_much_is_refused_with_its_field_and_limit() {
    let refused = |dialect, pattern: &str| match Glob::of_listing(dialect, pattern) {
        Err(Error::Glob { field: "pattern", limit, .. }) => limit,
        other => panic!("{} bytes: {other:?}", pattern.len()),
    };
    let nested = |open: &str, close: &str, depth| open.repeat(depth) + "a" + &close.repeat(depth);
    for dialect in DIALECTS {
        for (open, close) in [("{a,", "}"), ("@(", ")"), ("{", "}"), ("!(", ")"), ("[", "]")] {
            assert_eq!(refused(dialect, &nested(open, close, 8_000)), 1_024, "{open}");
            assert_eq!(refused(dialect, &open.repeat(8_000)), 1_024, "{open}");
        }
        assert_eq!(refused(dialect, &nested("{a,", "}", 34)), 32);
        assert_eq!(refused(dialect, &"{a,b}".repeat(10)), 1_000);
        assert!(Glob::of_listing(dialect, &nested("{a,", "}", 32)).is_ok());
        assert!(Glob::of_listing(dialect, &"x".repeat(1_024)).is_ok());
    }
    // Python reads a bracket around braces in each of their texts: 32 texts of 15 characters, then 256 of 24.
    let spanning = |count| "[{a,b}]".repeat(count);
    assert!(Glob::of_listing(Dialect::Python, &spanning(5)).is_ok());
    assert_eq!(refused(Dialect::Python, &spanning(8)), 32 * 56);
    // One that does not close means itself.
    assert!(Glob::of_listing(Dialect::Python, "{1..1000}[x").is_ok());
    // In JavaScript the braces are characters of the class.
    assert!(Glob::of_listing(Dialect::JavaScript, &spanning(8)).is_ok());
    let script = |pattern: &str| refused(Dialect::JavaScript, pattern);
    assert_eq!(script(&nested("@(", ")", 33)), 32);
    assert_eq!(script(&nested("!(", ")", 3)), 2);
    assert_eq!(script(&"!(a)".repeat(17)), 16);
    assert_eq!(script(&("{".to_owned() + &"!(a),".repeat(17) + "b}")), 16);
    assert_eq!(script("!({a,!({b,!(c)})})"), 2);
    // They count in the pattern, however many texts its braces stand for.
    assert!(
        Glob::of_listing(Dialect::JavaScript, &("{a,b}".repeat(9) + &"!(a)".repeat(16))).is_ok()
    );
    assert_eq!(refused(Dialect::Python, "{1..100000000000}"), 1_000);
    let field = match Glob::of_search(Dialect::JavaScript, &"x".repeat(1_025)) {
        Err(Error::Glob { field, .. }) => field,
        other => panic!("{other:?}"),
    };
    assert_eq!(field, "glob");
}

#[test]
fn a_match_whose_time_is_up_stops() {
    let glob = Glob::of_listing(Dialect::JavaScript, "*!(*!(*a)a)b").unwrap();
    let over = Stop::at(Instant::now().checked_sub(Duration::from_secs(1)).unwrap());
    let mut matcher = glob.matcher(&over);
    matcher.matches(&"a".repeat(1_000));
    assert!(matcher.is_stopped());
    assert!(matcher.steps() < 200_000, "{}", matcher.steps());
}

#[test]
fn what_is_remembered_of_bodies_is_bounded() {
    let glob = Glob::of_listing(Dialect::JavaScript, "**/*!(!(a)!(b)c)/d").unwrap();
    let stop = Stop::at(Instant::now() + Duration::from_hours(1));
    let mut matcher = glob.matcher(&stop);
    // More than a path has.
    matcher.matches(&"abc/".repeat(2_000));
    let words = matcher.matched_words();
    assert!((MATCHED_WORDS_MAX / 2..=MATCHED_WORDS_MAX).contains(&words), "{words}");
}

/// What a pattern means, tried in every way: its texts one by one, parts of the path one by one.
fn reference(dialect: Dialect, pattern: &str, path: &str) -> bool {
    let characters: Vec<char> = path.chars().collect();
    let parts: Vec<&[char]> = characters.split(|it| *it == '/').collect();
    texts(dialect, pattern).iter().any(|units| {
        let names: Vec<&[Unit]> = units.split(|it| matches!(it, Unit::Slash)).collect();
        let is_kept = |at: usize| {
            let is_empty = names[at].is_empty() && at > 0 && at + 1 < names.len();
            let is_dropped = is_empty && dialect == Dialect::Python;
            let is_repeated =
                at > 0 && is_deep(names[at]) && last_kept(dialect, &names, at).is_some_and(is_deep);
            !(is_dropped || is_repeated)
        };
        let kept: Vec<&[Unit]> =
            (0..names.len()).filter(|at| is_kept(*at)).map(|at| names[at]).collect();
        holds(dialect, &kept, None, &parts)
    })
}

/// Python reads each text that braces make; in JavaScript braces are choices, within groups too.
fn texts(dialect: Dialect, pattern: &str) -> Vec<Vec<Unit>> {
    let pieces = glob_braces::read(dialect, pattern).unwrap();
    if dialect == Dialect::JavaScript {
        return chosen(&pieces);
    }
    let texts = written_out(&pieces, usize::MAX).unwrap();
    texts.iter().map(|it| units(dialect, it, true).unwrap()).collect()
}

fn chosen(pieces: &[Piece]) -> Vec<Vec<Unit>> {
    let choices = |piece: &Piece| match piece {
        Piece::Text(text) => vec![units(Dialect::JavaScript, text, true).unwrap()],
        Piece::Choice(rows) => rows.iter().flat_map(|it| chosen(it)).collect(),
        Piece::Group { kind, rows } => vec![vec![group(*kind, rows)]],
    };
    pieces.iter().fold(vec![Vec::new()], |made, piece| {
        let choices = choices(piece);
        let with = |begin: &Vec<Unit>| {
            choices.iter().map(|it| [&begin[..], &it[..]].concat()).collect::<Vec<_>>()
        };
        made.iter().flat_map(with).collect()
    })
}

fn last_kept<'a>(dialect: Dialect, names: &[&'a [Unit]], at: usize) -> Option<&'a [Unit]> {
    let is_empty = |at: usize| names[at].is_empty() && at > 0 && dialect == Dialect::Python;
    (0..at).rev().find(|it| !is_empty(*it)).map(|it| names[it])
}

fn is_deep(name: &[Unit]) -> bool {
    matches!(name, [Unit::Star, Unit::Star])
}

fn holds(dialect: Dialect, names: &[&[Unit]], before: Option<&[Unit]>, parts: &[&[char]]) -> bool {
    let Some((name, rest)) = names.split_first() else { return parts.is_empty() };
    let may_enter = |part: &[char]| match dialect {
        Dialect::Python => part.first() != Some(&'.'),
        Dialect::JavaScript => part != ['.'] && part != ['.', '.'],
    };
    if !is_deep(name) {
        return parts.split_first().is_some_and(|(part, others)| {
            matches_name(dialect, name, part) && holds(dialect, rest, Some(name), others)
        });
    }
    let ends_otherwise =
        before.is_some_and(|it| !matches!(it.last(), Some(Unit::Star | Unit::Nothing)));
    if rest.is_empty() {
        let is_below = !parts.is_empty() && parts.iter().all(|it| may_enter(it));
        let is_itself = parts.is_empty() && dialect == Dialect::JavaScript && ends_otherwise;
        return is_below || is_itself;
    }
    let mut entered = 0;
    while entered < parts.len() {
        if holds(dialect, rest, Some(name), &parts[entered..]) {
            return true;
        }
        if !may_enter(parts[entered]) {
            return false;
        }
        entered += 1;
    }
    false
}

fn matches_name(dialect: Dialect, name: &[Unit], part: &[char]) -> bool {
    let is_wild =
        name.first().is_some_and(|it| !matches!(it, Unit::Take(Take::Char(_)) | Unit::Nothing));
    let is_hidden = match dialect {
        Dialect::Python => matches!(part, [] | ['.', ..]),
        Dialect::JavaScript => matches!(part, [] | ['.'] | ['.', '.']),
    };
    !(is_wild && is_hidden) && matches_units(name, part)
}

/// Each way to begin with the first unit, and then the others.
fn matches_units(units: &[Unit], text: &[char]) -> bool {
    let Some((first, rest)) = units.split_first() else { return text.is_empty() };
    (0..=text.len()).any(|to| takes(first, &text[..to]) && matches_units(rest, &text[to..]))
}

fn takes(unit: &Unit, text: &[char]) -> bool {
    match unit {
        Unit::Take(take) => matches!(text, [one] if take.takes(*one)),
        Unit::Star => true,
        Unit::Nothing => text.is_empty(),
        Unit::Slash => false,
        Unit::Choice(rows) => rows.iter().any(|it| matches_units(it, text)),
        Unit::Group(group) => takes_group(group, text),
    }
}

fn takes_group(group: &Group, text: &[char]) -> bool {
    let once = |text: &[char]| group.choices.iter().any(|it| matches_units(it, text));
    let again = |from: usize| once(&text[..from]) && takes_group(&repeated(group), &text[from..]);
    match group.kind {
        '!' => !once(text),
        '?' => text.is_empty() || once(text),
        '*' => text.is_empty() || (1..=text.len()).any(again),
        '+' => once(text) || (1..=text.len()).any(again),
        _ => once(text),
    }
}

fn repeated(group: &Group) -> Group {
    Group { kind: '*', choices: group.choices.clone() }
}

fn pattern() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a", "b", ".", "*", "**", "/", "/**/", "?", "[ab]", "[^a]", "[!a]", "[", "]", "{a,b}", "{",
        "}", ",", "{a*,", "{,a}", "{**/,}", "{/,a}", "{a,*}", "{1..3}", "{a..b}", "@(", "!(", "*(",
        "+(", "?(", "(", "|", ")", "!(a)", "*(a|b)", "@(a|", "\\", "\\*", "$", "!", "-",
        "*({a,b})", "!({a,b})", "@(a{b,", "{@(a|b),", "[{a,b}]", "{a[,b]}", "[a{b,",
    ]);
    prop::collection::vec(piece, 0..8).prop_map(|it| it.concat())
}

fn path() -> impl Strategy<Value = String> {
    let piece =
        prop::sample::select(vec!["a", "b", "ab", ".", "/", "/a", "*", "1", "{", "[", ".."]);
    prop::collection::vec(piece, 0..6).prop_map(|it| it.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_pattern_matches_what_a_reference_says_that_tries_everything(
        pattern in pattern(), paths in prop::collection::vec(path(), 6), is_script: bool,
    ) {
        let dialect = if is_script { Dialect::JavaScript } else { Dialect::Python };
        // What the reference does not know: prefixes that are cut off, and names at any depth.
        let pattern = if is_script { format!("a{pattern}") } else { format!("a/{pattern}") };
        if let Ok(glob) = Glob::of_listing(dialect, &pattern) {
            for path in paths.iter().map(|it| if is_script { format!("a{it}") } else { format!("a/{it}") }) {
                let expected = reference(dialect, &pattern, &path)
                    || (is_script && path == pattern);
                prop_assert_eq!(glob.matches(&path), expected, "{:?} {:?} {:?}", dialect, pattern, path);
            }
        }
    }
}
