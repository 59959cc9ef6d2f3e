//! Collects the values that checkpoints of a scope's holders show, and the chunks that lists of values lead to. The rest is content that
//! nothing names. It reads names and sizes, never contents.

use std::collections::HashSet;

use super::content::open_node;
use super::threads::Thread;
use super::{TenantScan, read_map};
use crate::content::parts::{Name, Part, read, read_node};
use crate::domain::Result;
use crate::storage::db::access::{Access, Dialect, Source, SqlValue, page, rows_named};
use crate::storage::objects::pack_location::PackLocation;

/// Names that are held at one time; a scope with more chunks is gone through several times.
const NAMES_HELD_MAX: u64 = 1_000_000;

const MAPS: Source<'static> = Source {
    columns: "ns, checkpoint_id, {map}",
    size: "{map_bytes}",
    rows:
        "from checkpoints where tenant = $1 and thread_key = $2 and (ns, checkpoint_id) > ($3, $4)
        order by ns, checkpoint_id",
};

const VALUES: Source<'static> = Source {
    columns: "no, version_key, size_bytes, length(body) + coalesce(length(parts), 0)",
    size: "64",
    rows: "from manifests where tenant = $1 and scope_id = $2 and no > $3 order by no",
};

const LISTS_OF_VALUES: Source<'static> = Source {
    columns: "no, parts",
    size: "length(parts)",
    rows: "from manifests where tenant = $1 and scope_id = $2 and no > $3 and parts is not null order by no",
};

const LISTS_OF_WRITES: Source<'static> = Source {
    columns: "ns, checkpoint_id, task_id, idx, parts",
    size: "length(parts)",
    rows: "from writes where tenant = $1 and thread_key = $2 and parts is not null
        and (ns, checkpoint_id, task_id, idx) > ($3, $4, $5, $6) order by ns, checkpoint_id, task_id, idx",
};

const LISTS_OF_ITEMS: Source<'static> = Source {
    columns: "namespace, key, parts",
    size: "length(parts)",
    rows: "from items where tenant = $1 and {after_item} and scope_id = $4 and parts is not null
        order by namespace, key",
};

const LISTS_OF_VERSIONS: Source<'static> = Source {
    columns: "namespace, key, version, parts",
    size: "length(parts)",
    rows: "from item_versions where tenant = $1 and {after_version} and scope_id = $5 and parts is not null
        order by namespace, key, version",
};

const LISTS_OF_CONTENTS: Source<'static> = Source {
    columns: "content_id, attempt, no, parts",
    size: "length(parts)",
    rows: "from content_slices where tenant = $1 and scope_id = $2 and (content_id, attempt, no) > ($3, $4, $5)
        order by content_id, attempt, no",
};

const LISTS_OF_ENTRIES: Source<'static> = Source {
    columns: "e.session_no, e.log_no, e.era, e.seq, e.parts",
    size: "length(e.parts)",
    rows: "from sessions s join session_entries e on e.tenant = s.tenant and e.session_no = s.session_no
        where s.tenant = $1 and (e.session_no, e.log_no, e.era, e.seq) > ($2, $3, $4, $5) and s.scope_id = $6
            and e.parts is not null
        order by e.session_no, e.log_no, e.era, e.seq",
};

const NAMES: Source<'static> = Source {
    columns: "name, length(body), case when length(body) = 25 then body end",
    size: "64",
    rows: "from chunks where tenant = $1 and scope_id = $2 and name > $3 order by name",
};

/// What of a scope nothing names.
#[derive(Default)]
pub struct Survey {
    /// Something that would name content is damaged or missing: nothing may be called an orphan.
    pub undecided: bool,
    /// Numbers of values whose version some checkpoint lists with another value, and what they take.
    pub superseded: Vec<i64>,
    pub superseded_bytes: u64,
    /// Count and bytes of values whose version no checkpoint lists.
    pub unlisted: (u64, u64),
    pub chunks: Vec<SqlValue>,
    pub chunk_bytes: u64,
    pub missing_chunks: u64,
}

