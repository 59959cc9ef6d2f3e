//! Lists every route with its permission: this file is the route page. No other folder uses axum.
//!
//! **Invariant:** a handler gets its caller only through `call`, which checks the permission declared here.

mod agent_server;
mod agentrail;
mod checkpoints;
pub mod connections;
mod console;
mod files;
mod flags;
mod health;
mod layers;
pub mod openapi;
mod readiness;
pub mod request;
mod service;
mod sessions;
mod snapshots;
mod store;
mod tenants;
mod threads;
pub mod tokens;

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::agentrail::{inspector, memory, messages, orchestration};
use self::flags::Flag::{Idempotent, Open, Queued, SearchesContent, WholeValue, Writes};
use self::flags::{Flagged as _, bulk, needs, searches, streams};
use crate::app::App;
use crate::domain::caller::Permission::{
    Any, Namespaces, Operator, Sessions, Snapshots, Tenant, Threads,
};
use crate::domain::tokens::grants::Action::{Append, Read, Write};

pub use self::health::operators;
pub use self::layers::{router, router_compressing};
pub(crate) use self::service::Empty;
pub use self::tenants::audit::EventOut;
pub use self::tenants::operators::RotatedOut as RotatedSecrets;
pub use self::tenants::usage::UsageOut;
pub use self::tokens::handlers::{MintedToken, RevokedOut as RevokedToken};
pub use self::tokens::keys::{CreatedKeyOut, KeyOut, RevokedKeyOut};

/// Every route. `needs`, `searches`, `bulk` and `streams` declare the permission and the cost; a route without is for everybody who reaches
/// the server. Flags follow it.
pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    let router = with_files(with_sessions(with_store(of_threads())));
    with_agent_server(with_operators(with_operation(with_agentrail(router))))
}

// Several functions, for smaller frames.
fn of_threads() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::default()
        .routes(needs(Threads(Append), routes!(checkpoints::commit::commit)).with(Queued))
        .routes(needs(Threads(Read), routes!(checkpoints::reading::get)))
        .routes(searches(Threads(Read), routes!(checkpoints::reading::list)))
        .routes(searches(Threads(Read), routes!(checkpoints::timeline::list)))
        .routes(needs(Threads(Read), routes!(checkpoints::reading::history)))
        .routes(needs(Threads(Append), routes!(checkpoints::value_parts::put)))
        .routes(needs(Threads(Read), routes!(checkpoints::value_parts::get)))
        .routes(needs(Threads(Read), routes!(checkpoints::channel_values::get)))
        .routes(needs(Threads(Read), routes!(checkpoints::state::get)))
        .routes(bulk(Threads(Write), routes!(checkpoints::runs::delete_for_runs)))
        .routes(bulk(Threads(Write), routes!(checkpoints::pruning::prune)))
        .routes(searches(Threads(Read), routes!(threads::handlers::list)))
        .routes(needs(Threads(Read), routes!(threads::handlers::get)))
        .routes(needs(Threads(Append), routes!(threads::details::create)).with(Idempotent))
        .routes(needs(Threads(Append), routes!(threads::details::update)).with(Idempotent))
        .routes(searches(Threads(Read), routes!(threads::details::search)))
        .routes(searches(Threads(Read), routes!(threads::details::count)))
        .routes(streams(Threads(Read), routes!(threads::changes::follow)))
        .routes(searches(Threads(Read), routes!(threads::storage_use::get)))
        .routes(bulk(Threads(Write), routes!(threads::handlers::delete)))
        .routes(bulk(Threads(Append), routes!(threads::handlers::copy)).with(Idempotent))
        .routes(needs(Threads(Append), routes!(threads::leases::acquire)))
        .routes(needs(Threads(Append), routes!(threads::leases::renew)))
        .routes(needs(Threads(Append), routes!(threads::leases::release)))
        .routes(needs(Tenant(Write), routes!(threads::leases::break_lease)))
        .routes(bulk(Threads(Write), routes!(threads::forks::fork)).with(Idempotent))
        .routes(bulk(Threads(Write), routes!(threads::rewinds::rewind)).with(Idempotent))
        .routes(needs(Threads(Write), routes!(threads::retention::put)))
        .routes(needs(Threads(Read), routes!(threads::retention::get)))
        .routes(searches(Tenant(Read), routes!(threads::retention::list)))
        .routes(needs(Threads(Write), routes!(threads::retention::delete)))
        .routes(searches(Threads(Read), routes!(threads::retention::reports)))
        .routes(needs(Threads(Write), routes!(threads::retention::run)))
}

