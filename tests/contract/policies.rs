//! Tests retention policies and reports: they are put, listed, limited and removed.

use threadkeep::domain::Error;
use threadkeep::domain::tenants::audit::{Act, ActKind};
use threadkeep::domain::threads::retention::{
    PolicyCursor, PolicyQuery, ReportCursor, ReportQuery, Retained, Rule, Rules,
};
use threadkeep::domain::threads::storage::DeleteThread;

use crate::delta::chain;
use crate::harness::{Harness, caller_of, pruning, thread_id};
use crate::sweeping::{DAY, EXPIRE, KEEP_TWO, NOTHING, SECOND, Server, lengths, reports};

pub async fn a_policy_is_put_replaced_and_deleted(h: Harness) {
    let server = Server::on(&h.storage);
    let first = server.put(&h.caller, None, EXPIRE).await;
    server.clock.advance(SECOND);
    let second = server.put(&h.caller, None, KEEP_TWO).await;
    assert_eq!((second.rules, second.created_at), (KEEP_TWO, first.created_at));
    assert_eq!(second.updated_at, first.updated_at + SECOND);
    let own = server.put(&h.caller, Some("t"), NOTHING).await;
    assert_eq!(own.thread_id.as_deref(), Some("t"));
    let (t, other) = (thread_id("t"), caller_of("tenant-b"));
    assert_eq!(h.storage.get_policy(&h.caller, None).await.unwrap(), Some(second));
    assert_eq!(h.storage.get_policy(&h.caller, Some(&t)).await.unwrap(), Some(own));
    assert_eq!(h.storage.get_policy(&other, Some(&t)).await.unwrap(), None);
    let act = Act::of(&h.caller, ActKind::PolicyDeleted, "t", server.clock.now());
    h.storage.delete_policy(&other, Some(&t), &act).await.unwrap();
    assert!(h.storage.get_policy(&h.caller, Some(&t)).await.unwrap().is_some());
    h.storage.delete_policy(&h.caller, Some(&t), &act).await.unwrap();
    h.storage.delete_policy(&h.caller, Some(&t), &act).await.unwrap();
    assert_eq!(h.storage.get_policy(&h.caller, Some(&t)).await.unwrap(), None);
    assert!(h.storage.get_policy(&h.caller, None).await.unwrap().is_some());
}

pub async fn a_tenant_has_a_limited_number_of_thread_policies(h: Harness) {
    let server = Server::on(&h.storage);
    server.put(&h.caller, Some("0"), NOTHING).await;
    let filled = "insert into retention_policies (tenant, kind, thread_id, keep_interrupted, dry_run, created_at,
            updated_at, due_at)
        with recursive n (n) as (select 1 union all select n + 1 from n where n < 999)
        select tenant, kind, cast(n as text), keep_interrupted, dry_run, created_at, updated_at, due_at
        from n, retention_policies";
    h.sql(filled).await;
    let act = Act::of(&h.caller, ActKind::PolicyPut, "t", 1);
    let refused = h.storage.put_policy(&h.caller, Some(&thread_id("t")), &NOTHING, &act).await;
    assert!(matches!(refused, Err(Error::Invalid { limit: Some(1_000), .. })), "{refused:?}");
    server.put(&h.caller, Some("7"), KEEP_TWO).await;
    server.put(&h.caller, None, KEEP_TWO).await;
    server.put(&caller_of("tenant-b"), Some("t"), KEEP_TWO).await;
}

pub async fn policies_are_listed_in_pages_the_tenants_own_first(h: Harness) {
    let (server, other) = (Server::on(&h.storage), caller_of("tenant-b"));
    let all = async |tenant: &str| {
        let query = PolicyQuery { limit: 100, after: None };
        h.storage.list_policies(tenant, &query).await.unwrap()
    };
    assert_eq!(all("tenant-a").await, []);
    let mut put = Vec::new();
    // In the order of bytes: of another letter's case, and beyond ASCII.
    for thread in ["B", "a", "a:1", "thread", "ä", "\u{1F600}"] {
        put.push(server.put(&h.caller, Some(thread), NOTHING).await);
        server.clock.advance(SECOND);
    }
    let of_other = server.put(&other, Some("a"), EXPIRE).await;
    assert_eq!(all("tenant-a").await, put, "the tenant has none");
    put.insert(0, server.put(&h.caller, None, KEEP_TWO).await);
    assert_eq!(all("tenant-a").await, put);
    assert_eq!(all("tenant-b").await, [of_other]);
    for limit in [1, 2, 3] {
        let (mut paged, mut query) = (Vec::new(), PolicyQuery { limit, after: None });
        loop {
            let page = h.storage.list_policies("tenant-a", &query).await.unwrap();
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            let thread_id = last.thread_id.as_deref().map(thread_id);
            query.after = Some(PolicyCursor { thread_id });
            paged.extend(page);
        }
        assert_eq!(paged, put, "{limit}");
    }
    let act = Act::of(&h.caller, ActKind::PolicyDeleted, "", server.clock.now());
    h.storage.delete_policy(&h.caller, None, &act).await.unwrap();
    h.storage.delete_policy(&h.caller, Some(&thread_id("a")), &act).await.unwrap();
    let left: Vec<_> = all("tenant-a").await.into_iter().map(|it| it.thread_id.unwrap()).collect();
    assert_eq!(left, ["B", "a:1", "thread", "ä", "\u{1F600}"]);
}

