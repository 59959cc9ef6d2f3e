//! Reads on behind damaged pages. A page that the database cannot read hides its rows. A damaged page of an index also hides the rows that
//! follow. This file finds those by asking for keys after the last one that was read, the nearest first.

use super::access::{Accessible, SqlRow, SqlValue};
use crate::domain::{Error, Result};

/// Whether an error says that stored data is damaged, so that what lies elsewhere may be whole.
pub fn is_damage(error: &Error) -> bool {
    matches!(error, Error::Integrity(_))
}

/// Keys of the rows of one table, in their order.
#[derive(Debug, Clone)]
pub struct Keys<'a> {
    pub columns: &'a str,
    /// From `from` to `order by …`. Its binds are `before` and the key that comes before; the limit follows.
    pub rows: &'a str,
    pub before: Vec<SqlValue>,
}

/// What comes after a key.
pub enum Next {
    /// A row: its key.
    Row(Vec<SqlValue>),
    /// Something that cannot be read; behind this key the database can read again.
    Unread(Vec<SqlValue>),
    /// No row, or none that can be read.
    Nothing { is_read: bool },
}

/// Ids of a tenant's threads, the snapshots' own too.
pub fn thread_ids(tenant: &str) -> Keys<'static> {
    Keys {
        columns: "t.thread_id",
        rows: "from threads t where t.tenant = $1 and t.thread_id > $2 order by t.thread_id",
        before: vec![tenant.into()],
    }
}

impl Keys<'_> {
    /// # Errors
    /// A database that cannot be asked. Damage is no error.
    pub async fn next(&self, engine: &dyn Accessible, after: &[SqlValue]) -> Result<Next> {
        match self.list(engine, (after, 1)).await? {
            (rows, None) => {
                let row = rows.into_iter().next();
                Ok(row.map_or(Next::Nothing { is_read: true }, |row| Next::Row(row.0)))
            }
            (_, Some(_)) => {
                for candidate in successors(after) {
                    let (rows, damage) = self.list(engine, (&candidate, 1)).await?;
                    if damage.is_none() {
                        let is_end = rows.is_empty();
                        let read = Next::Unread(candidate);
                        return Ok(if is_end { Next::Nothing { is_read: false } } else { read });
                    }
                }
                Ok(Next::Nothing { is_read: false })
            }
        }
    }

    /// The next keys up to a limit, as far as they can be read.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub async fn list(
        &self,
        engine: &dyn Accessible,
        (after, limit): (&[SqlValue], i64),
    ) -> Result<(Vec<SqlRow>, Option<Error>)> {
        let binds = [&self.before[..], after, &[limit.into()]].concat();
        let text = format!("select {} {} limit ${}", self.columns, self.rows, binds.len());
        let mut access = engine.begin_read().await?;
        let read = access.rows_before_damage(&engine.dialect().fill(&text), &binds).await?;
        match access.end().await {
            Err(error) if !is_damage(&error) => Err(error),
            _ => Ok(read),
        }
    }

    /// As [`Self::list`], with what lies behind the damage; the last is where to go on. `None`: there is nothing more.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub async fn list_on(
        &self,
        engine: &dyn Accessible,
        (after, limit): (&[SqlValue], i64),
    ) -> Result<KeyPage> {
        let (rows, damage) = self.list(engine, (after, limit)).await?;
        if let Some(last) = rows.last() {
            let next = Some(last.0.clone());
            return Ok(KeyPage { rows, next, damage: None });
        }
        let Some(damage) = damage else {
            return Ok(KeyPage { rows, next: None, damage: None });
        };
        let (next, rows) = match self.next(engine, after).await? {
            Next::Row(key) => {
                return Ok(KeyPage {
                    rows: vec![SqlRow(key.clone())],
                    next: Some(key),
                    damage: None,
                });
            }
            Next::Unread(key) => (Some(key), Vec::new()),
            Next::Nothing { .. } => (None, Vec::new()),
        };
        Ok(KeyPage { rows, next, damage: Some(damage) })
    }
}

/// Keys, and what could not be read before the next ones.
pub struct KeyPage {
    pub rows: Vec<SqlRow>,
    pub next: Option<Vec<SqlValue>>,
    pub damage: Option<Error>,
}

/// Keys that come after one, the nearest first: each differs from it in one place, and the later the place the nearer it is.
fn successors(after: &[SqlValue]) -> Vec<Vec<SqlValue>> {
    let mut all = Vec::new();
    for at in (0..after.len()).rev() {
        let lowest = after[at + 1..].iter().map(lowest);
        let rest: Vec<SqlValue> = lowest.collect();
        for cell in cells_after(&after[at]) {
            all.push([&after[..at], &[cell], &rest].concat());
        }
    }
    all
}

fn lowest(cell: &SqlValue) -> SqlValue {
    match cell {
        SqlValue::Integer(_) => i64::MIN.into(),
        SqlValue::Bytes(_) => SqlValue::Bytes(Vec::new()),
        SqlValue::Text(text) if text.starts_with('[') => SqlValue::from("[]"),
        SqlValue::Text(_) | SqlValue::Null => "".into(),
    }
}

fn cells_after(cell: &SqlValue) -> Vec<SqlValue> {
    match cell {
        SqlValue::Integer(number) => {
            let steps = (0..63).map(|power| number.saturating_add(1 << power));
            steps.filter(|it| *it < i64::MAX).map(SqlValue::Integer).collect()
        }
        SqlValue::Bytes(bytes) => {
            bytes_after(bytes, u8::MAX).into_iter().map(SqlValue::Bytes).collect()
        }
        // A list of labels as JSON: what differs in one place is none.
        SqlValue::Text(text) if text.starts_with('[') => Vec::new(),
        SqlValue::Text(text) => {
            let texts = bytes_after(text.as_bytes(), 0x7f).into_iter();
            texts.filter_map(|it| String::from_utf8(it).ok()).map(SqlValue::Text).collect()
        }
        SqlValue::Null => Vec::new(),
    }
}

fn bytes_after(bytes: &[u8], greatest: u8) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for at in (0..=bytes.len()).rev() {
        let here = bytes.get(at).map_or(0, |it| u16::from(*it));
        for step in [1, 2, 4, 8, 16, 32, 64, 128] {
            let Ok(byte) = u8::try_from(here + step) else { break };
            if byte <= greatest {
                all.push([&bytes[..at], &[byte]].concat());
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_behind_a_key_come_after_it_and_the_nearest_first() {
        let key = [SqlValue::from("thread-00129"), SqlValue::Integer(7)];
        let all = successors(&key);
        assert_eq!(all[0], [SqlValue::from("thread-00129"), SqlValue::Integer(8)]);
        let texts: Vec<&str> = all
            .iter()
            .filter_map(|it| match &it[0] {
                SqlValue::Text(text) if text != "thread-00129" => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert!(texts.iter().all(|it| *it > "thread-00129"), "{texts:?}");
        let place = |text: &str| texts.iter().position(|it| *it == text).unwrap();
        assert!(place("thread-0012:") < place("thread-0013"));
        assert!(place("thread-0013") < place("thread-1"));
        assert!(place("thread-1") < place("u"));
        assert_eq!(
            all.iter().filter(|it| it[1] == SqlValue::Integer(i64::MIN)).count(),
            texts.len()
        );
        // Beyond ASCII nothing is taken apart.
        assert!(successors(&["ü".into()]).iter().all(|it| matches!(&it[0], SqlValue::Text(_))));
    }
}
