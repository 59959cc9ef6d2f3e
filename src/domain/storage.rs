//! Names all of a storage engine, for whoever opens one: the server, the commands, exports. Services take the trait of their noun, which
//! this one can be used as.

use super::checkpoints::storage::CheckpointStorage;
use super::engine::Engine;
use super::files::storage::FileStorage;
use super::sessions::storage::SessionStorage;
use super::snapshots::storage::SnapshotStorage;
use super::tenants::tenant::TenantStorage;
use super::threads::storage::ThreadStorage;
use super::tokens::signing::SigningStorage;
use super::tokens::storage::{CredentialStorage, KeyStorage};
use crate::domain::export::storage::ExportStorage;

/// All of a storage engine. Files are items, so [`FileStorage`] has the store, too.
pub trait Storage:
    CheckpointStorage
    + ThreadStorage
    + FileStorage
    + SessionStorage
    + ExportStorage
    + SnapshotStorage
    + TenantStorage
    + CredentialStorage
    + KeyStorage
    + SigningStorage
    + Engine
{
}

impl<T> Storage for T where
    T: CheckpointStorage
        + ThreadStorage
        + FileStorage
        + SessionStorage
        + ExportStorage
        + SnapshotStorage
        + TenantStorage
        + CredentialStorage
        + KeyStorage
        + SigningStorage
        + Engine
{
}
