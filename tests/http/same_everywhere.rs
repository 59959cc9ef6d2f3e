//! Tests what is the same for every operation that the document says has it: limits, unknown fields, pages, idempotency, deadlines,
//! conditions, and the rights of pages of other origins.

use axum::body::Body;
use axum::http::{Method, Request as HttpRequest};
use serde_json::{Value, json};
use threadkeep::app::Browsers;
use threadkeep::domain::limits::LIMITS;
use tower::ServiceExt as _;

use crate::drive_world;
use crate::matrix::{NOBODYS, Route, THREAD, World, routes, row_of};
use crate::matrix_agent_server::REFUSED;
use crate::matrix_table::{PUBLIC, Request, is_of_operators};
use crate::server::{Answer, DOCUMENT, HOST, JSON, Server};
use crate::tokens::{SECOND, START};

fn operation(route: &Route) -> &'static Value {
    &DOCUMENT["paths"][&route.path][route.method.to_lowercase()]
}

fn schema(content: &Value) -> &'static Value {
    let reference = content[JSON]["schema"]["$ref"].as_str().unwrap_or("#/none");
    DOCUMENT.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null)
}

fn sent(route: &Route) -> &'static Value {
    schema(&operation(route)["requestBody"]["content"])
}

fn takes_parameter(route: &Route, name: &str) -> bool {
    let all = operation(route)["parameters"].as_array().into_iter().flatten();
    all.filter(|it| it["in"] != "path").any(|it| it["name"] == name)
}

fn takes(route: &Route, name: &str) -> bool {
    takes_parameter(route, name) || sent(route)["properties"][name].is_object()
}

fn all_that(is: impl Fn(&Route) -> bool) -> Vec<Route> {
    let asked = routes().into_iter().filter(|it| !REFUSED.contains(&it.operation.as_str()));
    asked.filter(|it| is(it)).collect()
}

/// The request of the matrix, with one more field.
fn with(request: Request, name: &str, value: &Value) -> Request {
    let queried = |query: String| {
        let mark = if query.is_empty() { '?' } else { '&' };
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{query}{mark}{name}={value}")
    };
    match request {
        Request::Body(mut body) => {
            body[name] = value.clone();
            Request::Body(body)
        }
        Request::Query(query) => Request::Query(queried(query)),
        Request::Raw(query) => Request::Raw(queried(query)),
        other => panic!("{other:?} takes no {name}"),
    }
}

/// About this thread, by who may do everything.
async fn ask(it: &World, route: &Route, request: &Request, header: (&str, &str)) -> Answer {
    it.ask_with(route, request, &[("x-api-key", it.who_may(route)), header]).await
}

const PLAIN: (&str, &str) = ("accept", "*/*");

/// Take whatever their caller logs.
const FREE: [&str; 2] = ["agentrail_log_skill", "agentrail_record_turn"];

#[tokio::test]
async fn every_body_has_the_one_limit_and_only_fields_that_are_known() {
    let keyless = Server::keyless().await;
    let (of_operators, operator) = Server::with_operator().await;
    let too_long = (LIMITS.body_bytes_max + 1).to_string();
    let all = all_that(|it| operation(it)["requestBody"]["content"][JSON].is_object());
    assert!(all.len() > 80, "{}", all.len());
    for route in all {
        let name = &route.operation;
        let is_of_operators = is_of_operators(&route);
        let server = if is_of_operators { &of_operators } else { &keyless };
        let key = is_of_operators.then_some(("x-api-key", operator.as_str()));
        let plain: Vec<_> = [("content-type", JSON)].into_iter().chain(key).collect();
        let mut headers = plain.clone();
        headers.push(("content-length", &too_long));
        let answer = server.send(&route.method, &route.path, &headers, b"{}".to_vec()).await;
        assert_eq!(answer.problem(), (413, "too_large".into()), "{name}");
        assert_eq!(
            (answer.json()["limit"].as_u64(), answer.field()),
            (Some(LIMITS.body_bytes_max), "body".into())
        );
        // Clients of the Agent Server send fields of later versions.
        if FREE.contains(&name.as_str()) || operation(&route)["tags"][0] == "agent-server" {
            continue;
        }
        let mut body = operation(&route)["requestBody"]["content"][JSON]["example"].clone();
        body["kee"] = json!(true);
        let answer =
            server.send(&route.method, &route.path, &plain, body.to_string().into_bytes()).await;
        assert_eq!(sent(&route)["additionalProperties"], false, "{name}");
        assert_eq!(
            (answer.problem(), answer.field()),
            ((422, "invalid".into()), "kee".into()),
            "{name}"
        );
    }
}

