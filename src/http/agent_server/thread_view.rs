//! Shapes a thread for the wire, with what its newest state shows.

use bytes::Bytes;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use super::extract::Extract;
use super::shown_ids::ShownIds;
use super::ttl::TtlView;
use crate::app::App;
use crate::decode::{Budget, Json, read_text};
use crate::domain::caller::Caller;
use crate::domain::limits::LIMITS;
use crate::domain::threads::run_state::Status;
use crate::domain::threads::thread::Thread;
use crate::domain::time::rfc3339_with_offset;
use crate::domain::{Error, Result};
use crate::http::request::exact::ExactOut;
use crate::http::threads::short_values::{WHOLE_BYTES_MAX, preview};
use crate::http::threads::shown_state::{interrupts_of, shown_state};

pub const FIELDS: [&str; 10] = [
    "thread_id",
    "created_at",
    "updated_at",
    "state_updated_at",
    "metadata",
    "config",
    "context",
    "status",
    "values",
    "interrupts",
];

/// What is wanted of threads.
#[derive(Debug, Clone, Default)]
pub struct ThreadFields {
    /// None: all but `context`.
    pub names: Option<Vec<&'static str>>,
    pub extract: Vec<Extract>,
    /// Values that are large come as a preview.
    pub shortens: bool,
    /// The ttl is shown, where the thread has one.
    pub has_ttl: bool,
    pub ids: ShownIds,
}

/// What paths lead into.
pub struct Parts {
    /// Null without a checkpoint.
    pub values: Json,
    pub metadata: Json,
    pub config: Json,
    /// By task.
    pub interrupts: Json,
}

/// A thread with what is wanted of it.
pub struct ThreadView {
    fields: ThreadFields,
    thread_id: String,
    created_at: String,
    updated_at: String,
    state_updated_at: String,
    status: &'static str,
    /// Exact text.
    metadata: ExactOut,
    parts: Parts,
    error: Option<ErrorView>,
    extracted: Vec<(String, Json)>,
    ttl: Option<TtlView>,
    is_preview: bool,
}

#[derive(Serialize)]
struct ErrorView {
    error: String,
    message: String,
}

impl ThreadFields {
    pub fn has(&self, name: &str) -> bool {
        match &self.names {
            None => name != "context",
            Some(names) => names.contains(&name),
        }
    }

    fn needs_state(&self) -> bool {
        self.has("values")
            || self.has("interrupts")
            || self.extract.iter().any(Extract::needs_state)
    }
}

impl ThreadView {
    /// With the newest state, where something of it is wanted. One round trip then.
    ///
    /// # Errors
    /// A storage that cannot be read; `TooLarge` for a checkpoint that cannot be shown.
    pub async fn of(
        app: &App,
        caller: &Caller,
        thread: Thread,
        fields: &ThreadFields,
    ) -> Result<Self> {
        let shown =
            if fields.needs_state() { shown_state(app, caller, &thread).await? } else { None };
        let status = thread.run.status(app.threads.busy_since());
        let exact = thread.shown_metadata_with(app.agent_server.default_graph.as_ref())?;
        let exact = fields.ids.in_metadata(&thread.thread_id, exact)?;
        // Only paths look into it, and it is within its own limit.
        let metadata = if fields.extract.is_empty() {
            Json::Null
        } else {
            read_text(exact.as_bytes(), &mut Budget::new(LIMITS.display_bytes_max))
                .unwrap_or(Json::Null)
        };
        let mut config = Vec::new();
        if thread.checkpoint_count > 0 {
            config.push(("configurable".to_owned(), Json::Object(Vec::new())));
        }
        let (values, interrupts, error) = match shown {
            None => (Json::Null, Json::Object(Vec::new()), None),
            Some(it) => {
                let error = it.tasks.iter().find_map(|it| it.error.as_ref()).map(ErrorView::of);
                (it.values, interrupts_of(it.tasks), error)
            }
        };
        let parts = Parts { values, metadata, config: Json::Object(config), interrupts };
        let found = |it: &Extract| (it.alias.clone(), it.of(&parts).clone());
        let extracted = fields.extract.iter().map(found).collect();
        let ttl = thread.details.ttl_of(&thread.thread_id).filter(|_| fields.has_ttl);
        let ttl = ttl.map(|it| TtlView::of(it, thread.updated_at));
        Ok(Self {
            fields: fields.clone(),
            created_at: rfc3339_with_offset(thread.created_at),
            updated_at: rfc3339_with_offset(thread.updated_at),
            state_updated_at: rfc3339_with_offset(thread.state_updated_at()),
            thread_id: fields.ids.of(&thread.thread_id),
            status: name_of(status),
            error: error.filter(|_| status == Status::Error),
            metadata: ExactOut(Bytes::from(exact)),
            parts,
            extracted,
            ttl,
            is_preview: false,
        })
    }

