//! Tests of the authenticator: which texts it accepts, how long, and when it asks the storage.

use super::bench::{Bench, SECOND, START, key};
use super::*;
use crate::auth::tokens::Named;
use crate::domain::tenants::audit::{Act, ActKind};
use crate::domain::tokens::key::Key;
use crate::domain::tokens::token::MintRequest;

const LOCAL: &str = "127.0.0.1:1";

async fn with_key() -> (Bench, String) {
    let secret = Secret::random();
    let text = secret.text().to_owned();
    (Bench::new(LOCAL, vec![key("one", &secret)]).await, text)
}

#[tokio::test]
async fn a_key_opens_its_own_tenant_and_no_other_text_opens_anything() {
    let (one, two) = (Secret::random(), Secret::random());
    let bench = Bench::new(LOCAL, vec![key("one", &one), key("two", &two)]).await;
    assert_eq!(bench.ask(Some(one.text())).await.unwrap().caller.tenant, "one");
    assert_eq!(bench.ask(Some(two.text())).await.unwrap().caller.tenant, "two");
    for text in
        [None, Some(""), Some("tk_"), Some("tks_"), Some("a.b.c"), Some(Secret::random().text())]
    {
        assert!(matches!(bench.ask(text).await, Err(Refusal::Unauthorized(_))), "{text:?}");
    }
}

