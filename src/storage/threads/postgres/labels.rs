//! Writes conditions on the labels that checkpoints give a thread. One without a graph may count as of the default graph.

use crate::domain::threads::details_filter::GRAPH_ID;

/// The metadata that was set names a graph.
pub(super) const SETS_GRAPH: &str = "coalesce(jsonb_exists(p.d, 'graph_id'), false)";

/// Another way to have a label: a checkpoint said so, or no checkpoint said anything and the label is that of the default graph.
pub(super) fn said(label: &str, bind: usize, is_default: bool) -> String {
    let unsaid = match label {
        _ if !is_default => "",
        GRAPH_ID => " or graph_id is null",
        _ => " or (assistant_id is null and graph_id is null)",
    };
    format!(" or {label} = ${bind}{unsaid}")
}
