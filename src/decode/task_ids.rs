//! Computes ids of tasks from the checkpoint, as LangGraph does. The ids join a step's tasks with their writes.

use twox_hash::XxHash3_128;
use uuid::Uuid;

use crate::domain::named_uuid::{named_uuid, sha1};

/// Who ran the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Python { v: i64 },
    JavaScript,
}

/// What an id is made of.
pub struct Named<'a> {
    pub checkpoint_id: &'a str,
    pub checkpoint_ns: &'a str,
    pub step: i64,
    pub name: &'a str,
    /// `__pregel_pull` or `__pregel_push`, then triggers or an index.
    pub tail: &'a [String],
}

/// None where the checkpoint's id is none that LangGraph makes.
pub fn task_id(language: Language, named: &Named<'_>) -> Option<String> {
    let ns = named.checkpoint_ns;
    let qualified =
        if ns.is_empty() { named.name.to_owned() } else { format!("{ns}|{}", named.name) };
    let step = named.step.to_string();
    match language {
        Language::Python { v } => {
            let mut bytes = hex::decode(named.checkpoint_id.replace('-', "")).ok()?;
            let parts = [&qualified, &step, named.name].into_iter();
            let tail = named.tail.iter().map(String::as_str);
            parts.chain(tail).for_each(|it| bytes.extend_from_slice(it.as_bytes()));
            Some(dashed(if v > 1 { XxHash3_128::oneshot(&bytes) } else { sha1(&bytes) }))
        }
        Language::JavaScript => {
            let [kind, rest] = named.tail else { return None };
            let pull = kind == "__pregel_pull";
            let rest = if pull { serde_json::json!([rest]) } else { serde_json::json!(rest) };
            let text = serde_json::json!([qualified, step, named.name, kind, rest]).to_string();
            let namespace = Uuid::parse_str(named.checkpoint_id).ok()?;
            Some(named_uuid(namespace, &text))
        }
    }
}

/// Of an interrupt that was stored before interrupts had ids.
pub fn interrupt_id(ns: &str) -> String {
    format!("{:032x}", XxHash3_128::oneshot(ns.as_bytes()))
}

fn dashed(number: u128) -> String {
    Uuid::from_u128(number).to_string()
}
