//! Tests the audit log: an act is recorded in the transaction that does it, and refusals are added up.

use std::sync::Arc;

use threadkeep::domain::clock::Clock;
use threadkeep::domain::tenants::audit::{Act, ActKind, Event, EventCursor, EventQuery};
use threadkeep::domain::tenants::quotas::Quota;
use threadkeep::domain::tenants::refusals::{Refusals, UNKNOWN_TENANT};
use threadkeep::domain::tokens::credential::Revocation;
use threadkeep::domain::tokens::key::{Key, ShownKey};
use threadkeep::domain::tokens::token::TokenId;

use crate::harness::{Harness, caller_of, thread_id};
use crate::sweeping::{DAY, KEEP_TWO, SECOND};

const MINUTE: i64 = 60 * SECOND;
const ALL: EventQuery =
    EventQuery { since: None, until: None, act: None, limit: 1_000, after: None };

async fn events(h: &Harness, tenant: &str, query: &EventQuery) -> Vec<Event> {
    h.storage.list_events(tenant, query).await.unwrap()
}

/// `act actor object count` of all events, newest first.
async fn lines(h: &Harness, tenant: &str) -> Vec<String> {
    let line = |it: Event| format!("{} {} {} {}", it.act, it.actor, it.object, it.count);
    events(h, tenant, &ALL).await.into_iter().map(line).collect()
}

fn key(key_id: &str) -> Key {
    Key {
        key_id: key_id.into(),
        tenant: "tenant-a".into(),
        subject: None,
        hash: [7; 32],
        created_at: 1,
        revoked_at: None,
        expires_at: None,
        shown: ShownKey::default(),
    }
}

pub async fn an_act_is_there_with_what_it_did_and_never_without(h: Harness) {
    let (storage, t) = (&h.storage, thread_id("t"));
    let act = |kind, object: &str, at| Act::of(&h.caller, kind, object, at);
    let created = Act::of_operator("tenant-a", ActKind::KeyCreated, "key_1", 1);
    storage.create_key(&key("key_1"), &created).await.unwrap();
    // The same key again fails, and leaves no act.
    storage.create_key(&key("key_1"), &created).await.unwrap_err();
    for at in [2, 3] {
        storage
            .revoke_key("tenant-a", "key_1", &act(ActKind::KeyRevoked, "key_1", at))
            .await
            .unwrap();
    }
    let put = act(ActKind::PolicyPut, "t", 4).with(&KEEP_TWO);
    storage.put_policy(&h.caller, Some(&t), &KEEP_TWO, &put).await.unwrap();
    for at in [5, 6] {
        let deleted = act(ActKind::PolicyDeleted, "t", at);
        storage.delete_policy(&h.caller, Some(&t), &deleted).await.unwrap();
    }
    let quota = Quota { threads_max: Some(7), ..Quota::default() };
    let set = Act::of_operator("tenant-a", ActKind::QuotaSet, "", 7).with(&quota);
    storage.put_quota("tenant-a", &quota, &set).await.unwrap();
    storage.record_act(&act(ActKind::TokenMinted, "tok_1", 8)).await.unwrap();
    let (one, two) = (TokenId::random(), TokenId::random());
    for (token_id, known) in [(one, true), (two, false), (one, true)] {
        let revocation = Revocation {
            tenant: "tenant-a".into(),
            token_id,
            chain: None,
            expires_at: 99,
            revoked_at: 9,
        };
        let revoked = act(ActKind::TokenRevoked, &token_id.to_string(), 9);
        // There is room for one, and for what is there already.
        assert_eq!(storage.revoke_token(&revocation, 1, &revoked).await.unwrap(), known);
    }
    let rotated = Act::of_operator("tenant-a", ActKind::SecretsRotated, "", 10);
    assert_eq!(storage.delete_signing_secrets("tenant-a", &rotated).await.unwrap(), 0);
    let revoked = format!("token_revoked local {one} 1");
    let expected = [
        "secrets_rotated cli  1",
        &revoked,
        &revoked,
        "token_minted local tok_1 1",
        "quota_set cli  1",
        "policy_deleted local t 1",
        "policy_put local t 1",
        "key_revoked local key_1 1",
        "key_created cli key_1 1",
    ];
    assert_eq!(lines(&h, "tenant-a").await, expected);
    let details = events(&h, "tenant-a", &ALL).await;
    assert!(details[6].details.contains("\"keep_last\":2"), "{details:?}");
    assert!(details[4].details.contains("\"threads_max\":7"), "{details:?}");
    assert!(lines(&h, "tenant-b").await.is_empty());
}

