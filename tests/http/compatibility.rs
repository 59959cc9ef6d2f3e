//! Finds the changes of a document that break clients of the earlier document.

use serde_json::{Map, Value, json};

/// Which way a schema goes: what clients send has to stay accepted, what they get has to stay what they know.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Sent,
    Received,
}

/// Bounds of what is accepted, with whether a greater number accepts more.
const BOUNDS: [(&str, bool); 8] = [
    ("minimum", false),
    ("minLength", false),
    ("minItems", false),
    ("minProperties", false),
    ("maximum", true),
    ("maxLength", true),
    ("maxItems", true),
    ("maxProperties", true),
];
const FORMS: [&str; 4] = ["format", "pattern", "contentEncoding", "const"];
/// Schemas that refer to themselves are the same below this.
const DEPTH_MAX: usize = 24;

/// A sentence for each.
pub fn breaks(old: &Value, new: &Value) -> Vec<String> {
    let mut found = Comparison { old, new, breaks: Vec::new() };
    for (path, item) in fields(&old["paths"]) {
        for (method, operation) in fields(item) {
            let at = format!("{} {path}", method.to_uppercase());
            match new["paths"].get(path).and_then(|it| it.get(method)) {
                Some(now) => found.operation(&at, operation, now),
                None => found.add(&at, "is gone"),
            }
        }
    }
    found.breaks
}

/// Whether the version says that older clients may break: the first number that is not 0 was raised.
pub fn may_break(old: &str, new: &str) -> bool {
    let numbers =
        |text: &str| -> Vec<u64> { text.split('.').map(|it| it.parse().unwrap()).collect() };
    let (old, new) = (numbers(old), numbers(new));
    let significant = usize::from(old[0] == 0);
    new[..=significant] > old[..=significant]
}

struct Comparison<'a> {
    old: &'a Value,
    new: &'a Value,
    breaks: Vec<String>,
}

impl<'a> Comparison<'a> {
    fn add(&mut self, at: &str, what: &str) {
        self.breaks.push(format!("{at} {what}"));
    }

    fn operation(&mut self, at: &str, old: &'a Value, new: &'a Value) {
        for (key, what) in [
            ("operationId", "has another operationId"),
            ("x-permission", "needs another permission"),
        ] {
            // Whoever has a tenant may read it.
            let is_wider = (&old[key], &new[key]) == (&json!("tenant"), &json!("tenant:read"));
            if old[key] != new[key] && !is_wider {
                self.add(at, what);
            }
        }
        if list(&old["security"]).next().is_none() && list(&new["security"]).next().is_some() {
            self.add(at, "needs a key now");
        }
        self.parameters(at, old, new);
        self.request(at, &old["requestBody"], &new["requestBody"]);
        for (status, response) in fields(&old["responses"]).filter(|(it, _)| it.starts_with('2')) {
            match new["responses"].get(status) {
                Some(now) => {
                    let at = format!("{at} {status}");
                    self.content(&at, &response["content"], &now["content"], Way::Received);
                }
                None => self.add(at, &format!("does not answer {status} any more")),
            }
        }
    }

    fn parameters(&mut self, at: &str, old: &'a Value, new: &'a Value) {
        let same = |a: &Value, b: &Value| a["name"] == b["name"] && a["in"] == b["in"];
        for parameter in list(&old["parameters"]) {
            let at = format!("{at} parameter {}", parameter["name"]);
            match list(&new["parameters"]).find(|it| same(it, parameter)) {
                Some(now) => {
                    if now["required"] == true && parameter["required"] != true {
                        self.add(&at, "is required now");
                    }
                    self.schema(&at, &parameter["schema"], &now["schema"], Way::Sent, 0);
                }
                None => self.add(&at, "is gone"),
            }
        }
        for parameter in list(&new["parameters"]).filter(|it| it["required"] == true) {
            if !list(&old["parameters"]).any(|it| same(it, parameter)) {
                self.add(at, &format!("has the new required parameter {}", parameter["name"]));
            }
        }
    }

    fn request(&mut self, at: &str, old: &'a Value, new: &'a Value) {
        match (old.is_object(), new.is_object()) {
            (false, true) if new["required"] == true => self.add(at, "needs a body now"),
            (true, false) => self.add(at, "takes no body any more"),
            (true, true) => self.content(at, &old["content"], &new["content"], Way::Sent),
            _ => {}
        }
    }

    fn content(&mut self, at: &str, old: &'a Value, new: &'a Value, way: Way) {
        for (media, body) in fields(old) {
            let at = format!("{at} {media}");
            match new.get(media) {
                Some(now) => self.schema(&at, &body["schema"], &now["schema"], way, 0),
                None => self.add(&at, "is gone"),
            }
        }
    }

