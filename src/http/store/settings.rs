//! Serves `POST /v1/store/settings/…`: settings that namespaces declare for themselves and all below them.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::domain::limits::LIMITS;
use crate::domain::store::namespace::Namespace;
use crate::domain::store::namespace_settings::{Declared, Setting};
use crate::domain::time::rfc3339;
use crate::domain::{Error, Result};
use crate::http::Empty;
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;

/// Put a setting of a namespace
///
/// For the namespace and all below it; of several prefixes the longest that says something counts, for each field by itself.
/// Replaces what this namespace declared. Other servers follow within two seconds. Needs the right to write to the namespace;
/// an empty one stands for the whole tenant.
#[utoipa::path(
    post, path = "/v1/store/settings/put", operation_id = "put_namespace_setting", tag = "store",
    request_body(content = PutSettingBody, example = json!({"namespace": ["ann", "memories"], "history": 20})),
    responses(
        (status = 200, description = "Durable", body = PutSettingOut, example = json!({"setting":
            {"namespace": ["ann", "memories"], "history": 20, "changed_at": "2026-01-31T12:00:00.000000Z"}})),
        (status = 422, description = "`invalid`, also for too many settings, and for text fields where values are encrypted"),
    ),
)]
pub async fn put(State(app): State<Arc<App>>, call: Call<PutSetting>) -> Answer {
    let Call { caller, deadline, input: PutSetting { namespace, declared }, reply } = call;
    let setting = app.namespace_settings.put(&caller, namespace, declared, deadline).await?;
    reply.with(&PutSettingOut { setting: setting.into() }).await
}

/// Get a setting of a namespace
///
/// The namespace's own, and what holds for its items.
#[utoipa::path(
    post, path = "/v1/store/settings/get", operation_id = "get_namespace_setting", tag = "store",
    request_body(content = OfNamespaceBody, example = json!({"namespace": ["ann", "memories"]})),
    responses((status = 200, description = "An absent `setting` means that there is none, or that the namespace is not the \
        caller's", body = GotSetting, example = json!({"effective": {"history": 20}}))),
)]
pub async fn get(State(app): State<Arc<App>>, call: Call<OfNamespace>) -> Answer {
    let Call { caller, input: OfNamespace(namespace), reply, .. } = call;
    let (setting, effective) = app.namespace_settings.get(&caller, &namespace).await?;
    let setting = setting.map(SettingOut::from);
    reply.with(&GotSetting { setting, effective: effective.into() }).await
}

/// Delete a setting of a namespace
///
/// What shorter prefixes declare holds again. No error when there is none.
#[utoipa::path(
    post, path = "/v1/store/settings/delete", operation_id = "delete_namespace_setting", tag = "store",
    request_body(content = OfNamespaceBody, example = json!({"namespace": ["ann", "memories"]})),
    responses((status = 200, description = "Deleted, or never there", body = Empty)),
)]
pub async fn delete(State(app): State<Arc<App>>, call: Call<OfNamespace>) -> Answer {
    let Call { caller, deadline, input: OfNamespace(namespace), reply } = call;
    app.namespace_settings.delete(&caller, &namespace, deadline).await?;
    reply.done().await
}

/// List settings of namespaces
///
/// Those of namespaces below a prefix that the caller may read, in the order of their labels. There are at most 1,000.
#[utoipa::path(
    post, path = "/v1/store/settings/list", operation_id = "list_namespace_settings", tag = "store",
    request_body(content = ListSettingsBody, example = json!({})),
    responses((status = 200, description = "Settings", body = SettingsOut, example = json!({"settings": []}))),
)]
pub async fn list(State(app): State<Arc<App>>, call: Call<ListSettings>) -> Answer {
    let Call { caller, input: ListSettings(prefix), reply, .. } = call;
    let settings = app.namespace_settings.list(&caller, &prefix).await?;
    reply
        .with(&SettingsOut { settings: settings.into_iter().map(SettingOut::from).collect() })
        .await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PutNamespaceSetting)]
