//! Defines the settings for TLS with clients.

use std::path::PathBuf;

use clap::Args;

/// The certificate of this server. Without one it speaks plain HTTP.
#[derive(Debug, Args)]
pub struct Tls {
    /// File in PEM form with the certificate of this server, and behind it those of its issuers: `--listen` speaks HTTPS then, HTTP/1.1 and
    /// HTTP/2. The server looks every five seconds whether one of the two files changed, and uses the new ones for new connections.
    #[arg(long, env = "THREADKEEP_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// File in PEM form with the private key of the certificate, not encrypted: PKCS#8, PKCS#1 or SEC1.
    #[arg(long, env = "THREADKEEP_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
}
