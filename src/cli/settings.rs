//! Runs `threadkeep config`: checks the settings of `serve`, and prints them with where each is from.

use serde_json::json;

use super::form::{Answer, Form};
use super::serve;
use super::sources::{Setting, Value};
use crate::config::Settings;
use crate::domain::Result;

/// In place of a secret.
const HIDDEN: &str = "(hidden)";

/// `settings` are those of the command.
///
/// # Errors
/// What is wrong with a setting.
pub(super) fn run(command: &Settings, settings: &[Setting], form: Form) -> Result<()> {
    match command {
        Settings::Check(asked) => {
            serve::check(asked)?;
            let value = json!({ "valid": true });
            form.print(&Answer::new("the settings are right\n", &value)?)
        }
        Settings::Show(_) => {
            let lines: String = settings.iter().map(line).collect();
            form.print(&Answer::new(lines, &settings.iter().map(document).collect::<Vec<_>>())?)
        }
    }
}

/// The line of a setting for somebody else: an address with a name, a password or a query in it is a secret, too.
pub(super) fn shareable(setting: &Setting) -> String {
    let has_secret = |text: &str| {
        url::Url::parse(text).is_ok_and(|it| {
            !it.username().is_empty() || it.password().is_some() || it.query().is_some()
        })
    };
    let is_secret = setting.is_secret
        || match &setting.value {
            Some(Value::One(text)) => has_secret(text),
            Some(Value::Many(texts)) => texts.iter().any(|it| has_secret(it)),
            Some(Value::Switch(_)) | None => false,
        };
    line(&Setting { is_secret, ..setting.clone() })
}

/// `value` is absent where there is none, and of secrets; `source` where there is no value.
fn document(setting: &Setting) -> serde_json::Value {
    let Setting { name, value, source, is_secret } = setting;
    let mut document = json!({ "name": name, "secret": is_secret });
    if let Some(value) = value {
        document["source"] = json!(source.to_string());
        if !is_secret {
            document["value"] = match value {
                Value::Switch(is_on) => json!(is_on),
                Value::One(text) => text.parse::<i64>().map_or(json!(text), |number| json!(number)),
                Value::Many(texts) => json!(texts),
            };
        }
    }
    document
}

/// As a line of a config file. A comment where there is no value to write down.
fn line(setting: &Setting) -> String {
    let Setting { name, value, source, is_secret } = setting;
    let value = match value {
        Some(_) if *is_secret => return format!("# {name} = {HIDDEN}  # {source}\n"),
        Some(Value::Switch(is_on)) => is_on.to_string(),
        Some(Value::One(text)) => quoted(text),
        Some(Value::Many(texts)) => {
            format!("[{}]", texts.iter().map(|it| quoted(it)).collect::<Vec<_>>().join(", "))
        }
        None => return format!("# {name} =\n"),
    };
    format!("{name} = {value}  # {source}\n")
}

/// A number, or a text as TOML writes it.
fn quoted(text: &str) -> String {
    match text.parse::<i64>() {
        Ok(number) if number.to_string() == text => text.to_owned(),
        _ => toml::Value::from(text).to_string(),
    }
}
