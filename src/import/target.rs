//! Opens the target of an import: a tenant of this database, through the same services that requests use.

use std::sync::Arc;

use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::checkpoints::group_commit::GroupCommit;
use crate::domain::checkpoints::service::Checkpoints;
use crate::domain::clock::{Clock, Micros};
use crate::domain::files::raw_files::RawFiles;
use crate::domain::files::uploads::Uploads;
use crate::domain::limits::LIMITS;
use crate::domain::storage::Storage;
use crate::domain::store::commit::ItemCommit;
use crate::domain::store::namespace_settings::NamespaceSettings;
use crate::domain::store::service::Items;
use crate::domain::tenants::audit::COMMAND_LINE;
use crate::domain::tenants::quotas::Quotas;
use crate::domain::tenants::rates::Rates;

pub struct Target {
    pub(super) caller: Caller,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) checkpoints: Checkpoints,
    pub(super) items: Arc<Items>,
    pub(super) raw_files: RawFiles,
    pub(super) uploads: Uploads,
    pub(super) clock: Arc<Clock>,
    /// Nothing is written.
    pub(super) dry_run: bool,
    commits: Arc<GroupCommit>,
    item_commits: Arc<ItemCommit>,
}

impl Target {
    /// # Errors
    /// A storage that cannot be read.
    pub async fn open(storage: &Arc<dyn Storage>, tenant: &str, dry_run: bool) -> Result<Self> {
        let clock = Arc::new(Clock::System);
        let of = || (Arc::clone(storage), Arc::clone(&clock));
        let commits = Arc::new(GroupCommit::start(of().0, &clock));
        let item_commits = Arc::new(ItemCommit::start(of().0, &clock));
        let quotas = Quotas::load(of().0, of().1, Rates { per_tenant: None, per_token: None });
        let quotas = Arc::new(quotas.await?);
        let settings = Arc::new(NamespaceSettings::load(of().0, of().1).await?);
        let items = Arc::new(Items::new(
            of().0,
            Arc::clone(&item_commits),
            of().1,
            Arc::clone(&quotas),
            settings,
        ));
        let mut caller = Caller::of_tenant(tenant);
        COMMAND_LINE.clone_into(&mut caller.credential);
        Ok(Self {
            caller,
            storage: of().0,
            checkpoints: Checkpoints::new(
                of().0,
                Arc::clone(&commits),
                of().1,
                Arc::clone(&quotas),
            ),
            raw_files: RawFiles::new(of().0, Arc::clone(&items), of().1),
            uploads: Uploads::new(of().0, quotas, of().1),
            items,
            clock,
            dry_run,
            commits,
            item_commits,
        })
    }

    /// Waits for what was taken.
    pub async fn stop(self) {
        drop((self.checkpoints, self.items, self.raw_files, self.uploads, self.storage));
        if let Some(commits) = Arc::into_inner(self.commits) {
            commits.stop().await;
        }
        if let Some(commits) = Arc::into_inner(self.item_commits) {
            commits.stop().await;
        }
    }

    /// Of a call that is made now.
    pub(super) fn deadline(&self) -> Micros {
        self.clock.now() + 1_000 * i64::try_from(LIMITS.budget_ms_max).unwrap_or(i64::MAX / 2_000)
    }
}
