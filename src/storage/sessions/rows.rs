//! Binds sets of rows as one JSON text and one blob, so that the text of a statement never depends on their number. In statements
//! `{from_each}` is their source and `j.value` a row.

use serde_json::{Value as Json, json};

use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::sessions::name::SessionName;
use crate::domain::tokens::grants::Action;
use crate::storage::db::access::{Dialect, SqlRow, SqlValue};
use crate::storage::tokens::owner_macs::OwnerRow;

#[derive(Debug, Default)]
pub struct Rows {
    rows: Vec<Json>,
    blob: Vec<u8>,
}

impl Rows {
    pub fn push(&mut self, row: Json) {
        self.rows.push(row);
    }

    /// Appends bytes to the blob. Answers where `substr` finds them.
    pub fn bytes(&mut self, bytes: &[u8]) -> (usize, usize) {
        let start = self.blob.len() + 1;
        self.blob.extend_from_slice(bytes);
        (start, bytes.len())
    }

    /// As [`Self::bytes`]; nulls for None.
    pub fn optional(&mut self, bytes: Option<&[u8]>) -> (Option<usize>, Option<usize>) {
        match bytes.map(|it| self.bytes(it)) {
            Some((start, length)) => (Some(start), Some(length)),
            None => (None, None),
        }
    }

    /// Tenant, kind, and where the key is: the first columns of most rows.
    pub fn session(&mut self, tenant: &str, session: &SessionName) -> Vec<Json> {
        let (start, length) = self.bytes(&session.key_bytes());
        vec![json!(tenant), json!(session.kind()), json!(start), json!(length)]
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// What to bind as `$1` and `$2`.
    pub fn binds(mut self) -> Vec<SqlValue> {
        if self.blob.is_empty() {
            // SQLite takes a part of an empty blob for null.
            self.blob.push(0);
        }
        vec![SqlValue::Text(Json::from(self.rows).to_string()), SqlValue::Bytes(self.blob)]
    }
}

/// A number that stands in a row.
pub fn number(at: usize) -> String {
    format!("cast(j.value ->> {at} as bigint)")
}

/// Bytes whose place stands in a row.
pub fn bytes(at: usize) -> String {
    let length = at + 1;
    format!("substr($2, cast(j.value ->> {at} as integer), cast(j.value ->> {length} as integer))")
}

/// `s`, the session that stands in a row from `at` on.
pub fn session_of_row(dialect: &Dialect, at: usize, columns: &str) -> String {
    let (kind, key) = (at + 1, bytes(at + 2));
    let condition =
        format!("s.tenant = j.value ->> {at} and s.kind = j.value ->> {kind} and s.key = {key}");
    dialect.probe(columns, "sessions", "s", &condition)
}

/// Joins the logs of a session `s` that the condition on their kind finds.
pub fn logs_of_session(dialect: &Dialect, named: &str) -> String {
    dialect.probe_all("l.*", "session_logs", "l", &of_session(named))
}

/// The same of the one that kind and name find.
pub fn log_of_session(dialect: &Dialect, named: &str) -> String {
    dialect.probe("l.*", "session_logs", "l", &of_session(named))
}

fn of_session(named: &str) -> String {
    format!("l.tenant = s.tenant and l.session_no = s.session_no and {named}")
}

/// Holds a session's row against its MAC. The columns have its number, scope, owner and MAC.
///
/// # Errors
/// `Integrity` for a row that no server wrote like this.
pub fn check_row(
    name: (&str, &[u8]),
    (row, columns): (&SqlRow, [usize; 4]),
    secret: &TenantSecret,
) -> Result<()> {
    let [session_no, scope_id, owner, mac] = columns;
    let ids = (row.integer(session_no)?, row.integer(scope_id)?);
    let found = OwnerRow::session(name, ids, row.optional_text(owner)?);
    found.check(secret, row.optional_bytes(mac)?)
}

/// Binds for statements about one session, as `$1` to `$4`: tenant, kind, key, the subject that it must belong to.
pub fn session_binds(caller: &Caller, session: &SessionName, action: Action) -> Vec<SqlValue> {
    let owner = caller.session_owner(session, action);
    vec![
        caller.tenant.as_str().into(),
        session.kind().into(),
        SqlValue::Bytes(session.key_bytes()),
        owner.map_or(SqlValue::Text(String::new()), SqlValue::from),
        i64::from(owner.is_some()).into(),
    ]
}

/// The condition for [`session_binds`]; $5 says whether an owner is asked for.
pub const SESSION_CONDITION: &str =
    "s.tenant = $1 and s.kind = $2 and s.key = $3 and ($5 = 0 or s.owner = $4)";
