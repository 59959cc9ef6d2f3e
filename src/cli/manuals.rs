//! Implements `threadkeep completions` and `threadkeep man`: both are made of the definition of the command line, so they are never stale.

use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::generate;
use serde_json::json;

use super::form::{Answer, Form};
use super::io;
use crate::config::{Completions, Config, Man, Shell};
use crate::domain::{Error, Result};

pub(super) fn completions(command: Completions, form: Form) -> Result<()> {
    let (shell, name) = match command.shell {
        Shell::Bash => (clap_complete::Shell::Bash, "bash"),
        Shell::Zsh => (clap_complete::Shell::Zsh, "zsh"),
        Shell::Fish => (clap_complete::Shell::Fish, "fish"),
        Shell::Powershell => (clap_complete::Shell::PowerShell, "powershell"),
    };
    let mut script = Vec::new();
    generate(shell, &mut Config::command(), "threadkeep", &mut script);
    let script = String::from_utf8(script)
        .map_err(|error| Error::Internal(format!("completions are not text: {error}")))?;
    let value = json!({ "shell": name, "script": script });
    form.print(&Answer::new(script, &value)?)
}

pub(super) fn man(command: &Man, form: Form) -> Result<()> {
    let failed = |error| io(&format!("the folder {}", command.to.display()), &error);
    std::fs::create_dir_all(&command.to).map_err(failed)?;
    clap_mangen::generate_to(Config::command(), &command.to).map_err(failed)?;
    let pages = names(&command.to).map_err(failed)?;
    form.print(&Answer::new("", &json!({ "pages": pages }))?)
}

fn names(folder: &Path) -> std::io::Result<Vec<String>> {
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        Ok(entry?.file_name().to_string_lossy().into_owned())
    };
    let mut names = std::fs::read_dir(folder)?.map(name).collect::<std::io::Result<Vec<_>>>()?;
    names.sort_unstable();
    Ok(names)
}
