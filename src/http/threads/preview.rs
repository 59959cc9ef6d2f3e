//! Says in a few words what threads of a list are about.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::decode::preview::{Preview, preview};
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::LargeValues;
use crate::domain::{Error, Result};
use crate::http::checkpoints::newest::newest_state;
use crate::http::request::by_name::by_name;

/// What a preview looks at of one thread.
const PREVIEWED_BYTES_MAX: u64 = 1 << 20;

/// Kinds of parts that there are.
pub const INCLUDED_MAX: u64 = 3;

/// What else comes with a thread.
#[derive(Deserialize, ToSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schema(as = ThreadPart)]
pub enum PartParam {
    Preview,
    Values,
    Interrupts,
}

by_name!(PartParam);

/// The parts that a search was asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Included {
    pub preview: bool,
    pub values: bool,
    pub interrupts: bool,
}

impl Included {
    pub fn of(parts: &[PartParam]) -> Self {
        Self {
            preview: parts.contains(&PartParam::Preview),
            values: parts.contains(&PartParam::Values),
            interrupts: parts.contains(&PartParam::Interrupts),
        }
    }
}

/// What a thread is about, by its newest checkpoint of the root graph. Of values over 1 MiB nothing is shown. Texts are one line of at most
/// 200 characters.
#[derive(Serialize, ToSchema)]
#[schema(as = ThreadPreview)]
pub struct PreviewOut {
    /// What a person said first in `messages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_human: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_message: Option<SaidOut>,
    /// How many there are; absent where the thread has no list of messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    todos: Option<TodosOut>,
    /// Names of the first 20 tasks that have still to run.
    next: Vec<String>,
    /// Questions that nobody has answered.
    interrupts: usize,
    /// Something was too much, or cannot be shown.
    cut: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = PreviewMessage)]
struct SaidOut {
    /// `human`, `ai`, `tool` and the like; empty where it does not say.
    r#type: String,
    text: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = PreviewTodos)]
struct TodosOut {
    done: usize,
    total: usize,
}

impl PreviewOut {
    /// One round trip. None: the thread cannot be shown.
    ///
    /// # Errors
    /// A storage that cannot be read.
    pub async fn of(app: &App, caller: &Caller, thread_id: &str) -> Result<Option<Self>> {
        let most = (LargeValues::InParts, PREVIEWED_BYTES_MAX);
        match newest_state(app, caller, thread_id, most).await {
            // A list does not fail for one of its threads.
            Err(Error::Integrity(_) | Error::KeyDestroyed | Error::TooLarge { .. }) => Ok(None),
            found => Ok(found?.map(|it| preview(&it).into())),
        }
    }
}

impl From<Preview> for PreviewOut {
    fn from(it: Preview) -> Self {
        Self {
            first_human: it.first_human,
            last_message: it.last_message.map(|it| SaidOut { r#type: it.kind, text: it.text }),
            messages: it.messages,
            todos: it.todos.map(|it| TodosOut { done: it.done, total: it.total }),
            next: it.next,
            interrupts: it.interrupts,
            cut: it.is_cut,
        }
    }
}
