//! Seals and opens heads of files, which are stored beside the values that they describe.

use bytes::Bytes;

use super::{NO_SCOPE, row_of};
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::files::storage::{FilePage, FileRow, ListFiles};
use crate::domain::files::value::FileValue;
use crate::domain::json::exact_json;
use crate::domain::store::file_head::FileHead;
use crate::domain::store::item::{Address, Key};
use crate::domain::store::storage::ItemStorage;
use crate::domain::{Error, Result};
use crate::storage::content::associated_data::ValueRow;

/// What is known of an item beside its value.
#[derive(Debug, Clone, PartialEq)]
pub enum Noted {
    /// Nothing: the value says it.
    Unknown,
    NoFile,
    File(FileHead),
}

/// Heads have associated data of their own, and belong to one value.
pub const TAG: &str = "file";
/// Two hundred and fifty-five bytes for each of three texts, and some numbers.
const BYTES_MAX: usize = 1_024;

/// Of a value that is about to be stored; None: it cannot be noted.
pub fn noted(
    secret: &TenantSecret,
    row: ValueRow<'_>,
    digest: &[u8],
    document: serde_json::Value,
) -> Option<Bytes> {
    match FileValue::read(document) {
        None => Some(Bytes::new()),
        Some(file) => FileHead::of(&file).map(|head| seal(secret, row, digest, &head)),
    }
}

pub fn seal(secret: &TenantSecret, row: ValueRow<'_>, digest: &[u8], head: &FileHead) -> Bytes {
    row.aad(NO_SCOPE, (TAG, digest), |aad| secret.seal_brief(aad, &head.to_bytes()))
}

/// Of a stored row: its column and the digest of its value.
///
/// # Errors
/// `Integrity` where it is damaged, or of another value.
pub fn open(
    secret: &TenantSecret,
    address: &Address,
    digest: &[u8],
    column: Option<&[u8]>,
) -> Result<Noted> {
    let Some(sealed) = column else { return Ok(Noted::Unknown) };
    if sealed.is_empty() {
        return Ok(Noted::NoFile);
    }
    let row = row_of(secret, address);
    let opened =
        row.aad(NO_SCOPE, (TAG, digest), |aad| secret.open_at_most(aad, sealed, BYTES_MAX));
    let head = opened.ok().and_then(|it| FileHead::of_bytes(&it));
    head.map(Noted::File)
        .ok_or_else(|| Error::Integrity("what is noted of a file is damaged".into()))
}

/// A remembered number.
pub fn number_of(answer: &[u8]) -> u64 {
    answer.first_chunk().map_or(0, |it| u64::from_be_bytes(*it))
}

/// A row of a listing.
pub struct ListedFile {
    pub key: Key,
    pub version: i64,
    pub digest: Vec<u8>,
    pub content_id: Option<Vec<u8>>,
    pub head: Option<Vec<u8>>,
    /// Of the value, where the head is not known.
    pub size_bytes: i64,
}

/// What was found out about an item.
pub struct Head {
    pub address: Address,
    pub version: i64,
    pub sealed: Bytes,
}

/// Who opens values whose heads are not known.
pub struct Noting<'a> {
    pub storage: &'a dyn ItemStorage,
    pub caller: &'a Caller,
    pub secret: &'a TenantSecret,
    pub now: Micros,
}

/// Values that are open at one time.
const OPENED_MAX: usize = 64;
const OPENED_BYTES_MAX: i64 = 4 << 20;

/// The page of these rows, and what is to be noted.
///
/// # Errors
/// `Integrity` for heads and values that are damaged.
pub async fn page(
    noting: &Noting<'_>,
    query: &ListFiles,
    rows: Vec<ListedFile>,
) -> Result<(FilePage, Vec<Head>)> {
    let full = rows.last().filter(|_| rows.len() == query.limit);
    let next = full.map(|it| [it.key.as_bytes(), b"\0"].concat());
    let mut files: Vec<Option<FileRow>> = Vec::with_capacity(rows.len());
    let (mut noted, mut waiting, mut bytes) = (Vec::new(), Vec::new(), 0);
    for row in rows {
        let address = Address { namespace: query.namespace.clone(), key: row.key.clone() };
        match open(noting.secret, &address, &row.digest, row.head.as_deref())? {
            Noted::NoFile => {}
            Noted::File(head) => {
                let ListedFile { key, version, digest, content_id, .. } = row;
                files.push(Some(FileRow { key, version, digest, content_id, head }));
            }
            Noted::Unknown => {
                bytes += row.size_bytes;
                waiting.push((files.len(), address));
                files.push(None);
                if waiting.len() == OPENED_MAX || bytes >= OPENED_BYTES_MAX {
                    noting.find_out(std::mem::take(&mut waiting), &mut files, &mut noted).await?;
                    bytes = 0;
                }
            }
        }
    }
    noting.find_out(waiting, &mut files, &mut noted).await?;
    Ok((FilePage { files: files.into_iter().flatten().collect(), next }, noted))
}

impl Noting<'_> {
    /// Opens values; an item that has gone meanwhile is none.
    async fn find_out(
        &self,
        waiting: Vec<(usize, Address)>,
        files: &mut [Option<FileRow>],
        noted: &mut Vec<Head>,
    ) -> Result<()> {
        // They are small together, but for the last one.
        let addresses: Vec<Address> = waiting.iter().map(|it| it.1.clone()).collect();
        let found = self.storage.get_items(self.caller, &addresses, None, self.now).await?;
        for ((at, address), item) in waiting.into_iter().zip(found) {
            let Some((item, text)) = item.and_then(|it| it.value.clone().map(|text| (it, text)))
            else {
                continue;
            };
            let digest = self.secret.digest(&text);
            let file = FileValue::read(exact_json::parse("value", &text)?);
            let head = file.as_ref().map(FileHead::of);
            let sealed = match &head {
                None => Some(Bytes::new()),
                Some(Some(head)) => {
                    Some(seal(self.secret, row_of(self.secret, &address), &digest, head))
                }
                Some(None) => None,
            };
            noted.extend(sealed.map(|sealed| Head {
                address: address.clone(),
                version: item.version,
                sealed,
            }));
            files[at] = file.map(|file| FileRow {
                key: address.key,
                version: item.version,
                digest: digest.to_vec(),
                content_id: item.content_id,
                head: head.flatten().unwrap_or_else(|| FileHead::unbounded(&file)),
            });
        }
        Ok(())
    }
}
