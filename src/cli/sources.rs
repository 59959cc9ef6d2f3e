//! Takes settings from a file in TOML form, and secrets from files that variables name, where neither the command line nor a variable has
//! them. What is found is added to the command line before it is parsed, so a setting means the same wherever it stands.

use std::ffi::OsString;
use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory as _, FromArgMatches as _};

use crate::config::Config;
use crate::domain::{Error, Result};

/// Of a file with settings, or with one secret.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Names that are less alike are not proposed; 1 is the same name.
const ALIKE_MIN: f64 = 0.8;
/// Behind the name of a variable: it names a file with the value.
const IN_FILE: &str = "_FILE";
/// The setting that names the file.
const CONFIG: &str = "config";

/// A command with its settings.
#[derive(Debug)]
pub struct Loaded {
    pub config: Config,
    /// Those of the command, in the order of `--help`.
    pub settings: Vec<Setting>,
}

/// A setting, as the command gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// As flags have it, without the dashes.
    pub name: String,
    /// None: it has no value.
    pub value: Option<Value>,
    pub source: Source,
    pub is_secret: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Switch(bool),
    One(String),
    Many(Vec<String>),
}

/// Where a value is from, the strongest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Flag,
    Variable(String),
    /// A variable that names a file with the value.
    SecretFile(String),
    File(PathBuf),
    Default,
}

/// Why there are no settings.
#[derive(Debug)]
pub enum Refused {
    /// Also help and the version, which end a command, too.
    CommandLine(clap::Error),
    Setting(Error),
}

impl From<clap::Error> for Refused {
    fn from(error: clap::Error) -> Self {
        Self::CommandLine(error)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Setting(error)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => write!(f, "the command line"),
            Self::Variable(name) | Self::SecretFile(name) => write!(f, "{name}"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Default => write!(f, "default"),
        }
    }
}

/// Reads the command line, and what files add to it. `variable` reads the environment.
///
/// # Errors
/// What is wrong with the command line, or with a file; the text is meant for the person at the terminal.
pub fn load(
    line: Vec<OsString>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Loaded, Refused> {
    let root = Config::command();
    let Ok(first) = root.clone().ignore_errors(true).try_get_matches_from(&line) else {
        return Ok(parsed(&line, Vec::new())?);
    };
    let (command, given) = deepest(&root, &first);
    let mut found = secrets(command, given, &variable)?;
    if let Ok(Some(path)) = given.try_get_one::<PathBuf>(CONFIG) {
        found.extend(of_file(&root, command, given, path, &found)?);
    }
    Ok(parsed(&line, found)?)
}

/// The value of a secret that has no flag: of the variable, or of the file that the variable with `_FILE` behind its name names.
///
/// # Errors
/// Where both are set, or the file cannot be read.
pub fn secret(name: &str, variable: impl Fn(&str) -> Option<OsString>) -> Result<Option<String>> {
    let direct = variable(name).filter(|it| !it.is_empty());
    let in_file = secret_file(name, direct.is_some(), &variable)?;
    let direct = direct.map(|it| it.into_string().map_err(|_| not_text(name))).transpose()?;
    Ok(direct.or(in_file))
}

/// What a file adds to the command line.
struct Found {
    name: String,
    words: Vec<OsString>,
    source: Source,
}

fn parsed(line: &[OsString], found: Vec<Found>) -> Result<Loaded, clap::Error> {
    // What comes behind `--` is no flag.
    let end = line.iter().position(|it| it == "--").unwrap_or(line.len());
    let added = found.iter().flat_map(|it| it.words.iter());
    let whole = line[..end].iter().chain(added).chain(&line[end..]);
    let root = Config::command();
    let matches = root.clone().try_get_matches_from(whole)?;
    let (command, given) = deepest(&root, &matches);
    let settings = settings(command).map(|it| setting(it, given, &found)).collect();
    Ok(Loaded { config: Config::from_arg_matches(&matches)?, settings })
}

/// The command that runs, with its part of the command line.
fn deepest<'a>(root: &'a Command, matches: &'a ArgMatches) -> (&'a Command, &'a ArgMatches) {
    let mut at = (root, matches);
    while let Some((name, inner)) = at.1.subcommand()
        && let Some(command) = at.0.find_subcommand(name)
    {
        at = (command, inner);
    }
    at
}

/// What may stand in a file: flags that have a variable, too, but for the one that names the file.
fn settings(command: &Command) -> impl Iterator<Item = &Arg> {
    let is_one = |it: &&Arg| it.get_env().is_some() && it.get_long().is_some_and(|it| it != CONFIG);
    command.get_arguments().filter(is_one)
}

fn name_of(argument: &Arg) -> &str {
    argument.get_long().unwrap_or_default()
}

fn variable_of(argument: &Arg) -> String {
    argument.get_env().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_switch(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::SetTrue)
}

/// Whether the command line or the setting's own variable has it.
fn is_given(argument: &Arg, given: &ArgMatches) -> bool {
    let source = given.value_source(argument.get_id().as_str());
    matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
}

fn secrets(
    command: &Command,
    given: &ArgMatches,
    variable: &impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    for argument in settings(command).filter(|it| it.is_hide_env_values_set()) {
        let name = variable_of(argument);
        let is_set = variable(&name).is_some();
        let Some(value) = secret_file(&name, is_set, variable)? else { continue };
        if !is_given(argument, given) {
            found.push(Found {
                name: name_of(argument).to_owned(),
                words: vec![word(argument, &value)],
                source: Source::SecretFile(name + IN_FILE),
            });
        }
    }
    Ok(found)
}