fn with_store(router: OpenApiRouter<Arc<App>>) -> OpenApiRouter<Arc<App>> {
    router
        // Each operation asks for what it needs.
        .routes(
            searches(Any, routes!(store::batch::batch))
                .with(Idempotent)
                .with(Queued)
                .with(Writes)
                .with(SearchesContent),
        )
        .routes(
            needs(Namespaces(Append), routes!(store::handlers::put))
                .with(Idempotent)
                .with(Queued)
                .with(SearchesContent),
        )
        .routes(needs(Namespaces(Read), routes!(store::handlers::get)).with(WholeValue))
        .routes(
            needs(Namespaces(Write), routes!(store::handlers::delete))
                .with(Idempotent)
                .with(Queued),
        )
        .routes(searches(Namespaces(Read), routes!(store::handlers::search)).with(SearchesContent))
        .routes(searches(Namespaces(Read), routes!(store::handlers::list_namespaces)))
        .routes(searches(Namespaces(Read), routes!(store::largest::list)))
        .routes(searches(Namespaces(Read), routes!(store::handlers::count)).with(SearchesContent))
        .routes(needs(Namespaces(Read), routes!(store::history::list)))
        .routes(needs(Namespaces(Read), routes!(store::history::get)))
        .routes(
            needs(Namespaces(Write), routes!(store::history::restore))
                .with(Idempotent)
                .with(WholeValue),
        )
        .routes(needs(Namespaces(Write), routes!(store::settings::put)))
        .routes(needs(Namespaces(Read), routes!(store::settings::get)))
        .routes(needs(Namespaces(Write), routes!(store::settings::delete)))
        .routes(needs(Namespaces(Read), routes!(store::settings::list)))
        .routes(streams(Namespaces(Read), routes!(store::changes::follow)))
}

fn with_sessions(router: OpenApiRouter<Arc<App>>) -> OpenApiRouter<Arc<App>> {
    router
        .routes(needs(Sessions(Append), routes!(sessions::create)).with(Queued))
        .routes(needs(Sessions(Append), routes!(sessions::append)).with(Idempotent).with(Queued))
        .routes(needs(Sessions(Read), routes!(sessions::load)))
        .routes(searches(Sessions(Read), routes!(sessions::streams)))
        .routes(searches(Sessions(Read), routes!(sessions::list)))
        .routes(searches(Sessions(Read), routes!(sessions::kinds)))
        .routes(bulk(Sessions(Write), routes!(sessions::delete)).with(Queued))
        .routes(
            needs(Sessions(Append), routes!(sessions::documents::put))
                .with(Idempotent)
                .with(Queued),
        )
        .routes(needs(Sessions(Read), routes!(sessions::documents::get)))
        .routes(
            needs(Sessions(Append), routes!(sessions::documents::append))
                .with(Idempotent)
                .with(Queued),
        )
        .routes(searches(Sessions(Read), routes!(sessions::documents::list)))
        .routes(searches(Sessions(Read), routes!(sessions::documents::find)))
        .routes(needs(Sessions(Write), routes!(sessions::documents::delete)).with(Queued))
        .routes(needs(Sessions(Append), routes!(sessions::add)).with(Idempotent).with(Queued))
        .routes(needs(Sessions(Write), routes!(sessions::compact)).with(Idempotent).with(Queued))
        .routes(bulk(Snapshots(Append), routes!(snapshots::take)))
        .routes(needs(Snapshots(Read), routes!(snapshots::get)))
        .routes(searches(Snapshots(Read), routes!(snapshots::list)))
        .routes(bulk(Snapshots(Write), routes!(snapshots::delete)))
        .routes(bulk(Snapshots(Read), routes!(snapshots::restore)).with(Idempotent).with(Writes))
        .routes(streams(Snapshots(Append), routes!(snapshots::archive::put)))
        .routes(streams(Snapshots(Read), routes!(snapshots::archive::get)))
}

