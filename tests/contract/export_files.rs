//! Exports and imports for tests in short form.

use std::sync::Mutex;

use async_trait::async_trait;
use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use threadkeep::domain::caller::Caller;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::error::FileFault;
use threadkeep::domain::export::records::Existing;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::{Error, Result};
use threadkeep::export::{
    ImportOptions, Imported, Input, Output, PREAMBLE, Selection, SigningKey, export, import,
};

use crate::harness::Harness;

pub const NOW: i64 = 1_800_000_000_000_000;

/// A file in memory.
#[derive(Default)]
pub struct Memory(pub Vec<u8>);

#[async_trait]
impl Output for Memory {
    async fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.0.extend_from_slice(&bytes);
        Ok(())
    }
}

/// A file that arrives in pieces.
pub struct Pieces(pub Vec<Bytes>);

impl Pieces {
    pub fn of(file: &[u8], length: usize) -> Self {
        let mut pieces: Vec<Bytes> = file.chunks(length).map(Bytes::copy_from_slice).collect();
        pieces.reverse();
        Self(pieces)
    }
}

#[async_trait]
impl Input for Pieces {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        Ok(self.0.pop())
    }
}

pub fn signing(byte: u8) -> SigningKey {
    SigningKey::new(&[byte; 32]).unwrap()
}

pub async fn file_of(
    storage: &dyn Storage,
    caller: &Caller,
    selection: &Selection,
    key: Option<SigningKey>,
) -> Vec<u8> {
    let mut file = Memory::default();
    export(storage, caller, selection, (&mut file, key), NOW).await.unwrap();
    file.0
}

/// Everything of the harness's tenant.
pub async fn exported(h: &Harness) -> Vec<u8> {
    file_of(&*h.storage, &h.caller, &Selection::Tenant, None).await
}

pub fn options(existing: Existing) -> ImportOptions {
    ImportOptions { key: None, existing, dry_run: false }
}

pub async fn read_in(
    h: &Harness,
    caller: &Caller,
    file: &[u8],
    options: &ImportOptions,
) -> Result<Imported> {
    let mut input = Pieces::of(file, 1_000);
    let clock = Clock::Fixed(Mutex::new(NOW));
    import(&*h.storage, caller, &mut input, (options, &clock), &mut |_| {}).await
}

/// Into the harness's tenant.
pub async fn imported(h: &Harness, file: &[u8]) -> Imported {
    read_in(h, &h.caller, file, &options(Existing::Refuse)).await.unwrap()
}

#[track_caller]
pub fn fault_of(result: Result<Imported>) -> FileFault {
    match result.unwrap_err() {
        Error::Export { fault, .. } => fault,
        other => panic!("{other:?}"),
    }
}

/// A file whose payloads were changed, with the checks that belong to it then.
pub fn resealed(file: &[u8], mut change: impl FnMut(&mut Vec<u8>)) -> Vec<u8> {
    let mut check = <[u8; 32]>::from(Sha256::digest(PREAMBLE.as_bytes()));
    let mut sealed = PREAMBLE.as_bytes().to_vec();
    for frame in frames(file).windows(2) {
        let mut payload = file[frame[0] + 4..frame[1] - 32].to_vec();
        change(&mut payload);
        check = Sha256::new().chain_update(check).chain_update(&payload).finalize().into();
        sealed.extend(u32::try_from(payload.len()).unwrap().to_le_bytes());
        sealed.extend(payload);
        sealed.extend(check);
    }
    sealed
}

/// Where frames begin, and the end of the last one.
pub fn frames(file: &[u8]) -> Vec<usize> {
    let preamble = file.windows(2).position(|it| it == b"\n\n").unwrap() + 2;
    let mut frames = vec![preamble];
    let mut at = preamble;
    while at < file.len() {
        let length = u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
        at += 4 + usize::try_from(length).unwrap() + 32;
        frames.push(at);
    }
    frames
}

/// Another engine, empty.
pub async fn other_engine(h: &Harness) -> Harness {
    if h.is_sqlite() { Harness::postgres().await } else { Harness::sqlite().await }
}
