//! Takes the nodes of a delta history from the rows of an answer.

use std::collections::HashMap;

use sqlx::Row;
use sqlx::postgres::PgRow;

use super::chunks::CONTENT;
use super::values::{OrderedWrite, base_of, in_order, value_of};
use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::checkpoints::history::{Chain, Node};
use crate::storage::checkpoints::prepare::channel_key;
use crate::storage::content::associated_data::{CheckpointAt, ValueRow};
use crate::storage::content::opening::Chunks;

/// Nodes of a walk, by depth.
pub(super) struct Walk {
    ns: String,
    nodes: HashMap<i32, (Node, Vec<OrderedWrite>)>,
}

impl Walk {
    pub(super) fn new(ns: &str) -> Self {
        Self { ns: ns.to_owned(), nodes: HashMap::new() }
    }

    /// Takes the rows of a walk. Nodes first: what belongs to one needs its id.
    pub(super) fn take(
        &mut self,
        secret: &TenantSecret,
        scope_id: i64,
        channels: &[String],
        (rows, chunks): (&[PgRow], &Chunks),
    ) -> Result<()> {
        let kind = |row: &PgRow| row.get::<i32, _>("kind");
        for row in rows.iter().filter(|row| kind(row) == 6) {
            let (node, _) = self.nodes.entry(row.get("depth")).or_default();
            let open: Vec<i64> = row.get("keys");
            let read = |it: &&String| open.contains(&channel_key(secret, it));
            node.ns.clone_from(&self.ns);
            node.id = row.get("a");
            node.parent = row.get("b");
            node.read_for = channels.iter().filter(read).cloned().collect();
        }
        for row in rows.iter().filter(|row| (7..CONTENT).contains(&kind(row))) {
            let (node, writes) = self.nodes.entry(row.get("depth")).or_default();
            let at = CheckpointAt { scope_id, ns: &self.ns, id: &node.id };
            match kind(row) {
                7 => {
                    let seed = ValueRow::Version(row.get("number"));
                    let value = value_of(secret, scope_id, seed, (row, chunks))?;
                    node.seeds.push((row.get("b"), value));
                }
                8 => writes.push(OrderedWrite::read(secret, at, chunks, row)?),
                _ => node.bases.push(base_of(secret, at, row)?),
            }
        }
        Ok(())
    }

    pub(super) fn into_nodes(self) -> Vec<Node> {
        let mut by_depth: Vec<_> = self.nodes.into_iter().collect();
        by_depth.sort_by_key(|(depth, _)| *depth);
        let nodes = by_depth.into_iter().map(|(_, (mut node, writes))| {
            node.seeds.sort_by(|a, b| a.0.cmp(&b.0));
            node.bases.sort_by(|a, b| a.channel.cmp(&b.channel));
            let ordered = in_order(writes);
            node.writes =
                ordered.into_iter().map(|it| (it.channel, it.task_id, it.value)).collect();
            node
        });
        nodes.collect()
    }

    pub(super) fn into_chain(self) -> Chain {
        let mut chain = Chain::default();
        chain.add(self.into_nodes());
        chain
    }
}