pub async fn a_policy_put_in_the_middle_of_a_round_holds_at_once(h: Harness) {
    chain(&h, "a", 5, &[]).await;
    chain(&h, "b", 5, &[]).await;
    let server = Server::on(&h.storage);
    server.put(&h.caller, None, KEEP_TWO).await;
    let claim = server.claim().await;
    server.put(&h.caller, Some("a"), NOTHING).await;
    let now = server.clock.now();
    let a = h.storage.retain_thread(&claim, "a", now).await.unwrap();
    assert_eq!((a, lengths(&h, &["a"]).await), (Retained::NotClaimed, vec![5]), "it is exempt");
    server.put(&h.caller, None, Rules { keep_last: Some(4), ..NOTHING }).await;
    let b = h.storage.retain_thread(&claim, "b", now).await.unwrap();
    assert_eq!((b, lengths(&h, &["b"]).await), (Retained::NotClaimed, vec![5]));
    server.sweep_after(SECOND).await;
    assert_eq!(lengths(&h, &["a", "b"]).await, [5, 4]);
}

pub async fn a_policy_goes_with_its_thread(h: Harness) {
    for thread in ["expired", "deleted", "pruned"] {
        chain(&h, thread, 3, &[]).await;
    }
    let server = Server::on(&h.storage);
    for thread in ["expired", "deleted", "pruned", "not yet"] {
        server.put(&h.caller, Some(thread), EXPIRE).await;
    }
    let request = DeleteThread { thread_id: thread_id("deleted"), generation: None, fence: None };
    h.storage.delete_thread(&h.caller, &request).await.unwrap();
    let delete = pruning(&["pruned"], Rule::DELETE);
    h.storage.prune_threads(&h.caller, &delete).await.unwrap();
    assert_eq!(h.count("select count(*) from retention_policies").await, 2);
    assert_eq!(server.sweep_after(DAY).await, 2);
    let not_yet = h.storage.get_policy(&h.caller, Some(&thread_id("not yet"))).await.unwrap();
    assert!(not_yet.is_some(), "its thread may still come");
    assert_eq!(h.count("select count(*) from retention_policies").await, 1);
    let expired = reports(&h).await;
    let expired = expired.iter().find(|it| it.thread_id.as_deref() == Some("expired")).unwrap();
    assert_eq!((expired.done.expired, expired.done.removed.checkpoints), (1, 3));
}

pub async fn reports_are_listed_in_pages_and_kept_for_a_month(h: Harness) {
    let server = Server::on(&h.storage);
    server.put(&h.caller, None, KEEP_TWO).await;
    for at in 0..3 {
        chain(&h, &format!("t{at}"), 4, &[]).await;
        server.sweep_after(61 * SECOND).await;
    }
    server.put(&h.caller, Some("t0"), Rules { keep_last: Some(1), ..NOTHING }).await;
    server.sweep_after(SECOND).await;
    let all = reports(&h).await;
    assert_eq!(all.len(), 4);
    assert!(all.windows(2).all(|it| it[0].finished_at >= it[1].finished_at), "{all:?}");
    let mut paged = Vec::new();
    let mut query = ReportQuery { limit: 1, ..ReportQuery::default() };
    while let Some(report) = h.storage.list_reports(&h.caller, &query).await.unwrap().pop() {
        query.after = Some(ReportCursor {
            finished_at: report.finished_at,
            report_id: report.report_id.clone(),
        });
        paged.push(report);
    }
    assert_eq!(paged, all);
    let own = ReportQuery { thread_id: Some(thread_id("t0")), limit: 9, after: None };
    assert_eq!(h.storage.list_reports(&h.caller, &own).await.unwrap().len(), 1);
    let foreign = h.storage.list_reports(&caller_of("tenant-b"), &own).await.unwrap();
    assert!(foreign.is_empty());
    h.sql("delete from retention_policies").await;
    server.sweep_after(29 * DAY).await;
    assert_eq!(reports(&h).await.len(), 4);
    server.sweep_after(2 * DAY).await;
    assert!(reports(&h).await.is_empty());
}

pub async fn a_requested_round_is_due_at_once(h: Harness) {
    let server = Server::on(&h.storage);
    server.put(&h.caller, None, KEEP_TWO).await;
    server.put(&h.caller, Some("t"), KEEP_TWO).await;
    server.put(&caller_of("tenant-b"), None, KEEP_TWO).await;
    assert_eq!(server.sweep_after(0).await, 3);
    let request = async |thread: Option<&str>| {
        let thread = thread.map(thread_id);
        let now = server.clock.now();
        h.storage.request_round(&h.caller, thread.as_ref(), now).await.unwrap()
    };
    assert_eq!((request(Some("t")).await, server.sweep_after(SECOND).await), (1, 1));
    assert_eq!((request(Some("u")).await, server.sweep_after(SECOND).await), (0, 0));
    assert_eq!((request(None).await, server.sweep_after(SECOND).await), (2, 2));
    // Asked for while a round runs: there is another one after it.
    request(Some("t")).await;
    let claim = server.claim().await;
    request(Some("t")).await;
    assert!(h.storage.finish_claim(&claim, server.clock.now()).await.unwrap());
    assert_eq!(server.sweep_after(SECOND).await, 1);
}
