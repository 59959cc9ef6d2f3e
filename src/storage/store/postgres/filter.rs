//! Turns filters into SQL conditions on the projection of items. A condition is exact for fields without marks. Where a mark may hide a
//! field that the filter reads, the row passes, and its text decides.

use serde_json::Value;

use crate::domain::json::filter::{Field, Filter, Operand, Order, Test};
use crate::storage::store::projection::{MARK, escape, project_operand, under};

/// Entries of `$in` up to which an index is asked for each.
const INDEXED_ENTRIES_MAX: usize = 8;

/// The mark as PostgreSQL reads it.
pub const MARKED: &str = r#"'"\u0001\u0003"'::jsonb"#;

/// The text of a condition with the values that it binds.
pub struct Condition {
    /// Exact, but where what is asked for may be hidden.
    pub text: String,
    /// What every match fulfils and the index answers; empty where there is nothing of this kind.
    pub indexed: String,
    pub binds: Vec<Bind>,
    first: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Bind {
    Text(String),
    Texts(Vec<String>),
}

impl Condition {
    /// `first` is the number of its first bind. The condition is on `items i` with `d`, the tenant's projection.
    pub fn new(tenant: &str, filter: &Filter, first: usize) -> Self {
        let (text, indexed) = (String::new(), String::new());
        let mut condition = Self { text, indexed, binds: Vec::new(), first };
        condition.indexed = condition.indexed(tenant, filter).join(" and ");
        let mut hidden = vec![format!("p.d = {MARKED}")];
        hidden.extend(condition.hidden(filter));
        let (hidden, shown) = (hidden.join(" or "), condition.filter(filter));
        condition.text = format!("(i.has_marks and ({hidden}) or {shown})");
        condition
    }

    /// Where a field that is asked for may be other than the projection shows it. A value of 300 characters under another name
    /// changes nothing for it.
    fn hidden(&mut self, filter: &Filter) -> Vec<String> {
        match filter {
            Filter::All(inner) | Filter::Any(inner) => {
                inner.iter().flat_map(|it| self.hidden(it)).collect()
            }
            Filter::Not(inner) => self.hidden(inner),
            Filter::Field(field, _) => {
                let value = self.field(field);
                let mut hidden = vec![format!("{value} = {MARKED}")];
                // What is inside of it may be a mark, too.
                hidden.push(format!("jsonb_typeof({value}) in ('array', 'object')"));
                let mut at = "p.d".to_owned();
                for label in &field.path {
                    at = format!("{at} -> {}", self.text(escape(label)));
                    hidden.push(format!("{at} = {MARKED}"));
                }
                hidden
            }
        }
    }

    /// Conditions that every match fulfils and an index can answer.
    fn indexed(&mut self, tenant: &str, filter: &Filter) -> Vec<String> {
        match filter {
            Filter::All(all) => all.iter().flat_map(|it| self.indexed(tenant, it)).collect(),
            Filter::Field(field, test) => {
                let values = match test {
                    Test::Equal(value) => std::slice::from_ref(value),
                    Test::In(values) => values,
                    _ => return Vec::new(),
                };
                let scalar = |it: &Value| !it.is_array() && !it.is_object();
                if values.is_empty()
                    || values.len() > INDEXED_ENTRIES_MAX
                    || !values.iter().all(scalar)
                {
                    return Vec::new();
                }
                let mut documents = Vec::new();
                for value in values.iter().map(project_operand).chain([Value::from(MARK)]) {
                    documents.push(nested(&[&field.name], &value));
                    if !field.path.is_empty() {
                        let path: Vec<&str> = field.path.iter().map(String::as_str).collect();
                        documents.push(nested(&path, &value));
                    }
                }
                // Something on the way to it may be a mark.
                for depth in 1..field.path.len() {
                    let path: Vec<&str> = field.path[..depth].iter().map(String::as_str).collect();
                    documents.push(nested(&path, &Value::from(MARK)));
                }
                documents.push(Value::from(MARK));
                let any = documents.iter().map(|it| {
                    let json = self.text(under(tenant, &it.to_string()));
                    format!("i.projection @> {}", once(&format!("cast({json} as text)::jsonb")))
                });
                vec![format!("({})", any.collect::<Vec<_>>().join(" or "))]
            }
            _ => Vec::new(),
        }
    }

