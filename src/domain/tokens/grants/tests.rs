//! Tests what grants cover, reach and refuse.

use super::*;

fn prefix(text: &str) -> Grant {
    Grant { selector: Selector::Prefix(text.into()), actions: Actions::ALL }
}

fn exact(text: &str, actions: Actions) -> Grant {
    Grant { selector: Selector::Exact(text.into()), actions }
}

#[test]
fn a_prefix_opens_what_is_below_it_and_no_neighbour() {
    let grants = [prefix("acme:")];
    for (name, expected) in [
        ("acme:1", Access::Granted),
        ("acme:", Access::Granted),
        ("acme", Access::Denied),
        ("acme-corp", Access::Denied),
        ("acme-corp:1", Access::Denied),
        ("ACME:1", Access::Denied),
    ] {
        assert_eq!(access(&grants, None, name, Action::Read), expected, "{name}");
    }
    for open in ["acme", "a%", "", "acme: "] {
        let scoped = Scoped { threads: vec![prefix(open)], ..Scoped::default() };
        assert!(scoped.check(None).is_err(), "{open:?}");
    }
}

#[test]
fn write_covers_append_and_never_read() {
    let grants = [exact("t", Actions::WRITE), exact("log", Actions::APPEND)];
    let may = |name, action| access(&grants, None, name, action) == Access::Granted;
    assert!(may("t", Action::Append) && may("t", Action::Write) && !may("t", Action::Read));
    assert!(may("log", Action::Append) && !may("log", Action::Write) && !may("log", Action::Read));
}

#[test]
fn owned_asks_for_the_owner_unless_the_name_is_granted() {
    let mine = Scoped::of_subject("ann").threads;
    assert_eq!(access(&mine, Some("ann"), "t", Action::Read), Access::IfOwnedBy("ann"));
    let both = [mine[0].clone(), exact("t", Actions::READ)];
    assert_eq!(access(&both, Some("ann"), "t", Action::Read), Access::Granted);
    assert_eq!(access(&both, Some("ann"), "t", Action::Write), Access::IfOwnedBy("ann"));
    let reached = reach(&both, Some("ann"), Action::Read);
    assert_eq!(
        (reached.owner.as_deref(), &reached.exact[..]),
        (Some("ann"), &["t".to_owned()][..])
    );
}

#[test]
fn narrower_is_covered_and_nothing_else() {
    let wide = Scoped { threads: vec![prefix("a:")], ..Scoped::of_subject("ann") };
    let of = |threads| Scoped { threads, ..Scoped::default() };
    assert!(wide.covers(&of(vec![exact("a:1", Actions::READ)])));
    assert!(wide.covers(&of(vec![prefix("a:b/")])));
    assert!(!wide.covers(&of(vec![prefix("b:")])));
    assert!(!wide.covers(&of(vec![Grant { selector: Selector::Owned, actions: Actions::ALL }])));
    let read_only = of(vec![Grant { actions: Actions::READ, ..prefix("a:") }]);
    assert!(wide.covers(&read_only) && !read_only.covers(&wide));
    let below = |labels: &[&str]| Scoped {
        namespaces: vec![NamespaceGrant {
            prefix: labels.iter().map(|it| (*it).into()).collect(),
            actions: Actions::READ,
        }],
        ..Scoped::default()
    };
    assert!(wide.covers(&below(&["ann", "notes"])));
    assert!(!wide.covers(&below(&["anna"])) && !wide.covers(&below(&[])));
}

#[test]
fn namespaces_stay_below_the_subject() {
    let with = |labels: &[&str]| Scoped {
        namespaces: vec![NamespaceGrant {
            prefix: labels.iter().map(|it| (*it).into()).collect(),
            actions: Actions::ALL,
        }],
        ..Scoped::default()
    };
    assert!(with(&["ann~2eb", "x"]).check(Some("ann.b")).is_ok());
    assert!(with(&["bob"]).check(Some("ann")).is_err());
    assert!(with(&[]).check(Some("ann")).is_err());
    assert!(with(&[]).check(None).is_ok());
    assert!(with(&["a.b"]).check(None).is_err() && with(&[""]).check(None).is_err());
}

#[test]
fn the_tenant_to_read_covers_reading_of_everything_and_no_change() {
    let reads = Scoped::reads_tenant();
    let of = |threads| Scoped { threads, ..Scoped::default() };
    assert!(reads.covers(&of(vec![exact("t", Actions::READ)])));
    assert!(reads.covers(&Scoped::of_subject("ann").only_reading()));
    for more in [Actions::APPEND, Actions::WRITE, Actions::ALL] {
        assert!(!reads.covers(&of(vec![exact("t", more)])));
        assert!(!reads.covers(&Scoped { tenant: more, ..Scoped::default() }));
    }
    let wide = Scoped { threads: vec![prefix("a:")], ..Scoped::default() };
    assert!(!wide.covers(&reads));
    assert!(reads.check(None).is_ok() && reads.check(Some("ann")).is_err());
}

#[test]
fn reading_is_left_where_there_was_more_and_nothing_where_there_was_none() {
    let mut mixed = Scoped::of_subject("ann");
    mixed.threads.push(exact("log", Actions::APPEND));
    mixed.tenant = Actions::ALL;
    assert!(!mixed.only_reads() && !Scoped::default().only_reads());
    let reads = mixed.only_reading();
    assert!(reads.only_reads());
    assert_eq!(reads.threads.len(), 1, "to append is not to read");
    assert_eq!(reads.tenant, Actions::READ);
    assert_eq!(reads.namespaces[0].actions, Actions::READ);
}
