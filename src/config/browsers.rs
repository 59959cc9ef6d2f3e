//! Defines the settings about pages of other origins.

use clap::Args;

/// What pages in browsers have to do with this server.
#[derive(Debug, Args)]
pub struct Browsers {
    /// `https://HOST[:PORT]` that leads to this server too, for signed addresses of files: what agents wrote then has an origin
    /// of its own, on which nothing else is answered.
    #[arg(long, env = "THREADKEEP_FILES_ORIGIN", value_parser = origin)]
    pub files_origin: Option<String>,
    /// Origin of a front end that may call `/v1/…`, `/api/storage/…` and the routes of the Agent Server from a browser. May be given
    /// several times; none by default. `*` stands for every origin, on a server with keys.
    #[arg(long = "cors-origin", env = "THREADKEEP_CORS_ORIGINS", value_delimiter = ',', value_parser = page)]
    pub cors_origins: Vec<String>,
    /// Do not serve the console, the page at `/console/` that shows what is stored.
    #[arg(long, env = "THREADKEEP_NO_CONSOLE")]
    pub no_console: bool,
}

fn page(text: &str) -> Result<String, String> {
    if text == "*" { Ok(text.to_owned()) } else { origin(text) }
}

/// As browsers write it: lower case, without a path, without the port that its scheme has anyway.
fn origin(text: &str) -> Result<String, String> {
    let wrong = || {
        "an origin is https://HOST or https://HOST:PORT, in lower case, without a path".to_owned()
    };
    let (scheme, host) = text.split_once("://").ok_or_else(wrong)?;
    let default_port = match scheme {
        "https" => ":443",
        "http" => ":80",
        _ => return Err(wrong()),
    };
    let legal = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || b".-:[]".contains(&it);
    let is_host = !host.is_empty() && host.bytes().all(legal) && !host.ends_with(default_port);
    is_host.then(|| text.to_owned()).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::{origin, page};

    #[test]
    fn any_page_may_be_named() {
        assert_eq!(page("*").as_deref(), Ok("*"));
        assert!(page("http://localhost:3000").is_ok() && page("null").is_err());
    }

    #[test]
    fn origins_are_as_browsers_write_them() {
        for right in ["https://app.example.com", "http://localhost:3000", "https://[::1]:8443"] {
            assert_eq!(origin(right).as_deref(), Ok(right));
        }
        for wrong in [
            "*",
            "app.example.com",
            "https://",
            "https://a/",
            "https://A.com",
            "https://a:443",
            "ftp://a",
            "null",
            "https://u@a",
        ] {
            assert!(origin(wrong).is_err(), "{wrong}");
        }
    }
}
