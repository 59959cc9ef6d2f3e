//! Configures TLS to the database as the URL asks, tells how weak that is, and explains failed handshakes.

use std::io;
use std::net::IpAddr;
use std::path::Path;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{AlertDescription, CertificateError};
use sqlx::postgres::{PgConnectOptions, PgSslMode};

use super::servers::place;
use crate::domain::error::Obstacle;
use crate::domain::{Error, Result};

/// What a URL says about TLS, with its spellings.
#[derive(Debug, Default)]
pub struct UrlTls {
    mode: Option<String>,
    root: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
}

impl UrlTls {
    /// Keeps what is about TLS, and gives back what is not.
    pub fn take(&mut self, name: String, value: String) -> Option<(String, String)> {
        let place = match name.as_str() {
            "sslmode" | "ssl-mode" => &mut self.mode,
            "sslrootcert" | "ssl-root-cert" | "ssl-ca" => &mut self.root,
            "sslcert" | "ssl-cert" => &mut self.certificate,
            "sslkey" | "ssl-key" => &mut self.key,
            _ => return Some((name, value)),
        };
        *place = Some(value);
        None
    }

    /// As libpq: sockets of this machine speak none; `require` with a root certificate is `verify-ca`; `sslrootcert=system` are the roots of
    /// the system, with `verify-full`. `allow` is `prefer`.
    ///
    /// # Errors
    /// `Invalid` for an unknown mode or half a client certificate; `Obstacle` for a file that cannot be read.
    pub fn apply(
        self,
        setting: &'static str,
        options: PgConnectOptions,
    ) -> Result<PgConnectOptions> {
        let system = self.root.as_deref() == Some("system");
        let root = self.root.filter(|_| !system);
        let mode = match self.mode.as_deref() {
            None if system => PgSslMode::VerifyFull,
            None | Some("prefer" | "allow") => PgSslMode::Prefer,
            Some("disable") => PgSslMode::Disable,
            Some("require") if root.is_some() => PgSslMode::VerifyCa,
            Some("require") => PgSslMode::Require,
            Some("verify-ca") => PgSslMode::VerifyCa,
            Some("verify-full") => PgSslMode::VerifyFull,
            Some(other) => {
                let detail = format!(
                    "--{setting}: sslmode={other} is unknown; it is disable, allow, prefer, require, verify-ca or verify-full"
                );
                return Err(Error::invalid(setting, detail));
            }
        };
        if system && !matches!(mode, PgSslMode::VerifyFull) {
            let detail = format!("--{setting}: sslrootcert=system needs sslmode=verify-full");
            return Err(Error::invalid(setting, detail));
        }
        let mut options = options.ssl_mode(mode);
        if let Some(path) = root {
            check_certificates(&path, "sslrootcert")?;
            options = options.ssl_root_cert(path);
        }
        options = match (self.certificate, self.key) {
            (None, None) => options,
            (Some(certificate), Some(key)) => {
                check_certificates(&certificate, "sslcert")?;
                check_key(&key)?;
                options.ssl_client_cert(certificate).ssl_client_key(key)
            }
            _ => {
                let detail = format!("--{setting}: sslcert and sslkey belong together");
                return Err(Error::invalid(setting, detail));
            }
        };
        let is_socket = options.get_socket().is_some();
        Ok(if is_socket { options.ssl_mode(PgSslMode::Disable) } else { options })
    }
}

fn check_certificates(path: &str, parameter: &str) -> Result<()> {
    let text = read(path, parameter)?;
    let certificates: std::result::Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(&text).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(()),
        Ok(_) | Err(_) => Err(no_pem(path, parameter, "certificate")),
    }
}

fn check_key(path: &str) -> Result<()> {
    let text = read(path, "sslkey")?;
    PrivateKeyDer::from_pem_slice(&text)
        .map(|_| ())
        .map_err(|_| no_pem(path, "sslkey", "private key that is not encrypted"))
}

fn read(path: &str, parameter: &str) -> Result<Vec<u8>> {
    std::fs::read(Path::new(path)).map_err(|error| {
        Error::file(format!("the file {path} ({parameter}) cannot be read"), &error)
    })
}

fn no_pem(path: &str, parameter: &str, what: &str) -> Error {
    let detail = format!("the file {path} ({parameter}) has no {what} in PEM form");
    Error::Obstacle { kind: Obstacle::FileFailed, detail }
}

/// What somebody on the network can do; none where nobody can, or the network is this machine.
pub fn weakness(options: &PgConnectOptions) -> Option<String> {
    let what = match options.get_ssl_mode() {
        PgSslMode::VerifyFull => return None,
        PgSslMode::Disable => "is not encrypted (sslmode=disable)",
        PgSslMode::Allow | PgSslMode::Prefer => {
            "is encrypted only where the server offers it, and accepts any certificate (sslmode=prefer)"
        }
        PgSslMode::Require => "accepts any certificate (sslmode=require)",
        PgSslMode::VerifyCa => "accepts a certificate for another host name (sslmode=verify-ca)",
    };
    if is_local(options) {
        return None;
    }
    Some(format!(
        "the connection to the database at {} {what}: who is on the network between can pretend to be the database; \
         sslmode=verify-full in the URL prevents that",
        place(options)
    ))
}

fn is_local(options: &PgConnectOptions) -> bool {
    let host = options.get_host().trim_start_matches('[').trim_end_matches(']');
    options.get_socket().is_some()
        || host == "localhost"
        || host.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
}

/// What a failed handshake means and what to do; none when it is about something else.
pub fn refusal(error: &sqlx::Error) -> Option<String> {
    match error {
        sqlx::Error::Tls(error) => {
            Some(format!("{error}; sslmode in the URL says what is asked of it"))
        }
        sqlx::Error::Io(error) => of_rustls(error).map(told),
        _ => None,
    }
}

fn of_rustls(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

fn told(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "nobody trusts who issued its certificate; name the issuer's certificate with sslrootcert=FILE in the URL".into()
        }
        rustls::Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        ) => "its certificate has expired".into(),
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "its certificate is for another host name; use the name in the certificate".into(),
        rustls::Error::AlertReceived(
            AlertDescription::CertificateRequired
            | AlertDescription::HandshakeFailure
            | AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::CertificateUnknown,
        ) => format!(
            "it does not accept the client's certificate ({error}); name one with sslcert=FILE and sslkey=FILE in the URL"
        ),
        other => other.to_string(),
    }
}
