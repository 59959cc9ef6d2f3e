//! Tests `threadkeep doctor` as people run it: the binary, beside a server's storage, its exit codes and its reports.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use object_store::local::LocalFileSystem;
use serde_json::Value;
use sqlx::{Connection as _, Executor as _, PgConnection};

use crate::doctor::fill;
use crate::harness::{Harness, key_variables};
use crate::list_times::Endless;
use crate::packs::later;

fn doctor(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_threadkeep"));
    command.arg("doctor").args(arguments).env_remove("THREADKEEP_DATABASE_URL");
    command.envs(key_variables());
    command.env_remove("THREADKEEP_DATA_DIR").output().unwrap()
}

/// Exit code and report, as JSON.
fn report(h: &Harness, more: &[&str]) -> (i32, Value) {
    let arguments = [&["--database-url", h.url(), "--format", "json"], more].concat();
    let output = doctor(&arguments);
    let shown = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = serde_json::from_slice(&output.stdout);
    (output.status.code().unwrap(), report.unwrap_or_else(|error| panic!("{error}: {shown}")))
}

fn text(h: &Harness) -> (i32, String) {
    let output = doctor(&["--database-url", h.url()]);
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[tokio::test]
async fn a_sound_database_ends_with_0_and_damage_with_1() {
    let h = Harness::sqlite().await;
    fill(&h).await;
    let (code, sound) = report(&h, &[]);
    assert_eq!((code, &sound["sound"], &sound["engine"]), (0, &true.into(), &"sqlite".into()));
    assert_eq!(sound["checked"]["documents"]["count"], 3);
    assert_eq!((&sound["damaged"], &sound["places"]), (&Value::Null, &Value::Array(vec![])));
    assert_eq!(text(&h).0, 0);
    h.sql("update manifests set digest = zeroblob(16) where parts is null").await;
    let (code, damaged) = report(&h, &["--tenant", "tenant-a", "--fix"]);
    assert_eq!((code, &damaged["sound"]), (1, &false.into()));
    assert_eq!(damaged["damaged"]["values"]["count"], 1);
    let place = &damaged["places"][0];
    assert_eq!((&place["state"], &place["what"]), (&"damaged".into(), &"values".into()));
    assert_eq!((&place["thread_id"], &place["checkpoint_id"]), (&"t".into(), &"1".into()));
    let (code, shown) = text(&h);
    assert_eq!(code, 1);
    assert!(shown.contains("NOT SOUND") && shown.contains("checkpoint \"1\""), "{shown}");
    assert!(!shown.contains("abc") && !damaged.to_string().contains("abc"), "a value is shown");
}

#[tokio::test]
async fn orphans_are_a_note_and_a_repair_removes_them() {
    let h = Harness::sqlite().await;
    fill(&h).await;
    h.sql(
        "insert into chunks (tenant, scope_id, name, body)
         select tenant, 4711, name, body from chunks order by name limit 5",
    )
    .await;
    let (code, found) = report(&h, &[]);
    assert_eq!((code, &found["sound"]), (0, &true.into()));
    assert_eq!(found["orphan"]["scopes"]["count"], 1);
    assert!(text(&h).1.contains("--fix removes them"));
    let (code, fixed) = report(&h, &["--fix"]);
    assert_eq!((code, &fixed["orphan"]), (0, &Value::Null));
    assert_eq!(fixed["repaired"]["scopes"], found["orphan"]["scopes"]);
    assert!(text(&h).1.ends_with("sound\n"));
}

#[tokio::test]
async fn what_cannot_run_ends_with_2_or_a_code_of_its_own_and_makes_nothing() {
    let h = Harness::sqlite().await;
    let folder = std::env::temp_dir().join(format!("tk-no-data-{}", std::process::id()));
    let absent = doctor(&["--data-dir", folder.to_str().unwrap()]);
    assert_eq!(absent.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&absent.stderr).contains("there is no database"));
    assert!(absent.stdout.is_empty() && !folder.exists());
    for more in [&["--tenant", "NOT A TENANT"], &["--tenant", "nobody"], &["--format", "xml"]] {
        let output = doctor(&[&["--database-url", h.url()], &more[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{more:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_takes_too_long_is_ended_with_the_option_that_gives_it_more() {
    let h = Harness::postgres().await;
    fill(&h).await;
    let mut lock = PgConnection::connect(h.url()).await.unwrap();
    lock.execute("begin; lock table sessions in access exclusive mode").await.unwrap();
    check_ended(&h);
    lock.execute("rollback").await.unwrap();
    assert_eq!(report(&h, &["--statement-seconds", "1"]).0, 0);
    let h = Harness::sqlite().await;
    fill(&h).await;
    let endless = Endless::make(h.url(), &["sessions"]).await;
    check_ended(&h);
    endless.end().await;
    assert_eq!(report(&h, &["--statement-seconds", "1"]).0, 0);
}

fn check_ended(h: &Harness) {
    let began = Instant::now();
    let ended = doctor(&["--database-url", h.url(), "--statement-seconds", "1"]);
    assert!(began.elapsed() < Duration::from_secs(30));
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(
        said.contains("longer than 1 seconds") && said.contains("--statement-seconds"),
        "{said}"
    );
    assert_eq!(ended.status.code(), Some(2));
}

#[tokio::test]
async fn packs_are_read_with_the_store_and_counted_without() {
    let h = Harness::sqlite().await;
    let folder = tempfile::tempdir().unwrap();
    let local = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
    let h = h.with_objects(std::sync::Arc::new(local)).await;
    fill(&h).await;
    h.storage.move_content(later(2)).await.unwrap();
    let packs = folder.path().join("prefix");
    let url = format!("file://{}", packs.display());
    let (code, moved) = report(&h, &[]);
    assert_eq!(
        (code, &moved["sound"], &moved["checked"]["packs"]),
        (0, &true.into(), &Value::Null)
    );
    let count = moved["moved"]["packs"]["count"].as_u64().unwrap();
    assert!(count > 1 && text(&h).1.contains("--object-store-url"));
    let (code, read) = report(&h, &["--object-store-url", &url]);
    assert_eq!((code, &read["moved"], &read["damaged"]), (0, &Value::Null, &Value::Null));
    assert_eq!(read["checked"]["packs"]["count"], count);
    // A store without any of them is taken for another one.
    for pack in std::fs::read_dir(&packs).unwrap().skip(1) {
        std::fs::remove_file(pack.unwrap().path()).unwrap();
    }
    let (code, lost) = report(&h, &["--object-store-url", &url, "--fix"]);
    assert_eq!((code, &lost["missing"]["packs"]["count"]), (1, &(count - 1).into()));
}

#[tokio::test]
async fn background_work_that_is_put_aside_is_listed_and_released() {
    let h = Harness::sqlite().await;
    fill(&h).await;
    h.sql(
        "insert into background_tasks (tenant, kind, unit, server, attempts, ran_alone, reason, started_at, parked_at)
         values ('tenant-a', 'packing', '4711', 0, 3, 1, 'the process ended while it ran alone', 1, 1000000)",
    )
    .await;
    let (code, shown) = text(&h);
    assert!(code == 0 && shown.contains("--retry-parked"), "{shown}");
    let line = "put aside packing: tenant \"tenant-a\", unit 4711, 3 attempts, since 1970-01-01T00:00:01.000000Z: \
                the process ended while it ran alone";
    assert!(shown.contains(line), "{shown}");
    let (code, listed) = report(&h, &["--tenant", "tenant-a"]);
    let parked = &listed["parked"][0];
    assert_eq!((code, &parked["unit"], &parked["released"]), (0, &"4711".into(), &false.into()));
    let (_, released) = report(&h, &["--retry-parked"]);
    assert_eq!(released["parked"][0]["released"], true);
    assert_eq!(report(&h, &[]).1["parked"], Value::Array(vec![]));
}

#[tokio::test]
async fn threads_that_wait_to_be_derived_are_counted() {
    let h = Harness::sqlite().await;
    fill(&h).await;
    let stale = h.count("select count(*) from threads where is_stale").await;
    assert!(stale > 0);
    let line = "threads whose states a server derives in the background";
    assert_eq!(report(&h, &[]).1["stale_threads"], stale);
    assert!(text(&h).1.contains(&format!("{stale} {line}")));
    h.sql("update threads set run_of = updated_at, is_stale = false").await;
    assert_eq!(report(&h, &[]).1["stale_threads"], 0);
    assert!(!text(&h).1.contains(line));
}
