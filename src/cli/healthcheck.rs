//! Implements `threadkeep healthcheck`: asks a server whether it is ready. It is for images that have no other program to ask with, so it
//! needs no database and no settings of the server.

use std::io::ErrorKind::ConnectionRefused;
use std::process::ExitCode;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode, Url};
use serde::Deserialize;
use serde_json::json;
use url::Host;

use super::form::{Answer, Form};
use crate::config::Healthcheck;
use crate::domain::{Error, Result};

/// A server that waits for its storage answers after two seconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// A reason is a sentence.
const ANSWER_BYTES_MAX: usize = 64 << 10;
const NOT_READY: u8 = 1;

/// Of a server that is not ready, the part of its answer that says why.
#[derive(Deserialize)]
struct Problem {
    detail: String,
}

pub(super) async fn run(command: Healthcheck, form: Form) -> Result<ExitCode> {
    let refuse = |error: url::ParseError| Error::invalid("url", format!("--url: {error}"));
    let url = Url::parse(&format!("{}/readyz", command.url)).map_err(refuse)?;
    match ask(url.clone()).await? {
        Ok(()) => {
            form.print(&Answer::new("ready\n", &json!({ "ready": true }))?)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(reason) => {
            // Without a password that the address may have.
            let place = url.origin().ascii_serialization();
            let sentence = format!("the server at {place} is not ready: {reason}");
            Ok(form.fail(&sentence, NOT_READY))
        }
    }
}

/// The inner error is the reason why the server is not ready.
async fn ask(url: Url) -> Result<std::result::Result<(), String>> {
    // A second installation changes nothing; the first one is this one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder().redirect(Policy::none()).timeout(ANSWER_WITHIN);
    if is_loopback(&url) {
        // The certificate is for the names by which others reach the server.
        builder = builder.no_proxy().tls_danger_accept_invalid_certs(true);
    }
    let client = builder.build().map_err(|error| Error::Internal(error.to_string()))?;
    let mut answer = match client.get(url).send().await {
        Ok(answer) => answer,
        Err(error) => return Ok(Err(reason(&error))),
    };
    let status = answer.status();
    if status == StatusCode::OK {
        return Ok(Ok(()));
    }
    let mut body = Vec::new();
    while body.len() < ANSWER_BYTES_MAX
        && let Ok(Some(piece)) = answer.chunk().await
    {
        body.extend_from_slice(&piece);
    }
    let problem = serde_json::from_slice::<Problem>(&body);
    Ok(Err(problem.map_or_else(|_| format!("it answers {status}"), |it| it.detail)))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// Why there is no answer: the innermost cause, which says most.
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("it does not answer within {} seconds", ANSWER_WITHIN.as_secs());
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let kind = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    if kind == Some(ConnectionRefused) {
        return "nothing listens there".to_owned();
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_may_have_any_certificate() {
        let is_own = |text: &str| is_loopback(&Url::parse(text).unwrap());
        for own in
            ["https://127.0.0.1", "https://127.9.0.1:7070", "https://[::1]", "https://localhost"]
        {
            assert!(is_own(own), "{own}");
        }
        for other in [
            "https://0.0.0.0",
            "https://10.0.0.1",
            "https://localhost.example.com",
            "https://[::2]",
        ] {
            assert!(!is_own(other), "{other}");
        }
    }
}
