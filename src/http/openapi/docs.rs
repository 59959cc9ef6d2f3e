//! Renders the page of the API for people: every operation of the document with its parameters, schemas and examples. The server renders it
//! once; it has no script and loads nothing from another host.

use std::sync::LazyLock;

use axum::http::header;
use axum::response::{Html, IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::document::{operations, whole};

const TEMPLATE: &str = include_str!("docs.html");

/// The page, which may load and run nothing.
pub fn answer() -> Response {
    static PAGE: LazyLock<String> = LazyLock::new(|| page(&whole()));
    static POLICY: LazyLock<String> = LazyLock::new(policy);
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY.as_str()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, Html(PAGE.as_str())).into_response()
}

/// Styles of the page by their digest, an empty icon, and nothing else.
fn policy() -> String {
    let style = TEMPLATE.split("<style>").nth(1).and_then(|it| it.split("</style>").next());
    let digest = STANDARD.encode(Sha256::digest(style.unwrap_or_default()));
    format!(
        "default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    )
}

fn page(document: &Value) -> String {
    let (mut menu, mut main) = (String::new(), String::new());
    for tag in list(&document["tags"]) {
        let name = text(&tag["name"]);
        menu += &format!("<b><a href=\"#tag-{name}\">{name}</a></b><ul>");
        main +=
            &format!("<section id=\"tag-{name}\"><h2>{name}</h2>{}", prose(&tag["description"]));
        for (path, method, operation) in operations(document) {
            if operation["tags"][0] == tag["name"] {
                let (id, summary) = (text(&operation["operationId"]), text(&operation["summary"]));
                menu += &format!("<li><a href=\"#{id}\">{summary}</a>");
                main += &article(document, path, method, operation);
            }
        }
        menu += "</ul>";
        main += "</section>";
    }
    main += "<section id=\"schemas\"><h2>schemas</h2>";
    for (name, schema) in fields(&document["components"]["schemas"]) {
        let (name, about) = (escape(name), prose(&schema["description"]));
        main += &format!("<article id=\"schema-{name}\"><h3><code>{name}</code></h3>{about}");
        main += &format!("{}</article>", shape(schema));
    }
    main += "</section>";
    let filled = TEMPLATE.replace("{{version}}", &text(&document["info"]["version"]));
    let filled = filled.replace("{{about}}", &prose(&document["info"]["description"]));
    filled.replace("{{menu}}", &menu).replace("{{operations}}", &main)
}

fn article(document: &Value, path: &str, method: &str, operation: &Value) -> String {
    let (id, summary) = (text(&operation["operationId"]), text(&operation["summary"]));
    let mut html = format!(
        "<article id=\"{id}\"><h3>{summary}</h3><p><code class=\"{method}\">{}</code> <code>{}</code></p>{}",
        method.to_uppercase(),
        escape(path),
        prose(&operation["description"]),
    );
    if let Some(permission) = operation["x-permission"].as_str() {
        html += &format!("<p>Needs <code>{}</code>.</p>", escape(permission));
    }
    html += &parameters(&operation["parameters"]);
    if let Some(content) = operation.pointer("/requestBody/content") {
        html += &format!("<h4>Request</h4>{}", body(content));
    }
    for (status, response) in fields(&operation["responses"]) {
        html += &answered(document, status, response);
    }
    html + "</article>"
}

fn parameters(parameters: &Value) -> String {
    let rows = list(parameters).map(|it| {
        let place = format!("{}, {}", text(&it["in"]), kind(&it["schema"]));
        row(&text(&it["name"]), &place, it["required"] == true, &it["description"])
    });
    table(rows.collect())
}

fn answered(document: &Value, status: &str, response: &Value) -> String {
    let shared =
        response["$ref"].as_str().and_then(|it| document.pointer(it.trim_start_matches('#')));
    let Some(problem) = shared else {
        let about = inline(&text(&response["description"]));
        return format!("<h4>{status}</h4><p>{about}</p>{}", body(&response["content"]));
    };
    format!("<p><b>{status}</b> {}</p>", inline(&text(&problem["description"])))
}

/// A body: the first media type with schema and example, the others by name.
fn body(content: &Value) -> String {
    let mut html = String::new();
    let names: Vec<String> = fields(content).map(|(name, _)| escape(name)).collect();
    for (at, (_, one)) in fields(content).enumerate() {
        if at == 0 {
            html += &format!("<p>{} as {}</p>", kind(&one["schema"]), names.join(", "));
        }
        html += &example(&one["example"]);
    }
    html
}

fn example(example: &Value) -> String {
    match example {
        Value::Null => String::new(),
        Value::String(text) => format!("<pre>{}</pre>", escape(text)),
        other => format!(
            "<pre>{}</pre>",
            escape(&serde_json::to_string_pretty(other).unwrap_or_default())
        ),
    }
}

/// The fields of an object, or what kind of thing it is.
fn shape(schema: &Value) -> String {
    let required: Vec<&Value> = list(&schema["required"]).collect();
    let rows: Vec<String> = fields(&schema["properties"])
        .map(|(name, it)| {
            let is_required = required.iter().any(|it| it.as_str() == Some(name));
            row(&escape(name), &kind(it), is_required, &it["description"])
        })
        .collect();
    if rows.is_empty() { format!("<p>{}</p>", kind(schema)) } else { table(rows) }
}

fn row(name: &str, kind: &str, is_required: bool, about: &Value) -> String {
    let required = if is_required { "required" } else { "" };
    format!("<tr><td><code>{name}</code><td>{kind}<td>{required}<td>{}", inline(&text(about)))
}

fn table(rows: Vec<String>) -> String {
    if rows.is_empty() { String::new() } else { format!("<table>{}</table>", rows.concat()) }
}

/// A schema in a few words, with links to what it refers to.
fn kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = escape(reference.rsplit('/').next().unwrap_or_default());
        return format!("<a href=\"#schema-{name}\">{name}</a>");
    }
    for (key, between) in [("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")] {
        let all: Vec<String> = list(&schema[key]).map(kind).collect();
        if !all.is_empty() {
            return all.join(between);
        }
    }
    let types: Vec<String> = match &schema["type"] {
        Value::Array(types) => types.iter().map(text).collect(),
        Value::String(one) => vec![escape(one)],
        _ => vec!["any".to_owned()],
    };
    let mut words = types.join(" or ");
    if types.iter().any(|it| it == "array") {
        words += &format!(" of {}", kind(&schema["items"]));
    }
    if schema["additionalProperties"].is_object() {
        words += &format!(" of {}", kind(&schema["additionalProperties"]));
    }
    let allowed: Vec<String> =
        list(&schema["enum"]).map(|it| format!("<code>{}</code>", text(it))).collect();
    if !allowed.is_empty() {
        words += &format!(": {}", allowed.join(", "));
    }
    let bounds = ["format", "contentEncoding", "minimum", "maximum", "default"];
    for name in bounds.iter().filter(|it| !schema[**it].is_null()) {
        words += &format!(", {name} {}", text(&schema[*name]));
    }
    if fields(&schema["properties"]).next().is_some() {
        words += &shape(schema);
    }
    words
}

/// Paragraphs.
fn prose(text: &Value) -> String {
    let whole = self::text(text);
    let paragraphs = whole.split("\n\n").filter(|it| !it.is_empty());
    paragraphs.fold(String::new(), |html, it| html + "<p>" + &inline(it) + "</p>")
}

/// Escaped text whose back quotes become code.
fn inline(escaped: &str) -> String {
    let parts = escaped.split('`').enumerate();
    let part = |(at, part): (usize, &str)| match at % 2 {
        1 => format!("<code>{part}</code>"),
        _ => part.to_owned(),
    };
    parts.map(part).collect()
}

/// A scalar, escaped.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => escape(text),
        other => escape(&other.to_string()),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}
