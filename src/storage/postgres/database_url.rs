//! Reads the URL of a database as libpq does: several servers, and what it says about TLS.
//!
//! Source of the rules: <https://www.postgresql.org/docs/current/libpq-connect.html>.

use std::str::FromStr as _;

use sqlx::postgres::PgConnectOptions;
use url::Url;

use super::tls;
use crate::domain::{Error, Result};

/// What `target_session_attrs` may ask for; anything else would never find a server.
const TAKES_WRITES: [&str; 3] = ["any", "read-write", "primary"];
const SERVERS_MAX: usize = 16;

/// One for each server that the URL names, in its order. `setting` is where it was given.
///
/// # Errors
/// `Invalid` for another text; what is in it is not repeated, as it may hold a password. `Obstacle` for a certificate that cannot be read.
pub fn parse(setting: &'static str, text: &str) -> Result<Vec<PgConnectOptions>> {
    let unread = |why: &str| {
        let detail = format!(
            "--{setting} cannot be read: {why}; it looks like postgres://USER:PASSWORD@HOST:5432/DATABASE, with special characters \
             of the password percent-encoded"
        );
        Error::invalid(setting, detail)
    };
    let mut servers = Vec::new();
    for text in of_each_host(text) {
        let url = Url::parse(&text).map_err(|error| unread(&error.to_string()))?;
        servers.extend(of_each_named(&url).map_err(|why| unread(&why))?);
    }
    if servers.len() > SERVERS_MAX {
        return Err(unread(&format!("it names more than {SERVERS_MAX} servers")));
    }
    servers.into_iter().map(|url| one(setting, url, &unread)).collect()
}

fn one(
    setting: &'static str,
    mut url: Url,
    unread: &impl Fn(&str) -> Error,
) -> Result<PgConnectOptions> {
    let (mut kept, mut asked) = (Vec::new(), tls::UrlTls::default());
    for (name, value) in pairs(&url) {
        match name.as_str() {
            "target_session_attrs" if TAKES_WRITES.contains(&value.as_str()) => {}
            "target_session_attrs" => {
                let detail = format!(
                    "--{setting}: target_session_attrs={value} finds no server that takes writes; leave it out, or use read-write"
                );
                return Err(Error::invalid(setting, detail));
            }
            _ => kept.extend(asked.take(name, value)),
        }
    }
    set_pairs(&mut url, &kept);
    let options =
        PgConnectOptions::from_str(url.as_str()).map_err(|error| unread(&error.to_string()))?;
    asked.apply(setting, options)
}

/// `scheme://user@a:1,b:2/rest` names two.
fn of_each_host(text: &str) -> Vec<String> {
    let Some((scheme, rest)) = text.split_once("://") else { return vec![text.to_owned()] };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((user, hosts)) => (format!("{user}@"), hosts),
        None => (String::new(), authority),
    };
    hosts.split(',').map(|host| format!("{scheme}://{user}{host}{rest}")).collect()
}

/// `?host=a,b&port=1,2` names two; one port serves all.
fn of_each_named(url: &Url) -> std::result::Result<Vec<Url>, String> {
    let pairs = pairs(url);
    let list = |name: &str| -> Option<Vec<String>> {
        let (_, value) = pairs.iter().rfind(|(it, _)| it == name)?;
        Some(value.split(',').map(str::to_owned).collect())
    };
    let Some(hosts) = list("host").filter(|it| it.len() > 1) else { return Ok(vec![url.clone()]) };
    let ports = list("port").unwrap_or_default();
    if ports.len() > 1 && ports.len() != hosts.len() {
        return Err(format!("it names {} hosts and {} ports", hosts.len(), ports.len()));
    }
    let named = hosts.into_iter().enumerate().map(|(at, host)| {
        let mut kept: Vec<(String, String)> =
            pairs.iter().filter(|(name, _)| name != "host" && name != "port").cloned().collect();
        kept.push(("host".into(), host));
        if let Some(port) = ports.get(at).or(ports.first()) {
            kept.push(("port".into(), port.clone()));
        }
        let mut url = url.clone();
        set_pairs(&mut url, &kept);
        url
    });
    Ok(named.collect())
}

fn pairs(url: &Url) -> Vec<(String, String)> {
    url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

fn set_pairs(url: &mut Url, pairs: &[(String, String)]) {
    url.set_query(None);
    if !pairs.is_empty() {
        url.query_pairs_mut().extend_pairs(pairs);
    }
}

#[cfg(test)]
mod tests {
    use sqlx::postgres::PgSslMode;

    use super::*;
    use crate::storage::postgres::servers::place;

    fn places(text: &str) -> Vec<String> {
        parse("database-url", text).unwrap().iter().map(place).collect()
    }

    fn refusal(text: &str) -> String {
        parse("database-url", text).unwrap_err().to_string()
    }

    #[test]
    fn every_server_of_a_list_is_named_with_its_port() {
        let text = "postgres://ann:p%40ss@a:1111,b,[::1]:3333/db?sslmode=disable";
        assert_eq!(places(text), ["a:1111", "b:5432", "[::1]:3333"]);
        for options in parse("database-url", text).unwrap() {
            assert_eq!(options.get_username(), "ann");
            assert_eq!(options.get_database(), Some("db"));
        }
        assert_eq!(places("postgres:///db?host=a,b&port=1111,2222"), ["a:1111", "b:2222"]);
        assert_eq!(places("postgres:///db?host=a,b&port=7"), ["a:7", "b:7"]);
        assert_eq!(places("postgres:///db?host=/run/pg"), ["/run/pg"]);
    }

    #[test]
    fn lists_that_do_not_fit_are_refused_without_the_password() {
        for text in [
            "postgres://ann:secret@/db?host=a,b,c&port=1,2",
            "postgres://ann:secret@a:port/db",
            "postgres://ann:secret@a/db?sslmode=sometimes",
            "postgres://ann:secret@a/db?target_session_attrs=standby",
            "postgres://ann:secret@a/db?sslcert=/nowhere.crt",
        ] {
            let refusal = refusal(text);
            assert!(refusal.contains("--database-url"), "{refusal}");
            assert!(!refusal.contains("secret"), "{refusal}");
        }
        assert!(refusal("postgres:///db?host=a,b,c&port=1,2").contains("3 hosts and 2 ports"));
        let many = vec!["a"; 17].join(",");
        assert!(refusal(&format!("postgres://{many}/db")).contains("more than 16"));
    }

    #[test]
    fn what_a_list_says_of_tls_holds_for_each_server() {
        for options in parse("database-url", "postgres://a,b/db?sslmode=verify-full").unwrap() {
            assert!(matches!(options.get_ssl_mode(), PgSslMode::VerifyFull));
        }
    }
}
