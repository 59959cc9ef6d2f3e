//! Runs the binary: reads the config, runs the command, reports failure. Everything else is in the library.

use std::process::ExitCode;

use clap::Parser as _;
use threadkeep::cli;
use threadkeep::config::Config;

/// Gives freed memory back within the tenth of a second that `.cargo/config.toml` sets; the system's keeps it, for every thread.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    match cli::run(Config::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("threadkeep: {error}");
            ExitCode::from(cli::exit::code(&error))
        }
    }
}
