//! Measures requests by operation, and counts problems by code. Handles of metrics are registered once, so a request allocates none.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use metrics::{Counter, Histogram};
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::{Operation as Documented, PathItem};

use crate::domain::metric_families as families;
use crate::http::request::problem::Code;

/// Stands for requests of no operation: an unknown path or method, or a page of the console.
const NONE: &str = "none";

/// The operations of a router.
pub struct Measures {
    /// By the route as it is declared.
    routes: HashMap<String, Vec<Operation>>,
    /// By the number of the code.
    problems: Vec<Counter>,
}

struct Operation {
    id: String,
    method: &'static str,
    /// By status. There are few.
    seconds: RwLock<Vec<(u16, Histogram)>>,
}

/// What was answered.
#[derive(Clone, Copy)]
pub struct Answered<'a> {
    pub method: &'static str,
    pub route: &'a str,
    pub status: u16,
}

impl Measures {
    /// Of documents whose routes begin with a prefix.
    pub fn of(documents: &[(&str, &OpenApi)]) -> Self {
        let mut routes = HashMap::new();
        for (prefix, document) in documents {
            for (path, item) in &document.paths.paths {
                routes.insert(format!("{prefix}{path}"), operations(item));
            }
        }
        let problem = |code: &Code| {
            let counter = metrics::counter!(families::PROBLEMS, "code" => code.parts().1);
            counter.increment(0);
            counter
        };
        Self { routes, problems: Code::ALL.iter().map(problem).collect() }
    }

    pub fn record(&self, answered: Answered<'_>, seconds: f64) {
        let of_route = self.routes.get(answered.route);
        let found = of_route.and_then(|it| it.iter().find(|it| it.method == answered.method));
        match found {
            Some(operation) => operation.record(answered, seconds),
            None => histogram(NONE, answered).record(seconds),
        }
    }

    pub fn count(&self, code: Code) {
        self.problems[code as usize].increment(1);
    }
}

impl Operation {
    fn record(&self, answered: Answered<'_>, seconds: f64) {
        let known = self.seconds.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = known.iter().find(|it| it.0 == answered.status) {
            found.record(seconds);
            return;
        }
        drop(known);
        let made = histogram(&self.id, answered);
        made.record(seconds);
        let mut known = self.seconds.write().unwrap_or_else(PoisonError::into_inner);
        known.push((answered.status, made));
    }
}

fn histogram(operation: &str, Answered { method, route, status }: Answered<'_>) -> Histogram {
    metrics::histogram!(
        families::REQUEST_SECONDS,
        "operation" => operation.to_owned(), "method" => method, "route" => route.to_owned(),
        "status" => status.to_string()
    )
}

fn operations(item: &PathItem) -> Vec<Operation> {
    let all: [(&'static str, &Option<Documented>); 6] = [
        ("GET", &item.get),
        ("HEAD", &item.get),
        ("POST", &item.post),
        ("PUT", &item.put),
        ("PATCH", &item.patch),
        ("DELETE", &item.delete),
    ];
    let known = all.into_iter().filter_map(|(method, it)| {
        let id = it.as_ref()?.operation_id.clone()?;
        Some(Operation { id, method, seconds: RwLock::default() })
    });
    known.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_the_number_of_its_counter() {
        for (at, code) in Code::ALL.iter().enumerate() {
            assert_eq!(*code as usize, at);
        }
    }
}
