//! Tests who may make, narrow and revoke which tokens.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::domain::tokens::grants::{
    Access, Action, Actions, Grant, NamespaceGrant, Selector, access,
};

const NOW: Micros = 1_000 * SECOND;

fn tenant() -> (Caller, Pass) {
    (Caller::of_tenant("acme"), Pass::Key { key_id: "key_1".into(), expires_at: None })
}

fn holder(token: Token) -> (Caller, Pass) {
    let token = Arc::new(token);
    let caller = Caller {
        subject: token.subject.clone(),
        grants: Grants::Scoped(Arc::clone(&token.grants)),
        credential: token.token_id.to_string(),
        ..Caller::of_tenant(&token.tenant)
    };
    (caller, Pass::Token(token))
}

fn of_subject(subject: &str) -> (Caller, Pass) {
    let grants = Grants::Scoped(Arc::new(Scoped::of_subject(subject)));
    let subject = Some(subject.to_owned());
    let caller = Caller { subject, grants, ..Caller::of_tenant("acme") };
    (caller, Pass::Key { key_id: "key_2".into(), expires_at: None })
}

fn threads(selector: Selector, actions: Actions) -> Scoped {
    Scoped { threads: vec![Grant { selector, actions }], ..Scoped::default() }
}

fn exact(name: &str) -> Scoped {
    threads(Selector::Exact(name.into()), Actions::ALL)
}

fn for_subject(subject: &str) -> MintRequest {
    MintRequest { subject: Some(subject.into()), ..MintRequest::default() }
}

fn made((caller, pass): &(Caller, Pass), request: MintRequest) -> Token {
    mint(caller, pass, request, NOW).unwrap()
}