/// What the rows of a thread add up to.
pub struct Sums {
    pub checkpoint_count: i64,
    /// Of checkpoints, writes and the values that the thread's checkpoints show.
    pub shown_bytes: i64,
    /// Of the other values of its scope. Which of them were its own is not recorded.
    pub other_bytes: i64,
}

impl Sums {
    pub fn difference(&self, thread: &Thread) -> Option<&'static str> {
        if thread.checkpoint_count != self.checkpoint_count {
            return Some("checkpoint_count is not the number of checkpoints");
        }
        let sizes = self.shown_bytes..=self.shown_bytes.saturating_add(self.other_bytes);
        (!sizes.contains(&thread.size_bytes)).then_some("size_bytes is not the size of the rows")
    }
}

/// What a thread's checkpoints show.
#[derive(Default)]
struct Shown {
    numbers: HashSet<u32>,
    versions: HashSet<i64>,
    damaged: bool,
}

impl Shown {
    async fn add(
        &mut self,
        access: &mut dyn Access,
        dialect: &Dialect,
        tenant: &str,
        thread_key: i64,
    ) -> Result<()> {
        let mut after = vec![SqlValue::from(""), SqlValue::from("")];
        loop {
            let binds = [vec![tenant.into(), thread_key.into()], after].concat();
            let rows = page(access, dialect, &MAPS, &binds).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.0[..2].to_vec();
            for row in &rows {
                let Ok(map) = read_map(row, 2) else {
                    self.damaged = true;
                    continue;
                };
                self.versions.extend(map.iter().map(|it| it.version_key));
                self.numbers.extend(map.iter().map(|it| it.value_no).filter(|no| *no != 0));
            }
        }
    }
}

pub async fn sums_of_thread(
    access: &mut dyn Access,
    dialect: &Dialect,
    tenant: &str,
    thread: &Thread,
) -> Result<Sums> {
    let text = "select count(*), cast(coalesce(sum(size_bytes), 0) + (
            select coalesce(sum(w.size_bytes), 0) from writes w where w.tenant = $1 and w.thread_key = $2
        ) as bigint)
        from checkpoints where tenant = $1 and thread_key = $2";
    let rows = access.rows(text, &[tenant.into(), thread.key.into()]).await?;
    let mut sums = Sums {
        checkpoint_count: rows[0].integer(0)?,
        shown_bytes: rows[0].integer(1)?,
        other_bytes: 0,
    };
    let mut shown = Shown::default();
    shown.add(access, dialect, tenant, thread.key).await?;
    let mut after = i64::MIN;
    loop {
        let binds = [tenant.into(), thread.scope_id.into(), after.into()];
        let rows = page(access, dialect, &VALUES, &binds).await?;
        let Some(last) = rows.last() else { return Ok(sums) };
        after = last.integer(0)?;
        for row in &rows {
            let (no, bytes) = (row.integer(0)?, row.integer(2)?);
            let is_shown = u32::try_from(no).is_ok_and(|no| shown.numbers.contains(&no));
            let sum = if is_shown { &mut sums.shown_bytes } else { &mut sums.other_bytes };
            *sum = sum.saturating_add(bytes);
        }
    }
}

