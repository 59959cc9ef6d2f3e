//! Serves `POST /v1/store/history`, `…/get` and `…/restore`: lists the versions of an item, reads one, restores one.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::handlers::VersionOut;
use super::key::KeyIn;
use super::wire::{address, version};
use crate::app::App;
use crate::domain::limits::LIMITS;
use crate::domain::store::history::RestoreItem;
use crate::domain::store::history_storage::{ItemVersion, ListVersions, VersionPage};
use crate::domain::store::item::Address;
use crate::domain::time::rfc3339;
use crate::domain::{Error, Result};
use crate::http::request::call::{Answer, Call};
use crate::http::request::cursor::{self, limit};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{ExactOut, Text};

const CURSOR: &str = "item_versions";
const PAGE_DEFAULT: i64 = 100;

/// List the versions of an item
///
/// The present version and the earlier ones that are kept, newest first. Items that look like files keep 10, others none, unless
/// their namespace declares another number (`put_namespace_setting`).
#[utoipa::path(
    post, path = "/v1/store/history", operation_id = "list_item_versions", tag = "store",
    request_body(content = VersionsBody, example = json!({"namespace": ["ann", "filesystem"], "key": "/plan.md"})),
    responses((status = 200, description = "A page; empty where there is no such item, or it is not the caller's",
        body = VersionsOut, example = json!({"versions": [{"version": 1_793_404_800_000_001_i64, "current": true,
            "updated_at": "2026-01-31T12:00:00.000000Z", "size_bytes": 24}]}))),
)]
pub async fn list(State(app): State<Arc<App>>, call: Call<ListVersions>) -> Answer {
    let Call { caller, input, reply, .. } = call;
    reply.with(&VersionsOut::from(app.items.list_versions(&caller, &input).await?)).await
}

/// Get a version of an item
///
/// An absent `version` means that it is not kept, or was never there, or that the item is not there, or not the caller's.
#[utoipa::path(
    post, path = "/v1/store/history/get", operation_id = "get_item_version", tag = "store",
    request_body(content = VersionBody, example = json!({"namespace": ["ann", "filesystem"], "key": "/plan.md",
        "version": 1_793_404_800_000_000_i64})),
    responses((status = 200, description = "The version, if it is there", body = GotVersion, example = json!({}))),
)]
pub async fn get(State(app): State<Arc<App>>, call: Call<GetVersion>) -> Answer {
    let Call { caller, input: GetVersion { address, version }, reply, .. } = call;
    let version = app.items.get_version(&caller, &address, version).await?;
    reply.with(&GotVersion { version: version.map(VersionItem::from) }).await
}

/// Restore a version of an item
///
/// Puts the value of that version, with its time to live begun anew, as a new version; what it replaces becomes an earlier one. A
/// repetition with the same `Idempotency-Key` is answered like the first.
#[utoipa::path(
    post, path = "/v1/store/history/restore", operation_id = "restore_item_version", tag = "store",
    request_body(content = RestoreBody, example = json!({"namespace": ["ann", "filesystem"], "key": "/plan.md",
        "version": 1_793_404_800_000_000_i64})),
    responses(
        (status = 200, description = "Durable", body = VersionOut, example = json!({"version": 1_793_404_800_000_002_i64})),
        (status = 404, description = "`not_found`: no such version is kept"),
        (status = 409, description = "`version_conflict`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 422, description = "`invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn restore(State(app): State<Arc<App>>, call: Call<Restoration>) -> Answer {
    let Call { caller, deadline, input: Restoration { request, idempotency }, reply } = call;
    let version = app.items.restore(&caller, &request, idempotency, deadline).await?;
    reply.with(&VersionOut { version }).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ListItemVersions)]
pub struct VersionsBody<'a> {
    namespace: Vec<Text>,
    #[serde(borrow)]
    key: KeyIn<'a>,
    /// Default 100; at most 1,000 and about 4 MiB of values come at one time.
    #[schema(minimum = 0)]
    limit: Option<i64>,
    /// `next_cursor` of the page before.
    cursor: Option<Text>,
    /// True: with the values. Default false.
    values: Option<bool>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GetItemVersion)]
pub struct VersionBody<'a> {
    namespace: Vec<Text>,
    #[serde(borrow)]
    key: KeyIn<'a>,
    #[schema(minimum = 0)]
    version: i64,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RestoreItemVersion)]
pub struct RestoreBody<'a> {
    namespace: Vec<Text>,
    #[serde(borrow)]
    key: KeyIn<'a>,
    /// The version whose value comes back.
    #[schema(minimum = 0)]
    version: i64,
    /// The version that the item must have now.
    #[schema(minimum = 0)]
    if_version: Option<i64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ItemVersions)]
pub struct VersionsOut {
    versions: Vec<VersionItem>,
    /// Send it with the same arguments for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ItemVersionOf)]
pub struct VersionItem {
    version: i64,
    /// The item has this version now.
    current: bool,
    /// When it was put.
    #[schema(format = DateTime)]
    updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_minutes: Option<f64>,
    size_bytes: i64,
    /// Absent where no values were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = crate::http::request::exact::Exact)]
    value: Option<ExactOut>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = GotItemVersion)]
pub struct GotVersion {
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<VersionItem>,
}

pub struct GetVersion {
    address: Address,
    version: i64,
}

pub struct Restoration {
    request: RestoreItem,
    idempotency: Option<(String, [u8; 32])>,
}

impl Input for ListVersions {
    type Wire<'a> = VersionsBody<'a>;

    fn from_wire(wire: VersionsBody<'_>, _: &Received) -> Result<Self> {
        let before = wire.cursor.map(|it| cursor::decode(CURSOR, &it.0)).transpose()?;
        let rows_max = usize::try_from(LIMITS.list_rows_max).unwrap_or(usize::MAX);
        Ok(Self {
            address: address(wire.namespace, wire.key)?,
            before,
            limit: limit(Some(wire.limit.unwrap_or(PAGE_DEFAULT)))?.min(rows_max),
            values: wire.values.unwrap_or(false),
        })
    }
}

impl Input for GetVersion {
    type Wire<'a> = VersionBody<'a>;

    fn from_wire(wire: VersionBody<'_>, _: &Received) -> Result<Self> {
        let version = named(wire.version)?;
        Ok(Self { address: address(wire.namespace, wire.key)?, version })
    }
}

impl Input for Restoration {
    type Wire<'a> = RestoreBody<'a>;

    fn from_wire(wire: RestoreBody<'_>, received: &Received) -> Result<Self> {
        let request = RestoreItem {
            address: address(wire.namespace, wire.key)?,
            version: named(wire.version)?,
            if_version: wire.if_version.map(version).transpose()?,
        };
        Ok(Self { request, idempotency: received.idempotency("/v1/store/history/restore") })
    }
}

fn named(version: i64) -> Result<i64> {
    if version >= 0 {
        return Ok(version);
    }
    Err(Error::invalid("version", "version must be 0 or more"))
}

impl From<VersionPage> for VersionsOut {
    fn from(page: VersionPage) -> Self {
        Self {
            versions: page.versions.into_iter().map(VersionItem::from).collect(),
            next_cursor: page.next.map(|it| cursor::encode(CURSOR, &it)),
        }
    }
}

impl From<ItemVersion> for VersionItem {
    fn from(version: ItemVersion) -> Self {
        Self {
            version: version.version,
            current: version.is_current,
            updated_at: rfc3339(version.updated_at),
            ttl_minutes: version.ttl_micros.map(|it| it as f64 / 60_000_000.0),
            size_bytes: version.size_bytes,
            value: version.value.map(ExactOut),
        }
    }
}
