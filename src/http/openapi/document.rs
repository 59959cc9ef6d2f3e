//! Builds the whole API as `OpenAPI`, with every body in both forms. The page for people shows it, and `documents.rs` serves parts of it.
//! Handlers describe only their own route. Descriptions that hold for every route are added here, once: the second media type, the errors,
//! the ways to present a key.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use utoipa::PartialSchema as _;
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::Paths;

use super::{generators, links};
use crate::domain::caller::Permission;
use crate::domain::limits::LIMITS;
use crate::http::flags::{self, Cost, Flag};
use crate::http::request::problem::{Code, ProblemBody};

/// Extension of an operation: the permission it needs.
const PERMISSION: &str = "x-permission";
/// Extension of an operation: what it costs the server.
const COST: &str = "x-cost";
/// Extension of an answer: the codes that its problem can have.
const CODES: &str = "x-codes";

/// Tag of the routes of the LangGraph Agent Server, whose bodies are JSON, whatever is sent or accepted.
const AGENT_SERVER: &str = "agent-server";

/// Answers of a real server, by operation, for those that have none at their handler. Written by a test, which compares them.
const ANSWERS: &str = include_str!("../../../openapi/answers.json");

/// Every operation with every form of its bodies. Not served: [`super::documents::ApiDocument`] is.
pub fn whole() -> Value {
    static WHOLE: LazyLock<Value> = LazyLock::new(|| {
        let (_, api) = crate::http::routes().split_for_parts();
        complete(api)
    });
    WHOLE.clone()
}

/// Records the permission and the cost of a route's operations.
pub(in crate::http) fn declare(paths: &mut Paths, permission: Permission, cost: Cost) {
    flags::extend(paths, PERMISSION, permission.name());
    flags::extend(paths, COST, cost.name());
}

fn complete(api: OpenApi) -> Value {
    let mut document = serde_json::to_value(api).expect("an OpenAPI document is JSON");
    inline_texts(&mut document);
    generators::null_fits_twice(&mut document);
    document["info"] = info();
    document["servers"] = json!([{"url": "http://127.0.0.1:7070"}]);
    document["tags"] = tags();
    document["components"]["securitySchemes"] = json!({
        "bearer": {"type": "http", "scheme": "bearer", "description": "A key `tk_…`, `tkr_…` or `tko_…`, a token \
            `tks_…`, or a JWT of a configured issuer"},
        "api_key": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "The same"}
    });
    let schemas = document["components"]["schemas"].as_object_mut();
    if let Some(schemas) = schemas {
        schemas.remove("Text");
        schemas.insert("Problem".into(), problem_schema());
        schemas.insert("ProblemCode".into(), codes_schema());
        generators::name_alternatives(schemas);
        generators::first_that_fits(schemas);
        generators::one_word(schemas);
        generators::no_fields_yet(schemas);
    }
    let mut problems = Map::new();
    for item in document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        for operation in item.as_object_mut().into_iter().flat_map(Map::values_mut) {
            complete_operation(operation);
            problems.extend(share_problems(&mut operation["responses"]));
        }
    }
    document["components"]["responses"] = Value::Object(problems);
    links::add(&mut document);
    document
}

/// Whether its path has the id of a thread.
fn names_thread(operation: &Value) -> bool {
    let mut parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters.any(|it| it["name"] == "thread_id" && it["in"] == "path")
}

fn complete_operation(operation: &mut Value) {
    let permission = operation[PERMISSION].as_str().map(str::to_owned);
    let has_body = operation.get("requestBody").is_some();
    let only_json = operation["tags"][0] == AGENT_SERVER;
    let changes = |it: &str| it.ends_with(":write") || it.ends_with(":append");
    let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
    let [idempotent, queued, writes, whole_value, searches_content] =
        [Flag::Idempotent, Flag::Queued, Flag::Writes, Flag::WholeValue, Flag::SearchesContent]
            .map(|it| it.take(operation));
    let writes = writes || permission.as_deref().is_some_and(changes);
    let mut codes = vec![Code::ForbiddenHost, Code::ForbiddenOrigin, Code::ForbiddenForwarding];
    codes.extend([Code::HeadTooLarge, Code::Internal]);
    if permission.is_some() {
        codes.extend([Code::Unauthorized, Code::KeyExpired]);
        codes.extend([Code::TokenExpired, Code::TokenRevoked]);
        codes.push(Code::NotGranted);
        codes.extend((!only_json).then_some(Code::NotAcceptable));
        codes.extend([Code::TooManyRequests, Code::Unavailable, Code::KeyDestroyed]);
        codes.extend([Code::DeadlineExceeded, Code::Overloaded]);
        operation["security"] = json!([{"bearer": []}, {"api_key": []}]);
        if Flag::Open.take(operation) {
            operation["security"].as_array_mut().into_iter().for_each(|it| it.push(json!({})));
        }
    } else {
        operation["security"] = json!([]);
    }
    if has_body {
        codes.extend([Code::MalformedBody, Code::TooLarge, Code::UnsupportedMediaType]);
    }
    if has_body || operation.get("parameters").is_some() {
        codes.push(Code::Invalid);
    }
    if only_json && names_thread(operation) {
        // By its alias.
        codes.push(Code::ThreadsIndexing);
    }
    if let Some(parameters) = operation.get_mut("parameters") {
        generators::never_null(parameters);
    }
    if idempotent {
        add_parameter(operation, idempotency_header());
    }
    // Who streams a body, or has none, has the whole budget.
    if writes && operation.pointer("/requestBody/content/application~1json").is_some() {
        add_parameter(operation, budget_header());
    }
    if queued {
        codes.push(Code::CommitUnknown);
    }
    if whole_value {
        codes.push(Code::ValueTooLarge);
    }
    if searches_content {
        codes.push(Code::SearchNeedsPlaintext);
    }
    let with_key = permission.is_some();
    if let Some(content) = operation.pointer_mut("/requestBody/content") {
        generators::raw_bytes(content);
        if !only_json {
            second_media_type(content);
        }
    }
    for (status, response) in operation["responses"].as_object_mut().into_iter().flatten() {
        if let Some(content) = response.get_mut("content").filter(|_| status.starts_with('2')) {
            generators::raw_bytes(content);
            add_example(content, &id);
            if with_key && !only_json {
                second_media_type(content);
            }
        }
        response["headers"] = answer_headers();
    }
    for code in codes {
        add_code(&mut operation["responses"], code);
    }
}

