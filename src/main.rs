//! The binary: reads the config, runs the command, reports failure. Everything else is in the library.

use std::process::ExitCode;

use clap::Parser as _;
use threadkeep::cli;
use threadkeep::config::Config;

fn main() -> ExitCode {
    match cli::run(Config::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("threadkeep: {error}");
            ExitCode::from(cli::exit::code(&error))
        }
    }
}
