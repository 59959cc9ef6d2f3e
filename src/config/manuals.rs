//! Settings of the commands that describe the program: completions for shells, and manual pages.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub struct Completions {
    #[arg(value_enum)]
    pub shell: Shell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
    Powershell,
}

#[derive(Debug, Args)]
pub struct Man {
    /// Folder that gets a page for each command; made when it does not exist.
    #[arg(long, value_name = "FOLDER")]
    pub to: PathBuf,
}
