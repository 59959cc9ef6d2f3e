//! Defines the storage use of a thread: bytes as they were sent, and bytes as they are stored.

/// Sizes of one thread. Stored bytes are those of bodies, lists, maps and documents, without keys and the database's own
/// overhead; content that was moved to an object store counts with its bytes there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageUse {
    /// Documents, writes and the values that checkpoints show, before compression and sharing.
    pub logical_bytes: u64,
    /// Those of the writes among them.
    pub writes_bytes: u64,
    /// What is stored for them, the content of the scope included.
    pub stored_bytes: u64,
    /// Values and chunks of the thread's content scope, which its copies share.
    pub content_bytes: u64,
    pub checkpoints: u64,
    /// Values that the thread's checkpoints show, each once.
    pub versions: u64,
    pub writes: u64,
    pub chunks: u64,
    /// Other threads with the same content scope: copies of this one, or what it is a copy of.
    pub shared_with: u64,
    /// Largest first.
    pub channels: Vec<ChannelUse>,
}

/// Sizes of one channel, over all namespaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelUse {
    pub channel: String,
    /// Values, each once.
    pub versions: u64,
    pub logical_bytes: u64,
    /// Of the value that the channel's newest checkpoint shows.
    pub newest_bytes: u64,
}

impl StorageUse {
    /// What compression and sharing save, as a part of the logical bytes. Below 0 where they cost more.
    pub fn share_saved(&self) -> f64 {
        if self.logical_bytes == 0 {
            return 0.0;
        }
        1.0 - self.stored_bytes as f64 / self.logical_bytes as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_saves_nothing_and_a_tenth_saves_nine_tenths() {
        assert!(StorageUse::default().share_saved().abs() < 1e-9);
        let report = StorageUse { logical_bytes: 1_000, stored_bytes: 100, ..Default::default() };
        assert!((report.share_saved() - 0.9).abs() < 1e-9);
    }
}
