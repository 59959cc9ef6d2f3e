//! Examines content scopes: their holders, values and chunks, and the content that nothing names.

use std::collections::BTreeSet;

use super::content::{Chunks, VALUE_COLUMNS, VALUE_SIZE, Value, Verdict, open_leaf, open_node};
use super::pass::{Pass, Start};
use super::{TenantScan, read_map, size};
use crate::content::parts::{NAME_BYTES, NODE_BYTES_MAX, Name};
use crate::domain::Result;
use crate::domain::clock::random_id;
use crate::domain::doctor::{FindingPlace, Noun, PLACES_MAX, Report, State};
use crate::storage::content::associated_data::ValueRow;
use crate::storage::db::access::{Access, Source, SqlValue, page, page_of};
use crate::storage::db::damage::is_damage;
use crate::storage::objects::pack_location::PackLocation;

const SCOPE_TABLES: [&str; 5] = ["scopes", "scope_holders", "manifests", "chunks", "packs"];

const HOLDERS: &str = "
select t.thread_id, t.thread_key, h.kind from scope_holders h
left join threads t on h.kind = 'thread' and t.tenant = h.tenant and t.scope_id = h.scope_id
    and {thread_of_holder}
where h.tenant = $1 and h.scope_id = $2 order by h.kind, h.holder";

pub const CHUNKS: Source<'static> = Source {
    columns: "name, body",
    size: "length(body)",
    rows: "from chunks where tenant = $1 and scope_id = $2 and name > $3 order by name",
};

pub const VALUES: &str =
    "from manifests where tenant = $1 and scope_id = $2 and no > $3 order by no";

/// What a scope takes whose content nobody can reach, its packs included.
const CONTENT: &str = "
select cast(coalesce(sum(length(body) + coalesce(length(parts), 0)), 0) + (
    select coalesce(sum(length(k.body)), 0) from chunks k
    where k.tenant = $1 and k.scope_id = $2 and not {packed}
) + (
    select coalesce(sum(p.live_bytes), 0) from packs p where p.tenant = $1 and p.scope_id = $2
) as bigint)
from manifests where tenant = $1 and scope_id = $2";

/// Who holds a scope, as one transaction sees it.
#[derive(Default)]
pub struct Holders {
    /// (id, key) of the threads.
    pub threads: Vec<(String, i64)>,
    /// Entries that name a thread that is not there.
    pub lost: u64,
    /// Any entries, also of kinds that are no threads.
    pub any: bool,
}

impl Holders {
    pub fn keys(&self) -> Vec<i64> {
        self.threads.iter().map(|(_, key)| *key).collect()
    }
}