/// The same body as MessagePack; fields that differ say so in their own schema.
fn second_media_type(content: &mut Value) {
    let Some(mut twin) = content.get("application/json").cloned() else { return };
    if let Some(twin) = twin.as_object_mut() {
        // An example in JSON would show the wrong form.
        twin.remove("example");
    }
    content["application/msgpack"] = twin;
}

/// Where the handler shows none.
fn add_example(content: &mut Value, operation: &str) {
    static ALL: LazyLock<Value> =
        LazyLock::new(|| serde_json::from_str(ANSWERS).expect("a test has written it"));
    let body = content.get_mut("application/json").and_then(Value::as_object_mut);
    let Some(body) = body.filter(|it| !it.contains_key("example")) else { return };
    if let Some(answer) = ALL.get(operation) {
        body.insert("example".into(), answer.clone());
    }
}

fn add_code(responses: &mut Value, code: Code) {
    let (status, code, _) = code.parts();
    let response = &mut responses[status.to_string()];
    let code = format!("`{code}`");
    let description = response["description"].as_str().unwrap_or_default();
    if !description.contains(&code) {
        let joined =
            [description, &code].map(str::to_owned).into_iter().filter(|it| !it.is_empty());
        response["description"] = json!(joined.collect::<Vec<_>>().join(", "));
    }
}

/// Every error has the one body, with the codes that this status can have here. Answers with equal codes are one
/// component; gives them back by name.
fn share_problems(responses: &mut Value) -> Map<String, Value> {
    let mut shared = Map::new();
    for (status, response) in responses.as_object_mut().into_iter().flatten() {
        let Some(number) = status.parse::<u16>().ok().filter(|it| *it >= 400) else { continue };
        let description = response["description"].as_str().unwrap_or_default();
        let codes: Vec<&str> = description.split('`').skip(1).step_by(2).collect();
        let name = format!("{status}.{}", codes.join("."));
        let reference = json!({"$ref": format!("#/components/responses/{name}")});
        shared.insert(name, problem_response(number, &codes));
        *response = reference;
    }
    shared
}

fn problem_response(status: u16, codes: &[&str]) -> Value {
    let schema = json!({"$ref": "#/components/schemas/Problem"});
    let example = problem_example(status, codes.first().copied().unwrap_or_default());
    let titles = Code::ALL.iter().map(|it| it.parts()).filter(|it| codes.contains(&it.1));
    let titles: Vec<String> = titles.map(|(_, code, title)| format!("`{code}`: {title}")).collect();
    let mut headers = answer_headers();
    if status == 503 || status == 429 {
        headers["retry-after"] = json!({"description": "Seconds", "schema": {"type": "integer"}});
    }
    json!({
        "description": titles.join("; "), "headers": headers, CODES: codes,
        "content": {"application/problem+json": {"schema": schema, "example": example}}
    })
}

fn answer_headers() -> Value {
    json!({
        "x-request-id": {
            "description": "Of the request; finds it in the server's log", "schema": {"type": "string"}
        },
        "server-timing": {
            "description": "Milliseconds until the answer began: `total;dur=1.234`", "schema": {"type": "string"}
        }
    })
}

fn problem_example(status: u16, code: &str) -> Value {
    let known = Code::ALL.iter().find(|it| it.parts().1 == code);
    let title = known.map_or("", |it| it.parts().2);
    json!({
        "type": format!("urn:threadkeep:problem:{code}"), "title": title, "status": status, "detail": title,
        "code": code, "request_id": "4f6d0c1be2a94c0d8a5d3f0a1b2c3d4e"
    })
}

