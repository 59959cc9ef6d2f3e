//! Runs the binary: reads the config, runs the command, reports failure. Everything else is in the library.

use std::process::ExitCode;

use threadkeep::cli;
use threadkeep::cli::form::Form;
use threadkeep::cli::sources::{self, Refused};

/// Gives freed memory back within the tenth of a second that `.cargo/config.toml` sets; the system's keeps it, for every thread.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let line: Vec<_> = std::env::args_os().collect();
    let form = Form::of(&line);
    let done = match sources::load(line, |name| std::env::var_os(name)) {
        Ok(loaded) => cli::run(loaded, form),
        Err(Refused::CommandLine(error)) => return form.refuse(&error),
        Err(Refused::Setting(error)) => Err(error),
    };
    match done {
        Ok(code) => code,
        Err(error) => form.fail(&error.to_string(), cli::exit::code(&error)),
    }
}