fn with_files(router: OpenApiRouter<Arc<App>>) -> OpenApiRouter<Arc<App>> {
    router
        .routes(searches(Namespaces(Read), routes!(files::reading::ls)))
        .routes(needs(Namespaces(Read), routes!(files::reading::read)).with(WholeValue))
        .routes(streams(Namespaces(Read), routes!(files::reading::download)))
        .routes(needs(Namespaces(Read), routes!(files::reading::stat)))
        .routes(searches(Namespaces(Read), routes!(files::searches::glob)))
        .routes(searches(Namespaces(Read), routes!(files::searches::grep)))
        .routes(
            needs(Namespaces(Append), routes!(files::changes::write)).with(Idempotent).with(Queued),
        )
        .routes(
            needs(Namespaces(Append), routes!(files::changes::append))
                .with(Idempotent)
                .with(Queued)
                .with(WholeValue),
        )
        .routes(
            needs(Namespaces(Write), routes!(files::changes::edit))
                .with(Idempotent)
                .with(Queued)
                .with(WholeValue),
        )
        .routes(streams(Namespaces(Write), routes!(files::changes::upload)).with(Queued))
        .routes(
            bulk(Namespaces(Write), routes!(files::moves::delete)).with(Idempotent).with(Queued),
        )
        .routes(
            bulk(Namespaces(Write), routes!(files::moves::rename))
                .with(Idempotent)
                .with(Queued)
                .with(WholeValue),
        )
        .routes(
            bulk(Namespaces(Append), routes!(files::moves::copy))
                .with(Idempotent)
                .with(Queued)
                .with(WholeValue),
        )
        .routes(streams(Namespaces(Read), routes!(files::content::get)))
        .routes(streams(Namespaces(Append), routes!(files::content::put)))
        .routes(needs(Namespaces(Read), routes!(files::signed::url)))
        .routes(needs(Namespaces(Append), routes!(files::uploads::begin)))
        .routes(streams(Namespaces(Append), routes!(files::uploads::put_part)))
        .routes(needs(Namespaces(Append), routes!(files::uploads::get)))
        .routes(bulk(Namespaces(Append), routes!(files::uploads::complete)))
        .routes(needs(Namespaces(Append), routes!(files::uploads::abort)))
        .routes(searches(Namespaces(Read), routes!(files::drive::list)))
        .routes(streams(Namespaces(Append), routes!(files::drive::upload)))
        .routes(streams(Namespaces(Read), routes!(files::drive::download)))
        .routes(needs(Namespaces(Write), routes!(files::drive::delete)))
        .routes(needs(Namespaces(Read), routes!(files::drive::url)))
        .routes(streams(Namespaces(Append), routes!(files::artifacts::put)))
        // The address is what it presents.
        .routes(routes!(files::signed::open))
}

/// For Agentrail's adapters, and for its Inspector.
fn with_agentrail(router: OpenApiRouter<Arc<App>>) -> OpenApiRouter<Arc<App>> {
    router
        .routes(needs(Sessions(Append), routes!(messages::put_session)).with(Queued))
        .routes(searches(Sessions(Read), routes!(messages::list)))
        .routes(needs(Sessions(Read), routes!(messages::load)))
        .routes(needs(Sessions(Append), routes!(messages::append_messages)).with(Queued))
        .routes(needs(Sessions(Append), routes!(messages::record_turn)).with(Queued))
        .routes(needs(Sessions(Write), routes!(messages::compact)).with(Queued))
        .routes(needs(Sessions(Read), routes!(messages::archives)))
        .routes(needs(Sessions(Read), routes!(messages::archive)))
        .routes(needs(Sessions(Read), routes!(memory::get_memo)))
        .routes(needs(Sessions(Write), routes!(memory::put_memo)).with(Queued))
        .routes(needs(Sessions(Append), routes!(memory::append_memo)).with(Queued))
        .routes(needs(Sessions(Read), routes!(memory::get_todos)))
        .routes(needs(Sessions(Write), routes!(memory::put_todos)).with(Queued))
        .routes(searches(Sessions(Read), routes!(memory::list_artifacts)))
        .routes(needs(Sessions(Read), routes!(memory::get_artifact)))
        .routes(needs(Sessions(Write), routes!(memory::put_artifact)).with(Queued))
        .routes(needs(Sessions(Append), routes!(memory::log_skill)).with(Queued))
        .routes(needs(Sessions(Read), routes!(orchestration::load_trace)))
        .routes(needs(Sessions(Append), routes!(orchestration::append_trace)).with(Queued))
        .routes(needs(Sessions(Read), routes!(orchestration::load_events)))
        .routes(needs(Sessions(Append), routes!(orchestration::append_events)).with(Queued))
        .routes(needs(Sessions(Read), routes!(orchestration::get_snapshot)))
        .routes(needs(Sessions(Write), routes!(orchestration::put_snapshot)).with(Queued))
        .routes(needs(Sessions(Read), routes!(orchestration::load_mailbox)))
        .routes(needs(Sessions(Append), routes!(orchestration::append_mailbox)).with(Queued))
        .routes(needs(Sessions(Read), routes!(orchestration::get_mailbox_state)))
        .routes(needs(Sessions(Write), routes!(orchestration::put_mailbox_state)).with(Queued))
        .routes(needs(Sessions(Read), routes!(orchestration::get_history)))
        .routes(needs(Sessions(Write), routes!(orchestration::put_history)).with(Queued))
        .routes(needs(Sessions(Read), routes!(inspector::health)))
        .routes(searches(Sessions(Read), routes!(inspector::sessions)))
        .routes(needs(Sessions(Read), routes!(inspector::trace)))
        .routes(needs(Sessions(Read), routes!(inspector::messages)))
        .routes(needs(Sessions(Read), routes!(inspector::orchestration)))
        .routes(needs(Sessions(Read), routes!(inspector::health_by_token)))
        .routes(searches(Sessions(Read), routes!(inspector::sessions_by_token)))
        .routes(needs(Sessions(Read), routes!(inspector::trace_by_token)))
        .routes(needs(Sessions(Read), routes!(inspector::messages_by_token)))
        .routes(needs(Sessions(Read), routes!(inspector::orchestration_by_token)))
}