#[tokio::test]
async fn every_listing_has_pages_with_a_limit_and_a_cursor_that_is_checked() {
    let it = World::new().await;
    let answers_cursor = |it: &Route| {
        schema(&operation(it)["responses"]["200"]["content"])["properties"]["next_cursor"]
            .is_object()
    };
    let all = all_that(|it| answers_cursor(it) || takes(it, "cursor"));
    assert!(all.len() >= 10, "{}", all.len());
    for route in all {
        let name = &route.operation;
        assert!(
            answers_cursor(&route) && takes(&route, "cursor") && takes(&route, "limit"),
            "{name}"
        );
        for (field, wrong) in [("cursor", json!("zz")), ("limit", json!(-1))] {
            let request = with((row_of(&route).request)(THREAD, &it.token_id), field, &wrong);
            let answer = ask(&it, &route, &request, PLAIN).await;
            let found = (answer.problem(), answer.field());
            assert_eq!(found, ((422, "invalid".into()), field.into()), "{name}");
        }
    }
}

/// The request of the matrix, as one that writes.
fn writing(route: &Route, thread: &str, it: &World) -> Request {
    let request = (row_of(route).request)(thread, &it.token_id);
    match route.operation.as_str() {
        // Without a condition, a second put is like the first.
        "put_document" => return with(request, "if_version", &json!(0)),
        // That of ann's put.
        "put_item" | "delete_item" => {
            return with(request, "if_version", &json!(START + 2 * SECOND));
        }
        "run_store_batch" => {
            let put =
                json!({"namespace": ["ann", thread], "key": "new", "value": {}, "if_version": 0});
            let request = with(request, "atomic", &json!(true));
            return with(request, "ops", &json!([{"put": put}]));
        }
        "rewind_thread" => {
            return with(with(request, "dry_run", &json!(false)), "fence", &json!(1));
        }
        "restore_snapshot" => {}
        _ => return request,
    }
    let lease = json!([{"thread_id": THREAD, "fence": 1}]);
    let request = with(with(request, "dry_run", &json!(false)), "leases", &lease);
    if thread == THREAD { request } else { with(request, "safety", &json!(false)) }
}

#[tokio::test]
async fn the_same_key_with_the_same_body_has_one_effect_and_with_another_none() {
    let all = all_that(|it| takes_parameter(it, "Idempotency-Key"));
    assert!(all.len() >= 14, "{}", all.len());
    for route in all {
        let (name, it) = (&route.operation, World::new().await);
        let request = writing(&route, THREAD, &it);
        let bad = ask(&it, &route, &request, ("idempotency-key", "a b")).await;
        let found = (bad.problem(), bad.field());
        assert_eq!(found, ((422, "invalid".into()), "Idempotency-Key".into()), "{name}");
        let key = ("idempotency-key", "once");
        let first = ask(&it, &route, &request, key).await;
        let again = ask(&it, &route, &request, key).await;
        assert_eq!(first.status, 200, "{name}: {}", String::from_utf8_lossy(&first.body));
        assert_eq!((again.status, again.json()), (200, first.json()), "{name}");
        let other = ask(&it, &route, &writing(&route, NOBODYS, &it), key).await;
        assert_eq!(other.problem(), (422, "idempotency_mismatch".into()), "{name}");
    }
}

#[tokio::test]
async fn every_deadline_is_checked() {
    let it = World::new().await;
    let all = all_that(|it| takes_parameter(it, "Threadkeep-Budget-Ms"));
    assert!(all.len() > 50, "{}", all.len());
    for route in all {
        let request = (row_of(&route).request)(THREAD, &it.token_id);
        let answer = ask(&it, &route, &request, ("threadkeep-budget-ms", "0")).await;
        let found = (answer.problem(), answer.field());
        let expected = ((422, "invalid".into()), "Threadkeep-Budget-Ms".into());
        assert_eq!(found, expected, "{}", route.operation);
    }
}

#[tokio::test]
async fn a_write_that_read_another_version_is_refused() {
    let it = World::new().await;
    let all = all_that(|it| takes(it, "if_version"));
    assert!(all.len() >= 11, "{}", all.len());
    for route in all {
        let request = (row_of(&route).request)(THREAD, &it.token_id);
        let request = with(request, "if_version", &json!(1));
        let answer = ask(&it, &route, &request, PLAIN).await;
        assert_eq!(answer.problem(), (409, "version_conflict".into()), "{}", route.operation);
        let negative = with(request, "if_version", &json!(-1));
        let answer = ask(&it, &route, &negative, PLAIN).await;
        let found = (answer.problem(), answer.field());
        assert_eq!(found, ((422, "invalid".into()), "if_version".into()), "{}", route.operation);
    }
}

