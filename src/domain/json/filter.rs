//! Evaluates filters on the fields of items, on the exact values. Statements of an engine may only narrow down the items that are checked
//! here.
//!
//! Comparison is typed: numbers numerically, strings by code point, nothing across types. A field that is absent matches no operator but
//! `$exists: false` and `$not`.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::decimal::Decimal;
use super::exact_json::{self, code_points, equal};
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;

/// A condition on a document. Values are as [`exact_json::parse`] makes them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Filter {
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Not(Box<Filter>),
    Field(Field, Test),
}

/// A top-level field; where the document has none of this name, the path that its dots describe.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Field {
    pub name: String,
    /// Two labels or more, or none.
    pub path: Vec<String>,
}

/// A condition on a field's value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Test {
    Equal(Value),
    /// There is a value, and it is another one.
    NotEqual(Value),
    Order(Order, Operand),
    /// Ordered against something that has no order: never true.
    Never,
    In(Vec<Value>),
    /// There is a value, and it is none of these.
    NotIn(Vec<Value>),
    Exists(bool),
    /// An object that has these fields.
    Fields(Vec<(String, Test)>),
    All(Vec<Test>),
    Not(Box<Test>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The text of a JSON number.
    Number(String),
    Text(String),
}

impl Filter {
    /// Reads the exact JSON text of a filter. None for an empty one.
    ///
    /// # Errors
    /// 422, with the reference's text for an operator that there is not.
    pub fn read(text: &[u8]) -> Result<Option<Self>> {
        let parsed = exact_json::read_filter(text)?;
        exact_json::check_numbers("filter", &parsed)?;
        let mut reader = Reader { terms: 0 };
        match parsed {
            Value::Object(fields) if fields.is_empty() => Ok(None),
            Value::Object(fields) => reader.filter(fields).map(Some),
            _ => Err(refuse("filter must be a JSON object")),
        }
    }

    pub fn matches(&self, document: &Value) -> bool {
        match self {
            Self::All(all) => all.iter().all(|it| it.matches(document)),
            Self::Any(any) => any.iter().any(|it| it.matches(document)),
            Self::Not(filter) => !filter.matches(document),
            Self::Field(field, test) => test.matches(field.of(document)),
        }
    }
}

impl Field {
    fn of<'a>(&self, document: &'a Value) -> Option<&'a Value> {
        let named = document.get(&self.name);
        if named.is_some() || self.path.is_empty() {
            return named;
        }
        self.path.iter().try_fold(document, |at, label| at.as_object()?.get(label))
    }
}

impl Test {
    fn matches(&self, value: Option<&Value>) -> bool {
        match (self, value) {
            (Self::Exists(wanted), value) => value.is_some() == *wanted,
            (Self::Not(test), value) => !test.matches(value),
            (Self::All(tests), value) => tests.iter().all(|it| it.matches(value)),
            (_, None) | (Self::Never, _) => false,
            (Self::Equal(wanted), Some(value)) => equal(value, wanted),
            (Self::NotEqual(other), Some(value)) => !equal(value, other),
            (Self::In(any), Some(value)) => any.iter().any(|it| equal(value, it)),
            (Self::NotIn(none), Some(value)) => !none.iter().any(|it| equal(value, it)),
            (Self::Order(order, operand), Some(value)) => {
                compare(value, operand).is_some_and(|it| order.holds(it))
            }
            (Self::Fields(tests), Some(value)) => {
                value.as_object().is_some_and(|it| has_fields(it, tests))
            }
        }
    }
}

fn has_fields(object: &Map<String, Value>, tests: &[(String, Test)]) -> bool {
    tests.iter().all(|(name, test)| test.matches(object.get(name)))
}

impl Order {
    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
        }
    }
}

fn compare(value: &Value, operand: &Operand) -> Option<Ordering> {
    match (value, operand) {
        (Value::Number(number), Operand::Number(operand)) => {
            Some(Decimal::read(&number.to_string()).cmp(&Decimal::read(operand)))
        }
        (Value::String(text), Operand::Text(operand)) => {
            Some(code_points(text).cmp(code_points(operand)))
        }
        _ => None,
    }
}

struct Reader {
    terms: u64,
}

