//! Defines the two forms in which commands speak. Text is for people. With `--json`, standard output has one JSON value, and each line of
//! standard error is a JSON object: an error, a note or an event of the log.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use serde::Serialize;
use serde_json::json;

use super::{print, progress};
use crate::config::ReportFormat;
use crate::domain::{Error, Result};

const FLAG: &str = "--json";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text,
    Json,
}

/// What a command prints, in both forms.
pub(super) struct Answer {
    text: String,
    json: String,
}

/// Prints a list row by row: as lines, or as one JSON list.
pub(super) struct Rows {
    form: Form,
    count: usize,
    waiting: String,
}

impl Form {
    /// Of a command line, also of one that cannot be parsed.
    pub fn of(line: &[OsString]) -> Self {
        // What comes behind `--` is no flag.
        let mut flags = line.iter().take_while(|it| *it != "--");
        if flags.any(|it| it == FLAG) { Self::Json } else { Self::Text }
    }

    /// Of a command that has a flag of its own, too.
    pub(super) fn or(self, format: ReportFormat) -> Self {
        match format {
            ReportFormat::Json => Self::Json,
            ReportFormat::Text => self,
        }
    }

    pub(super) fn print(self, answer: &Answer) -> Result<()> {
        print(match self {
            Self::Text => &answer.text,
            Self::Json => &answer.json,
        })
    }

    /// Says on standard error what the person at the terminal should know; standard output is for scripts.
    pub(super) fn note(self, text: &str) {
        progress::clear();
        match self {
            Self::Text => eprintln!("threadkeep: {text}"),
            Self::Json => eprintln!("{}", json!({ "note": text })),
        }
    }

    /// Says on standard error why the command failed.
    pub fn fail(self, sentence: &str, exit_code: u8) -> ExitCode {
        progress::clear();
        match self {
            Self::Text => eprintln!("threadkeep: {sentence}"),
            Self::Json => eprintln!("{}", json!({ "error": sentence, "exit_code": exit_code })),
        }
        ExitCode::from(exit_code)
    }

    /// What is wrong with the command line; also help and the version, which are text in both forms.
    pub fn refuse(self, error: &clap::Error) -> ExitCode {
        let exit_code = u8::try_from(error.exit_code()).unwrap_or(u8::MAX);
        if self == Self::Json && error.use_stderr() {
            return self.fail(&sentence(error), exit_code);
        }
        // Nobody is left who could be told that it failed.
        let _ = error.print();
        ExitCode::from(exit_code)
    }
}

/// Without the usage and the hints behind it.
fn sentence(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "a command is missing; --help lists them".to_owned();
    }
    let text = error.render().to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().collect();
    words.join(" ").trim_start_matches("error: ").to_owned()
}

impl Answer {
    /// `value` is the same as `text`, for programs.
    ///
    /// # Errors
    /// A value that is no JSON: a defect.
    pub fn new(text: impl Into<String>, value: &impl Serialize) -> Result<Self> {
        let json = serde_json::to_string_pretty(value).map_err(no_json)?;
        Ok(Self { text: text.into(), json: json + "\n" })
    }
}

impl Rows {
    pub fn new(form: Form) -> Self {
        Self { form, count: 0, waiting: String::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// `line` ends with a line break. It is printed with the next [`Rows::flush`].
    ///
    /// # Errors
    /// A row that is no JSON: a defect.
    pub fn add(&mut self, line: impl FnOnce() -> String, row: &impl Serialize) -> Result<()> {
        self.waiting += &match self.form {
            Form::Text => line(),
            Form::Json => {
                let separator = if self.is_empty() { "[" } else { "," };
                format!("{separator}{}\n", serde_json::to_string(row).map_err(no_json)?)
            }
        };
        self.count += 1;
        Ok(())
    }

    /// # Errors
    /// Standard output that cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        print(&std::mem::take(&mut self.waiting))
    }

    /// # Errors
    /// As [`Rows::flush`].
    pub fn end(mut self) -> Result<()> {
        self.waiting += match (self.form, self.count) {
            (Form::Text, _) => "",
            (Form::Json, 0) => "[]\n",
            (Form::Json, _) => "]\n",
        };
        self.flush()
    }
}

fn no_json(error: serde_json::Error) -> Error {
    Error::Internal(format!("an answer is no JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::config::Config;

    fn of(line: &str) -> Form {
        Form::of(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    fn refused(line: &str) -> String {
        sentence(&Config::command().try_get_matches_from(line.split(' ')).unwrap_err())
    }

    #[test]
    fn the_flag_counts_before_and_behind_the_command_and_not_behind_two_dashes() {
        assert_eq!(of("threadkeep --json tenants"), Form::Json);
        assert_eq!(of("threadkeep keys list --json --tenant acme"), Form::Json);
        assert_eq!(of("threadkeep import --tenant acme -- --json"), Form::Text);
        assert_eq!(of("threadkeep tenants --data-dir=--json"), Form::Text);
    }

    #[test]
    fn a_refused_command_line_is_one_sentence() {
        let sentence = refused("threadkeep tenants --tenamt acme");
        assert_eq!(sentence, "unexpected argument '--tenamt' found");
        let sentence = refused("threadkeep erase --tenant acme");
        assert!(sentence.ends_with("were not provided: --subject <SUBJECT>"), "{sentence}");
        assert_eq!(refused("threadkeep keys"), "a command is missing; --help lists them");
    }
}