fn problem_schema() -> Value {
    let mut schema = serde_json::to_value(ProblemBody::schema()).expect("a schema is JSON");
    // A later server has codes that a client was not made for: it gets them as text.
    schema["properties"]["code"] = json!({
        "description": "For programs; stable.",
        "anyOf": [{"$ref": "#/components/schemas/ProblemCode"}, {"type": "string"}]
    });
    schema["description"] = json!("The body of every error, as RFC 9457 has it.");
    schema
}

fn codes_schema() -> Value {
    let codes: Vec<&str> = Code::ALL.iter().map(|it| it.parts().1).collect();
    json!({"type": "string", "enum": codes, "description": "What happened, for programs."})
}

fn add_parameter(operation: &mut Value, parameter: Value) {
    let parameters =
        operation.as_object_mut().map(|it| it.entry("parameters").or_insert(json!([])));
    if let Some(Value::Array(parameters)) = parameters {
        parameters.push(parameter);
    }
}

fn idempotency_header() -> Value {
    json!({
        "name": "Idempotency-Key", "in": "header", "required": false, "schema": {"type": "string"},
        "description": format!("1-{} visible ASCII characters: the same key with the same body is answered like the first, \
            without a second effect, for 24 hours", LIMITS.idempotency_key_bytes_max)
    })
}

fn budget_header() -> Value {
    json!({
        "name": "Threadkeep-Budget-Ms", "in": "header", "required": false,
        "description": "A write that is not begun within this time after its arrival is refused",
        "schema": {
            "type": "integer", "minimum": 1, "maximum": LIMITS.budget_ms_max, "default": LIMITS.budget_ms_max
        }
    })
}

/// `Text` is a type of ours, not of the API; where it stands, the API has a string.
fn inline_texts(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.get("$ref").is_some_and(|it| it == "#/components/schemas/Text") {
                fields.remove("$ref");
                fields.insert("type".into(), json!("string"));
            }
            fields.values_mut().for_each(inline_texts);
            if let Some(text) = optional_text(fields) {
                fields.remove("oneOf");
                fields.extend(text);
                fields.insert("type".into(), json!(["string", "null"]));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(inline_texts),
        _ => {}
    }
}

/// The string of `oneOf: [string, null]`.
fn optional_text(schema: &Map<String, Value>) -> Option<Map<String, Value>> {
    let [one, two] = schema.get("oneOf")?.as_array()?.as_slice() else { return None };
    let (text, null) = if one["type"] == "null" { (two, one) } else { (one, two) };
    (text["type"] == "string" && null["type"] == "null").then(|| text.as_object().cloned())?
}

fn info() -> Value {
    json!({
        "title": "threadkeep", "version": env!("CARGO_PKG_VERSION"),
        "description": "Memory for AI agents that outlives their sandbox.\n\nEvery body is `application/json` or \
            `application/msgpack`, by Content-Type for requests and by Accept for answers. Fields marked \
            `x-msgpack: bin` are `bin` in MessagePack: exact JSON text (in place in JSON) and data (base64 in \
            JSON). Unknown fields are refused; absent and null mean the same. `Content-Encoding` and \
            `Accept-Encoding` with gzip and zstd work everywhere.",
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}
    })
}

fn tags() -> Value {
    json!([
        {"name": "checkpoints", "description": "State of graphs, step by step"},
        {"name": "threads", "description": "Conversations"},
        {"name": "leases", "description": "One writer at a time"},
        {"name": "store", "description": "JSON items under namespaces: long-term memory"},
        {"name": "files", "description": "Items that are files, as deepagents keeps them, and raw bytes of any size"},
        {"name": "drive", "description": "A person's files as one tree, for front ends"},
        {"name": "sessions", "description": "Logs and small documents of agents that are not LangGraph"},
        {"name": "snapshots", "description": "Frozen copies of threads, namespaces and sessions, and how they come back"},
        {"name": "agentrail", "description": "Sessions as Agentrail's adapters and its Inspector ask for them"},
        {"name": "agent-server", "description": "Threads, states and the store as SDKs and UIs of LangGraph ask for them"},
        {"name": "retention", "description": "What goes by itself, and reports of what went"},
        {"name": "administration", "description": "What a tenant has, may have and has done; for keys of the whole tenant"},
        {"name": "keys", "description": "What opens a tenant, until it is revoked; for keys of the whole tenant"},
        {"name": "operators", "description": "Keys, quotas and names of all tenants; for keys of operators"},
        {"name": "tokens", "description": "Who may do a part of what a key may, for a while"},
        {"name": "transfer", "description": "A tenant as one file, out and in"},
        {"name": "subjects", "description": "Whom keys and tokens speak for"},
        {"name": "service", "description": "The server and the caller"},
        {"name": "operation", "description": "For operators and tools; needs no key"}
    ])
}

/// Path, method and operation of each.
pub(in crate::http) fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, item)| {
        let all = item.as_object().into_iter().flatten();
        all.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    })
}