#[track_caller]
fn assert_field<T: fmt::Debug>(result: Result<T>, expected: &str) {
    match result {
        Err(Error::Invalid { field, .. }) => assert_eq!(field, expected),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_tenants_key_makes_tokens_for_anybody_and_for_nobody() {
    let token = made(&tenant(), for_subject("ann"));
    assert_eq!(*token.grants, Scoped::of_subject("ann"));
    assert_eq!((token.minter.as_str(), token.ancestors.len()), ("key_1", 0));
    assert_eq!((token.issued_at, token.expires_at), (NOW, NOW + 3_600 * SECOND));
    let grants = Some(exact("t"));
    let token = made(&tenant(), MintRequest { grants, ..MintRequest::default() });
    assert_eq!((token.subject, &*token.grants), (None, &exact("t")));
}

#[test]
fn what_cannot_be_granted_is_refused_with_its_field() {
    let (caller, pass) = tenant();
    let refused = |request| mint(&caller, &pass, request, NOW);
    let with = |grants| MintRequest { grants: Some(grants), ..MintRequest::default() };
    assert_field(refused(MintRequest::default()), "grants");
    assert_field(refused(with(Scoped::default())), "grants");
    assert_field(refused(for_subject("")), "subject");
    assert_field(refused(for_subject("a\0")), "subject");
    assert_field(refused(for_subject(&"x".repeat(513))), "subject");
    let prefix = |text: &str| threads(Selector::Prefix(text.into()), Actions::READ);
    assert_field(refused(with(prefix("acme"))), "grants.threads[0]");
    assert_field(refused(with(threads(Selector::Owned, Actions::READ))), "grants.threads[0]");
    assert_field(
        refused(with(threads(Selector::Exact("t".into()), Actions::default()))),
        "grants.threads[0]",
    );
    let foreign = NamespaceGrant { prefix: vec!["bob".into()], actions: Actions::READ };
    let grants = Some(Scoped { namespaces: vec![foreign], ..Scoped::default() });
    assert_field(refused(MintRequest { grants, ..for_subject("ann") }), "grants.namespaces[0]");
    for ttl in [0, 86_401, u64::MAX] {
        let request = MintRequest { ttl_seconds: Some(ttl), ..for_subject("ann") };
        assert_field(refused(request), "ttl_seconds");
    }
    let request = MintRequest { ttl_seconds: Some(86_400), ..for_subject("ann") };
    assert_eq!(refused(request).unwrap().expires_at, NOW + 86_400 * SECOND);
}

fn read_only() -> MintRequest {
    MintRequest { read_only: true, ..MintRequest::default() }
}

#[test]
fn a_token_that_only_reads_has_the_tenant_or_what_the_subject_has() {
    assert_eq!(*made(&tenant(), read_only()).grants, Scoped::reads_tenant());
    let of_ann = MintRequest { read_only: true, ..for_subject("ann") };
    let own = Scoped::of_subject("ann").only_reading();
    assert_eq!(*made(&tenant(), of_ann).grants, own);
    assert_eq!(*made(&of_subject("ann"), read_only()).grants, own);
    let both = MintRequest { grants: Some(exact("t")), ..read_only() };
    assert_field(mint(&tenant().0, &tenant().1, both, NOW), "read_only");
    let grants = Some(Scoped::reads_tenant());
    let foreign = MintRequest { grants, ..for_subject("ann") };
    assert_field(mint(&tenant().0, &tenant().1, foreign, NOW), "grants.tenant");
}

#[test]
fn what_only_reads_the_tenant_narrows_to_reading_and_to_nothing_else() {
    let (caller, pass) = holder(made(&tenant(), read_only()));
    let narrowed =
        |grants| narrow(&caller, &pass, NarrowRequest { grants, ttl_seconds: None }, NOW);
    assert_eq!(*narrowed(None).unwrap().grants, Scoped::reads_tenant());
    let reads = threads(Selector::Prefix("a:".into()), Actions::READ);
    assert_eq!(*narrowed(Some(reads.clone())).unwrap().grants, reads);
    for more in [Actions::APPEND, Actions::WRITE, Actions::ALL] {
        let wider = threads(Selector::Exact("t".into()), more);
        let below = NamespaceGrant { prefix: vec![], actions: more };
        let items = Scoped { namespaces: vec![below], ..Scoped::default() };
        let whole = Scoped { tenant: more, ..Scoped::default() };
        for grants in [wider, items, whole] {
            assert!(matches!(narrowed(Some(grants)), Err(Error::NotGranted(_))));
        }
    }
    assert!(matches!(
        revoke(&caller, &pass, Doomed::ById(TokenId::random()), NOW),
        Err(Error::NotGranted(_))
    ));
    // A part of what it reads does not lead back to all of it.
    let part = narrowed(Some(reads)).unwrap();
    let (caller, pass) = holder(part);
    let grants = Some(Scoped::reads_tenant());
    let back = narrow(&caller, &pass, NarrowRequest { grants, ttl_seconds: None }, NOW);
    assert!(matches!(back, Err(Error::NotGranted(_))));
}

#[test]
fn a_key_that_only_reads_makes_tokens_that_only_read() {
    let grants = Grants::Scoped(Arc::new(Scoped::reads_tenant()));
    let key = (
        Caller { grants, ..Caller::of_tenant("acme") },
        Pass::Key { key_id: "key_3".into(), expires_at: None },
    );
    assert_eq!(*made(&key, read_only()).grants, Scoped::reads_tenant());
    made(&key, MintRequest { read_only: true, ..for_subject("ann") });
    let refused = |request| matches!(mint(&key.0, &key.1, request, NOW), Err(Error::NotGranted(_)));
    assert!(refused(for_subject("ann")));
    assert!(refused(MintRequest { grants: Some(exact("t")), ..MintRequest::default() }));
}

#[test]
fn the_log_of_a_minted_token_tells_its_end() {
    let (caller, pass) = tenant();
    let token = made(&(caller.clone(), pass), read_only());
    let Act { at, actor, object, details, kind, .. } = token.minted_by(&caller);
    let act = kind.name().to_owned();
    let mut event = Event { event_id: "e".into(), at, actor, act, object, details, count: 1 };
    let expected = LiveToken {
        token_id: token.token_id,
        minter: "local".into(),
        minted_at: NOW,
        expires_at: token.expires_at,
        read_only: Some(true),
    };
    assert_eq!(LiveToken::of(&event), Some(expected));
    // As earlier versions wrote it: the end is the latest that it can have.
    event.details = "{}".into();
    let known = LiveToken::of(&event).unwrap();
    assert_eq!((known.expires_at, known.read_only), (NOW + 86_400 * SECOND, None));
}

#[test]
fn a_key_with_a_subject_stays_within_it() {
    let ann = of_subject("ann");
    for request in [MintRequest::default(), for_subject("ann")] {
        assert_eq!(*made(&ann, request).grants, Scoped::of_subject("ann"));
    }
    let refused = |request| matches!(mint(&ann.0, &ann.1, request, NOW), Err(Error::NotGranted(_)));
    assert!(refused(for_subject("bob")));
    // The thread may be ann's; the token alone does not say.
    assert!(refused(MintRequest { grants: Some(exact("t")), ..MintRequest::default() }));
    let own = Some(threads(Selector::Owned, Actions::READ));
    made(&ann, MintRequest { grants: own, ..MintRequest::default() });
}

#[test]
fn only_keys_make_tokens() {
    let (caller, pass) = holder(made(&tenant(), for_subject("ann")));
    assert!(matches!(mint(&caller, &pass, for_subject("ann"), NOW), Err(Error::NotGranted(_))));
    let pass = Pass::External { issuer: "login".into(), expires_at: NOW * 2 };
    assert!(matches!(mint(&caller, &pass, for_subject("ann"), NOW), Err(Error::NotGranted(_))));
}

#[test]
fn a_child_has_its_parents_in_its_chain_and_does_not_outlive_them() {
    let parent = made(&tenant(), MintRequest { ttl_seconds: Some(100), ..for_subject("ann") });
    let (caller, pass) = holder(parent.clone());
    let later = NOW + 40 * SECOND;
    let child = narrow(&caller, &pass, NarrowRequest::default(), later).unwrap();
    assert_eq!((&child.ancestors, &child.minter), (&vec![parent.token_id], &parent.minter));
    assert_eq!((child.expires_at, &child.grants), (parent.expires_at, &parent.grants));
    assert_eq!(child.subject, parent.subject);
    let with = |ttl| NarrowRequest { ttl_seconds: Some(ttl), grants: None };
    assert_eq!(narrow(&caller, &pass, with(60), later).unwrap().expires_at, parent.expires_at);
    match narrow(&caller, &pass, with(61), later) {
        Err(Error::Invalid { field, limit: Some(60), .. }) => assert_eq!(field, "ttl_seconds"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_chain_has_an_end() {
    let mut token = made(&tenant(), for_subject("ann"));
    for depth in 1..8 {
        let (caller, pass) = holder(token);
        token = narrow(&caller, &pass, NarrowRequest::default(), NOW).unwrap();
        assert_eq!(token.ancestors.len(), depth);
    }
    let (caller, pass) = holder(token);
    let refused = narrow(&caller, &pass, NarrowRequest::default(), NOW);
    assert!(matches!(refused, Err(Error::Invalid { limit: Some(8), .. })), "{refused:?}");
}

#[test]
fn a_key_narrows_itself_too() {
    let (caller, pass) = tenant();
    assert_field(narrow(&caller, &pass, NarrowRequest::default(), NOW), "grants");
    let request = NarrowRequest { grants: Some(exact("t")), ttl_seconds: None };
    let token = narrow(&caller, &pass, request, NOW).unwrap();
    assert_eq!((token.subject, token.minter.as_str(), token.ancestors.len()), (None, "key_1", 0));
}

#[test]
fn whoever_holds_a_token_revokes_it_and_what_came_from_it() {
    let parent = made(&tenant(), for_subject("ann"));
    let holder_of = holder(parent.clone());
    let child = narrow(&holder_of.0, &holder_of.1, NarrowRequest::default(), NOW).unwrap();
    let other = made(&tenant(), for_subject("ann"));
    let (own, below) = (parent.token_id, child.token_id);
    let revoked = |who: &(Caller, Pass), doomed| revoke(&who.0, &who.1, doomed, NOW);
    let id = |result: Result<RevokedToken>| result.unwrap().token_id;
    assert_eq!(id(revoked(&holder_of, Doomed::Own)), own);
    assert_eq!(id(revoked(&holder_of, Doomed::ById(own))), own);
    assert_eq!(id(revoked(&holder_of, Doomed::Shown(&child))), below);
    assert!(matches!(revoked(&holder_of, Doomed::ById(below)), Err(Error::NotGranted(_))));
    assert!(matches!(revoked(&holder_of, Doomed::Shown(&other)), Err(Error::NotFound(_))));
    let below_holder = holder(child.clone());
    assert!(matches!(revoked(&below_holder, Doomed::Shown(&parent)), Err(Error::NotFound(_))));
    let whole = tenant();
    let answer = revoked(&whole, Doomed::ById(below)).unwrap();
    assert_eq!((answer.token_id, answer.expires_at), (below, NOW + 86_400 * SECOND));
    assert_eq!(revoked(&whole, Doomed::Shown(&parent)).unwrap().expires_at, parent.expires_at);
    assert_field(revoked(&whole, Doomed::Own), "token_id");
    let foreign = Token { tenant: "globex".into(), ..parent.clone() };
    assert!(matches!(revoked(&whole, Doomed::Shown(&foreign)), Err(Error::NotFound(_))));
}

#[test]
fn a_key_with_a_subject_revokes_what_it_made() {
    let ann = of_subject("ann");
    let own = made(&ann, MintRequest::default());
    assert!(revoke(&ann.0, &ann.1, Doomed::Shown(&own), NOW).is_ok());
    let by_id = revoke(&ann.0, &ann.1, Doomed::ById(own.token_id), NOW);
    assert!(matches!(by_id, Err(Error::NotGranted(_))));
    let of_another_key = made(&tenant(), for_subject("ann"));
    let refused = revoke(&ann.0, &ann.1, Doomed::Shown(&of_another_key), NOW);
    assert!(matches!(refused, Err(Error::NotFound(_))));
    // An issuer makes tokens for many subjects.
    let (caller, _) = of_subject("ann");
    let pass = Pass::External { issuer: "login".into(), expires_at: NOW * 2 };
    let bobs = Token { minter: pass.minter(), subject: Some("bob".into()), ..own };
    assert!(matches!(revoke(&caller, &pass, Doomed::Shown(&bobs), NOW), Err(Error::NotFound(_))));
}

#[test]
fn an_id_has_one_spelling() {
    let id = TokenId::random();
    assert_eq!(TokenId::parse("f", &id.to_string()).unwrap(), id);
    for text in ["", "tok_", "tok_12", &"a".repeat(36), &format!("tok_{}", "A".repeat(32))] {
        assert_field(TokenId::parse("f", text), "f");
    }
}

fn actions() -> impl Strategy<Value = Actions> {
    prop::sample::select(vec![Actions::READ, Actions::APPEND, Actions::WRITE, Actions::ALL])
}

fn grant() -> impl Strategy<Value = Grant> {
    let selector = prop_oneof![
        "[ab]{1,2}[:/][ab]{0,2}".prop_map(Selector::Exact),
        "[ab]{0,2}[:/]([ab]{0,2}[:/])?".prop_map(Selector::Prefix),
        Just(Selector::Owned),
    ];
    (selector, actions()).prop_map(|(selector, actions)| Grant { selector, actions })
}

fn own() -> impl Strategy<Value = Scoped> {
    let kind = || prop::collection::vec(grant(), 0..4);
    let labels = prop::collection::vec("[ab]", 0..3);
    let namespace = (labels, actions()).prop_map(|(rest, actions)| {
        let prefix = [vec!["ann".to_owned()], rest].concat();
        NamespaceGrant { prefix, actions }
    });
    let namespaces = prop::collection::vec(namespace, 0..3);
    (kind(), namespaces, kind(), kind()).prop_map(|(threads, namespaces, sessions, snapshots)| {
        let tenant = Actions::default();
        Scoped { threads, namespaces, sessions, snapshots, tenant }
    })
}

/// Something near to what is there: often within it, often not.
fn near(own: Scoped) -> impl Strategy<Value = Scoped> {
    let kind = |own: &[Grant]| {
        let any = Grant { selector: Selector::Prefix("a:".into()), actions: Actions::READ };
        let grants = if own.is_empty() { vec![any] } else { own.to_vec() };
        let wanted = (prop::sample::select(grants), changed(), "[ab]?[:/]?");
        let wanted = wanted.prop_map(|(grant, actions, more)| {
            let selector = match grant.selector {
                Selector::Prefix(it) if more.ends_with([':', '/']) => Selector::Prefix(it + &more),
                Selector::Prefix(it) if !more.is_empty() => Selector::Exact(it + &more),
                other => other,
            };
            Grant { selector, actions: actions.unwrap_or(grant.actions) }
        });
        prop::collection::vec(wanted, 0..2)
    };
    let of_first = own.namespaces.clone();
    let namespace = (changed(), 0..2_usize).prop_map(move |(actions, count)| {
        let wanted = |it: &NamespaceGrant| NamespaceGrant {
            prefix: it.prefix.clone(),
            actions: actions.unwrap_or(it.actions),
        };
        of_first.iter().take(count).map(wanted).collect()
    });
    (kind(&own.threads), namespace, kind(&own.sessions), kind(&own.snapshots)).prop_map(
        |(threads, namespaces, sessions, snapshots)| Scoped {
            threads,
            namespaces,
            sessions,
            snapshots,
            tenant: Actions::default(),
        },
    )
}

/// Other actions, now and then.
fn changed() -> impl Strategy<Value = Option<Actions>> {
    prop_oneof![4 => Just(None), 1 => actions().prop_map(Some)]
}

/// Whatever is asked for: what comes out opens nothing that was closed before.
#[test]
fn narrowing_never_widens() {
    let narrowed = Cell::new(0);
    let grants = own().prop_flat_map(|own| (Just(own.clone()), near(own)));
    let names = prop::collection::vec("[ab]{0,2}[:/][ab:/]{0,3}", 16);
    let labels = prop::collection::vec(prop::sample::select(vec!["ann", "a", "b"]), 0..4);
    let mut runner =
        TestRunner::new(Config { cases: 1_000, failure_persistence: None, ..Config::default() });
    let done = runner.run(&(grants, names, labels), |((own, wanted), names, labels)| {
        let base = made(&tenant(), for_subject("ann"));
        let (caller, pass) = holder(Token { grants: Arc::new(own.clone()), ..base });
        let request = NarrowRequest { grants: Some(wanted), ttl_seconds: None };
        let Ok(token) = narrow(&caller, &pass, request, NOW) else { return Ok(()) };
        narrowed.set(narrowed.get() + 1);
        let (child, _) = holder(token.clone());
        for action in [Action::Read, Action::Append, Action::Write] {
            let kinds = [
                (&own.threads, &token.grants.threads),
                (&own.sessions, &token.grants.sessions),
                (&own.snapshots, &token.grants.snapshots),
            ];
            for (name, (before, after)) in names.iter().flat_map(|it| kinds.map(|kind| (it, kind)))
            {
                let before = access(before, Some("ann"), name, action);
                let wider = match access(after, Some("ann"), name, action) {
                    Access::Granted => before != Access::Granted,
                    Access::IfOwnedBy(_) => before == Access::Denied,
                    Access::Denied => false,
                };
                prop_assert!(!wider, "{name}: {action:?}, was {before:?}");
            }
            let may = |caller: &Caller| caller.may_touch_namespace(&labels, action);
            prop_assert!(may(&caller) || !may(&child), "{labels:?}");
        }
        Ok(())
    });
    done.unwrap();
    assert!(narrowed.get() > 200, "only {} were narrowed", narrowed.get());
}
