//! Tests tenants as operators see them: what makes one, and what is listed of each.

use threadkeep::domain::tenants::audit::{Act, ActKind};
use threadkeep::domain::tenants::quotas::Quota;
use threadkeep::domain::tenants::tenant::Time;

use crate::commands::Put;
use crate::harness::Harness;

async fn quota(h: &Harness, tenant: &str) {
    let act = Act::of_operator(tenant, ActKind::QuotaSet, "", 1);
    let quota = Quota { threads_max: Some(1), ..Quota::default() };
    h.storage.put_quota(tenant, &quota, &act).await.unwrap();
}

async fn names(h: &Harness, after: &str, limit: usize) -> Vec<String> {
    let page = h.storage.list_tenants(after, limit, Time::Unlimited).await.unwrap();
    page.into_iter().map(|it| it.tenant).collect()
}

pub async fn a_tenant_is_there_once_something_of_it_is_and_asking_makes_none(h: Harness) {
    assert!(!h.storage.has_tenant("tenant-a").await.unwrap());
    assert!(names(&h, "", 9).await.is_empty());
    // What was done to it is no tenant: a mistyped name leaves such a row.
    let act = Act::of_operator("mistyped", ActKind::SubjectErased, "", 1);
    h.storage.record_act(&act).await.unwrap();
    assert!(!h.storage.has_tenant("mistyped").await.unwrap());
    h.put(Put::new("1").sets("a", "1", "a value")).await;
    quota(&h, "tenant-b").await;
    for (tenant, is_there) in [("tenant-a", true), ("tenant-b", true), ("tenant", false)] {
        assert_eq!(h.storage.has_tenant(tenant).await.unwrap(), is_there, "{tenant}");
    }
    assert_eq!(h.count("select count(*) from tenants").await, 1);
}

pub async fn tenants_are_listed_in_pages_with_what_they_have(h: Harness) {
    h.put(Put::new("1").sets("a", "1", "a value")).await;
    // In the order of bytes: `-` comes before digits, and these before `_`.
    for tenant in ["t_", "t0", "t-", "a"] {
        quota(&h, tenant).await;
    }
    assert_eq!(names(&h, "", 2).await, ["a", "t-"]);
    assert_eq!(names(&h, "t-", 2).await, ["t0", "t_"]);
    assert_eq!(names(&h, "t_", 2).await, ["tenant-a"]);
    assert!(names(&h, "tenant-a", 2).await.is_empty());
    let all = h.storage.list_tenants("", 9, Time::OfSearches).await.unwrap();
    let used = all.last().unwrap();
    assert_eq!(used.usage, h.storage.measure_usage("tenant-a").await.unwrap());
    assert!(used.usage.bytes > 0 && used.usage.threads == 1);
    let written = h.count("select max(updated_at) from threads").await;
    assert_eq!(used.last_write, Some(written));
    assert_eq!((all[0].usage.bytes, all[0].last_write), (0, None));
}
