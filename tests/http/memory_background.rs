//! Implements background tasks of the storage in memory: it counts none.

use async_trait::async_trait;
use threadkeep::domain::Result;
use threadkeep::domain::clock::Micros;
use threadkeep::domain::scheduling::background_tasks::{
    BackgroundTaskStorage, Kind, Parked, Running, Standing,
};
use threadkeep::domain::scheduling::lanes::LaneStorage;

use crate::memory::Memory;

#[async_trait]
impl BackgroundTaskStorage for Memory {
    fn running(&self) -> &Running {
        &self.running
    }

    async fn begin_group(&self, _: Kind, _: Micros) -> Result<Standing> {
        Ok(Standing::default())
    }

    async fn end_group(&self, _: Kind) -> Result<()> {
        Ok(())
    }

    async fn begin_alone(&self, _: Kind, _: &str, _: &str, _: Micros) -> Result<()> {
        Ok(())
    }

    async fn end_alone(&self, _: Kind, _: &str, _: &str) -> Result<()> {
        Ok(())
    }

    async fn forget_begun(&self) -> Result<()> {
        Ok(())
    }

    async fn list_parked(&self, _: Option<&str>) -> Result<Vec<Parked>> {
        Ok(Vec::new())
    }

    async fn release_parked(&self, _: Option<&str>) -> Result<u64> {
        Ok(0)
    }
}

impl LaneStorage for Memory {
    fn lanes(&self) -> usize {
        1
    }
}
