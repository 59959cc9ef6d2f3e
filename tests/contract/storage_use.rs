//! Tests that the reported size of a thread is that of its rows.

use threadkeep::domain::tenants::storage_use::{ChannelUse, StorageUse};
use threadkeep::domain::threads::storage::CopyThread;

use crate::commands::{Put, Writes};
use crate::content::list;
use crate::harness::{Harness, caller_of, commit, thread_id};

async fn of(h: &Harness, thread: &str) -> StorageUse {
    h.storage.get_storage_use(&h.caller, &thread_id(thread)).await.unwrap().unwrap()
}

/// A list that grows by one message each step, beside a channel that stays and one in a subgraph.
async fn grow(h: &Harness, steps: usize) {
    for step in 1..=steps {
        let (id, version) = (format!("{step:03}"), step.to_string());
        let parent = format!("{:03}", step - 1);
        let mut put = Put::new(&id).sets("messages", &version, &list(step));
        put = if step == 1 { put.sets("fixed", "1", "fixed") } else { put.carries("fixed", "1") };
        let put = put.parent(&parent).empties("trigger", &version);
        let write = Writes::new(&id, "task").write(0, "messages", &list(step));
        let child = Put::new(&id).ns("child").sets("inner", &version, "x");
        h.commit(commit("t", vec![put.op(), write.op(), child.op()])).await.unwrap();
    }
}

pub async fn sizes_are_those_of_the_rows(h: Harness) {
    grow(&h, 40).await;
    let found = of(&h, "t").await;
    let thread = h.storage.get_thread(&h.caller, &thread_id("t")).await.unwrap().unwrap();
    assert_eq!(found.logical_bytes, thread.size_bytes.unsigned_abs());
    let content = h
        .count(
            "select cast((select sum(length(body) + coalesce(length(parts), 0)) from manifests)
                + (select sum(length(body)) from chunks) as bigint)",
        )
        .await;
    assert_eq!(found.content_bytes, content.unsigned_abs());
    let map = if h.is_sqlite() { "length(map)" } else { "20 * cardinality(channel_keys)" };
    let own = h
        .count(&format!(
            "select cast((select sum(length(documents) + {map}) from checkpoints)
                + (select sum(length(body) + coalesce(length(parts), 0)) from writes) as bigint)"
        ))
        .await;
    assert_eq!(found.stored_bytes, (content + own).unsigned_abs());
    let written = h.count("select cast(sum(size_bytes) as bigint) from writes").await;
    assert_eq!(found.writes_bytes, written.unsigned_abs());
    assert!(found.share_saved() > 0.8, "{found:?}");
    assert_eq!((found.checkpoints, found.writes, found.shared_with), (80, 40, 0));
    assert_eq!(found.versions, 40 + 40 + 1);
    assert_eq!(found.chunks, h.count("select count(*) from chunks").await.unsigned_abs());
    let length = |step: usize| list(step).len() as u64;
    let channel = |channel: &str, versions, logical_bytes, newest_bytes| ChannelUse {
        channel: channel.into(),
        versions,
        logical_bytes,
        newest_bytes,
    };
    assert_eq!(
        found.channels,
        [
            channel("messages", 40, (1..=40).map(length).sum(), length(40)),
            channel("inner", 40, 40, 1),
            channel("fixed", 1, 5, 5),
            channel("trigger", 0, 0, 0),
        ]
    );
}

pub async fn a_copy_says_that_it_shares(h: Harness) {
    grow(&h, 5).await;
    let alone = of(&h, "t").await;
    let (source, target) = (thread_id("t"), thread_id("copy"));
    let request = CopyThread { source, target, idempotency: None, full: None };
    h.storage.copy_thread(&h.caller, &request).await.unwrap();
    for thread in ["t", "copy"] {
        assert_eq!(of(&h, thread).await, StorageUse { shared_with: 1, ..alone.clone() });
    }
    let more = Put::new("900").parent("005").sets("messages", "900", &list(6)).op();
    h.commit(commit("copy", vec![more])).await.unwrap();
    let (source, copy) = (of(&h, "t").await, of(&h, "copy").await);
    assert_eq!((source.versions, copy.versions), (alone.versions, alone.versions + 1));
    assert_eq!(source.content_bytes, copy.content_bytes);
    assert!(source.content_bytes > alone.content_bytes);
}

pub async fn only_its_own_tenant_sees_a_thread(h: Harness) {
    grow(&h, 1).await;
    for (caller, thread) in [(&caller_of("tenant-b"), "t"), (&h.caller, "absent")] {
        let found = h.storage.get_storage_use(caller, &thread_id(thread)).await.unwrap();
        assert_eq!(found, None, "{thread} of {}", caller.tenant);
    }
    h.commit(commit("empty", vec![Writes::new("1", "t").write(0, "a", "w").op()])).await.unwrap();
    let found = of(&h, "empty").await;
    assert_eq!((found.checkpoints, found.writes, found.logical_bytes), (0, 1, 1));
    assert!(found.channels.is_empty());
}
