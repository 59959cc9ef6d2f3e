//! Speaks TLS with clients. Certificate and private key are files; new connections get new ones within seconds after they changed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{InconsistentKeys, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::MissedTickBehavior;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::domain::{Error, Result};

/// The first byte of a TLS connection: a record of the handshake (RFC 8446, 5.1). No HTTP request begins with it.
pub const FIRST_BYTE: u8 = 22;
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// What clients may choose: HTTP/2, or HTTP/1.1.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// A certificate, its key, and where both are.
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    current: Mutex<Current>,
}

#[derive(Clone)]
struct Current {
    config: Arc<ServerConfig>,
    /// Of both files when they were last looked at.
    digest: [u8; 32],
}

/// Both files as they are now.
struct Files {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Tls {
    /// Reads both files.
    ///
    /// # Errors
    /// Where a file cannot be read, has nothing of its kind, or the key is of another certificate; `field` is the setting.
    pub fn open(certificate: PathBuf, key: PathBuf) -> Result<Arc<Self>> {
        let files = Files::read(&certificate, &key)?;
        let current = Current { config: files.config()?, digest: files.digest() };
        Ok(Arc::new(Self { certificate, key, current: Mutex::new(current) }))
    }

    /// The handshake on a new connection.
    ///
    /// # Errors
    /// When it fails.
    pub async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> io::Result<TlsStream<S>> {
        let config = self.lock(|it| Arc::clone(&it.config));
        TlsAcceptor::from(config).accept(stream).await
    }

    /// Looks at the files again and again. Never ends.
    pub async fn follow_files(&self) {
        let mut looks = tokio::time::interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            self.look();
        }
    }

    /// Takes new files over. Those that do not fit change nothing: whoever renews them writes one after the other.
    fn look(&self) {
        let files = match Files::read(&self.certificate, &self.key) {
            Ok(files) => files,
            Err(error) => {
                tracing::warn!(%error, "the certificate cannot be read again; the earlier one stays");
                return;
            }
        };
        let digest = files.digest();
        if self.lock(|it| it.digest == digest) {
            return;
        }
        match files.config() {
            Ok(config) => {
                self.lock(|it| *it = Current { config, digest });
                tracing::info!("new connections get the new certificate");
            }
            Err(error) => {
                self.lock(|it| it.digest = digest);
                tracing::warn!(%error, "the new certificate is not used; the earlier one stays");
            }
        }
    }

    fn lock<T>(&self, with: impl FnOnce(&mut Current) -> T) -> T {
        with(&mut self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Files {
    fn read(certificate: &Path, key: &Path) -> Result<Self> {
        let read = |what: &str, path: &Path| {
            let sentence = format!("the {what} {} cannot be read", path.display());
            std::fs::read(path).map_err(|error| Error::file(sentence, &error))
        };
        let certificate = read("certificate", certificate)?;
        Ok(Self { certificate, key: read("key of the certificate", key)? })
    }

    fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.certificate.len().to_le_bytes());
        hasher.update(&self.certificate).update(&self.key);
        hasher.finalize().into()
    }

    fn config(&self) -> Result<Arc<ServerConfig>> {
        let of_certificate = |detail: &str| Error::invalid("tls-cert", detail);
        let of_key = |detail: &str| Error::invalid("tls-key", detail);
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&self.certificate)
            .collect::<Result<_, _>>()
            .map_err(|_| of_certificate("the file is not in PEM form"))?;
        if chain.is_empty() {
            return Err(of_certificate("the file has no certificate in PEM form"));
        }
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|_| {
            of_key("the file has no private key in PEM form; an encrypted one cannot be read")
        })?;
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| of_certificate(&error.to_string()))?;
        let config = builder.with_no_client_auth().with_single_cert(chain, key);
        let mut config = config.map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                of_key("the key is not that of the certificate in --tls-cert")
            }
            rustls::Error::InvalidCertificate(_) => {
                of_certificate("the first certificate of the file cannot be read")
            }
            error => of_key(&format!("the key cannot be used: {error}")),
        })?;
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        Ok(Arc::new(config))
    }
}