impl Reader {
    fn filter(&mut self, fields: Map<String, Value>) -> Result<Filter> {
        let mut all = Vec::with_capacity(fields.len());
        for (name, value) in fields {
            all.push(match name.as_str() {
                "$and" => Filter::All(self.filters(&name, value)?),
                "$or" => Filter::Any(self.filters(&name, value)?),
                "$not" => Filter::Not(Box::new(self.inner(&name, value)?)),
                _ if name.starts_with('$') => return Err(unsupported(&name)),
                _ => Filter::Field(field(name), self.test(value)?),
            });
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Filter::All(all) })
    }

    fn filters(&mut self, operator: &str, value: Value) -> Result<Vec<Filter>> {
        match value {
            Value::Array(all) if !all.is_empty() => {
                all.into_iter().map(|it| self.inner(operator, it)).collect()
            }
            _ => Err(refuse(&format!("{operator} needs a list of filters"))),
        }
    }

    fn inner(&mut self, operator: &str, value: Value) -> Result<Filter> {
        match value {
            Value::Object(fields) if !fields.is_empty() => self.filter(fields),
            _ => Err(refuse(&format!("{operator} needs filters that are objects and not empty"))),
        }
    }

    fn test(&mut self, value: Value) -> Result<Test> {
        self.terms += 1;
        if self.terms > LIMITS.filter_terms_max {
            let max = LIMITS.filter_terms_max;
            let detail = format!("a filter has at most {max} conditions");
            return Err(Error::out_of_range("filter", detail, max));
        }
        let Value::Object(fields) = value else {
            return Ok(Test::Equal(value));
        };
        if fields.is_empty() {
            return Ok(Test::Equal(Value::Object(fields)));
        }
        if fields.keys().any(|it| it.starts_with('$')) {
            let all = fields.into_iter().map(|(name, value)| self.operator(&name, value));
            let mut all = all.collect::<Result<Vec<_>>>()?;
            return Ok(if all.len() == 1 { all.remove(0) } else { Test::All(all) });
        }
        let tests = fields.into_iter().map(|(name, value)| Ok((name, self.test(value)?)));
        tests.collect::<Result<_>>().map(Test::Fields)
    }

    fn operator(&mut self, name: &str, operand: Value) -> Result<Test> {
        Ok(match name {
            "$eq" => Test::Equal(operand),
            "$ne" => Test::NotEqual(operand),
            "$gt" => order(Order::Greater, operand),
            "$gte" => order(Order::GreaterOrEqual, operand),
            "$lt" => order(Order::Less, operand),
            "$lte" => order(Order::LessOrEqual, operand),
            "$in" => Test::In(list(name, operand)?),
            "$nin" => Test::NotIn(list(name, operand)?),
            "$exists" => match operand {
                Value::Bool(wanted) => Test::Exists(wanted),
                _ => return Err(refuse("$exists needs true or false")),
            },
            "$not" => match operand {
                Value::Object(_) => Test::Not(Box::new(self.test(operand)?)),
                _ => return Err(refuse("$not needs an object of operators")),
            },
            _ => return Err(unsupported(name)),
        })
    }
}

fn list(operator: &str, operand: Value) -> Result<Vec<Value>> {
    let Value::Array(all) = operand else {
        return Err(refuse(&format!("{operator} needs a list")));
    };
    let max = LIMITS.filter_terms_max;
    if all.len() as u64 > max {
        let detail = format!("{operator} has at most {max} entries");
        return Err(Error::out_of_range("filter", detail, max));
    }
    Ok(all)
}
fn order(order: Order, operand: Value) -> Test {
    match operand {
        Value::Number(number) => Test::Order(order, Operand::Number(number.to_string())),
        Value::String(text) => Test::Order(order, Operand::Text(text)),
        _ => Test::Never,
    }
}

fn field(name: String) -> Field {
    // Documents are no deeper: a longer path finds nothing, and takes no memory.
    let most = usize::try_from(LIMITS.json_depth_max).unwrap_or(usize::MAX);
    let count = name.split('.').take(most + 1).count();
    let is_path = count > 1 && count <= most;
    let path = if is_path { name.split('.').map(str::to_owned).collect() } else { Vec::new() };
    Field { name, path }
}

fn unsupported(operator: &str) -> Error {
    refuse(&format!("Unsupported operator: {operator}"))
}