fn with_operation(router: OpenApiRouter<Arc<App>>) -> OpenApiRouter<Arc<App>> {
    router
        .routes(needs(Tenant(Read), routes!(tenants::usage::get)))
        .routes(searches(Tenant(Read), routes!(tenants::audit::list)))
        .routes(searches(Tenant(Read), routes!(tenants::subjects::list)))
        .routes(bulk(Tenant(Write), routes!(tenants::subjects::delete)))
        .routes(streams(Tenant(Read), routes!(tenants::export::export_file)))
        .routes(streams(Tenant(Write), routes!(tenants::export::import_file)))
        .routes(needs(Any, routes!(service::limits)))
        .routes(needs(Any, routes!(service::whoami)))
        .routes(needs(Any, routes!(service::info)).with(Open))
        .routes(needs(Tenant(Read), routes!(tokens::keys::list)))
        .routes(needs(Tenant(Write), routes!(tokens::keys::create)))
        .routes(needs(Tenant(Write), routes!(tokens::keys::revoke)))
        .routes(needs(Tenant(Read), routes!(tokens::listing::list)))
        .routes(needs(Any, routes!(tokens::handlers::mint)))
        .routes(needs(Any, routes!(tokens::handlers::narrow)))
        .routes(needs(Any, routes!(tokens::handlers::revoke)))
        .routes(routes!(health::alive))
        .routes(routes!(readiness::ready))
        .routes(needs(Tenant(Read), routes!(health::metrics)))
        .routes(routes!(health::openapi))
        .routes(routes!(health::openapi_msgpack))
        .routes(routes!(health::openapi_agentrail))
        .routes(routes!(health::docs))
}

/// For those who look after all tenants.
fn with_operators(router: OpenApiRouter<Arc<App>>) -> OpenApiRouter<Arc<App>> {
    router
        .routes(searches(Operator, routes!(tenants::operators::list)))
        .routes(needs(Operator, routes!(tenants::operators::quota)))
        .routes(needs(Operator, routes!(tenants::operators::put_quota)))
        .routes(needs(Operator, routes!(tenants::operators::rotate_secrets)))
        .routes(needs(Operator, routes!(tenants::operator_keys::list)))
        .routes(needs(Operator, routes!(tenants::operator_keys::create)))
        .routes(needs(Operator, routes!(tenants::operator_keys::revoke)))
}