impl TenantScan<'_> {
    pub(super) async fn examine_scopes(&mut self, report: &mut Report) -> Result<()> {
        let (mut after, mut unread) = (i64::MIN, BTreeSet::new());
        loop {
            let found = self.keys(&SCOPE_TABLES, "scope_id", after).await?;
            self.note_unread(found.unread, (Noun::Scopes, &mut unread), report);
            let scopes = found.keys;
            for scope_id in &scopes {
                if self.examined.contains(scope_id) {
                    continue;
                }
                let examined = self.examine_scope(*scope_id, report).await;
                self.note(examined, (Noun::Scopes, "scopes", None), report)?;
            }
            self.progress.advance(size(scopes.len()));
            let Some(last) = scopes.last() else { return Ok(()) };
            after = *last;
        }
    }

    async fn examine_scope(&mut self, scope_id: i64, report: &mut Report) -> Result<()> {
        let mut access = self.engine.begin_read().await?;
        let holders = self.holders(access.as_mut(), scope_id).await?;
        if !holders.any {
            let bytes = self.unreachable_bytes(access.as_mut(), scope_id).await?;
            access.end().await?;
            return match bytes {
                Some(bytes) => self.examine_orphan(scope_id, bytes, report).await,
                None => Ok(()),
            };
        }
        access.end().await?;
        report.add(State::Checked, Noun::Scopes, 1, 0);
        let thread_id = holders.threads.first().map(|(id, _)| id.clone());
        let thread_id = thread_id.as_deref();
        for _ in 0..holders.lost {
            self.thread_lost = true;
            let detail = "a thread that holds a content scope";
            report.find(State::Missing, Noun::Threads, 0, self.place(thread_id), detail);
        }
        let packed = self.examine_packs(scope_id, thread_id, report).await;
        self.note(packed, (Noun::Packs, "packs", thread_id), report)?;
        for pass in [Pass::Values { scope_id, thread_id }, Pass::Chunks { scope_id, thread_id }] {
            self.go_through(pass, report).await?;
        }
        let named = self.examine_names(scope_id, thread_id, report).await;
        if matches!(&named, Err(error) if is_damage(error)) {
            report.add(State::Undecided, Noun::Scopes, 1, 0);
        }
        self.note(named, (Noun::Scopes, "manifests", thread_id), report)
    }

    pub(super) async fn holders(&self, access: &mut dyn Access, scope_id: i64) -> Result<Holders> {
        let text = self.dialect.fill(HOLDERS);
        let mut holders = Holders::default();
        for row in access.rows(&text, &[self.name(), scope_id.into()]).await? {
            holders.any = true;
            match row.text(0) {
                Ok(id) => holders.threads.push((id.to_owned(), row.integer(1)?)),
                Err(_) if row.text(2)? == "thread" => holders.lost += 1,
                Err(_) => {}
            }
        }
        Ok(holders)
    }

    /// What a scope without holders takes. None: a removal or a copy is at work on it, or a thread has it.
    async fn unreachable_bytes(
        &self,
        access: &mut dyn Access,
        scope_id: i64,
    ) -> Result<Option<u64>> {
        let text = "select exists (select 1 from garbage where tenant = $1 and scope_id = $2)
            or exists (select 1 from threads where tenant = $1 and scope_id = $2)";
        let binds = [self.name(), scope_id.into()];
        if access.rows(text, &binds).await?[0].integer(0)? != 0 {
            return Ok(None);
        }
        Ok(Some(
            access.rows(&self.dialect.fill(CONTENT), &binds).await?[0].integer(0)?.unsigned_abs(),
        ))
    }

    async fn examine_orphan(&self, scope_id: i64, bytes: u64, report: &mut Report) -> Result<()> {
        if self.repairs(report) && !self.thread_lost {
            // No thread has this key: only the scope goes. Nothing can take hold of it any more: a copy shares the
            // scope of a thread that holds it.
            self.engine.remove_unreachable(&self.tenant, random_id(), scope_id).await?;
            report.add(State::Repaired, Noun::Scopes, 1, bytes);
        } else {
            report.add(State::Orphan, Noun::Scopes, 1, bytes);
        }
        Ok(())
    }

    pub(super) async fn examine_values(
        &self,
        scope_id: i64,
        from: &Start,
        report: &mut Report,
    ) -> Result<Option<Vec<SqlValue>>> {
        let columns = format!("no, version_key, {VALUE_COLUMNS}");
        let source = Source { columns: &columns, size: VALUE_SIZE, rows: VALUES };
        let scope = [self.name(), scope_id.into()];
        let mut access = self.engine.begin_read().await?;
        let holders = self.holders(access.as_mut(), scope_id).await?;
        if !holders.any {
            return access.end().await.map(|()| None);
        }
        let binds = [&scope[..], &from.after].concat();
        let binds = (&binds[..], from.rows_max);
        let rows = page_of(access.as_mut(), self.dialect, &source, binds).await?;
        let values = rows.iter().map(|row| {
            let version = ValueRow::Version(row.integer(1)?);
            Value::read((scope_id, version), row, 2)
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        let mut chunks = Chunks::load(access.as_mut(), &self.secret, &scope, &values).await?;
        access.end().await?;
        chunks.fetch(self.engine.objects(), (&self.tenant, &self.secret), scope_id).await?;
        let mut bad = Vec::new();
        for (row, value) in rows.iter().zip(&values) {
            let no = row.integer(0)?;
            let bytes = value.stored_bytes();
            let verdict = value.examine(&self.secret, &chunks);
            let read = !matches!(verdict, Verdict::Moved);
            let state = if read { State::Checked } else { State::Moved };
            report.add(state, Noun::Values, 1, bytes);
            match verdict {
                Verdict::Sound | Verdict::Moved => {}
                Verdict::Damaged(detail) => bad.push((no, State::Damaged, bytes, detail)),
                Verdict::Unreadable => {
                    let detail = "a chunk of the value is missing or damaged";
                    bad.push((no, State::Unreadable, bytes, detail));
                }
            }
        }
        for (no, state, bytes, detail) in bad {
            let place = if report.places.len() < PLACES_MAX {
                match self.place_of_value(scope_id, no).await {
                    Err(error) if is_damage(&error) => self.place(None),
                    place => place?,
                }
            } else {
                FindingPlace::default()
            };
            report.find(state, Noun::Values, bytes, place, detail);
        }
        Ok(rows.last().map(|last| last.0[..1].to_vec()))
    }

    /// The first checkpoint that shows a value, as things are now.
    async fn place_of_value(&self, scope_id: i64, no: i64) -> Result<FindingPlace> {
        let mut access = self.engine.begin_read().await?;
        let holders = self.holders(access.as_mut(), scope_id).await?;
        let place = self.first_to_show(access.as_mut(), &holders, no).await?;
        access.end().await?;
        Ok(place)
    }

    async fn first_to_show(
        &self,
        access: &mut dyn Access,
        holders: &Holders,
        no: i64,
    ) -> Result<FindingPlace> {
        const MAPS: Source<'static> = Source {
            columns: "ns, checkpoint_id, {map}",
            size: "{map_bytes}",
            rows: "from checkpoints where tenant = $1 and thread_key = $2 and (ns, checkpoint_id) > ($3, $4)
                order by ns, checkpoint_id",
        };
        for (thread_id, key) in &holders.threads {
            let mut after = vec![SqlValue::from(""), SqlValue::from("")];
            loop {
                let binds = [vec![self.name(), (*key).into()], after].concat();
                let rows = page(access, self.dialect, &MAPS, &binds).await?;
                let Some(last) = rows.last() else { break };
                after = last.0[..2].to_vec();
                for row in &rows {
                    let map = read_map(row, 2).unwrap_or_default();
                    if map.iter().any(|it| i64::from(it.value_no) == no) {
                        return self.place_of(thread_id, row);
                    }
                }
            }
        }
        Ok(self.place(holders.threads.first().map(|(id, _)| id.as_str())))
    }

    pub(super) async fn examine_chunks(
        &self,
        (scope_id, thread_id): (i64, Option<&str>),
        from: &Start,
        report: &mut Report,
    ) -> Result<Option<Vec<SqlValue>>> {
        let mut access = self.engine.begin_read().await?;
        let binds = [&[self.name(), scope_id.into()], &from.after[..]].concat();
        let binds = (&binds[..], from.rows_max);
        let rows = page_of(access.as_mut(), self.dialect, &CHUNKS, binds).await?;
        access.end().await?;
        for row in &rows {
            let (name, body) = (row.bytes(0)?, row.bytes(1)?);
            if matches!(PackLocation::read(body), Ok(Some(_))) && name.len() == NAME_BYTES {
                // It was looked at with its pack.
                continue;
            }
            report.add(State::Checked, Noun::Chunks, 1, size(body.len()));
            if !self.is_sound(scope_id, name, body) {
                let detail = "a chunk does not open or does not have the name of its content";
                let place = self.place(thread_id);
                report.find(State::Damaged, Noun::Chunks, size(body.len()), place, detail);
            }
        }
        Ok(rows.last().map(|last| last.0[..1].to_vec()))
    }

    /// A chunk, whatever is in it.
    fn is_sound(&self, scope_id: i64, name: &[u8], body: &[u8]) -> bool {
        let Ok(name) = Name::try_from(name) else { return false };
        if open_leaf(&self.secret, scope_id, &name, body).is_some() {
            return true;
        }
        // Nodes are never encrypted.
        let node = open_node(&self.secret, &name, body);
        let is_node =
            |node: &[u8]| node.len().is_multiple_of(NAME_BYTES) && node.len() <= NODE_BYTES_MAX;
        self.secret.cipher().is_some() && node.is_some_and(|it| is_node(&it))
    }

    /// What nothing names, and what is named and not there.
    async fn examine_names(
        &self,
        scope_id: i64,
        thread_id: Option<&str>,
        report: &mut Report,
    ) -> Result<()> {
        let mut access = self.engine.begin_read().await?;
        let holders = self.holders(access.as_mut(), scope_id).await?;
        if !holders.any {
            return access.end().await;
        }
        let mut survey = self.survey(access.as_mut(), scope_id, &holders.keys()).await?;
        access.end().await?;
        for _ in 0..survey.missing_chunks {
            let place = self.place(thread_id);
            report.find(State::Missing, Noun::Chunks, 0, place, "a chunk that a value needs");
        }
        // A thread that is lost may show what nobody else does.
        if survey.undecided || holders.lost > 0 {
            report.add(State::Undecided, Noun::Scopes, 1, 0);
            return Ok(());
        }
        if self.repairs(report) && !(survey.chunks.is_empty() && survey.superseded.is_empty()) {
            survey = self.remove_orphans(scope_id, report).await?;
        }
        let superseded = size(survey.superseded.len());
        report.add(State::Orphan, Noun::Values, superseded, survey.superseded_bytes);
        report.add(State::Orphan, Noun::Chunks, size(survey.chunks.len()), survey.chunk_bytes);
        report.add(State::Unlisted, Noun::Values, survey.unlisted.0, survey.unlisted.1);
        Ok(())
    }
}
