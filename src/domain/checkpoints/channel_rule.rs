//! Names the reducers that an operator can say a channel has: the graph's own are not stored.

/// What an update makes of the value that a channel has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelRule {
    /// The new value takes its place.
    Last,
    /// Messages are added, or take the place of those with their id, as `add_messages` does.
    Messages,
    /// Fields of an object are replaced or added; null removes.
    Merge,
}