pub async fn events_are_listed_in_pages_and_by_time_and_act(h: Harness) {
    for at in 0..10 {
        let kind = if at % 2 == 0 { ActKind::TokenMinted } else { ActKind::TokenRevoked };
        // Two at a time.
        h.storage.record_act(&Act::of(&h.caller, kind, at.to_string(), at / 2)).await.unwrap();
        let foreign = Act::of(&caller_of("tenant-b"), kind, at.to_string(), at / 2);
        h.storage.record_act(&foreign).await.unwrap();
    }
    let all = events(&h, "tenant-a", &ALL).await;
    assert_eq!(all.len(), 10);
    assert!(all.windows(2).all(|it| (it[0].at, &it[0].event_id) > (it[1].at, &it[1].event_id)));
    let mut paged = Vec::new();
    let mut query = EventQuery { limit: 3, ..ALL };
    loop {
        let page = events(&h, "tenant-a", &query).await;
        let Some(last) = page.last() else { break };
        query.after = Some(EventCursor { at: last.at, event_id: last.event_id.clone() });
        paged.extend(page);
    }
    assert_eq!(paged, all);
    let of = async |query: EventQuery| events(&h, "tenant-a", &query).await.len();
    assert_eq!(of(EventQuery { since: Some(2), ..ALL }).await, 6);
    assert_eq!(of(EventQuery { until: Some(2), ..ALL }).await, 4);
    assert_eq!(of(EventQuery { act: Some(ActKind::TokenMinted), ..ALL }).await, 5);
    assert_eq!(of(EventQuery { act: Some(ActKind::KeyCreated), ..ALL }).await, 0);
}

pub async fn refusals_of_a_minute_are_one_row_on_any_number_of_servers(h: Harness) {
    let clock = Arc::new(Clock::Fixed((90 * MINUTE).into()));
    let server = || Refusals::new(h.storage.clone(), Arc::clone(&clock), 90);
    let (one, other) = (server(), server());
    let who = Some(("tenant-a", "key_1"));
    for _ in 0..5_000 {
        one.count(who, "not_granted", "/v1/threads");
        other.count(who, "not_granted", "/v1/threads");
    }
    other.count(None, "unauthorized", "/v1/threads");
    assert_eq!((one.len(), other.len()), (1, 2));
    one.flush().await.unwrap();
    other.flush().await.unwrap();
    clock.advance(MINUTE - 1);
    one.count(who, "not_granted", "/v1/threads");
    one.flush().await.unwrap();
    assert_eq!(lines(&h, "tenant-a").await, ["refused key_1  10001"]);
    assert_eq!(lines(&h, UNKNOWN_TENANT).await, ["refused   1"]);
    clock.advance(1);
    one.count(who, "not_granted", "/v1/threads");
    one.count(who, "not_granted", "/v1/audit");
    one.count(who, "too_many_requests", "/v1/threads");
    one.count(Some(("tenant-a", "key_2")), "not_granted", "/v1/threads");
    one.flush().await.unwrap();
    let all = events(&h, "tenant-a", &ALL).await;
    assert_eq!(all.len(), 5, "{all:?}");
    let refused = r#"{"code":"not_granted","route":"/v1/threads"}"#;
    assert_eq!((all[4].at, all[4].details.as_str()), (90 * MINUTE, refused));
}

pub async fn refusals_that_cannot_be_written_are_counted_on(h: Harness) {
    let clock = Arc::new(Clock::Fixed(0.into()));
    let refusals = Refusals::new(h.storage.clone(), clock, 90);
    let who = Some(("tenant-a", "key_1"));
    refusals.count(who, "not_granted", "/v1/threads");
    h.sql("alter table audit_events rename to away").await;
    refusals.flush().await.unwrap_err();
    refusals.count(who, "not_granted", "/v1/threads");
    h.sql("alter table away rename to audit_events").await;
    refusals.flush().await.unwrap();
    assert_eq!(lines(&h, "tenant-a").await, ["refused key_1  2"]);
    assert!(refusals.is_empty());
    // Callers can have any number of tokens; memory and rows have an end.
    for at in 0..11_000 {
        refusals.count(Some(("tenant-a", &at.to_string())), "not_granted", "/v1/threads");
    }
    assert_eq!(refusals.len(), 10_001);
    refusals.flush().await.unwrap();
    let count = "select cast(count as bigint) from audit_events where actor = 'others'";
    assert_eq!(h.count(count).await, 1_000);
}

pub async fn events_go_when_they_were_kept_for_long_enough(h: Harness) {
    let now = 1_000 * DAY;
    let clock = Arc::new(Clock::Fixed(now.into()));
    for at in [now - 31 * DAY, now - 30 * DAY, now - 29 * DAY, now] {
        let act = Act::of(&h.caller, ActKind::TokenMinted, "tok", at);
        h.storage.record_act(&act).await.unwrap();
    }
    let many = "insert into audit_events (tenant, at, event_id, actor, act, object, details, count)
        with recursive n (n) as (select 1 union all select n + 1 from n where n < 2500)
        select 'tenant-b', n, cast(n as text), '', 'refused', '', '{}', 1 from n";
    h.sql(many).await;
    let refusals = Refusals::new(h.storage.clone(), clock, 30);
    refusals.sweep().await.unwrap();
    assert_eq!(events(&h, "tenant-a", &ALL).await.len(), 3);
    assert!(events(&h, "tenant-b", &ALL).await.is_empty());
}
