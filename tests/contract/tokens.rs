//! Tests signing secrets and revocations.

use std::sync::Arc;

use threadkeep::domain::clock::Micros;
use threadkeep::domain::limits::LIMITS;
use threadkeep::domain::tenants::audit::{Act, ActKind};
use threadkeep::domain::tokens::credential::{Revocation, SigningSecret};
use threadkeep::domain::tokens::token::TokenId;

use crate::harness::Harness;
use crate::sweeping::DAY;

const NOW: Micros = 1_700_000_000_000_000;

fn fresh(tenant: &str, now: Micros) -> SigningSecret {
    SigningSecret::random(tenant, now)
}

fn revocation(tenant: &str, token_id: TokenId, expires_at: Micros) -> Revocation {
    Revocation { tenant: tenant.into(), token_id, chain: None, expires_at, revoked_at: NOW }
}

fn rotated() -> Act {
    Act::of_operator("a", ActKind::SecretsRotated, "", NOW)
}

async fn revoke(h: &Harness, revocation: &Revocation, rows_max: u64) -> bool {
    let token_id = revocation.token_id.to_string();
    let act = Act::of_operator(&revocation.tenant, ActKind::TokenRevoked, token_id, NOW);
    h.storage.revoke_token(revocation, rows_max, &act).await.unwrap()
}

async fn put(h: &Harness, fresh: &SigningSecret) -> SigningSecret {
    h.storage.put_signing_secret(fresh, fresh.created_at - SigningSecret::SIGNS_FOR).await.unwrap()
}

async fn secrets(h: &Harness) -> Vec<SigningSecret> {
    let mut all = h.storage.load_credentials().await.unwrap().signing_secrets;
    all.sort_by(|a, b| (&a.tenant, a.created_at).cmp(&(&b.tenant, b.created_at)));
    all
}

async fn revocations(h: &Harness) -> Vec<Revocation> {
    let mut all = h.storage.load_credentials().await.unwrap().revocations;
    all.sort_by(|a, b| (&a.tenant, a.expires_at).cmp(&(&b.tenant, b.expires_at)));
    all
}

pub async fn a_secret_is_made_once_and_again_when_it_is_old(h: Harness) {
    assert!(secrets(&h).await.is_empty());
    let first = put(&h, &fresh("a", NOW)).await;
    assert_eq!(put(&h, &fresh("a", NOW + 1)).await, first);
    assert_eq!(put(&h, &fresh("a", NOW + 30 * DAY - 1)).await, first);
    let other = put(&h, &fresh("b", NOW)).await;
    assert_ne!(other.secret, first.secret);
    let second = put(&h, &fresh("a", NOW + 30 * DAY)).await;
    assert_eq!(second.created_at, NOW + 30 * DAY);
    assert_eq!(put(&h, &fresh("a", NOW + 31 * DAY)).await, second);
    assert_eq!(secrets(&h).await, [first, second, other]);
}

pub async fn servers_that_meet_at_a_new_tenant_make_secrets_that_both_know(h: Harness) {
    let meet = (0..8).map(|at| {
        let storage = Arc::clone(&h.storage);
        tokio::spawn(
            async move { storage.put_signing_secret(&fresh("a", NOW + at), NOW - 1).await },
        )
    });
    let meet: Vec<_> = meet.collect();
    let mut used = Vec::new();
    for task in meet {
        used.push(task.await.unwrap().unwrap());
    }
    let known = secrets(&h).await;
    assert!(used.iter().all(|it| known.contains(it)));
    assert_eq!(put(&h, &fresh("a", NOW + 100)).await, *known.last().unwrap());
}

pub async fn secrets_of_a_tenant_are_removed_and_no_others(h: Harness) {
    put(&h, &fresh("a", NOW)).await;
    put(&h, &fresh("a", NOW + 40 * DAY)).await;
    let other = put(&h, &fresh("b", NOW)).await;
    assert_eq!(h.storage.delete_signing_secrets("a", &rotated()).await.unwrap(), 2);
    assert_eq!(h.storage.delete_signing_secrets("a", &rotated()).await.unwrap(), 0);
    assert_eq!(secrets(&h).await, [other]);
}

pub async fn revocations_are_kept_by_tenant_up_to_a_limit(h: Harness) {
    let (one, two, three) = (TokenId::random(), TokenId::random(), TokenId::random());
    let keep = async |tenant: &str, id, expires_at, rows_max| {
        revoke(&h, &revocation(tenant, id, expires_at), rows_max).await
    };
    assert!(keep("a", one, NOW + 1, 2).await);
    assert!(keep("a", two, NOW + 5, 2).await);
    assert!(!keep("a", three, NOW + 9, 2).await, "there are two");
    assert!(keep("a", one, NOW + 3, 2).await, "it is one of the two");
    assert!(keep("a", one, NOW + 2, 2).await);
    assert!(keep("b", one, NOW + 1, 2).await, "another tenant counts for itself");
    let expected = [
        revocation("a", one, NOW + 3),
        revocation("a", two, NOW + 5),
        revocation("b", one, NOW + 1),
    ];
    assert_eq!(revocations(&h).await, expected);
    assert!(keep("a", three, NOW + 9, u64::MAX).await);
}

pub async fn one_chain_of_tokens_takes_a_share_of_the_revocations(h: Harness) {
    let (first, other) = (TokenId::random(), TokenId::random());
    let keep = async |token_id, chain| {
        let revocation = Revocation { chain: Some(chain), ..revocation("a", token_id, NOW + 1) };
        revoke(&h, &revocation, 10_000).await
    };
    for _ in 0..LIMITS.token_revocations_per_chain_max {
        assert!(keep(TokenId::random(), first).await);
    }
    assert!(!keep(TokenId::random(), first).await, "it has its share");
    assert!(keep(TokenId::random(), other).await, "another chain has one of its own");
    assert!(keep(first, first).await, "the token itself can always be revoked");
    let left = revocations(&h).await;
    assert_eq!(left.len(), 2, "what was narrowed from it is dead with it");
    assert!(left.iter().any(|it| it.token_id == first));
}

pub async fn a_sweep_removes_what_no_living_token_needs(h: Harness) {
    let (over, alive) = (TokenId::random(), TokenId::random());
    revoke(&h, &revocation("a", over, NOW), 9).await;
    revoke(&h, &revocation("a", alive, NOW + 1), 9).await;
    put(&h, &fresh("a", NOW - 32 * DAY)).await;
    let young = put(&h, &fresh("a", NOW)).await;
    h.storage.sweep(NOW).await.unwrap();
    assert_eq!((secrets(&h).await.len(), revocations(&h).await.len()), (2, 2));
    h.storage.sweep(NOW + DAY / 24 + 1).await.unwrap();
    assert_eq!(revocations(&h).await, [revocation("a", alive, NOW + 1)]);
    assert_eq!(secrets(&h).await, [young]);
}
