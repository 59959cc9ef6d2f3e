//! Catches warnings that PostgreSQL sends beside an answer. sqlx gives them to the log alone, so a layer of the log tells the statement.
//!
//! One of them changes an answer: PostgreSQL tells a commit as done although its wait for a standby was cancelled.

use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterFn, Filtered, filter_fn};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// What sqlx calls them.
const TARGET: &str = "sqlx::postgres::notice";
/// How the warning begins where `lc_messages` is English; sqlx does not tell its code.
const CANCELLED: &str = "canceling wait for synchronous replication";

thread_local! {
    /// A statement that is polled on this thread was told that no standby has its commit.
    static TOLD: Cell<bool> = const { Cell::new(false) };
}

/// Whether the log that is in force takes them.
pub fn are_enabled() -> bool {
    tracing::enabled!(target: TARGET, Level::WARN)
}

/// Where the log does not take them. One of the two has to be part of the log for [`watched`] to see anything.
pub fn layer<S>() -> Filtered<NoticeLayer, FilterFn, S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let wanted: fn(&tracing::Metadata<'_>) -> bool =
        |it| it.target() == TARGET && *it.level() <= Level::WARN;
    NoticeLayer.with_filter(filter_fn(wanted))
}

/// Where the log takes them.
pub struct NoticeLayer;

impl<S: Subscriber> Layer<S> for NoticeLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() != TARGET {
            return;
        }
        let mut message = Message::default();
        event.record(&mut message);
        if message.0.contains(CANCELLED) {
            TOLD.set(true);
        }
    }
}

#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

/// The answer, and whether it came with the warning.
pub async fn watched<T>(answer: impl Future<Output = T>) -> (T, bool) {
    let mut answer = pin!(answer);
    let mut told = false;
    let answered = poll_fn(|context| {
        // sqlx tells the log while it is polled.
        TOLD.set(false);
        let polled = answer.as_mut().poll(context);
        told |= TOLD.get();
        polled
    })
    .await;
    (answered, told)
}