    /// As JSON; with a preview of values that are more than `bytes_max`, if large ones are to be shortened.
    ///
    /// # Errors
    /// `Internal` for what cannot be written.
    pub fn json(mut self, bytes_max: usize) -> Result<Vec<u8>> {
        let failed = |error: serde_json::Error| Error::Internal(error.to_string());
        let whole = serde_json::to_vec(&self).map_err(failed)?;
        if !self.fields.shortens || whole.len() <= bytes_max.min(WHOLE_BYTES_MAX) {
            return Ok(whole);
        }
        drop(whole);
        let values = std::mem::replace(&mut self.parts.values, Json::Null);
        self.parts.values = preview(values);
        self.is_preview = true;
        serde_json::to_vec(&self).map_err(failed)
    }
}

impl ErrorView {
    /// Python stores `ValueError('x')`, JavaScript an object with a message.
    fn of(error: &Json) -> Self {
        let view = |error: &str, message: &str| Self {
            error: error.to_owned(),
            message: message.to_owned(),
        };
        let Some(text) = error.as_text() else {
            let part = |name: &str| error.get(name).and_then(Json::as_text);
            return view(part("name").unwrap_or("Error"), part("message").unwrap_or_default());
        };
        let named = text.strip_suffix(')').and_then(|it| it.split_once('('));
        let is_name = |it: &str| {
            !it.is_empty() && it.chars().all(|it| it.is_alphanumeric() || "_.".contains(it))
        };
        match named.filter(|(name, _)| is_name(name)) {
            Some((name, said)) => view(name, unquoted(said)),
            None => view("Error", text),
        }
    }
}

/// Without the quotes of a text that stands alone.
fn unquoted(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    let alone =
        ['\'', '"'].into_iter().find_map(|quote| inner(quote).filter(|it| !it.contains(quote)));
    alone.unwrap_or(text)
}

fn name_of(status: Status) -> &'static str {
    match status {
        Status::Idle => "idle",
        Status::Busy => "busy",
        Status::Interrupted => "interrupted",
        Status::Error => "error",
    }
}

impl Serialize for ThreadView {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        macro_rules! put {
            ($name:literal, $value:expr) => {
                if self.fields.has($name) {
                    map.serialize_entry($name, $value)?;
                }
            };
        }
        put!("thread_id", &self.thread_id);
        put!("created_at", &self.created_at);
        put!("updated_at", &self.updated_at);
        put!("state_updated_at", &self.state_updated_at);
        put!("metadata", &self.metadata);
        put!("status", self.status);
        put!("config", &self.parts.config);
        put!("context", &Json::Object(Vec::new()));
        put!("values", &self.parts.values);
        put!("interrupts", &self.parts.interrupts);
        if self.fields.names.is_none() {
            map.serialize_entry("error", &self.error)?;
        }
        if !self.extracted.is_empty() {
            map.serialize_entry("extracted", &Extracted(&self.extracted))?;
        }
        if let Some(ttl) = &self.ttl {
            map.serialize_entry("ttl", ttl)?;
        }
        if self.is_preview {
            map.serialize_entry("values_preview", &true)?;
        }
        map.end()
    }
}

struct Extracted<'a>(&'a [(String, Json)]);

impl Serialize for Extracted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(alias, value)| (alias, value)))
    }
}

/// A thread, for the document.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only the document reads it")]
pub struct AgentServerThread {
    thread_id: String,
    created_at: String,
    updated_at: String,
    /// When checkpoints or writes last changed.
    state_updated_at: String,
    metadata: serde_json::Value,
    /// `idle`, `busy`, `interrupted` or `error`.
    status: String,
    config: serde_json::Value,
    /// Those of the newest checkpoint of the root graph; null without one.
    values: Option<serde_json::Value>,
    /// By task.
    interrupts: serde_json::Value,
    /// With `error` and `message`, where the status is `error`.
    error: Option<serde_json::Value>,
    /// Where it is asked for and set.
    ttl: Option<TtlView>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_a_class_and_a_message() {
        for (stored, class, message) in [
            ("ValueError('kaboom')", "ValueError", "kaboom"),
            ("ValueError(\"it's\")", "ValueError", "it's"),
            ("KeyError('a', 'b')", "KeyError", "'a', 'b'"),
            ("module.Failed()", "module.Failed", ""),
            ("something (odd", "Error", "something (odd"),
            ("", "Error", ""),
        ] {
            let view = ErrorView::of(&Json::text(stored));
            assert_eq!((view.error.as_str(), view.message.as_str()), (class, message));
        }
        let stored = Json::Object(vec![("message".into(), Json::text("kaboom"))]);
        assert_eq!(ErrorView::of(&stored).message, "kaboom");
    }
}