pub struct PutSettingBody {
    namespace: Vec<Text>,
    /// Earlier versions that an item keeps, 0-1,000. Absent: a shorter prefix says it, else 10 for items that look like files
    /// and 0 for others. Each item follows with its next put.
    #[schema(minimum = 0, maximum = 1_000)]
    history: Option<i64>,
    /// Paths of the fields whose words are indexed: names, with `.` between them; `$` stands for all texts of the value; an
    /// empty list for none. Absent: a shorter prefix says it, else none.
    text_fields: Option<Vec<Text>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NamespaceSettingName)]
pub struct OfNamespaceBody {
    namespace: Vec<Text>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ListNamespaceSettings)]
pub struct ListSettingsBody {
    /// Labels that the namespaces begin with.
    prefix: Option<Vec<Text>>,
}

pub struct PutSetting {
    namespace: Namespace,
    declared: Declared,
}

pub struct OfNamespace(Namespace);

pub struct ListSettings(Namespace);

#[derive(Serialize, ToSchema)]
#[schema(as = NamespaceSettingPut)]
pub struct PutSettingOut {
    setting: SettingOut,
}

#[derive(Serialize, ToSchema)]
#[schema(as = GotNamespaceSetting)]
pub struct GotSetting {
    #[serde(skip_serializing_if = "Option::is_none")]
    setting: Option<SettingOut>,
    effective: EffectiveOut,
}

#[derive(Serialize, ToSchema)]
#[schema(as = NamespaceSettings)]
pub struct SettingsOut {
    settings: Vec<SettingOut>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = NamespaceSetting)]
pub struct SettingOut {
    namespace: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text_fields: Option<Vec<String>>,
    /// Words of items that were there before are still being indexed: searches may miss them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    indexing: bool,
    #[schema(format = DateTime)]
    changed_at: String,
}

/// What holds for a namespace.
#[derive(Serialize, ToSchema)]
#[schema(as = EffectiveNamespaceSetting)]
pub struct EffectiveOut {
    /// Absent: 10 for items that look like files, 0 for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text_fields: Option<Vec<String>>,
}

impl Input for PutSetting {
    type Wire<'a> = PutSettingBody;

    fn from_wire(wire: PutSettingBody, _: &Received) -> Result<Self> {
        let max = LIMITS.item_versions_max;
        let history = |it: i64| {
            u32::try_from(it).map_err(|_| {
                let detail = format!("history must be from 0 to {max}");
                Error::out_of_range("history", detail, max)
            })
        };
        let declared = Declared {
            history: wire.history.map(history).transpose()?,
            text_fields: wire.text_fields.map(texts),
        };
        Ok(Self { namespace: Namespace::new(texts(wire.namespace))?, declared })
    }
}

impl Input for OfNamespace {
    type Wire<'a> = OfNamespaceBody;

    fn from_wire(wire: OfNamespaceBody, _: &Received) -> Result<Self> {
        Namespace::new(texts(wire.namespace)).map(Self)
    }
}

impl Input for ListSettings {
    type Wire<'a> = ListSettingsBody;

    fn from_wire(wire: ListSettingsBody, _: &Received) -> Result<Self> {
        Namespace::new(texts(wire.prefix.unwrap_or_default())).map(Self)
    }
}

fn texts(texts: Vec<Text>) -> Vec<String> {
    texts.into_iter().map(|it| it.0).collect()
}

impl From<Setting> for SettingOut {
    fn from(setting: Setting) -> Self {
        let Setting { namespace, declared, changed_at, is_indexing: indexing } = setting;
        let Declared { history, text_fields } = declared;
        let namespace = namespace.labels().to_vec();
        Self { namespace, history, text_fields, indexing, changed_at: rfc3339(changed_at) }
    }
}

impl From<Declared> for EffectiveOut {
    fn from(declared: Declared) -> Self {
        Self { history: declared.history, text_fields: declared.text_fields }
    }
}
