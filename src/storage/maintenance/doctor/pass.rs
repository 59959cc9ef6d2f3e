//! Reads the rows of a table in pages, and continues behind unreadable ones. A page that fails is read row by row, and a row that fails is
//! a finding. Where even its key cannot be read, it continues at the next readable key.

use super::items::{ITEM_VALUES, VERSION_VALUES};
use super::{KEYS_PER_PAGE, TenantScan};
use crate::domain::doctor::{FindingPlace, Noun, Report, State};
use crate::domain::{Error, Result};
use crate::storage::db::access::{PAGE_ROWS, SqlValue};
use crate::storage::db::damage::{Keys, Next, is_damage, thread_ids};

/// Rows of one kind that are gone through.
#[derive(Debug, Clone, Copy)]
pub enum Pass<'a> {
    Checkpoints(&'a str),
    Writes(&'a str),
    Bases(&'a str),
    Items,
    Versions,
    Entries,
    Values { scope_id: i64, thread_id: Option<&'a str> },
    Chunks { scope_id: i64, thread_id: Option<&'a str> },
}

/// Where in its table a page begins, and how many rows it has at most.
#[derive(Debug, Clone)]
pub struct Start {
    pub after: Vec<SqlValue>,
    pub rows_max: i64,
}

impl<'a> Pass<'a> {
    fn table(self) -> &'static str {
        match self {
            Self::Checkpoints(_) => "checkpoints",
            Self::Writes(_) => "writes",
            Self::Bases(_) => "delta_bases",
            Self::Items => "items",
            Self::Versions => "item_versions",
            Self::Entries => "session_entries",
            Self::Values { .. } => "manifests",
            Self::Chunks { .. } => "chunks",
        }
    }

    fn noun(self) -> Noun {
        match self {
            Self::Checkpoints(_) => Noun::Documents,
            Self::Writes(_) => Noun::Writes,
            Self::Bases(_) => Noun::Bases,
            Self::Items => Noun::Items,
            Self::Versions => Noun::ItemVersions,
            Self::Entries => Noun::Entries,
            Self::Values { .. } => Noun::Values,
            Self::Chunks { .. } => Noun::Chunks,
        }
    }

    fn thread_id(self) -> Option<&'a str> {
        match self {
            Self::Checkpoints(id) | Self::Writes(id) | Self::Bases(id) => Some(id),
            Self::Values { thread_id, .. } | Self::Chunks { thread_id, .. } => thread_id,
            Self::Items | Self::Versions | Self::Entries => None,
        }
    }
}

impl TenantScan<'_> {
    pub(super) async fn go_through(&self, pass: Pass<'_>, report: &mut Report) -> Result<()> {
        let mut from = Start { after: self.first_key(pass), rows_max: PAGE_ROWS };
        loop {
            let mut part = Report::default();
            match self.examine_page(pass, &from, &mut part).await {
                Ok(last) => {
                    report.merge(part);
                    let Some(last) = last else { return Ok(()) };
                    from = Start { after: last, rows_max: PAGE_ROWS };
                }
                Err(error) if !is_damage(&error) => return Err(error),
                Err(_) if from.rows_max > 1 => from.rows_max = 1,
                Err(damage) => {
                    let next = self.next_key(pass, &from.after).await;
                    let (place, after) = match next {
                        Ok(Next::Row(key)) => (self.place_of_key(pass, &key), Some(key)),
                        Ok(Next::Unread(key)) => (self.place(pass.thread_id()), Some(key)),
                        Ok(Next::Nothing { .. }) => (self.place(pass.thread_id()), None),
                        Err(error) if is_damage(&error) => (self.place(pass.thread_id()), None),
                        Err(error) => return Err(error),
                    };
                    find_unread((pass.noun(), pass.table()), place, &damage, report);
                    let Some(after) = after else { return Ok(()) };
                    from = Start { after, rows_max: PAGE_ROWS };
                }
            }
        }
    }

    /// Examines one page in a transaction of its own. Answers the key of its last row; none: it has no rows.
    async fn examine_page(
        &self,
        pass: Pass<'_>,
        from: &Start,
        part: &mut Report,
    ) -> Result<Option<Vec<SqlValue>>> {
        match pass {
            Pass::Checkpoints(id) => self.examine_checkpoints(id, from, part).await,
            Pass::Writes(id) => self.examine_writes(id, from, part).await,
            Pass::Bases(id) => self.examine_bases(id, from, part).await,
            Pass::Items => self.examine_item_values(&ITEM_VALUES, from, part).await,
            Pass::Versions => self.examine_item_values(&VERSION_VALUES, from, part).await,
            Pass::Entries => self.examine_entries(from, part).await,
            Pass::Values { scope_id, .. } => self.examine_values(scope_id, from, part).await,
            Pass::Chunks { scope_id, thread_id } => {
                self.examine_chunks((scope_id, thread_id), from, part).await
            }
        }
    }

    fn first_key(&self, pass: Pass<'_>) -> Vec<SqlValue> {
        let text = || SqlValue::from("");
        match pass {
            Pass::Checkpoints(_) => vec![text(), text()],
            Pass::Writes(_) => vec![text(), text(), text(), i64::MIN.into()],
            Pass::Bases(_) => vec![text(), text(), text()],
            Pass::Items => self.first_item(),
            Pass::Versions => self.first_version(),
            Pass::Entries => vec![i64::MIN.into(); 4],
            Pass::Values { .. } => vec![i64::MIN.into()],
            Pass::Chunks { .. } => vec![SqlValue::Bytes(Vec::new())],
        }
    }

    async fn next_key(&self, pass: Pass<'_>, after: &[SqlValue]) -> Result<Next> {
        let (columns, rows) = match pass {
            Pass::Checkpoints(_) => (
                "ns, checkpoint_id",
                "from checkpoints where tenant = $1 and thread_key = $2 and (ns, checkpoint_id) > ($3, $4)
                order by ns, checkpoint_id",
            ),
            Pass::Writes(_) => ("ns, checkpoint_id, task_id, idx", super::threads::WRITES),
            Pass::Bases(_) => ("ns, checkpoint_id, channel", super::threads::BASES.rows),
            Pass::Items => ("namespace, key", super::items::ITEMS.rows),
            Pass::Versions => ("namespace, key, version", super::items::VERSIONS.rows),
            Pass::Entries => ("session_no, log_no, era, seq", super::sessions::ENTRIES.rows),
            Pass::Values { .. } => ("no", super::scopes::VALUES),
            Pass::Chunks { .. } => ("name", super::scopes::CHUNKS.rows),
        };
        let mut before = vec![self.name()];
        match pass {
            Pass::Checkpoints(id) | Pass::Writes(id) | Pass::Bases(id) => {
                let mut access = self.engine.begin_read().await?;
                let thread = self.thread(access.as_mut(), id).await?;
                access.end().await?;
                let Some(thread) = thread else { return Ok(Next::Nothing { is_read: true }) };
                before.push(thread.key.into());
            }
            Pass::Values { scope_id, .. } | Pass::Chunks { scope_id, .. } => {
                before.push(scope_id.into());
            }
            Pass::Items | Pass::Versions | Pass::Entries => {}
        }
        Keys { columns, rows, before }.next(self.engine, after).await
    }

    /// As much as the key of a row tells.
    fn place_of_key(&self, pass: Pass<'_>, key: &[SqlValue]) -> FindingPlace {
        let text = |at: usize| match key.get(at) {
            Some(SqlValue::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let place = self.place(pass.thread_id());
        match pass {
            Pass::Checkpoints(_) | Pass::Writes(_) | Pass::Bases(_) => {
                FindingPlace { checkpoint_ns: text(0), checkpoint_id: text(1), ..place }
            }
            Pass::Items | Pass::Versions => {
                let namespace = crate::storage::store::namespaces::of_cell(&key[0]);
                FindingPlace { namespace: namespace.map(|it| it.labels().to_vec()), ..place }
            }
            _ => place,
        }
    }

    /// A part of the examination that could not be read to its end is a finding.
    pub(super) fn note(
        &self,
        result: Result<()>,
        (noun, table, thread_id): (Noun, &'static str, Option<&str>),
        report: &mut Report,
    ) -> Result<()> {
        match result {
            Err(damage) if is_damage(&damage) => {
                find_unread((noun, table), self.place(thread_id), &damage, report);
                Ok(())
            }
            other => other,
        }
    }

    /// Ids of threads after one, the snapshots' own too. Answers where to go on.
    pub(super) async fn thread_ids(
        &self,
        after: &str,
        report: &mut Report,
    ) -> Result<(Vec<String>, Option<String>)> {
        let keys = thread_ids(&self.tenant);
        let listed = keys.list_on(self.engine, (&[after.into()], KEYS_PER_PAGE)).await?;
        if let Some(damage) = &listed.damage {
            find_unread((Noun::Threads, "threads"), self.place(None), damage, report);
        }
        let ids = listed.rows.iter().map(|row| Ok(row.text(0)?.to_owned()));
        let next = listed.next.and_then(|mut key| match key.pop() {
            Some(SqlValue::Text(id)) => Some(id),
            _ => None,
        });
        Ok((ids.collect::<Result<_>>()?, next))
    }
}

/// Notes what could not be read.
pub fn find_unread(
    (noun, table): (Noun, &'static str),
    place: FindingPlace,
    damage: &Error,
    report: &mut Report,
) {
    let cause = match damage {
        Error::Integrity(cause) => cause.clone(),
        other => other.to_string(),
    };
    let detail = format!("it, or what it is held against, cannot be read: {cause}");
    report.find(
        State::Unread,
        noun,
        0,
        FindingPlace { table: Some(table.to_owned()), ..place },
        detail,
    );
}
