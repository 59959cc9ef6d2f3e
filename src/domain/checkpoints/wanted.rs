//! Names the channels whose values a read wants. Of the others the long values come as their sizes.

use std::collections::BTreeSet;

use super::checkpoint::{PENDING_SENDS, Value, View};

/// Channel of the input of a graph.
pub const START: &str = "__start__";

/// Begins the names of the channels that start nodes.
pub const BRANCH: &str = "branch:to:";

/// Channels whose values a read wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WantedChannels {
    #[default]
    All,
    /// Of all others, values over 2 KiB come as their sizes, and delta channels without their histories.
    Only(BTreeSet<String>),
}

/// Every channel.
pub const ALL: &WantedChannels = &WantedChannels::All;

impl WantedChannels {
    pub fn has(&self, channel: &str) -> bool {
        self.names().is_none_or(|it| it.contains(channel))
    }

    /// None: all.
    pub fn names(&self) -> Option<&BTreeSet<String>> {
        match self {
            Self::All => None,
            Self::Only(names) => Some(names),
        }
    }

    /// Adds the channels that start tasks and have a name that is known. The values of the others are short, but for very odd graphs.
    #[must_use]
    pub fn with_tasks(self) -> Self {
        match self {
            Self::All => Self::All,
            Self::Only(mut names) => {
                names.extend([START, PENDING_SENDS].map(str::to_owned));
                Self::Only(names)
            }
        }
    }

    /// Whether tasks are wanted and cannot be told, since a channel that starts some was left out.
    pub fn lacks_tasks(&self, view: &View) -> bool {
        let Some(names) = self.names().filter(|it| it.contains(PENDING_SENDS)) else {
            return false;
        };
        let is_left_out = |(name, value): &(String, Value)| {
            starts_tasks(name) && !names.contains(name) && value.in_parts.is_some()
        };
        view.values.iter().any(is_left_out)
    }
}

/// Channels whose values make tasks.
pub fn starts_tasks(channel: &str) -> bool {
    channel == START
        || channel == PENDING_SENDS
        || channel.starts_with(BRANCH)
        || channel.starts_with("join:")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::names::Tag;

    #[test]
    fn tasks_lack_what_starts_them_only_where_they_are_wanted() {
        let left_out = Value::left_out(Tag::new("json").unwrap(), 4_000);
        let view = |channel: &str| View {
            values: vec![(channel.to_owned(), left_out.clone())],
            ..View::default()
        };
        let only = || WantedChannels::Only(["a".to_owned()].into());
        for (channel, lacks) in
            [("join:a+b:c", true), ("branch:to:n", true), ("b", false), ("__start__", false)]
        {
            assert_eq!(only().with_tasks().lacks_tasks(&view(channel)), lacks, "{channel}");
            assert!(!only().lacks_tasks(&view(channel)), "{channel}");
            assert!(!WantedChannels::All.with_tasks().lacks_tasks(&view(channel)), "{channel}");
        }
    }
}
