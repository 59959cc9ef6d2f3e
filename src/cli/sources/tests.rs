//! Tests files with settings and with secrets.

use super::*;

const LINE: [&str; 2] = ["threadkeep", "serve"];

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn load_with(line: &[&str], variables: &[(&str, &Path)]) -> Result<Loaded, Refused> {
    let variable = |name: &str| {
        let found = variables.iter().find(|(it, _)| *it == name);
        found.map(|(_, path)| path.as_os_str().to_owned())
    };
    load(line.iter().map(OsString::from).collect(), variable)
}

/// `serve` with a file of this text.
fn loaded(text: &str, flags: &[&str]) -> Result<Loaded, Refused> {
    let place = Place::new();
    let path = place.file("threadkeep.toml", text);
    let config = ["--config", path.to_str().unwrap()];
    load_with(&[&LINE, &config[..], flags].concat(), &[])
}

fn value_of(loaded: &Loaded, name: &str) -> (Option<Value>, Source) {
    let setting = loaded.settings.iter().find(|it| it.name == name).unwrap();
    (setting.value.clone(), setting.source.clone())
}

fn refusal(text: &str) -> String {
    match loaded(text, &[]) {
        Err(Refused::Setting(error)) => error.to_string(),
        Err(Refused::CommandLine(error)) => error.to_string(),
        Ok(_) => panic!("{text} was taken"),
    }
}

#[test]
fn a_file_has_every_kind_of_value() {
    let text = "listen = \"0.0.0.0:1\"\nconnections = 16\nkeyless = true\nno-console = false\n\
                cors-origin = [\"https://a.example\", \"https://b.example\"]\n";
    let loaded = loaded(text, &[]).unwrap();

    let value = |name| value_of(&loaded, name).0.unwrap();
    assert_eq!(value("listen"), Value::One("0.0.0.0:1".into()));
    assert_eq!(value("connections"), Value::One("16".into()));
    assert_eq!(value("keyless"), Value::Switch(true));
    assert_eq!(value("no-console"), Value::Switch(false));
    let origins = ["https://a.example", "https://b.example"].map(str::to_owned);
    assert_eq!(value("cors-origin"), Value::Many(origins.to_vec()));
    assert!(matches!(value_of(&loaded, "connections").1, Source::File(_)));
    assert_eq!(value_of(&loaded, "busy-seconds").1, Source::Default);
}

#[test]
fn a_flag_goes_before_the_file() {
    let loaded = loaded("listen = \"0.0.0.0:1\"", &["--listen", "127.0.0.1:2"]).unwrap();
    assert_eq!(value_of(&loaded, "listen"), (Some(Value::One("127.0.0.1:2".into())), Source::Flag));
}

#[test]
fn one_file_serves_all_commands() {
    let place = Place::new();
    let path = place.file("f", "listen = \"0.0.0.0:1\"\ndata-dir = \"/kept\"");
    let line = ["threadkeep", "keys", "list", "--tenant", "t", "--config", path.to_str().unwrap()];
    let loaded = load_with(&line, &[]).unwrap();
    assert_eq!(value_of(&loaded, "data-dir").0, Some(Value::One("/kept".into())));
}

#[test]
fn what_is_wrong_with_a_file_is_named() {
    for (text, sentence) in [
        ("listn = \"a\"", "`listn` is no setting; did you mean `listen`?"),
        ("zzz = 1", "`zzz` is no setting; `threadkeep config show` prints all of them"),
        ("config = \"other\"", "`config` is no setting"),
        ("listen = ", "line 1: "),
        ("\nlisten = \"a\"\nlisten = \"b\"", "line 3: "),
        ("keyless = 1", "`keyless` is true or false"),
        ("listen = [\"a\"]", "`listen` has one value, not a list"),
        ("listen = true", "`listen` is a text or a whole number"),
        ("connections = 1.5", "`connections` is a text or a whole number"),
        ("[listen]\nport = 1", "[listen] is a section; settings stand without one"),
        ("connections = 1", "invalid value '1' for '--connections <CONNECTIONS>'"),
        ("tls-cert = \"/x\"", "--tls-key <FILE>"),
    ] {
        let said = refusal(text);
        assert!(said.contains(sentence), "{text}: {said}");
    }
}

#[test]
fn a_secret_is_read_from_the_file_that_a_variable_names() {
    let place = Place::new();
    let path = place.file("secret", "postgres://user:word@host/db\n");
    let named = [("THREADKEEP_DATABASE_URL_FILE", path.as_path())];
    let config = place.file("f", "database-url = \"postgres://weaker\"");

    let line = [&LINE[..], &["--config", config.to_str().unwrap()]].concat();
    let loaded = load_with(&line, &named).unwrap();
    let source = Source::SecretFile("THREADKEEP_DATABASE_URL_FILE".into());
    let value = Value::One("postgres://user:word@host/db".into());
    assert_eq!(value_of(&loaded, "database-url"), (Some(value), source));

    let flag = [&LINE[..], &["--database-url", "postgres://flag"]].concat();
    assert_eq!(value_of(&load_with(&flag, &named).unwrap(), "database-url").1, Source::Flag);

    let both = [named[0], ("THREADKEEP_DATABASE_URL", Path::new("postgres://x"))];
    let Err(Refused::Setting(error)) = load_with(&LINE, &both) else { panic!() };
    assert!(error.to_string().contains("are both set"), "{error}");

    let empty = place.file("empty", "\n");
    let named = [("THREADKEEP_DATABASE_URL_FILE", empty.as_path())];
    let Err(Refused::Setting(error)) = load_with(&LINE, &named) else { panic!() };
    assert!(error.to_string().contains("is empty"), "{error}");
}

#[test]
fn a_secret_without_a_flag_is_read_the_same_way() {
    let place = Place::new();
    let path = place.file("secret", "the key\n");
    let of = |name: &'static str, value: PathBuf| {
        move |asked: &str| (asked == name).then(|| value.clone().into_os_string())
    };
    let read = |variable: &dyn Fn(&str) -> Option<OsString>| secret("KEY", variable).unwrap();
    assert_eq!(read(&of("KEY_FILE", path)).as_deref(), Some("the key"));
    assert_eq!(read(&of("KEY", "direct".into())).as_deref(), Some("direct"));
    assert_eq!(read(&of("OTHER", "x".into())), None);
    assert!(secret("KEY", of("KEY_FILE", "/none".into())).is_err());
}

#[test]
fn help_and_wrong_commands_are_those_of_the_command_line() {
    for line in [&["threadkeep", "--help"][..], &["threadkeep"], &["threadkeep", "none"]] {
        assert!(matches!(load_with(line, &[]), Err(Refused::CommandLine(_))), "{line:?}");
    }
    assert!(matches!(loaded("listen = \"a\"", &["--no-such-flag"]), Err(Refused::CommandLine(_))));
}
