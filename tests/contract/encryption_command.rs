//! Tests `threadkeep master-key` and `threadkeep encrypt` as people run them.

use std::process::{Command, Output};

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, SqliteConnection};
use threadkeep::storage::MasterKey;

use crate::commands::Put;
use crate::harness::{Harness, commit, masters};

/// Runs a command on a database, with variables of the environment and without those of the tests.
fn threadkeep(url: &str, arguments: &[&str], variables: &[(&'static str, String)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_threadkeep"));
    command.args(arguments).env("THREADKEEP_DATABASE_URL", url);
    for name in ["MASTER_KEY", "MASTER_KEY_FILE", "PREVIOUS_MASTER_KEY", "PREVIOUS_MASTER_KEY_FILE"]
    {
        command.env_remove(format!("THREADKEEP_{name}"));
    }
    command.envs(variables.iter().map(|(name, it)| (*name, it.as_str()))).output().unwrap()
}

#[track_caller]
fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn fails(output: &Output, because: &str) {
    let shown = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && shown.contains(because), "{shown}");
}

#[tokio::test]
async fn the_commands_of_a_master_key_from_the_first_to_the_last() {
    if masters().is_some() {
        return;
    }
    let h = Harness::sqlite().await;
    h.commit(commit("t", vec![Put::new("1").sets("a", "1", "said").op()])).await.unwrap();
    h.storage.close().await;
    let folder = tempfile::tempdir().unwrap();
    // A copy, because the harness keeps the lock of a server.
    let data = folder.path().join("threadkeep.db");
    std::fs::copy(h.url().trim_start_matches("sqlite://"), &data).unwrap();
    let url = format!("sqlite://{}", data.display());
    let run = |arguments: &[&str], variables: &[(&'static str, String)]| {
        threadkeep(&url, arguments, variables)
    };
    let mut files = Vec::new();
    for name in ["first", "second"] {
        let key = succeeds(&run(&["master-key", "create"], &[]));
        assert!(MasterKey::parse(&key).is_some());
        let file = folder.path().join(name);
        std::fs::write(&file, &key).unwrap();
        files.push((file.to_str().unwrap().to_owned(), key.trim().to_owned()));
    }
    let [(first, first_key), (second, second_key)] = &files[..] else { panic!() };
    let with = |key: &'static str, value: &str| [(key, value.to_owned())];
    let by_file = with("THREADKEEP_MASTER_KEY_FILE", first);
    fails(&run(&["encrypt"], &[]), "a master key is needed");
    fails(&threadkeep(h.url(), &["encrypt"], &by_file), "another server uses the database");
    fails(&run(&["doctor"], &by_file), "threadkeep encrypt");
    assert!(succeeds(&run(&["encrypt"], &by_file)).starts_with("1 tenants were encrypted"));
    assert!(succeeds(&run(&["encrypt"], &by_file)).starts_with("0 tenants were encrypted"));
    // An owner that was changed, or never signed, is shown before it is signed.
    for (change, shown) in [
        ("owner = 'mallory'", "not as it was signed: thread \"t\" of \"mallory\""),
        ("owner = null, mac = null", "1 threads, sessions and namespaces that were never signed"),
    ] {
        let mut connection = SqliteConnection::connect(data.to_str().unwrap()).await.unwrap();
        let statement = AssertSqlSafe(format!("update threads set {change}"));
        connection.execute(statement).await.unwrap();
        connection.close().await.unwrap();
        let refused = run(&["encrypt"], &by_file);
        fails(&refused, shown);
        fails(&refused, "--yes");
        assert!(!run(&["doctor"], &by_file).status.success());
    }
    succeeds(&run(&["encrypt", "--yes"], &by_file));
    let by_text = with("THREADKEEP_MASTER_KEY", first_key);
    for keys in [&by_file[..], &by_text] {
        assert!(succeeds(&run(&["doctor"], keys)).ends_with("sound\n"));
    }
    fails(&run(&["doctor"], &[]), "this database is encrypted");
    fails(&run(&["doctor"], &with("THREADKEEP_MASTER_KEY", second_key)), "needs the master key");
    let both = [by_file[0].clone(), by_text[0].clone()];
    fails(&run(&["doctor"], &both), "given twice");
    let output = run(&["doctor"], &with("THREADKEEP_MASTER_KEY", &first_key[1..]));
    fails(&output, "THREADKEEP_MASTER_KEY holds no master key");
    assert!(!String::from_utf8_lossy(&output.stderr).contains(&first_key[1..]));
    let rotate = ["master-key", "rotate", "--new-master-key-file", second];
    assert!(succeeds(&run(&rotate, &by_file)).starts_with("2 keys are wrapped"));
    fails(&run(&["doctor"], &by_file), "--previous-master-key-file");
    let now = with("THREADKEEP_MASTER_KEY_FILE", second);
    succeeds(&run(&["doctor"], &now));
    succeeds(&run(&["doctor", "--previous-master-key-file", second], &by_file));
    let destroy = ["master-key", "destroy", "--tenant", "tenant-a"];
    fails(&run(&destroy, &now), "--yes");
    succeeds(&run(&["doctor"], &now));
    succeeds(&run(&[&destroy[..], &["--yes"]].concat(), &now));
    fails(&run(&[&destroy[..], &["--yes"]].concat(), &now), "not found");
    assert!(succeeds(&run(&["doctor"], &now)).contains("destroyed"));
}

#[tokio::test]
async fn keys_are_shown_before_they_are_signed_and_none_is_made_without_the_master_key() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("threadkeep.db").display());
    let key = [("THREADKEEP_MASTER_KEY", MasterKey::random_text())];
    let run = |arguments: &[&str], variables: &[(&'static str, String)]| {
        threadkeep(&url, arguments, variables)
    };
    let create = ["keys", "create", "--tenant", "acme"];
    succeeds(&run(&create, &[]));
    let listed = succeeds(&run(&["keys", "list", "--tenant", "acme"], &[]));
    let key_id = listed.split_whitespace().find(|it| it.starts_with("key_")).unwrap().to_owned();
    fails(&run(&create, &key), "threadkeep encrypt");
    let refused = run(&["encrypt"], &key);
    fails(&refused, &key_id);
    fails(&refused, "--yes");
    fails(&run(&["doctor"], &key), "threadkeep encrypt");
    succeeds(&run(&["encrypt", "--yes"], &key));
    succeeds(&run(&["encrypt"], &key));
    fails(&run(&create, &[]), "this database is encrypted");
    succeeds(&run(&create, &key));
    succeeds(&run(&["encrypt", "--repair"], &key));
    let listed = succeeds(&run(&["keys", "list", "--tenant", "acme"], &key));
    assert_eq!(listed.matches("key_").count(), 2, "{listed}");
}