#[tokio::test]
async fn a_presented_key_is_never_ignored_by_a_server_without_keys() {
    let bench = Bench::new(LOCAL, vec![]).await;
    let local = bench.ask(None).await.unwrap();
    assert_eq!((local.caller.tenant.as_str(), local.pass), ("default", Pass::Local));
    assert!(bench.ask(Some(Secret::random().text())).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn credentials_that_could_not_be_read_lately_let_nobody_in() {
    let (bench, key) = with_key().await;
    let token = bench.mint(&key, "ann").await;
    tokio::time::advance(FRESH_FOR).await;
    assert!(bench.ask(Some(&key)).await.is_ok() && bench.ask(Some(&token)).await.is_ok());
    tokio::time::advance(Duration::from_millis(1)).await;
    for text in [key.as_str(), &token, "tks_0123456789abcdef.a.b", "a.b.c"] {
        assert_eq!(bench.ask(Some(text)).await, Err(Refusal::Stale), "{text}");
    }
    assert!(!bench.authenticator.is_fresh());
}

#[tokio::test]
async fn the_first_key_ends_the_keyless_mode_and_what_was_made_in_it() {
    let (bench, secret) = (Bench::new(LOCAL, vec![]).await, Secret::random());
    let local = bench.ask(None).await.unwrap();
    let request = MintRequest { subject: Some("ann".into()), ..MintRequest::default() };
    let token = bench.tokens.mint(&local, request).await.unwrap().text;
    assert_eq!(bench.ask(Some(&token)).await.unwrap().caller.tenant, "default");
    bench.stored.all.lock().unwrap().keys = vec![key("one", &secret)];
    bench.authenticator.refresh().await.unwrap();
    assert!(bench.ask(None).await.is_err());
    assert_eq!(bench.ask(Some(&token)).await, Err(Refusal::TokenRevoked));
    assert!(bench.ask(Some(secret.text())).await.is_ok());
    let revoked = Key { revoked_at: Some(1), ..key("one", &secret) };
    bench.stored.all.lock().unwrap().keys = vec![revoked, key("two", &Secret::random())];
    bench.authenticator.refresh().await.unwrap();
    assert!(bench.ask(Some(secret.text())).await.is_err());
}

#[tokio::test]
async fn without_keys_nothing_is_answered_on_an_address_that_others_reach() {
    let bench = Bench::new("0.0.0.0:1", vec![]).await;
    assert!(bench.authenticator.is_unprotected());
    assert!(bench.authenticator.admit(Visit::default).is_err());
}

#[tokio::test]
async fn a_token_ends_exactly_at_its_expiry() {
    let (bench, key) = with_key().await;
    let token = bench.mint(&key, "ann").await;
    let end = START + 3_600 * SECOND;
    bench.clock.advance(3_600 * SECOND - 1);
    assert_eq!(bench.ask(Some(&token)).await.unwrap().pass.expires_at(), Some(end));
    bench.clock.advance(1);
    let refused = bench.ask(Some(&token)).await.unwrap_err();
    assert_eq!(refused, Refusal::TokenExpired { at: end });
    let text =
        "the token expired at 2023-11-14T23:13:20.000000Z; ask whoever made it for a new one";
    assert_eq!(refused.to_string(), text);
}

#[tokio::test]
async fn a_token_dies_with_any_of_its_ancestors_and_with_its_key() {
    let (bench, key) = with_key().await;
    for killed in 0..3 {
        let mut chain = vec![bench.mint(&key, "ann").await];
        for _ in 0..2 {
            chain.push(bench.narrow(chain.last().unwrap()).await);
        }
        bench.revoke(&key, Named::ByText(chain[killed].clone())).await;
        for (at, token) in chain.iter().enumerate() {
            let lives = bench.ask(Some(token)).await;
            assert_eq!(lives.is_ok(), at < killed, "{killed} {at}");
            assert!(lives.is_ok() || lives == Err(Refusal::TokenRevoked));
        }
    }
    let token = bench.mint(&key, "ann").await;
    let child = bench.narrow(&token).await;
    bench.stored.all.lock().unwrap().keys[0].key_id = "key_other".into();
    bench.authenticator.refresh().await.unwrap();
    for token in [token, child] {
        assert_eq!(bench.ask(Some(&token)).await, Err(Refusal::TokenRevoked));
    }
}

#[tokio::test]
async fn new_secrets_end_all_tokens() {
    let (bench, key) = with_key().await;
    let token = bench.mint(&key, "ann").await;
    let act = Act::of_operator("one", ActKind::SecretsRotated, "", START);
    bench.stored.delete_signing_secrets("one", &act).await.unwrap();
    bench.authenticator.refresh().await.unwrap();
    assert!(matches!(bench.ask(Some(&token)).await, Err(Refusal::Unauthorized(_))));
    let token = bench.mint(&key, "ann").await;
    assert!(bench.ask(Some(&token)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_steady_state_asks_the_storage_for_nothing() {
    let (bench, key) = with_key().await;
    let token = bench.mint(&key, "ann").await;
    let before = bench.loads();
    for _ in 0..100 {
        bench.ask(Some(&token)).await.unwrap();
        let child = bench.narrow(&token).await;
        bench.ask(Some(&child)).await.unwrap();
    }
    assert_eq!(bench.loads(), before);
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_another_server_just_made_is_looked_up_once_a_second() {
    let (one, key) = with_key().await;
    let two = Bench::beside(&one.stored, LOCAL, &one.clock).await;
    let token = one.mint(&key, "ann").await;
    assert!(two.ask(Some(&token)).await.is_ok());
    let before = two.loads();
    for at in 0..50 {
        let invented = format!("tks_{at:016x}.AAAA.AAAA");
        assert!(matches!(two.ask(Some(&invented)).await, Err(Refusal::Unauthorized(_))));
    }
    assert_eq!(two.loads(), before);
    tokio::time::advance(REREAD_EVERY).await;
    *two.stored.fails.lock().unwrap() = true;
    for _ in 0..50 {
        // Whether it is one cannot be told now.
        assert_eq!(two.ask(Some("tks_0123456789abcdef.A.A")).await, Err(Refusal::Stale));
    }
    assert_eq!(two.loads(), before + 1);
    assert!(two.ask(Some(&token)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_reading_that_comes_late_brings_no_revoked_token_back() {
    let (bench, key) = with_key().await;
    let token = bench.mint(&key, "ann").await;
    let early = Instant::now();
    tokio::time::advance(Duration::from_millis(10)).await;
    bench.revoke(&token, Named::Own).await;
    assert_eq!(bench.ask(Some(&token)).await, Err(Refusal::TokenRevoked));
    let mut old = bench.stored.all.lock().unwrap().clone();
    old.revocations.clear();
    bench.authenticator.replace(old, early);
    assert_eq!(bench.ask(Some(&token)).await, Err(Refusal::TokenRevoked));
}

#[tokio::test]
async fn a_key_that_was_made_just_now_works_at_once() {
    let (bench, _) = with_key().await;
    let fresh = Secret::random();
    bench.add(key("two", &fresh));
    // Also for those that come together: nobody is told that it is unknown while it is looked up.
    let asks = (0..10).map(|_| bench.ask(Some(fresh.text())));
    for answer in futures::future::join_all(asks).await {
        assert_eq!(answer.unwrap().caller.tenant, "two");
    }
    assert_eq!((bench.lookups(), bench.loads()), (1, 2));
    bench.ask(Some(fresh.text())).await.unwrap();
    assert_eq!(bench.lookups(), 1, "it is known now");
}

#[tokio::test]
async fn the_first_key_works_at_once_and_ends_the_keyless_mode() {
    let (bench, first) = (Bench::new(LOCAL, vec![]).await, Secret::random());
    bench.add(key("one", &first));
    assert!(bench.ask(None).await.is_ok());
    assert_eq!(bench.ask(Some(first.text())).await.unwrap().caller.tenant, "one");
    assert!(bench.ask(None).await.is_err());
}

#[tokio::test]
async fn an_unknown_key_is_looked_up_once_a_second() {
    let (bench, _) = with_key().await;
    let late = Secret::random();
    for _ in 0..50 {
        assert_eq!(bench.ask(Some(late.text())).await, Err(UNKNOWN));
    }
    assert_eq!(bench.lookups(), 1);
    bench.add(key("two", &late));
    bench.clock.advance(SECOND - 1);
    assert_eq!(bench.ask(Some(late.text())).await, Err(UNKNOWN));
    bench.clock.advance(1);
    assert_eq!(bench.ask(Some(late.text())).await.unwrap().caller.tenant, "two");
    assert_eq!(bench.lookups(), 2);
}

#[tokio::test]
async fn a_flood_of_unknown_keys_costs_the_storage_twenty_lookups_a_second() {
    let (bench, known) = with_key().await;
    for second in 1..=3 {
        for at in 0..500 {
            let refusal = if at < 20 { UNKNOWN } else { Refusal::TooManyLookups };
            assert_eq!(bench.ask(Some(Secret::random().text())).await, Err(refusal));
        }
        assert_eq!(bench.lookups(), 20 * second);
        // Who is known is let in. Who is new is not told that his key is wrong: he may try again after the poll.
        assert!(bench.ask(Some(&known)).await.is_ok());
        let fresh = Secret::random();
        bench.add(key(&format!("new-{second}"), &fresh));
        assert_eq!(bench.ask(Some(fresh.text())).await, Err(Refusal::TooManyLookups));
        bench.authenticator.refresh().await.unwrap();
        assert!(bench.ask(Some(fresh.text())).await.is_ok());
        assert_eq!(bench.lookups(), 20 * second);
        bench.clock.advance(SECOND);
    }
}

#[tokio::test(start_paused = true)]
async fn a_storage_that_hangs_delays_only_who_is_unknown() {
    let (bench, known) = with_key().await;
    *bench.stored.hangs.lock().unwrap() = true;
    let unknown: Vec<Secret> = (0..10).map(|_| Secret::random()).collect();
    let started = Instant::now();
    let asks = futures::future::join_all(unknown.iter().map(|it| bench.ask(Some(it.text()))));
    let valid = async {
        for _ in 0..100 {
            bench.ask(Some(&known)).await.unwrap();
        }
        assert_eq!(started.elapsed(), Duration::ZERO);
    };
    let (answers, ()) = tokio::join!(asks, valid);
    assert!(answers.iter().all(|it| *it == Err(Refusal::Stale)));
    assert!(started.elapsed() >= LOOKUP_WITHIN);
    assert_eq!(bench.lookups(), 1, "one at a time");
    *bench.stored.hangs.lock().unwrap() = false;
    // Whether it is one is not known before it is looked up again.
    let cut_short = bench.ask(Some(unknown[0].text())).await;
    assert_eq!((cut_short, bench.lookups()), (Err(Refusal::Stale), 1));
    bench.clock.advance(SECOND);
    assert_eq!(bench.ask(Some(unknown[0].text())).await, Err(UNKNOWN));
}

#[tokio::test]
async fn a_token_of_a_key_that_another_server_just_met_is_no_revoked_one() {
    let (one, old) = with_key().await;
    one.mint(&old, "ann").await;
    let two = Bench::beside(&one.stored, LOCAL, &one.clock).await;
    let fresh = Secret::random();
    one.add(Key { key_id: "key_new".into(), ..key("one", &fresh) });
    let token = one.mint(fresh.text(), "ann").await;
    assert!(two.ask(Some(&token)).await.is_ok());
}
