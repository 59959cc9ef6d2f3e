//! Adds values and questions of the newest states to threads of a list.

use super::handlers::ThreadOut;
use super::preview::{Included, PreviewOut};
use super::short_values::{Listed, json_bytes};
use crate::app::App;
use crate::decode::Json;
use crate::decode::state::State;
use crate::decode::tasks::{Interrupt, Task};
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::LargeValues;
use crate::domain::limits::LIMITS;
use crate::domain::threads::thread::{Thread, ThreadPage, ThreadQuery};
use crate::domain::{Error, Result};
use crate::http::checkpoints::newest::newest_state;

/// Of values and interrupts in one page. They are in memory together.
const PAGE_BYTES_MAX: usize = 8 << 20;

/// What a search was asked to show of one thread beside the thread.
#[derive(Default)]
pub struct ShownParts {
    preview: Option<PreviewOut>,
    values: Option<Json>,
    is_values_preview: bool,
    interrupts: Option<Json>,
}

/// The newest state of a thread, whole. None: there is no checkpoint, or it cannot be shown. One round trip, or none.
///
/// # Errors
/// A storage that cannot be read; stored bytes that are damaged.
pub async fn shown_state(app: &App, caller: &Caller, thread: &Thread) -> Result<Option<State>> {
    if thread.checkpoint_count == 0 {
        return Ok(None);
    }
    let most = (LargeValues::Shown, LIMITS.display_bytes_max);
    newest_state(app, caller, &thread.thread_id, most).await
}

/// What is included of each thread of a page. The page ends before values and interrupts of its threads are over [`PAGE_BYTES_MAX`] together, but
/// has one thread at least. Round trips: one for the preview of a thread, one for its values and interrupts.
///
/// # Errors
/// A storage that cannot be read.
pub async fn shown_parts(
    app: &App,
    caller: &Caller,
    (page, query): (&mut ThreadPage, &ThreadQuery),
    included: Included,
) -> Result<Vec<ShownParts>> {
    let (mut all, mut left_bytes) = (Vec::new(), PAGE_BYTES_MAX);
    for thread in &page.threads {
        let (parts, size_bytes) = ShownParts::of(app, caller, thread, included).await?;
        if size_bytes > left_bytes && !all.is_empty() {
            break;
        }
        left_bytes = left_bytes.saturating_sub(size_bytes);
        all.push(parts);
    }
    if all.len() < page.threads.len() {
        page.threads.truncate(all.len());
        page.next = page.threads.last().map(|it| it.position(query));
    }
    Ok(all)
}

impl ShownParts {
    /// With the bytes of values and interrupts.
    async fn of(
        app: &App,
        caller: &Caller,
        thread: &Thread,
        included: Included,
    ) -> Result<(Self, usize)> {
        let (mut parts, mut size_bytes) = (Self::default(), 0);
        if thread.checkpoint_count == 0 {
            return Ok((parts, size_bytes));
        }
        if included.preview {
            parts.preview = PreviewOut::of(app, caller, &thread.thread_id).await?;
        }
        if !included.values && !included.interrupts {
            return Ok((parts, size_bytes));
        }
        let state = match shown_state(app, caller, thread).await {
            // A list does not fail for one of its threads.
            Err(Error::Integrity(_) | Error::KeyDestroyed | Error::TooLarge { .. }) => None,
            found => found?,
        };
        let Some(state) = state else { return Ok((parts, size_bytes)) };
        if included.interrupts {
            let interrupts = interrupts_of(state.tasks);
            size_bytes += json_bytes(&interrupts);
            parts.interrupts = Some(interrupts);
        }
        if included.values {
            let listed = Listed::of(state.values);
            size_bytes += listed.size_bytes;
            (parts.values, parts.is_values_preview) = (Some(listed.values), listed.is_preview);
        }
        Ok((parts, size_bytes))
    }

    pub fn put_into(self, thread: &mut ThreadOut) {
        let Self { preview, values, is_values_preview, interrupts } = self;
        thread.preview = preview;
        thread.values = values;
        thread.values_preview = is_values_preview.then_some(true);
        thread.interrupts = interrupts;
    }
}

/// The questions of tasks, by task.
pub fn interrupts_of(tasks: Vec<Task>) -> Json {
    let asking = tasks.into_iter().filter(|it| !it.interrupts.is_empty());
    let shown = asking.map(|it| {
        let all = it.interrupts.into_iter().map(interrupt).collect();
        (it.id.unwrap_or(it.name), Json::List(all))
    });
    Json::Object(shown.collect())
}

fn interrupt(it: Interrupt) -> Json {
    let id = it.id.map_or(Json::Null, Json::Text);
    let mut fields = vec![("id".to_owned(), id), ("value".to_owned(), it.value)];
    fields.extend(it.response_schema.map(|it| ("response_schema".to_owned(), it)));
    Json::Object(fields)
}