/// For SDKs and UIs of LangGraph.
fn with_agent_server(router: OpenApiRouter<Arc<App>>) -> OpenApiRouter<Arc<App>> {
    router
        .routes(routes!(agent_server::meta::root))
        .routes(routes!(agent_server::meta::ok))
        .routes(routes!(agent_server::meta::info))
        .routes(needs(Threads(Append), routes!(agent_server::threads::create)))
        .routes(needs(Threads(Read), routes!(agent_server::threads::get)))
        .routes(needs(Threads(Append), routes!(agent_server::threads::update)))
        .routes(bulk(Threads(Write), routes!(agent_server::threads::delete)))
        .routes(bulk(Threads(Append), routes!(agent_server::threads::copy)))
        .routes(searches(Threads(Read), routes!(agent_server::storage_use::get_storage)))
        .routes(searches(Threads(Read), routes!(agent_server::thread_search::search)))
        .routes(searches(Threads(Read), routes!(agent_server::thread_search::count)))
        .routes(bulk(Threads(Write), routes!(agent_server::thread_prune::prune)))
        .routes(needs(Threads(Read), routes!(agent_server::state::get)))
        .routes(needs(Threads(Read), routes!(agent_server::state::get_at)))
        .routes(needs(Threads(Read), routes!(agent_server::state::get_of_checkpoint)))
        .routes(needs(Threads(Append), routes!(agent_server::state_update::update)))
        .routes(searches(Threads(Read), routes!(agent_server::history::get)))
        .routes(searches(Threads(Read), routes!(agent_server::history::find)))
        .routes(
            needs(Namespaces(Append), routes!(agent_server::store::put))
                .with(Queued)
                .with(SearchesContent),
        )
        .routes(needs(Namespaces(Read), routes!(agent_server::store::get)).with(WholeValue))
        .routes(needs(Namespaces(Write), routes!(agent_server::store::delete)).with(Queued))
        .routes(
            searches(Namespaces(Read), routes!(agent_server::store_search::search))
                .with(SearchesContent),
        )
        .routes(searches(Namespaces(Read), routes!(agent_server::store_search::list_namespaces)))
        .routes(searches(Threads(Read), routes!(agent_server::assistants::search)))
        .routes(searches(Threads(Read), routes!(agent_server::assistants::count)))
        .routes(needs(Threads(Read), routes!(agent_server::assistants::get)))
        .routes(needs(Threads(Read), routes!(agent_server::assistants::list_versions)))
        .routes(needs(Threads(Read), routes!(agent_server::assistants::get_schemas)))
        .routes(needs(Threads(Read), routes!(agent_server::assistants::get_graph)))
        .routes(needs(Threads(Read), routes!(agent_server::assistants::get_subgraphs)))
        .routes(needs(Threads(Read), routes!(agent_server::assistants::get_subgraph)))
        .routes(needs(Threads(Read), routes!(agent_server::assistants::update)))
        .routes(needs(Threads(Read), routes!(agent_server::assistants::delete)))
        .routes(needs(Threads(Read), routes!(agent_server::assistants::set_latest)))
        .routes(needs(Threads(Read), routes!(agent_server::assistants::create)))
        .routes(needs(Threads(Read), routes!(agent_server::runs::list)))
        .routes(needs(Threads(Read), routes!(agent_server::runs::create_on_thread)))
        .routes(needs(Threads(Read), routes!(agent_server::runs::stream_on_thread)))
        .routes(needs(Threads(Read), routes!(agent_server::runs::wait_on_thread)))
        .routes(needs(Threads(Read), routes!(agent_server::runs::create_cron_on_thread)))
        .routes(needs(Threads(Read), routes!(agent_server::runs::command)))
        .routes(needs(Threads(Read), routes!(agent_server::runs::follow)))
        .routes(streams(Threads(Read), routes!(agent_server::events::hold)))
        .routes(needs(Threads(Read), routes!(agent_server::runs::get)))
        .routes(needs(Threads(Read), routes!(agent_server::runs::delete)))
        .routes(needs(Threads(Read), routes!(agent_server::runs::join)))
        .routes(needs(Threads(Read), routes!(agent_server::runs::join_stream)))
        .routes(needs(Threads(Read), routes!(agent_server::runs::cancel)))
        .routes(needs(Any, routes!(agent_server::runs::create)))
        .routes(needs(Any, routes!(agent_server::runs::stream)))
        .routes(needs(Any, routes!(agent_server::runs::wait)))
        .routes(needs(Any, routes!(agent_server::runs::batch)))
        .routes(needs(Any, routes!(agent_server::runs::create_cron)))
        .routes(needs(Any, routes!(agent_server::runs::cancel_all)))
        .routes(needs(Any, routes!(agent_server::runs::search_crons)))
        .routes(needs(Any, routes!(agent_server::runs::count_crons)))
        .routes(needs(Any, routes!(agent_server::runs::mcp)))
        .routes(needs(Any, routes!(agent_server::runs::a2a)))
        .routes(needs(Any, routes!(agent_server::runs::ui)))
}
