//! Writes and reads frames: a length, a payload, and a check that covers everything before it too. So a changed, truncated or recombined
//! file fails at the first frame that is not as it was written.

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use super::records::Record;
use crate::domain::error::FileFault;
use crate::domain::scheduling::cpu_pool;
use crate::domain::{Error, Result};

/// How a file begins: for people who look into it.
pub const PREAMBLE: &str = "THREADKEEP EXPORT\n\
    This file is NOT ENCRYPTED. It holds conversations, files and sessions in clear: keep it as you keep the database.\n\n";
/// Two documents of the largest size, and what stands around them. Larger payloads are refused before anything is read of them.
pub const PAYLOAD_BYTES_MAX: usize = 130 << 20;
const LENGTH_BYTES: usize = 4;
const CHECK_BYTES: usize = 32;
/// A key has at least as many bytes as the MAC.
const KEY_BYTES_MIN: usize = 32;
/// What signatures are of, so that one of another purpose is none here.
const SIGNED: &[u8] = b"threadkeep export signature 1\0";

/// Where a file goes.
#[async_trait]
pub trait Output: Send {
    async fn write(&mut self, bytes: Bytes) -> Result<()>;
}

/// Where a file comes from, in pieces of any size.
#[async_trait]
pub trait Input: Send {
    /// None: that was all.
    async fn next(&mut self) -> Result<Option<Bytes>>;
}

/// What ends of nouns are signed with: HMAC-SHA256.
#[derive(Clone)]
pub struct SigningKey(Vec<u8>);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKey(…)")
    }
}

impl SigningKey {
    /// # Errors
    /// 422 for less than 32 bytes.
    pub fn new(bytes: &[u8]) -> Result<Self> {
        if bytes.len() < KEY_BYTES_MIN {
            let detail = "the key must have at least 32 bytes";
            return Err(Error::out_of_range("key", detail, KEY_BYTES_MIN as u64));
        }
        Ok(Self(bytes.to_vec()))
    }

    fn mac(&self, check: &[u8; CHECK_BYTES]) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(SIGNED);
        mac.update(check);
        mac
    }
}

/// The check of a frame: SHA-256 of the check before and the payload.
fn next_check(before: &[u8; CHECK_BYTES], payload: &[u8]) -> [u8; CHECK_BYTES] {
    let mut hasher = Sha256::new();
    hasher.update(before);
    hasher.update(payload);
    hasher.finalize().into()
}

/// The check before the first frame.
fn first_check() -> [u8; CHECK_BYTES] {
    Sha256::digest(PREAMBLE.as_bytes()).into()
}

/// Writes frames, those of large payloads beside the async workers.
pub struct FrameWriter<'a> {
    output: &'a mut dyn Output,
    tenant: String,
    key: Option<SigningKey>,
    check: [u8; CHECK_BYTES],
    pub bytes: u64,
}

impl<'a> FrameWriter<'a> {
    pub async fn begin(
        output: &'a mut dyn Output,
        key: Option<SigningKey>,
        tenant: &str,
    ) -> Result<Self> {
        output.write(Bytes::from_static(PREAMBLE.as_bytes())).await?;
        let tenant = tenant.to_owned();
        Ok(Self { output, tenant, key, check: first_check(), bytes: PREAMBLE.len() as u64 })
    }

    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// The signature of everything up to here, where there is a key.
    pub fn sign(&self) -> Option<Vec<u8>> {
        let key = self.key.as_ref()?;
        Some(key.mac(&self.check).finalize().into_bytes().to_vec())
    }

    pub async fn put(&mut self, payload: &[u8]) -> Result<()> {
        if payload.len() > PAYLOAD_BYTES_MAX {
            return Err(Error::Internal("a record is larger than a frame may be".into()));
        }
        let before = self.check;
        let make = || {
            let check = next_check(&before, payload);
            let mut frame = BytesMut::with_capacity(LENGTH_BYTES + payload.len() + CHECK_BYTES);
            let length = u32::try_from(payload.len()).expect("it was just compared");
            frame.extend_from_slice(&length.to_le_bytes());
            frame.extend_from_slice(payload);
            frame.extend_from_slice(&check);
            (check, frame)
        };
        let (check, frame) = cpu_pool::run_here(&self.tenant, payload.len(), make).await?;
        self.check = check;
        self.bytes += frame.len() as u64;
        self.output.write(frame.freeze()).await
    }
}

