//! Reads single values of a thread by their paths: `values.messages[-1].content`.

use super::thread_view::Parts;
use crate::decode::Json;
use crate::domain::limits::LIMITS;
use crate::domain::{Error, Result};

const ROOTS: [&str; 4] = ["values", "metadata", "config", "interrupts"];

/// An answer's own name for a path.
#[derive(Debug, Clone)]
pub struct Extract {
    pub alias: String,
    root: &'static str,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    /// Below zero: from the end.
    Index(i64),
}

impl Extract {
    /// # Errors
    /// 422 for another root, and for a path that is none.
    pub fn new(alias: String, path: &str) -> Result<Self> {
        let end = path.find(['.', '[']).unwrap_or(path.len());
        let (name, rest) = path.split_at(end);
        let root = ROOTS.into_iter().find(|it| *it == name).ok_or_else(|| {
            let roots = ROOTS.join(", ");
            refuse(format!("Extract path '{}' must start with one of: {roots}", shortened(path)))
        })?;
        Ok(Self { alias, root, steps: steps(path, rest)? })
    }

    /// Whether a state has to be read for it.
    pub fn needs_state(&self) -> bool {
        ["values", "interrupts"].contains(&self.root)
    }

    /// The value there, or null.
    pub fn of<'a>(&self, parts: &'a Parts) -> &'a Json {
        let root = match self.root {
            "values" => &parts.values,
            "metadata" => &parts.metadata,
            "config" => &parts.config,
            _ => &parts.interrupts,
        };
        let found = self.steps.iter().try_fold(root, |value, step| match step {
            Step::Field(name) => value.get(name),
            Step::Index(at) => at_index(value.as_list()?, *at),
        });
        found.unwrap_or(&Json::Null)
    }
}

fn at_index(list: &[Json], at: i64) -> Option<&Json> {
    let at = if at < 0 { i64::try_from(list.len()).ok()?.checked_add(at)? } else { at };
    list.get(usize::try_from(at).ok()?)
}

fn steps(path: &str, mut rest: &str) -> Result<Vec<Step>> {
    let wrong = || refuse(format!("Extract path '{}' is no path", shortened(path)));
    let mut steps = Vec::new();
    while let Some(first) = rest.chars().next() {
        if steps.len() as u64 >= LIMITS.json_depth_max {
            return Err(wrong());
        }
        if first == '[' {
            let (index, after) = rest[1..].split_once(']').ok_or_else(wrong)?;
            steps.push(Step::Index(index.trim().parse().map_err(|_| wrong())?));
            rest = after;
            continue;
        }
        let name = rest.strip_prefix('.').ok_or_else(wrong)?;
        let end = name.find(['.', '[']).unwrap_or(name.len());
        if end == 0 {
            return Err(wrong());
        }
        steps.push(Step::Field(name[..end].to_owned()));
        rest = &name[end..];
    }
    Ok(steps)
}

fn shortened(path: &str) -> &str {
    &path[..path.floor_char_boundary(64)]
}

fn refuse(detail: String) -> Error {
    Error::invalid("extract", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> Parts {
        let message = |text: &str| Json::Object(vec![("content".into(), Json::text(text))]);
        let messages = Json::List(vec![message("one"), message("two")]);
        Parts {
            values: Json::Object(vec![("messages".into(), messages)]),
            metadata: Json::Object(vec![("a.b".into(), Json::Null)]),
            config: Json::Object(Vec::new()),
            interrupts: Json::Object(Vec::new()),
        }
    }

    #[test]
    fn a_path_leads_to_a_value_or_to_null() {
        let all = parts();
        let of = |path: &str| Extract::new("x".into(), path).unwrap().of(&all).clone();
        assert_eq!(of("values.messages[-1].content"), Json::text("two"));
        assert_eq!(of("values.messages[0].content"), Json::text("one"));
        for miss in
            ["values.messages[2]", "values.messages[-3]", "values.none.x", "config.a", "values[0]"]
        {
            assert_eq!(of(miss), Json::Null, "{miss}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for wrong in
            ["", "bogus.x", "thread_id", "values.", "values..a", "values[x]", "values[1", "values]"]
        {
            assert!(Extract::new("x".into(), wrong).is_err(), "{wrong}");
        }
        assert!(Extract::new("x".into(), &format!("values{}", "[0]".repeat(101))).is_err());
    }
}
