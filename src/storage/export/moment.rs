//! Reads a noun in several transactions as of one moment: its row tells whether it changed meanwhile.

use crate::domain::scheduling::cpu_pool;
use crate::domain::{Error, Result};
use crate::storage::db::access::{Access, Accessible, SqlRow, SqlValue};

/// Attempts before a noun is read in one transaction.
pub const ATTEMPTS: u32 = 4;

/// Why reading ends before its end.
pub enum Stop {
    Changed,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

pub struct Moment<'a> {
    pub engine: &'a dyn Accessible,
    /// Finds the noun's row, which changes with everything in it.
    text: &'static str,
    binds: Vec<SqlValue>,
    /// As it was found first.
    row: Option<SqlRow>,
    /// Everything is read in one transaction, because it changed again and again.
    is_one: bool,
    held: Option<Box<dyn Access + 'a>>,
}

impl<'a> Moment<'a> {
    pub fn new(
        engine: &'a dyn Accessible,
        (text, binds): (&'static str, Vec<SqlValue>),
        attempt: u32,
    ) -> Self {
        let is_one = attempt == ATTEMPTS;
        Self { engine, text, binds, row: None, is_one, held: None }
    }

    /// Whether there is such a noun.
    pub async fn find(&mut self) -> Result<bool, Stop> {
        let Some(access) = self.open().await? else { return Ok(false) };
        self.close(access).await?;
        Ok(true)
    }

    /// The row that was found.
    pub fn row(&self) -> Result<&SqlRow> {
        let unknown = || Error::Internal("a noun is read before it was found".into());
        self.row.as_ref().ok_or_else(unknown)
    }

    /// A transaction that sees the noun as it was found first. None: there is none.
    async fn open(&mut self) -> Result<Option<Box<dyn Access + 'a>>, Stop> {
        if let Some(access) = self.held.take() {
            return Ok(Some(access));
        }
        let mut access = self.engine.begin_read().await?;
        let found = access.rows(self.text, &self.binds).await?.into_iter().next();
        match (&self.row, found) {
            (None, None) => {
                access.end().await?;
                Ok(None)
            }
            (None, Some(row)) => {
                self.row = Some(row);
                Ok(Some(access))
            }
            (Some(known), Some(row)) if known.0 == row.0 => Ok(Some(access)),
            (Some(_), _) => {
                access.end().await?;
                Err(Stop::Changed)
            }
        }
    }

    pub async fn require(&mut self) -> Result<Box<dyn Access + 'a>, Stop> {
        self.open().await?.ok_or(Stop::Changed)
    }

    pub async fn close(&mut self, access: Box<dyn Access + 'a>) -> Result<()> {
        if self.is_one {
            self.held = Some(access);
            return Ok(());
        }
        access.end().await
    }

    /// Runs work on so many bytes beside the async workers. It waits for a place unless it holds a transaction.
    pub async fn work<T>(
        &mut self,
        tenant: &str,
        bytes: usize,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if self.held.is_some() {
            return cpu_pool::run_here_at_once(tenant, bytes, work);
        }
        cpu_pool::run_here(tenant, bytes, work).await?
    }

    pub async fn end(&mut self) -> Result<()> {
        match self.held.take() {
            Some(access) => access.end().await,
            None => Ok(()),
        }
    }
}
