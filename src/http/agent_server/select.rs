//! Knows which fields of a state, a thread or an assistant the caller wants.

use std::collections::BTreeSet;

use crate::decode::Json;
use crate::decode::state::WHOLE_STATES;
use crate::domain::checkpoints::wanted::WantedChannels;
use crate::domain::limits::LIMITS;
use crate::domain::names::at_most;
use crate::domain::{Error, Result};
use crate::http::request::exact::Text;

const FIELDS: [&str; 10] = [
    "values",
    "next",
    "tasks",
    "metadata",
    "created_at",
    "checkpoint",
    "parent_checkpoint",
    "interrupts",
    "checkpoint_id",
    "parent_checkpoint_id",
];

pub const ASSISTANT_FIELDS: [&str; 10] = [
    "assistant_id",
    "graph_id",
    "name",
    "description",
    "config",
    "context",
    "metadata",
    "version",
    "created_at",
    "updated_at",
];

/// The fields of an answer, and the keys of its values. The default is everything.
#[derive(Debug, Clone, Default)]
pub struct Select {
    /// None: all.
    fields: Option<BTreeSet<&'static str>>,
    /// None: all.
    keys: Option<BTreeSet<String>>,
}

impl Select {
    /// # Errors
    /// 422 for a name that no state has.
    pub fn new(names: &[String]) -> Result<Self> {
        at_most("select", names.len(), LIMITS.filter_terms_max)?;
        if names.is_empty() {
            return Ok(Self::default());
        }
        let (mut fields, mut keys) = (BTreeSet::new(), BTreeSet::new());
        for name in names {
            if let Some(key) = name.strip_prefix("values.") {
                keys.insert(key.to_owned());
                continue;
            }
            let known = FIELDS.iter().find(|it| *it == name);
            fields.insert(*known.ok_or_else(|| {
                let known = FIELDS.join(", ");
                Error::invalid("select", format!("select takes {known} and values.KEY"))
            })?);
        }
        let wants_all = fields.contains("values");
        if !keys.is_empty() {
            fields.insert("values");
        }
        Ok(Self { fields: Some(fields), keys: (!wants_all && !keys.is_empty()).then_some(keys) })
    }

    pub fn has(&self, field: &str) -> bool {
        self.fields.as_ref().is_none_or(|it| it.contains(field))
    }

    /// The channels that it takes to show this. Tasks say which values are newest, too.
    pub fn channels(&self) -> WantedChannels {
        let mut names = BTreeSet::new();
        match (&self.keys, self.has("values")) {
            (None, true) => return WantedChannels::All,
            (Some(keys), true) => {
                names.extend(keys.iter().cloned());
                names.extend(WHOLE_STATES.map(str::to_owned));
            }
            (_, false) => {}
        }
        let wanted = WantedChannels::Only(names);
        let needs_tasks = ["values", "next", "tasks", "interrupts"].iter().any(|it| self.has(it));
        if needs_tasks { wanted.with_tasks() } else { wanted }
    }

    /// What is wanted of the values.
    pub fn values(&self, values: Json) -> Json {
        match (values, &self.keys) {
            (Json::Object(fields), Some(keys)) => {
                Json::Object(fields.into_iter().filter(|(name, _)| keys.contains(name)).collect())
            }
            (values, _) => values,
        }
    }
}

/// Names of fields that an answer is to have. None: all of them.
///
/// # Errors
/// 422 for a name that is not known.
pub fn selected(names: Vec<Text>, known: &[&'static str]) -> Result<Option<Vec<&'static str>>> {
    at_most("select", names.len(), LIMITS.filter_terms_max)?;
    let field = |Text(name): Text| {
        let found = known.iter().find(|it| **it == name).copied();
        found.ok_or_else(|| Error::invalid("select", format!("select takes {}", known.join(", "))))
    };
    let names: Vec<&'static str> = names.into_iter().map(field).collect::<Result<_>>()?;
    Ok((!names.is_empty()).then_some(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(names: &[&str]) -> Result<Select> {
        Select::new(&names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn nothing_named_is_everything() {
        let all = select(&[]).unwrap();
        assert!(FIELDS.iter().all(|it| all.has(it)));
    }

    #[test]
    fn keys_narrow_the_values_unless_all_are_named_too() {
        let values = || Json::Object(vec![("a".into(), Json::Null), ("b".into(), Json::Null)]);
        let one = select(&["values.b", "next"]).unwrap();
        assert!(one.has("values") && one.has("next") && !one.has("tasks"));
        assert_eq!(one.values(values()), Json::Object(vec![("b".into(), Json::Null)]));
        assert_eq!(select(&["values", "values.b"]).unwrap().values(values()), values());
        assert!(select(&["nothing"]).is_err());
    }

    #[test]
    fn only_channels_that_are_shown_or_start_tasks_are_read() {
        let channels = |names: &[&str]| match select(names).unwrap().channels() {
            WantedChannels::All => vec!["all".to_owned()],
            WantedChannels::Only(names) => names.into_iter().collect(),
        };
        let tasks = ["__pregel_tasks", "__start__"];
        assert_eq!(channels(&[]), ["all"]);
        assert_eq!(channels(&["values", "values.a"]), ["all"]);
        assert_eq!(channels(&["next", "metadata"]), tasks);
        assert_eq!(channels(&["created_at", "checkpoint_id"]), [""; 0]);
        let keyed = ["__end__", "__pregel_tasks", "__root__", "__start__", "a"];
        assert_eq!(channels(&["values.a"]), keyed);
    }
}