    fn schema(&mut self, at: &str, old: &'a Value, new: &'a Value, way: Way, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        let (old, new) = (resolved(self.old, old), resolved(self.new, new));
        let (before, mut after) = (alternatives(old), alternatives(new));
        if way == Way::Received {
            // Only who sends a field that older clients do not know gets such a one.
            after.retain(|it| resolved(self.new, it)["x-only-with"].is_null());
        }
        if before.len() > 1 || after.len() > 1 {
            // Each form on the one side has to be one that the other side knows.
            let (from, to) = if way == Way::Sent { (&before, &after) } else { (&after, &before) };
            let fits = |one: &Value| {
                to.iter().any(|other| {
                    let (old, new) = if way == Way::Sent { (one, *other) } else { (*other, one) };
                    let mut inner = Comparison { old: self.old, new: self.new, breaks: Vec::new() };
                    inner.schema(at, old, new, way, depth + 1);
                    inner.breaks.is_empty()
                })
            };
            if !from.iter().all(|it| fits(it)) {
                self.add(at, "has other alternatives");
            }
            return;
        }
        self.kind(at, old, new, way);
        self.fields(at, old, new, way, depth);
        if old["items"].is_object() && new["items"].is_object() {
            self.schema(&format!("{at}[]"), &old["items"], &new["items"], way, depth + 1);
        }
        let (all, now) = (&old["additionalProperties"], &new["additionalProperties"]);
        if *now == false && *all != false && way == Way::Sent {
            self.add(at, "takes no other fields any more");
        }
        if all.is_object() && now.is_object() {
            self.schema(&format!("{at}.*"), all, now, way, depth + 1);
        }
    }

    fn kind(&mut self, at: &str, old: &Value, new: &Value, way: Way) {
        let (accepted, given) = if way == Way::Sent { (new, old) } else { (old, new) };
        if !types(given).iter().all(|it| covers(&types(accepted), it)) {
            self.add(at, &format!("was {:?} and is {:?}", types(old), types(new)));
        }
        let allowed: Vec<&Value> = list(&accepted["enum"]).collect();
        let values: Vec<&Value> = list(&given["enum"]).collect();
        let all_known = !values.is_empty() && values.iter().all(|it| allowed.contains(it));
        if !allowed.is_empty() && !all_known {
            self.add(at, "has other values");
        }
        for form in FORMS.iter().filter(|it| !accepted[**it].is_null()) {
            if accepted[*form] != given[*form] {
                self.add(at, &format!("has another {form}"));
            }
        }
        for (bound, greater_is_more) in BOUNDS.iter().filter(|_| way == Way::Sent) {
            let (Some(now), before) = (new[*bound].as_f64(), old[*bound].as_f64()) else {
                continue;
            };
            let is_narrower =
                before.is_none_or(|it| if *greater_is_more { now < it } else { now > it });
            // 0 bounds nothing that has no sign.
            if is_narrower && !(before.is_none() && now == 0.0 && !greater_is_more) {
                self.add(at, &format!("has a narrower {bound}"));
            }
        }
    }

    fn fields(&mut self, at: &str, old: &'a Value, new: &'a Value, way: Way, depth: usize) {
        let is_required =
            |schema: &Value, name: &str| list(&schema["required"]).any(|it| it == name);
        for (name, field) in fields(&old["properties"]) {
            let at = format!("{at}.{name}");
            let Some(now) = new["properties"].get(name) else {
                self.add(&at, "is gone");
                continue;
            };
            if way == Way::Received && is_required(old, name) && !is_required(new, name) {
                self.add(&at, "may be absent now");
            }
            self.schema(&at, field, now, way, depth + 1);
        }
        for name in list(&new["required"]).filter_map(Value::as_str).filter(|_| way == Way::Sent) {
            if !is_required(old, name) {
                self.add(&format!("{at}.{name}"), "is required now");
            }
        }
    }
}

fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let Some(reference) = schema["$ref"].as_str() else { return schema };
    document.pointer(reference.trim_start_matches('#')).unwrap_or(schema)
}

/// The forms that a value may have; one for most.
fn alternatives(schema: &Value) -> Vec<&Value> {
    let of = |key: &str| list(&schema[key]).collect::<Vec<_>>();
    let all = [of("oneOf"), of("anyOf")].concat();
    if all.is_empty() { vec![schema] } else { all }
}

/// None: any.
fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => vec!["any"],
    }
}

fn covers(accepted: &[&str], given: &str) -> bool {
    let is = |name: &str| accepted.contains(&name);
    is("any") || is(given) || (given == "integer" && is("number"))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}