fn secret_file(
    name: &str,
    is_set: bool,
    variable: &impl Fn(&str) -> Option<OsString>,
) -> Result<Option<String>> {
    let in_file = format!("{name}{IN_FILE}");
    let Some(path) = variable(&in_file).filter(|it| !it.is_empty()) else { return Ok(None) };
    if is_set {
        return Err(Error::invalid(in_file, format!("{name} and {name}{IN_FILE} are both set")));
    }
    let text = read(Path::new(&path), &format!("the file of {in_file}"))?;
    let value = text.trim_end_matches(['\r', '\n']);
    if value.is_empty() {
        return Err(Error::invalid(&in_file, format!("the file of {in_file} is empty")));
    }
    Ok(Some(value.to_owned()))
}

fn of_file(
    root: &Command,
    command: &Command,
    given: &ArgMatches,
    path: &Path,
    before: &[Found],
) -> Result<Vec<Found>> {
    let text = read(path, "the config file")?;
    let wrong = |detail: String| {
        Error::invalid("config", format!("the config file {}: {detail}", path.display()))
    };
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |at| text[..at.start].matches('\n').count() + 1);
        wrong(format!("line {line}: {}", error.message()))
    })?;
    let known = all_settings(root);
    let mut found = Vec::new();
    for (name, value) in &table {
        if !known.contains(name) {
            return Err(wrong(unknown(name, &known)));
        }
        // One file serves all commands.
        let Some(argument) = settings(command).find(|it| name_of(it) == name) else { continue };
        let words = words(argument, value).map_err(wrong)?;
        let is_weaker = is_given(argument, given) || before.iter().any(|it| it.name == *name);
        if !is_weaker {
            let source = Source::File(path.to_owned());
            found.push(Found { name: name.clone(), words, source });
        }
    }
    Ok(found)
}

fn all_settings(command: &Command) -> Vec<String> {
    // A command that takes no file has settings of its own, too.
    let takes_file = command.get_arguments().any(|it| it.get_long() == Some(CONFIG));
    let own = settings(command).filter(|_| takes_file).map(|it| name_of(it).to_owned());
    let mut all: Vec<String> =
        own.chain(command.get_subcommands().flat_map(all_settings)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn unknown(name: &str, known: &[String]) -> String {
    let alike = known.iter().map(|it| (strsim::jaro_winkler(name, it), it));
    let nearest = alike.max_by(|one, other| one.0.total_cmp(&other.0));
    match nearest.filter(|(alike, _)| *alike >= ALIKE_MIN) {
        Some((_, nearest)) => format!("`{name}` is no setting; did you mean `{nearest}`?"),
        None => format!("`{name}` is no setting; `threadkeep config show` prints all of them"),
    }
}

/// The flags that say the same.
fn words(argument: &Arg, value: &toml::Value) -> Result<Vec<OsString>, String> {
    let name = name_of(argument);
    let is_list = matches!(argument.get_action(), ArgAction::Append);
    match value {
        toml::Value::Boolean(is_on) if is_switch(argument) => {
            Ok(is_on.then(|| format!("--{name}").into()).into_iter().collect())
        }
        _ if is_switch(argument) => Err(format!("`{name}` is true or false")),
        toml::Value::Array(values) if is_list => {
            values.iter().map(|it| Ok(word(argument, &plain(name, it)?))).collect()
        }
        toml::Value::Array(_) => Err(format!("`{name}` has one value, not a list")),
        value => Ok(vec![word(argument, &plain(name, value)?)]),
    }
}

fn word(argument: &Arg, value: &str) -> OsString {
    format!("--{}={value}", name_of(argument)).into()
}

fn plain(name: &str, value: &toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Table(_) => Err(format!("[{name}] is a section; settings stand without one")),
        _ => Err(format!("`{name}` is a text or a whole number")),
    }
}

fn setting(argument: &Arg, given: &ArgMatches, found: &[Found]) -> Setting {
    let id = argument.get_id().as_str();
    let text = |it: &std::ffi::OsStr| it.to_string_lossy().into_owned();
    let mut raw: Vec<String> = given.get_raw(id).into_iter().flatten().map(text).collect();
    let value = match argument.get_action() {
        ArgAction::SetTrue => Some(Value::Switch(given.get_flag(id))),
        ArgAction::Append => Some(Value::Many(raw)),
        _ => raw.pop().map(Value::One),
    };
    let added = found.iter().find(|it| it.name == name_of(argument));
    let source = match (added, given.value_source(id)) {
        (Some(found), _) => found.source.clone(),
        (None, Some(ValueSource::CommandLine)) => Source::Flag,
        (None, Some(ValueSource::EnvVariable)) => Source::Variable(variable_of(argument)),
        _ => Source::Default,
    };
    let is_secret = argument.is_hide_env_values_set();
    Setting { name: name_of(argument).to_owned(), value, source, is_secret }
}

fn read(path: &Path, what: &str) -> Result<String> {
    let failed = |error| Error::file(format!("{what} {} cannot be read", path.display()), &error);
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Error::TooLarge { field: what.to_owned(), limit: FILE_BYTES_MAX });
    }
    String::from_utf8(bytes).map_err(|_| not_text(what))
}

fn not_text(what: &str) -> Error {
    Error::invalid(what, format!("{what} is not UTF-8"))
}

#[cfg(test)]
mod tests;
