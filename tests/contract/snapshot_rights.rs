//! Tests that a caller who may write and not read does not read through a snapshot. This holds for a shared snapshot, and for the one that
//! a restore takes of what it replaces.

use std::sync::Arc;

use threadkeep::domain::Error;
use threadkeep::domain::caller::{Caller, Grants};
use threadkeep::domain::snapshots::History;
use threadkeep::domain::snapshots::restore::{Chosen, Restore, RestoreSession};
use threadkeep::domain::snapshots::storage::ListSnapshots;
use threadkeep::domain::snapshots::take::TakeSnapshot;
use threadkeep::domain::tokens::grants::{Actions, Grant, NamespaceGrant, Scoped, Selector};

use crate::granted_callers;
use crate::harness::{Harness, NEVER};
use crate::session_calls::{self as sessions, name};
use crate::snapshot_calls::{Desk, in_place, into, moved, of, snapshot_id};
use crate::snapshot_items::taking;
use crate::store::Store;

/// Eve reads what is hers, and writes to the vault alone.
fn eve() -> Caller {
    let exact = |name: String, actions| Grant { selector: Selector::Exact(name), actions };
    let own = || Grant { selector: Selector::Owned, actions: Actions::ALL };
    let shared = Grant { selector: Selector::Prefix("shared:".into()), actions: Actions::READ };
    let below =
        |label: &str, actions| NamespaceGrant { prefix: vec!["eve".into(), label.into()], actions };
    let vault = name(&["v"]).grant_name();
    let scoped = Scoped {
        threads: vec![exact("vault".into(), Actions::WRITE), own()],
        sessions: vec![exact(vault, Actions::WRITE), own()],
        snapshots: vec![shared, own()],
        namespaces: vec![below("vault", Actions::WRITE), below("mine", Actions::ALL)],
        tenant: Actions::default(),
    };
    Caller { grants: Grants::Scoped(Arc::new(scoped)), ..granted_callers::subject("eve") }
}

/// Both what is shared and what a restore of it would leave are absent.
async fn assert_hidden(h: &Harness, id: &str) {
    let (desk, eve) = (Desk::on(h).await, eve());
    let got = desk.snapshots.get(&eve, &snapshot_id(id)).await;
    assert!(matches!(got, Err(Error::NotFound(_))), "{got:?}");
    let restored = desk.restore(&eve, &in_place(id)).await;
    assert!(matches!(restored, Err(Error::NotFound(_))), "{restored:?}");
    let query = ListSnapshots { limit: 9, ..ListSnapshots::default() };
    let listed = desk.snapshots.list(&eve, query).await.unwrap();
    assert!(listed.snapshots.is_empty(), "{listed:?}");
    assert!(desk.get(h, id).await.is_ok(), "the tenant's key reads it");
}

pub async fn a_thread_that_may_only_be_written_is_not_read_in_a_snapshot(h: Harness) {
    let threads = granted_callers::Desk::on(&h.storage).await;
    threads.put(&granted_callers::tenant(), "vault", "1").await.unwrap();
    Desk::on(&h).await.taken(&h, "shared:1", &["vault"]).await;
    assert_hidden(&h, "shared:1").await;
    let elsewhere = Desk::on(&h).await.restore(&eve(), &into("shared:1", &[("vault", "m")])).await;
    assert!(matches!(elsewhere, Err(Error::NotFound(_))), "{elsewhere:?}");
}

pub async fn items_that_may_only_be_written_are_not_read_in_a_snapshot(h: Harness) {
    Store::on(&h).await.put(&["eve", "vault"], "k", r#"{"a":1}"#).await;
    let desk = Desk::on(&h).await;
    desk.take(&h.caller, taking("shared:1", &[&["eve", "vault"]])).await.unwrap();
    assert_hidden(&h, "shared:1").await;
    let elsewhere = moved("shared:1", &[(&["eve", "vault"], Some(&["eve", "mine", "x"]))]);
    let elsewhere = desk.restore(&eve(), &elsewhere).await;
    assert!(matches!(elsewhere, Err(Error::NotFound(_))), "{elsewhere:?}");
    // A namespace below which one part may be read is not read as a whole.
    desk.take(&h.caller, taking("shared:2", &[&["eve"]])).await.unwrap();
    assert_hidden(&h, "shared:2").await;
    Store::on(&h).await.put(&["eve", "mine"], "k", r#"{"a":1}"#).await;
    desk.take(&h.caller, taking("shared:3", &[&["eve", "mine"]])).await.unwrap();
    desk.snapshots.get(&eve(), &snapshot_id("shared:3")).await.unwrap();
}

pub async fn a_session_that_may_only_be_written_is_not_read_in_a_snapshot(h: Harness) {
    let (agents, session) = (sessions::Desk::on(&h).await, name(&["v"]));
    agents.append(&session, &["\"secret\""]).await.unwrap();
    let taking =
        TakeSnapshot { sessions: vec![session.clone()], ..of("shared:1", &[], History::All) };
    let desk = Desk::on(&h).await;
    desk.take(&h.caller, taking).await.unwrap();
    assert_hidden(&h, "shared:1").await;
    let elsewhere = RestoreSession { session, into: Some(name(&["mine"])) };
    let elsewhere = Restore {
        threads: Chosen::These(Vec::new()),
        namespaces: Chosen::These(Vec::new()),
        sessions: Chosen::These(vec![elsewhere]),
        ..in_place("shared:1")
    };
    let elsewhere = desk.restore(&eve(), &elsewhere).await;
    assert!(matches!(elsewhere, Err(Error::NotFound(_))), "{elsewhere:?}");
}

/// Her own snapshot is of a thread that was hers. The one of that name now is another's.
pub async fn the_safety_snapshot_of_anothers_thread_is_not_read(h: Harness) {
    let (desk, threads, eve) =
        (Desk::on(&h).await, granted_callers::Desk::on(&h.storage).await, eve());
    threads.put(&eve, "vault", "1").await.unwrap();
    desk.take(&eve, of("own", &["vault"], History::All)).await.unwrap();
    desk.snapshots.get(&eve, &snapshot_id("own")).await.unwrap();
    threads.delete(&granted_callers::tenant(), "vault").await.unwrap();
    threads.put(&granted_callers::tenant(), "vault", "2").await.unwrap();
    let restored = desk.restore(&eve, &in_place("own")).await.unwrap();
    let safety = snapshot_id(&restored.safety_snapshot_id.unwrap());
    let got = desk.snapshots.get(&eve, &safety).await;
    assert!(matches!(got, Err(Error::NotFound(_))), "{got:?}");
    let elsewhere = desk.restore(&eve, &into(safety.as_str(), &[("vault", "mine")])).await;
    assert!(matches!(elsewhere, Err(Error::NotFound(_))), "{elsewhere:?}");
    let query = ListSnapshots { limit: 9, ..ListSnapshots::default() };
    let listed = desk.snapshots.list(&eve, query).await.unwrap().snapshots;
    assert_eq!(listed.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["own"]);
    assert!(desk.snapshots.delete(&eve, &safety, NEVER).await.unwrap(), "deleting reads nothing");
}
