//! Finds the contents of large files that are moved or copied, and copies them where needed. In one namespace root two files may show one
//! content. Into another root its bytes are copied slice by slice, so erasing one subject never removes anything of another.

use std::collections::HashMap;

use super::storage::{FileRow, KeyRange, ListFiles};
use super::{FileCall, FileChangeCall, Files, count};
use crate::domain::caller::Caller;
use crate::domain::error::{Error, Result};
use crate::domain::files::contents::ContentId;
use crate::domain::files::uploads::Finished;
use crate::domain::limits::LIMITS;
use crate::domain::store::item::{Address, KeptContent, Key};

/// Contents that one request has copied, by what they are copies of. Planned again, it copies nothing again.
#[derive(Default)]
pub(super) struct Carried {
    copies: HashMap<Vec<u8>, Finished>,
    size_bytes: u64,
}

impl Files {
    /// The large files of some ranges.
    pub(super) async fn large_rows(
        &self,
        asking: FileCall<'_>,
        ranges: Vec<KeyRange>,
    ) -> Result<HashMap<Key, FileRow>> {
        let mut rows = HashMap::new();
        for range in ranges {
            let mut from = Some(range.from);
            while let Some(start) = from {
                let range = KeyRange { from: start, to: range.to.clone() };
                let (namespace, limit) =
                    (asking.namespace.clone(), count(LIMITS.files_per_request_max));
                let query = ListFiles { namespace, range, limit };
                let page = self.storage.list_files(asking.caller, &query, self.now()).await?;
                let large = page.files.into_iter().filter(|it| it.content_id.is_some());
                rows.extend(large.map(|row| (row.key.clone(), row)));
                from = page.next;
            }
        }
        Ok(rows)
    }

    /// A copy of a large file's content for a place in another root. Not shown yet.
    ///
    /// # Errors
    /// `TooLarge` for more than a request may copy; `DeadlineExceeded`; `QuotaExceeded`; those of reads.
    pub(super) async fn carry(
        &self,
        asked: FileChangeCall<'_>,
        to: &Address,
        row: &FileRow,
        carried: &mut Carried,
    ) -> Result<KeptContent> {
        let content_id = row.content_id.clone().unwrap_or_default();
        if !carried.copies.contains_key(&content_id) {
            carried.size_bytes += row.head.size;
            let limit = LIMITS.files_copied_bytes_max;
            if carried.size_bytes > limit {
                return Err(Error::TooLarge { field: "from".into(), limit });
            }
            let from = ContentId::stored(&content_id)?;
            let copy = self.copy_content(asked, to, (from, row.head.size)).await?;
            carried.copies.insert(content_id.clone(), copy);
        }
        let copy = &carried.copies[&content_id];
        let mut head = row.head.clone();
        head.sha256 = Some(copy.sha256);
        Ok(KeptContent { content_id: copy.id.0.to_vec(), head })
    }

    async fn copy_content(
        &self,
        asked: FileChangeCall<'_>,
        to: &Address,
        (from, size_bytes): (ContentId, u64),
    ) -> Result<Finished> {
        let caller = asked.asking.caller;
        let id = self.uploads.begin(caller, to).await?;
        let copied = async {
            let mut incoming = self.uploads.receive(caller, id, 1)?;
            let mut at = 0;
            while at < size_bytes {
                if self.now() > asked.deadline {
                    return Err(Error::DeadlineExceeded);
                }
                let (start, slice) = self.storage.read_slice(caller, from, at).await?;
                at = start + slice.len() as u64;
                incoming.push(slice).await?;
            }
            incoming.end().await?;
            self.uploads.finish(caller, id, None).await
        };
        let copied = copied.await;
        if copied.is_err() {
            // What is left goes in a day.
            self.uploads.abort(caller, id).await.ok();
        }
        copied
    }

    /// Removes the copies that no file shows: the write has failed, or an earlier request had done it.
    pub(super) async fn drop_unshown(&self, caller: &Caller, carried: Carried) {
        for copy in carried.copies.into_values() {
            // What is left goes in a day.
            self.storage.drop_upload(caller, copy.id, self.now()).await.ok();
        }
    }
}