impl TenantScan<'_> {
    /// Surveys a scope inside one transaction. `holders` are the keys of the threads that hold it.
    pub(super) async fn survey(
        &self,
        access: &mut dyn Access,
        scope_id: i64,
        holders: &[i64],
    ) -> Result<Survey> {
        let mut survey = Survey::default();
        self.survey_values(access, scope_id, holders, &mut survey).await?;
        let text = "select count(*) from chunks where tenant = $1 and scope_id = $2";
        let count = access.rows(text, &[self.name(), scope_id.into()]).await?[0].integer(0)?;
        let passes = 1 + count.unsigned_abs() / NAMES_HELD_MAX;
        for pass in 0..passes {
            // Names are keyed hashes: any bytes of them part them evenly.
            let of_pass =
                |name: &Name| u64::from(u16::from_le_bytes([name[2], name[3]])) % passes == pass;
            let mut marks = Marks::new(&of_pass);
            self.mark(access, scope_id, holders, &mut marks).await?;
            survey.undecided |= marks.damaged;
            self.survey_chunks(access, scope_id, marks, &mut survey).await?;
        }
        // The list that names a missing chunk may be the one that is damaged, and a chunk without a list its content.
        survey.undecided |= survey.missing_chunks > 0;
        if survey.undecided {
            (survey.superseded, survey.superseded_bytes) = (Vec::new(), 0);
            (survey.chunks, survey.chunk_bytes) = (Vec::new(), 0);
        }
        Ok(survey)
    }

    async fn survey_values(
        &self,
        access: &mut dyn Access,
        scope_id: i64,
        holders: &[i64],
        survey: &mut Survey,
    ) -> Result<()> {
        let mut shown = Shown::default();
        for key in holders {
            shown.add(access, self.dialect, &self.tenant, *key).await?;
        }
        let mut after = i64::MIN;
        loop {
            let binds = [self.name(), scope_id.into(), after.into()];
            let rows = page(access, self.dialect, &VALUES, &binds).await?;
            let Some(last) = rows.last() else { break };
            after = last.integer(0)?;
            for row in &rows {
                let (no, bytes) = (row.integer(0)?, row.integer(3)?.unsigned_abs());
                if u32::try_from(no).is_ok_and(|no| shown.numbers.remove(&no)) {
                    continue;
                }
                if shown.versions.contains(&row.integer(1)?) {
                    survey.superseded.push(no);
                    survey.superseded_bytes += bytes;
                } else {
                    survey.unlisted = (survey.unlisted.0 + 1, survey.unlisted.1 + bytes);
                }
            }
        }
        // A value that is not there named chunks that look like orphans now.
        survey.undecided |= shown.damaged || !shown.numbers.is_empty();
        Ok(())
    }

    async fn mark(
        &self,
        access: &mut dyn Access,
        scope_id: i64,
        holders: &[i64],
        marks: &mut Marks<'_>,
    ) -> Result<()> {
        let mut after = i64::MIN;
        loop {
            let binds = [self.name(), scope_id.into(), after.into()];
            let rows = page(access, self.dialect, &LISTS_OF_VALUES, &binds).await?;
            let Some(last) = rows.last() else { break };
            after = last.integer(0)?;
            let lists = rows.iter().map(|row| row.bytes(1)).collect::<Result<Vec<_>>>()?;
            self.mark_lists(access, scope_id, &lists, marks).await?;
        }
        let mut after = self.first_item();
        loop {
            let binds = [vec![self.name()], after, vec![scope_id.into()]].concat();
            let rows = page(access, self.dialect, &LISTS_OF_ITEMS, &binds).await?;
            let Some(last) = rows.last() else { break };
            after = last.0[..2].to_vec();
            let lists = rows.iter().map(|row| row.bytes(2)).collect::<Result<Vec<_>>>()?;
            self.mark_lists(access, scope_id, &lists, marks).await?;
        }
        let mut after = self.first_version();
        loop {
            let binds = [vec![self.name()], after, vec![scope_id.into()]].concat();
            let rows = page(access, self.dialect, &LISTS_OF_VERSIONS, &binds).await?;
            let Some(last) = rows.last() else { break };
            after = last.0[..3].to_vec();
            let lists = rows.iter().map(|row| row.bytes(3)).collect::<Result<Vec<_>>>()?;
            self.mark_lists(access, scope_id, &lists, marks).await?;
        }
        let mut after = vec![SqlValue::Bytes(Vec::new()), i64::MIN.into(), i64::MIN.into()];
        loop {
            let binds = [vec![self.name(), scope_id.into()], after].concat();
            let rows = page(access, self.dialect, &LISTS_OF_CONTENTS, &binds).await?;
            let Some(last) = rows.last() else { break };
            after = last.0[..3].to_vec();
            let lists = rows.iter().map(|row| row.bytes(3)).collect::<Result<Vec<_>>>()?;
            self.mark_lists(access, scope_id, &lists, marks).await?;
        }
        let mut after: Vec<SqlValue> = vec![i64::MIN.into(); 4];
        loop {
            let binds = [vec![self.name()], after, vec![scope_id.into()]].concat();
            let rows = page(access, self.dialect, &LISTS_OF_ENTRIES, &binds).await?;
            let Some(last) = rows.last() else { break };
            after = last.0[..4].to_vec();
            let lists = rows.iter().map(|row| row.bytes(4)).collect::<Result<Vec<_>>>()?;
            self.mark_lists(access, scope_id, &lists, marks).await?;
        }
        for key in holders {
            let mut after =
                vec![SqlValue::from(""), SqlValue::from(""), SqlValue::from(""), i64::MIN.into()];
            loop {
                let binds = [vec![self.name(), (*key).into()], after].concat();
                let rows = page(access, self.dialect, &LISTS_OF_WRITES, &binds).await?;
                let Some(last) = rows.last() else { break };
                after = last.0[..4].to_vec();
                let lists = rows.iter().map(|row| row.bytes(4)).collect::<Result<Vec<_>>>()?;
                self.mark_lists(access, scope_id, &lists, marks).await?;
            }
        }
        Ok(())
    }

    async fn mark_lists(
        &self,
        access: &mut dyn Access,
        scope_id: i64,
        lists: &[&[u8]],
        marks: &mut Marks<'_>,
    ) -> Result<()> {
        const NODES: &str =
            "select name, body from chunks where tenant = $1 and scope_id = $2 and name in";
        let mut nodes = Vec::new();
        for list in lists {
            let Ok(parts) = read(list) else {
                marks.damaged = true;
                continue;
            };
            for part in parts {
                marks.add(part.name());
                if let Part::Node(name) = part
                    && marks.nodes.insert(name)
                {
                    nodes.push(SqlValue::from(&name[..]));
                }
            }
        }
        let rows = rows_named(access, NODES, &[self.name(), scope_id.into()], &nodes).await?;
        let mut opened: HashSet<&[u8]> = HashSet::new();
        for row in &rows {
            let Ok(name) = Name::try_from(row.bytes(0)?) else { continue };
            let node = open_node(&self.secret, &name, row.bytes(1)?);
            let Some(names) = node.and_then(|node| read_node(&node).ok()) else { continue };
            for name in names {
                marks.add(name);
            }
            opened.insert(row.bytes(0)?);
        }
        // What a node named is not known when it is damaged or not there.
        marks.damaged |= opened.len() < nodes.len();
        Ok(())
    }

    async fn survey_chunks(
        &self,
        access: &mut dyn Access,
        scope_id: i64,
        mut marks: Marks<'_>,
        survey: &mut Survey,
    ) -> Result<()> {
        let mut after = SqlValue::Bytes(Vec::new());
        loop {
            let binds = [self.name(), scope_id.into(), after];
            let rows = page(access, self.dialect, &NAMES, &binds).await?;
            let Some(last) = rows.last() else { break };
            after = last.0[0].clone();
            for row in &rows {
                // A name of another length is damage, which the chunk's own examination finds.
                let Ok(name) = Name::try_from(row.bytes(0)?) else { continue };
                if (marks.held)(&name) && !marks.reached.remove(&name) {
                    survey.chunks.push(row.0[0].clone());
                    let bytes = PackLocation::stored_bytes(row.integer(1)?, row.optional_bytes(2)?);
                    survey.chunk_bytes += bytes.unsigned_abs();
                }
            }
        }
        survey.missing_chunks += marks.reached.len() as u64;
        Ok(())
    }
}

/// Names that were reached, of those that this pass holds.
struct Marks<'a> {
    held: &'a (dyn Fn(&Name) -> bool + Sync),
    reached: HashSet<Name>,
    nodes: HashSet<Name>,
    damaged: bool,
}

impl<'a> Marks<'a> {
    fn new(held: &'a (dyn Fn(&Name) -> bool + Sync)) -> Self {
        Self { held, reached: HashSet::new(), nodes: HashSet::new(), damaged: false }
    }

    fn add(&mut self, name: Name) {
        if (self.held)(&name) {
            self.reached.insert(name);
        }
    }
}
