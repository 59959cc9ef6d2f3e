//! Adapts a document so that clients are easy to generate from it: every object has a name that a generator can use.

use serde_json::{Map, Value, json};

const RAW: [&str; 3] =
    ["application/octet-stream", "application/x-tar", "application/vnd.threadkeep.export"];
const EXACT: &str = "#/components/schemas/Exact";
const OVERLAPPING: [&str; 1] = ["StoreResult"];

/// The only text that these take.
const WORDS: [(&str, &str); 3] =
    [("RestoreThreads", "all"), ("RestoreNamespaces", "all"), ("RestoreSessions", "all")];

/// Raw bytes: utoipa would have them as a list of numbers.
pub fn raw_bytes(content: &mut Value) {
    let bytes = json!({"type": "string", "format": "binary"});
    for media in RAW {
        if let Some(body) = content.get_mut(media) {
            body["schema"] = bytes.clone();
        }
    }
}

/// A header or a field of a query is there or not; it is never null.
pub fn never_null(parameters: &mut Value) {
    for parameter in parameters.as_array_mut().into_iter().flatten() {
        let Some(kind) = parameter.pointer_mut("/schema/type") else { continue };
        let Some(kinds) = kind.as_array_mut() else { continue };
        kinds.retain(|it| it != "null");
        if let [one] = &kinds[..] {
            *kind = one.clone();
        }
    }
}

/// What fits more than one alternative, of which the first is meant: every object is a `GotItem`.
pub fn first_that_fits(schemas: &mut Map<String, Value>) {
    for name in OVERLAPPING {
        let Some(schema) = schemas.get_mut(name).and_then(Value::as_object_mut) else { continue };
        schema.remove("oneOf").map(|all| schema.insert("anyOf".into(), all));
    }
}

/// Exact JSON may be null too, so that null fits it and the alternative that says null: one of them is enough.
pub fn null_fits_twice(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let all = fields.get("oneOf").and_then(Value::as_array);
            if all.is_some_and(|all| all.iter().any(|it| it["$ref"] == EXACT)) {
                fields.remove("oneOf").map(|all| fields.insert("anyOf".into(), all));
            }
            fields.values_mut().for_each(null_fits_twice);
        }
        Value::Array(items) => items.iter_mut().for_each(null_fits_twice),
        _ => {}
    }
}

/// An answer without fields: a later server may add some. openapi-generator warns of an object of which nothing is said.
pub fn no_fields_yet(schemas: &mut Map<String, Value>) {
    if let Some(empty) = schemas.get_mut("Empty") {
        empty["additionalProperties"] = json!({"$ref": EXACT});
    }
}

/// What takes a list takes one word instead of it: so a generator knows the word, and asks for no other text.
pub fn one_word(schemas: &mut Map<String, Value>) {
    for (name, word) in WORDS {
        let all = schemas.get_mut(name).and_then(|it| it["oneOf"].as_array_mut());
        for alternative in all.into_iter().flatten().filter(|it| it["type"] == "string") {
            alternative["const"] = json!(word);
        }
    }
}

/// Gives alternatives that are objects with one field the name of both: `StoreOp` with `put` is a `StoreOpPut`. Else a
/// generator numbers them.
pub fn name_alternatives(schemas: &mut Map<String, Value>) {
    let mut named = Map::new();
    for (parent, schema) in schemas.iter_mut() {
        let alternatives = schema.get_mut("oneOf").and_then(Value::as_array_mut);
        for alternative in alternatives.into_iter().flatten() {
            let fields = alternative["properties"].as_object();
            let Some(field) = fields.filter(|it| it.len() == 1).and_then(|it| it.keys().next())
            else {
                continue;
            };
            let name = format!("{parent}{}", camel(field));
            let reference = json!({"$ref": format!("#/components/schemas/{name}")});
            named.insert(name, std::mem::replace(alternative, reference));
        }
    }
    schemas.extend(named);
}

fn camel(field: &str) -> String {
    let words = field.split('_').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_with_one_field_are_named_after_it() {
        let object = |field: &str| json!({"type": "object", "properties": {field: {}}});
        let both = json!({"type": "object", "properties": {"a": {}, "b": {}}});
        let of = json!({"oneOf": [object("list_all"), both, {"type": "string"}]});
        let mut schemas =
            Map::from_iter([("Op".to_owned(), of), ("Both".to_owned(), both.clone())]);
        name_alternatives(&mut schemas);
        assert_eq!(schemas["Both"], both);
        let reference = json!({"$ref": "#/components/schemas/OpListAll"});
        assert_eq!(schemas["Op"]["oneOf"], json!([reference, both, {"type": "string"}]));
        assert_eq!(schemas["OpListAll"], object("list_all"));
    }
}
