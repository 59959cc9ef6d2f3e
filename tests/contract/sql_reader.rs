//! Makes a role for direct SQL by the program, logs in as it tells, and fills two tenants to be read.

use std::process::{Command, Output};
use std::str::FromStr;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor};
use threadkeep::domain::tenants::audit::{Act, ActKind};
use threadkeep::domain::threads::retention::Rules;
use threadkeep::domain::tokens::key::{Key, ShownKey};
use threadkeep::storage::tables::{Sql, TABLES};

use crate::commands::{Put, Writes};
use crate::harness::{Harness, NEVER, caller_of, commit, key_variables, thread_id};

pub fn sql_role(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_threadkeep"));
    command.arg("sql-role").args(arguments).env_remove("THREADKEEP_DATABASE_URL");
    command.env_remove("THREADKEEP_DATA_DIR").envs(key_variables()).output().unwrap()
}

pub fn on(h: &Harness, arguments: &[&str]) -> Result<String, String> {
    on_url(h.url(), arguments)
}

pub fn on_url(url: &str, arguments: &[&str]) -> Result<String, String> {
    let output = sql_role(&[arguments, &["--database-url", url]].concat());
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout).unwrap().trim_end().to_owned());
    }
    assert!(output.stdout.is_empty());
    Err(String::from_utf8(output.stderr).unwrap())
}

/// A role of a tenant, logged in as the printed URL says.
pub struct Role {
    pub url: String,
    pub name: String,
    pub connection: PgConnection,
}

impl Role {
    pub async fn of(h: &Harness, tenant: &str) -> Self {
        // What everybody could do before version 15, and a role must not.
        h.sql("revoke create on schema public from public").await;
        let url = on(h, &["create", "--tenant", tenant]).unwrap();
        let options = PgConnectOptions::from_str(&url).unwrap();
        let name = options.get_username().to_owned();
        let mut connection = options.connect().await.unwrap();
        let read_only = "show default_transaction_read_only";
        let read_only: String =
            sqlx::query_scalar(read_only).fetch_one(&mut connection).await.unwrap();
        assert_eq!(read_only, "on");
        // Against accidents only; what follows must hold without it.
        connection.execute("set default_transaction_read_only = off").await.unwrap();
        Self { url, name, connection }
    }

    pub async fn texts(&mut self, statement: &str) -> Result<Vec<String>, String> {
        let statement = AssertSqlSafe(statement.to_owned());
        let rows = sqlx::query_scalar(statement).fetch_all(&mut self.connection).await;
        rows.map_err(|error| error.to_string())
    }

    /// One or several statements.
    pub async fn run(&mut self, statement: &str) -> Result<(), String> {
        let statement = AssertSqlSafe(statement.to_owned());
        let done = self.connection.execute(statement).await;
        done.map(drop).map_err(|error| error.to_string())
    }

    pub async fn threads(&mut self) -> Vec<String> {
        self.texts("select thread_id from sql_threads order by 1").await.unwrap()
    }

    #[track_caller]
    pub fn denied(result: Result<impl std::fmt::Debug, String>) {
        let error = result.unwrap_err();
        let refusals =
            ["permission denied", "must be", "does not exist", "only roles with", "cannot "];
        assert!(refusals.iter().any(|it| error.contains(it)), "{error}");
        assert!(!error.contains("read-only"), "{error}");
    }
}

/// Two tenants with a bit of everything. Words of the other one begin with `theirs`.
pub async fn fill(h: &Harness) {
    for (tenant, who) in [("tenant-a", "ours"), ("tenant-b", "theirs")] {
        let caller = caller_of(tenant);
        let word = |it: &str| format!("{who}-{it}");
        let put = Put::new(&word("checkpoint"))
            .metadata(&format!(r#"{{"run_id":"{who}-run","user_id":"{who}-user"}}"#))
            .sets(&word("channel"), "1", &word("value"));
        let writes = Writes::new(&word("checkpoint"), &word("task")).write(
            0,
            &word("channel"),
            &word("written"),
        );
        let whole = commit(&word("thread"), vec![put.op(), writes.op()]);
        let prepared = h.storage.prepare(&caller, whole, NEVER).await.unwrap();
        h.queue.commit(prepared).await.unwrap();
        let rules = Rules {
            expire_after_seconds: None,
            keep_last: Some(9),
            older_than_seconds: None,
            keep_interrupted: true,
            dry_run: false,
        };
        let thread = thread_id(&word("thread"));
        let act = Act::of(&caller, ActKind::PolicyPut, "", 1);
        h.storage.put_policy(&caller, Some(&thread), &rules, &act).await.unwrap();
        let claim = h.storage.claim_policy(2, i64::MAX / 2).await.unwrap().unwrap();
        assert!(h.storage.finish_claim(&claim, 3).await.unwrap());
        let key = Key {
            key_id: word("key"),
            tenant: tenant.into(),
            subject: Some(word("subject")),
            hash: [7; 32],
            created_at: 1,
            revoked_at: None,
            expires_at: None,
            shown: ShownKey::default(),
        };
        h.storage.create_key(&key, &act).await.unwrap();
    }
}

pub fn views() -> impl Iterator<Item = &'static str> {
    TABLES.iter().filter_map(|table| match table.sql {
        Sql::View(view) => Some(view),
        Sql::Hidden(_) | Sql::NoTenant => None,
    })
}