fn refuse(detail: &str) -> Error {
    Error::invalid("filter", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the items of the facts: numbers, the same as texts, null, an object, and one without any of them.
    fn found(filter: &str) -> Vec<&'static str> {
        let items = [
            ("2", r#"{"score":2,"s":"2","nul":null,"m":{"a":2,"b":1},"tags":["x","y"],"on":true}"#),
            ("9", r#"{"score":9,"s":"9","nul":null,"a.b":7}"#),
            ("10", r#"{"score":10.0,"s":"10","nul":null,"a":{"b":7}}"#),
            ("100", r#"{"score":1e2,"s":"100","nul":null,"a":{"b":8}}"#),
            ("bare", r#"{"other":"\ud800"}"#),
        ];
        let filter = Filter::read(filter.as_bytes()).unwrap();
        let matches = |text: &str| {
            let document = exact_json::parse("value", text.as_bytes()).unwrap();
            filter.as_ref().is_none_or(|it| it.matches(&document))
        };
        items.iter().filter(|(_, text)| matches(text)).map(|(name, _)| *name).collect()
    }

    #[test]
    fn comparison_is_typed() {
        for (filter, expected) in [
            (r#"{"score":{"$gte":10}}"#, &["10", "100"][..]),
            (r#"{"score":{"$gt":"9"}}"#, &[]),
            (r#"{"s":{"$gt":"10"}}"#, &["2", "9", "100"]),
            (r#"{"score":{"$ne":2}}"#, &["9", "10", "100"]),
            (r#"{"nul":null}"#, &["2", "9", "10", "100"]),
            (r#"{"score":"2"}"#, &[]),
            (r#"{"score":2.0}"#, &["2"]),
            (r#"{"on":1}"#, &[]),
            (r#"{"on":{"$gte":false}}"#, &[]),
            (r#"{"m":{"a":2}}"#, &["2"]),
            (r#"{"m":{"a":{"$lt":2}}}"#, &[]),
            (r#"{"m":{"$eq":{"a":2}}}"#, &[]),
            (r#"{"m":{"$eq":{"b":1.0,"a":2}}}"#, &["2"]),
            (r#"{"score":{}}"#, &[]),
            (r#"{"tags":["x","y"]}"#, &["2"]),
            (r#"{"tags":["x"]}"#, &[]),
            (r#"{"score":{"$gt":2,"$lt":100}}"#, &["9", "10"]),
            (r#"{"score":9,"nul":null}"#, &["9"]),
            (r#"{"other":"\ud800"}"#, &["bare"]),
            (r#"{"other":{"$lt":"\ue000","$gt":"\ud7ff"}}"#, &["bare"]),
            ("{}", &["2", "9", "10", "100", "bare"]),
        ] {
            assert_eq!(found(filter), expected, "{filter}");
        }
    }

    #[test]
    fn extensions_go_beyond_the_reference() {
        for (filter, expected) in [
            (r#"{"score":{"$in":[2,"9",100.0]}}"#, &["2", "100"][..]),
            (r#"{"score":{"$nin":[2,9]}}"#, &["10", "100"]),
            (r#"{"score":{"$in":[]}}"#, &[]),
            (r#"{"score":{"$exists":false}}"#, &["bare"]),
            (r#"{"nul":{"$exists":true}}"#, &["2", "9", "10", "100"]),
            (r#"{"$or":[{"score":2},{"other":{"$exists":true}}]}"#, &["2", "bare"]),
            (r#"{"$and":[{"score":{"$gt":2}},{"score":{"$lt":10}}]}"#, &["9"]),
            (r#"{"$not":{"score":{"$gt":2}}}"#, &["2", "bare"]),
            (r#"{"score":{"$not":{"$gt":2}}}"#, &["2", "bare"]),
            (r#"{"a.b":7}"#, &["9", "10"]),
            (r#"{"a.b":{"$gte":8}}"#, &["100"]),
            (r#"{"a.b.c":{"$exists":true}}"#, &[]),
            (r#"{"score":9,"$or":[{"s":"9"},{"s":"10"}]}"#, &["9"]),
        ] {
            assert_eq!(found(filter), expected, "{filter}");
        }
    }

    #[test]
    fn what_has_no_meaning_is_refused() {
        let refusal = |text: &str| Filter::read(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(refusal(r#"{"a":{"$bogus":1}}"#), "Unsupported operator: $bogus");
        assert_eq!(refusal(r#"{"a":{"$gt":1,"b":2}}"#), "Unsupported operator: b");
        assert_eq!(refusal(r#"{"$where":1}"#), "Unsupported operator: $where");
        for text in [
            "[]",
            r#"{"a":{"$in":1}}"#,
            r#"{"a":{"$exists":1}}"#,
            r#"{"a":{"$not":1}}"#,
            r#"{"$or":[]}"#,
            r#"{"$or":[{}]}"#,
            r#"{"$and":{"a":1}}"#,
            r#"{"$not":[1]}"#,
            r#"{"a":1e99999}"#,
        ] {
            assert!(matches!(Filter::read(text.as_bytes()), Err(Error::Invalid { .. })), "{text}");
        }
        let many: Vec<String> = (0..129).map(|at| format!("\"k{at}\":{at}")).collect();
        let deep = field(".".repeat(1_000_000));
        assert!(deep.path.is_empty() && field("a.b".into()).path == ["a", "b"]);
        let many = Filter::read(format!("{{{}}}", many.join(",")).as_bytes());
        assert!(matches!(many, Err(Error::Invalid { limit: Some(128), .. })));
    }
}
