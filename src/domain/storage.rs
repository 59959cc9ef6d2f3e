//! Names all traits of a storage engine together. Every call names its caller.

use super::checkpoints::storage::{CheckpointStorage, ValuePartStorage};
use super::engine::Engine;
use super::export::items::ItemExportStorage;
use super::export::records::ExportStorage;
use super::files::contents::ContentStorage;
use super::files::storage::FileStorage;
use super::scheduling::background_tasks::BackgroundTaskStorage;
use super::sessions::storage::SessionStorage;
use super::snapshots::archives::ArchiveStorage;
use super::snapshots::export::SnapshotExportStorage;
use super::snapshots::storage::SnapshotStorage;
use super::store::feed::FeedStorage;
use super::store::history::ItemHistoryStorage;
use super::store::indexing::IndexingStorage;
use super::store::namespace_settings::SettingsStorage;
use super::store::storage::ItemStorage;
use super::store::text_search::TextStorage;
use super::store::word_walks::WalkStorage;
use super::tenants::audit::AuditStorage;
use super::tenants::erasure::ErasureStorage;
use super::threads::details::ThreadDetailsStorage;
use super::threads::retention_storage::RetentionStorage;
use super::threads::storage::ThreadStorage;
use super::tokens::signing::SigningStorage;
use super::tokens::storage::{CredentialStorage, KeyStorage};

/// All of a storage engine.
pub trait Storage:
    CheckpointStorage
    + ValuePartStorage
    + ThreadStorage
    + ThreadDetailsStorage
    + RetentionStorage
    + ItemStorage
    + ItemHistoryStorage
    + FileStorage
    + ContentStorage
    + SettingsStorage
    + FeedStorage
    + IndexingStorage
    + TextStorage
    + WalkStorage
    + SessionStorage
    + SnapshotStorage
    + ArchiveStorage
    + SnapshotExportStorage
    + ExportStorage
    + ItemExportStorage
    + ErasureStorage
    + super::tenants::tenant::TenantStorage
    + AuditStorage
    + BackgroundTaskStorage
    + KeyStorage
    + CredentialStorage
    + SigningStorage
    + Engine
{
}
impl<T> Storage for T where
    T: CheckpointStorage
        + ValuePartStorage
        + ThreadStorage
        + ThreadDetailsStorage
        + ThreadDetailsStorage
        + RetentionStorage
        + ItemStorage
        + ItemHistoryStorage
        + FileStorage
        + ContentStorage
        + SettingsStorage
        + FeedStorage
        + IndexingStorage
        + TextStorage
        + WalkStorage
        + SessionStorage
        + SnapshotStorage
        + ArchiveStorage
        + SnapshotExportStorage
        + ExportStorage
        + ItemExportStorage
        + ErasureStorage
        + super::tenants::tenant::TenantStorage
        + AuditStorage
        + BackgroundTaskStorage
        + KeyStorage
        + CredentialStorage
        + SigningStorage
        + Engine
{
}
