//! Settings of `threadkeep doctor`.

use clap::{Args, ValueEnum};

use super::Database;

#[derive(Debug, Args)]
pub struct Doctor {
    /// Only this tenant.
    #[arg(long)]
    pub tenant: Option<String>,
    /// Remove what nothing leads to, finish what removals left, correct counters. Damaged data is never removed, and nothing is
    /// repaired where a page of the database cannot be read.
    #[arg(long)]
    pub fix: bool,
    /// Have background work tried again that is put aside, because the process ended while it ran alone.
    #[arg(long)]
    pub retry_parked: bool,
    /// Where cold content lies, as the servers have it; without it such content is counted and not read.
    #[arg(long, env = "THREADKEEP_OBJECT_STORE_URL")]
    pub object_store_url: Option<String>,
    /// Form of the report on standard output.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
    /// Seconds that one statement that reads may take before the examination ends. The check of an embedded database's file is one statement.
    #[arg(long, default_value_t = 3_600, value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub statement_seconds: u64,
    /// Say every second on standard error how far the examination is, also where that is no terminal.
    #[arg(long)]
    pub progress: bool,
    #[command(flatten)]
    pub database: Database,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    Text,
    Json,
}
