//! Declares costs and flags of routes beside their permissions. The document shows the cost, and derives from the flags which errors an
//! operation can answer.

use std::sync::Arc;

use axum::Extension;
use serde_json::Value;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::path::{Operation, Paths};
use utoipa_axum::router::UtoipaMethodRouter;

use super::openapi::document;
use super::request::call::Needs;
use crate::app::App;
use crate::domain::caller::Permission;

pub type Routes = UtoipaMethodRouter<Arc<App>>;

/// What a call costs the server, and what ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Rows that its request bounds. It ends soon; those of all tenants take turns.
    Small,
    /// Rows that its request does not bound: it ends after `search_seconds_max`. It waits for one of the connections of searches and
    /// lists, of which a tenant has half at most and a credential a quarter, and other calls do not wait for it.
    Search,
    /// Everything of a thing: it goes on to its end, in slices, between which others take their turns.
    Bulk,
    /// A body, an answer or events of any length: it ends below a minimum rate, and counts among what a client holds.
    Stream,
}

impl Cost {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Search => "search",
            Self::Bulk => "bulk",
            Self::Stream => "stream",
        }
    }
}

/// What an operation does, besides what its permission says.
#[derive(Debug, Clone, Copy)]
pub enum Flag {
    /// With a key in the header `Idempotency-Key`, a second request is answered like the first.
    Idempotent,
    /// It writes through a queue: its outcome may be unknown when a connection to the database breaks.
    Queued,
    /// It writes although its permission does not say so: each part of the request needs a permission of its own.
    Writes,
    /// It answers or copies the content of an item, which may be too large for a value.
    WholeValue,
    /// It filters or searches the content of items.
    SearchesContent,
    /// Who presents nothing gets a part of the answer.
    Open,
}

/// Declares what a route needs, for the extractor that asks for it and for the document, and that it is [`Cost::Small`].
pub fn needs(permission: Permission, routes: Routes) -> Routes {
    declare(permission, Cost::Small, routes)
}

/// As [`needs`], for [`Cost::Search`].
pub fn searches(permission: Permission, routes: Routes) -> Routes {
    declare(permission, Cost::Search, routes)
}

/// As [`needs`], for [`Cost::Bulk`].
pub fn bulk(permission: Permission, routes: Routes) -> Routes {
    declare(permission, Cost::Bulk, routes)
}

/// As [`needs`], for [`Cost::Stream`].
pub fn streams(permission: Permission, routes: Routes) -> Routes {
    declare(permission, Cost::Stream, routes)
}

fn declare(permission: Permission, cost: Cost, (schemas, mut paths, router): Routes) -> Routes {
    document::declare(&mut paths, permission, cost);
    (schemas, paths, router.layer(Extension(Needs(permission))))
}

/// Flags stand behind the permission on the route page.
pub trait Flagged {
    fn with(self, flag: Flag) -> Self;
}

impl Flagged for Routes {
    fn with(mut self, flag: Flag) -> Self {
        extend(&mut self.1, flag.extension(), true);
        self
    }
}

impl Flag {
    /// Whether the operation has it. It is no part of the served document: asking takes it out.
    pub fn take(self, operation: &mut Value) -> bool {
        operation.as_object_mut().is_some_and(|it| it.remove(self.extension()).is_some())
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Idempotent => "x-idempotent",
            Self::Queued => "x-queued",
            Self::Writes => "x-writes",
            Self::WholeValue => "x-whole-value",
            Self::SearchesContent => "x-searches-content",
            Self::Open => "x-open",
        }
    }
}

/// Adds an extension to each operation of a route.
pub fn extend(paths: &mut Paths, name: &str, value: impl Into<Value> + Clone) {
    for item in paths.paths.values_mut() {
        let all: [&mut Option<Operation>; 5] =
            [&mut item.get, &mut item.post, &mut item.put, &mut item.delete, &mut item.patch];
        for operation in all.into_iter().flatten() {
            let extension = ExtensionsBuilder::new().add(name, value.clone().into());
            operation.extensions.get_or_insert_default().merge(extension.build());
        }
    }
}