/// Reads frames, and checks those of large payloads beside the async workers.
pub struct FrameReader<'a> {
    input: &'a mut dyn Input,
    tenant: String,
    key: Option<SigningKey>,
    waiting: BytesMut,
    check: [u8; CHECK_BYTES],
    /// Of the frame that was read last: what its own signature is of.
    before: [u8; CHECK_BYTES],
    /// Where the next frame begins in the file.
    at: u64,
}

impl<'a> FrameReader<'a> {
    /// # Errors
    /// `Export` for what does not begin as an export does.
    pub async fn begin(
        input: &'a mut dyn Input,
        key: Option<SigningKey>,
        tenant: &str,
    ) -> Result<Self> {
        let (check, waiting, tenant) = (first_check(), BytesMut::new(), tenant.to_owned());
        let mut reader = Self { input, tenant, key, waiting, check, before: check, at: 0 };
        let other = || fault(FileFault::Damaged, "this is no export of threadkeep".into());
        if !reader.fill(PREAMBLE.len()).await? {
            return Err(other());
        }
        if reader.waiting.split_to(PREAMBLE.len()) != PREAMBLE.as_bytes() {
            return Err(other());
        }
        reader.at = PREAMBLE.len() as u64;
        Ok(reader)
    }

    /// The next payload. None: the file ends here, between two frames.
    ///
    /// # Errors
    /// `Export` for a frame that is damaged or cut off.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        if !self.fill(LENGTH_BYTES).await? {
            return if self.waiting.is_empty() { Ok(None) } else { Err(self.cut_off()) };
        }
        let length = u32::from_le_bytes(self.waiting[..LENGTH_BYTES].try_into().expect("4 bytes"));
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > PAYLOAD_BYTES_MAX {
            return Err(self.damaged("its length is larger than any"));
        }
        if !self.fill(LENGTH_BYTES + length + CHECK_BYTES).await? {
            return Err(self.cut_off());
        }
        let frame = self.waiting.split_to(LENGTH_BYTES + length + CHECK_BYTES).freeze();
        let payload = frame.slice(LENGTH_BYTES..LENGTH_BYTES + length);
        let before = self.check;
        let check = || next_check(&before, &payload);
        let check = cpu_pool::run_here(&self.tenant, payload.len(), check).await?;
        if check != frame[LENGTH_BYTES + length..] {
            return Err(self.damaged("it does not match its check"));
        }
        self.before = std::mem::replace(&mut self.check, check);
        self.at += frame.len() as u64;
        Ok(Some(payload))
    }

    /// What a payload says.
    ///
    /// # Errors
    /// `Export` for what is no record.
    pub async fn decode(&mut self, payload: &[u8]) -> Result<Record> {
        let decode = || Record::decode(payload);
        let record = cpu_pool::run_here(&self.tenant, payload.len(), decode).await?;
        record.map_err(|error| self.damaged(&format!("no record: {error}")))
    }

    /// Holds the signature that stood in the last frame against the key.
    ///
    /// # Errors
    /// `Export` where a key was given and the signature is missing or not its own.
    pub fn verify(&self, signature: Option<&[u8]>) -> Result<()> {
        let Some(key) = &self.key else { return Ok(()) };
        let Some(signature) = signature else {
            let detail = "a key was given, and the file is not signed";
            return Err(fault(FileFault::Signature, detail.into()));
        };
        key.mac(&self.before).verify_slice(signature).map_err(|_| {
            let detail = "the file was not signed with this key, or was changed afterwards";
            fault(FileFault::Signature, detail.into())
        })
    }

    pub fn damaged(&self, what: &str) -> Error {
        fault(FileFault::Damaged, format!("at byte {}: {what}", self.at))
    }

    fn cut_off(&self) -> Error {
        fault(FileFault::Truncated, format!("the file ends inside the frame at byte {}", self.at))
    }

    /// Whether so many bytes could be had.
    async fn fill(&mut self, count: usize) -> Result<bool> {
        while self.waiting.len() < count {
            match self.input.next().await? {
                Some(bytes) => self.waiting.extend_from_slice(&bytes),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

pub fn fault(fault: FileFault, detail: String) -> Error {
    Error::Export { fault, detail }
}