#[tokio::test]
async fn bytes_that_the_caller_has_are_not_sent_again_and_a_part_is_a_part() {
    let it = World::new().await;
    let all = all_that(|it| takes_parameter(it, "If-None-Match") || takes_parameter(it, "Range"));
    // Answers about a named checkpoint are no bytes of a file: `cut_values.rs` asks for them again.
    let is_shown =
        |it: &Route| ["get_checkpoint_values", "get_state"].contains(&it.operation.as_str());
    let (shown, all): (Vec<Route>, Vec<Route>) = all.into_iter().partition(is_shown);
    assert_eq!((shown.len(), all.len()), (2, 4));
    for route in all {
        let name = &route.operation;
        assert!(
            takes_parameter(&route, "If-None-Match") && takes_parameter(&route, "Range"),
            "{name}"
        );
        let request = if PUBLIC.contains(&name.as_str()) {
            let made = "/api/storage/url?subject=ann&path=/f";
            let made = it.server.get_with(made, &[("x-api-key", &it.acme)]).await.ok().json();
            let (_, query) = made["url"].as_str().unwrap().split_once(&*route.path).unwrap();
            Request::Query(query.to_owned())
        } else {
            (row_of(&route).request)(THREAD, &it.token_id)
        };
        let whole = ask(&it, &route, &request, PLAIN).await.ok();
        let etag = whole.header("etag").expect(name).to_owned();
        let same = ask(&it, &route, &request, ("if-none-match", &etag)).await;
        assert_eq!((same.status, same.body.len()), (304, 0), "{name}");
        let part = ask(&it, &route, &request, ("range", "bytes=1-2")).await;
        assert_eq!((part.status, &part.body[..]), (206, &whole.body[1..3]), "{name}");
        let behind = ask(&it, &route, &request, ("range", "bytes=900000-")).await;
        assert_eq!(behind.status, 416, "{name}");
    }
}

/// What a page of this origin is told when it asks whether it may, and when it just does.
async fn allowed(server: &Server, route: &Route, method: &str) -> (u16, Option<String>) {
    let mut request = HttpRequest::builder().method(method).uri(route.path.replace(['{', '}'], ""));
    request = request.header("host", HOST).header("origin", PAGE).header("content-type", JSON);
    if method == Method::OPTIONS.as_str() {
        request = request.header("access-control-request-method", &*route.method);
    }
    let answer = server.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let headers = answer.headers();
    assert!(!headers.contains_key("access-control-allow-credentials"), "{}", route.operation);
    let methods = headers.get("access-control-allow-methods").and_then(|it| it.to_str().ok());
    if let Some(methods) = methods {
        assert!(methods.contains(&*route.method), "{}: {methods}", route.operation);
    }
    let origin = headers.get("access-control-allow-origin").map(|it| it.to_str().unwrap().into());
    (answer.status().as_u16(), origin)
}

const PAGE: &str = "https://app.example.com";

#[tokio::test]
async fn a_page_of_another_origin_may_call_the_api_and_the_drive_where_it_was_named() {
    let it = drive_world::World::new().await;
    let browsers = Browsers { cors_origins: vec![PAGE.to_owned()], ..Browsers::default() };
    let (named, _) = drive_world::serve(&it.storage, browsers).await;
    for route in routes() {
        let is_of_agent_server = operation(&route)["tags"][0] == "agent-server";
        let is_open = ["/v1/", "/api/storage/"].iter().any(|it| route.path.starts_with(it))
            || is_of_agent_server;
        let expected = is_open.then(|| PAGE.to_owned());
        for method in ["OPTIONS", &*route.method] {
            let (status, origin) = allowed(&named, &route, method).await;
            assert_eq!(origin, expected, "{} {method}", route.operation);
            let preflight = if is_open { 204 } else { 405 };
            assert!(method != "OPTIONS" || status == preflight, "{}: {status}", route.operation);
            let (_, unnamed) = allowed(&it.server, &route, method).await;
            assert_eq!(unnamed, None, "{} {method}", route.operation);
        }
    }
}

/// A server without keys is for programs of its own machine: no page may ask it anything.
#[tokio::test]
async fn without_keys_no_page_is_answered_at_all() {
    let server = Server::keyless().await;
    for route in routes() {
        let path = route.path.replace(['{', '}'], "");
        let headers = [("origin", PAGE), ("content-type", JSON)];
        let answer = server.send(&route.method, &path, &headers, b"{}".to_vec()).await;
        assert_eq!(answer.problem(), (403, "forbidden_origin".into()), "{}", route.operation);
    }
}
