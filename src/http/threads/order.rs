//! Names the orders of threads, and the positions in them.

use serde::Deserialize;
use utoipa::ToSchema;

use crate::domain::Result;
use crate::domain::names::ThreadId;
use crate::domain::threads::thread::{ThreadCursor, ThreadSort};
use crate::http::request::by_name::by_name;
use crate::http::request::cursor;

#[derive(Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schema(as = ThreadSort)]
pub enum SortParam {
    Created,
    Updated,
    /// By the last change of checkpoints and writes.
    StateUpdated,
    /// By its name.
    Status,
    /// By `size_bytes`: each page reads all threads that match.
    Size,
    ThreadId,
}

by_name!(SortParam);

#[derive(Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schema(as = SortOrder)]
pub enum OrderParam {
    Asc,
    Desc,
}

by_name!(OrderParam);

/// # Errors
/// 422 for a cursor that is none of this order.
pub fn position_of(kind: &str, cursor: &str) -> Result<ThreadCursor> {
    let (time, id): (i64, String) = cursor::decode(kind, cursor)?;
    Ok(ThreadCursor { time, thread_id: ThreadId::new(id)?.into_string() })
}

/// The order of a listing, and whether it ascends.
pub fn sorted(sort: Option<SortParam>, order: Option<OrderParam>) -> (ThreadSort, bool) {
    let sort = match sort {
        None | Some(SortParam::Created) => ThreadSort::Created,
        Some(SortParam::Updated) => ThreadSort::Updated,
        Some(SortParam::StateUpdated) => ThreadSort::StateUpdated,
        Some(SortParam::Status) => ThreadSort::Status,
        Some(SortParam::Size) => ThreadSort::Size,
        Some(SortParam::ThreadId) => ThreadSort::ThreadId,
    };
    let ascending = match order {
        Some(OrderParam::Asc) => true,
        Some(OrderParam::Desc) => false,
        None => sort == ThreadSort::ThreadId,
    };
    (sort, ascending)
}

/// A position in one order means nothing in another.
pub fn cursor_kind(sort: ThreadSort, ascending: bool) -> &'static str {
    match (sort, ascending) {
        (ThreadSort::Created, true) => "threads created asc",
        (ThreadSort::Created, false) => "threads created desc",
        (ThreadSort::Updated, true) => "threads updated asc",
        (ThreadSort::Updated, false) => "threads updated desc",
        (ThreadSort::StateUpdated, true) => "threads state_updated asc",
        (ThreadSort::StateUpdated, false) => "threads state_updated desc",
        (ThreadSort::Status, true) => "threads status asc",
        (ThreadSort::Status, false) => "threads status desc",
        (ThreadSort::Size, true) => "threads size asc",
        (ThreadSort::Size, false) => "threads size desc",
        (ThreadSort::ThreadId, true) => "threads thread_id asc",
        (ThreadSort::ThreadId, false) => "threads thread_id desc",
    }
}