    fn filter(&mut self, filter: &Filter) -> String {
        match filter {
            Filter::All(all) => {
                let all: Vec<String> = all.iter().map(|it| self.filter(it)).collect();
                format!("({})", all.join(" and "))
            }
            Filter::Any(any) => {
                let any: Vec<String> = any.iter().map(|it| self.filter(it)).collect();
                format!("({})", any.join(" or "))
            }
            Filter::Not(filter) => format!("not {}", self.filter(filter)),
            Filter::Field(field, test) => {
                let value = self.field(field);
                self.test(&value, test)
            }
        }
    }

    fn field(&mut self, field: &Field) -> String {
        let named = format!("(p.d -> {})", self.text(escape(&field.name)));
        if field.path.is_empty() {
            return named;
        }
        // By single steps: a path of PostgreSQL would count the entries of lists.
        let path = field.path.iter().fold("p.d".to_owned(), |text, label| {
            format!("{text} -> {}", self.text(escape(label)))
        });
        format!("coalesce({named}, {path})")
    }

    /// A condition on a value that is never null.
    fn test(&mut self, x: &str, test: &Test) -> String {
        match test {
            Test::Equal(value) => format!("coalesce({x} = {}, false)", self.json(value)),
            Test::NotEqual(value) => format!("coalesce({x} <> {}, false)", self.json(value)),
            Test::In(values) => format!("coalesce({x} = any ({}), false)", self.jsons(values)),
            Test::NotIn(values) => {
                format!("({x} is not null and {x} <> all ({}))", self.jsons(values))
            }
            Test::Exists(true) => format!("({x} is not null)"),
            Test::Exists(false) => format!("({x} is null)"),
            Test::Never => "false".into(),
            Test::Not(test) => format!("not {}", self.test(x, test)),
            Test::All(all) => {
                let all: Vec<String> = all.iter().map(|it| self.test(x, it)).collect();
                format!("({})", all.join(" and "))
            }
            Test::Fields(fields) => {
                let all = fields.iter().map(|(name, test)| {
                    let inner = format!("({x} -> {})", self.text(escape(name)));
                    self.test(&inner, test)
                });
                let all: Vec<String> = all.collect();
                let all = if all.is_empty() { "true".into() } else { all.join(" and ") };
                format!("(case when jsonb_typeof({x}) = 'object' then {all} else false end)")
            }
            Test::Order(order, operand) => self.order(x, *order, operand),
        }
    }

    fn order(&mut self, x: &str, order: Order, operand: &Operand) -> String {
        let operator = match order {
            Order::Greater => ">",
            Order::GreaterOrEqual => ">=",
            Order::Less => "<",
            Order::LessOrEqual => "<=",
        };
        // In a case, because it is not promised that the type is looked at before the cast otherwise.
        match operand {
            Operand::Number(number) => {
                let number = self.text(number.clone());
                format!(
                    "(case when jsonb_typeof({x}) = 'number'
                        then ({x})::numeric {operator} cast({number} as text)::numeric else false end)"
                )
            }
            Operand::Text(text) => {
                let text = self.text(escape(text));
                format!(
                    "(case when jsonb_typeof({x}) = 'string'
                        then ({x} #>> '{{}}') collate \"C\" {operator} {text} else false end)"
                )
            }
        }
    }

    /// One bind for equal texts: statements with few of them are kept.
    fn text(&mut self, text: String) -> String {
        let bind = Bind::Text(text);
        let at = self.binds.iter().position(|it| *it == bind).unwrap_or_else(|| {
            self.binds.push(bind);
            self.binds.len() - 1
        });
        format!("${}", self.first + at)
    }

    fn json(&mut self, value: &Value) -> String {
        let bind = self.text(project_operand(value).to_string());
        once(&format!("cast({bind} as text)::jsonb"))
    }

    fn jsons(&mut self, values: &[Value]) -> String {
        let texts = values.iter().map(|it| project_operand(it).to_string()).collect();
        self.binds.push(Bind::Texts(texts));
        format!("cast({} as text[])::jsonb[]", self.last())
    }

    fn last(&self) -> String {
        format!("${}", self.first + self.binds.len() - 1)
    }
}

/// What is the same for all rows, made once. A plan for any values makes a cast for each row.
fn once(expression: &str) -> String {
    format!("(select {expression})")
}

/// A value under the names that lead to it.
fn nested(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |inner, name| {
        Value::Object([(escape(name), inner)].into_iter().collect())
    })
}
