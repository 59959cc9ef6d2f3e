//! Takes namespaces in their order and keeps those that a listing asks for.

use crate::domain::store::item::ListNamespaces;
use crate::domain::store::namespace::Namespace;

pub struct Listing<'a> {
    query: &'a ListNamespaces,
    found: Vec<Namespace>,
    skipped: usize,
    last: Option<Namespace>,
}

impl<'a> Listing<'a> {
    pub fn new(query: &'a ListNamespaces) -> Self {
        Self { query, found: Vec::new(), skipped: 0, last: query.after.clone() }
    }

    /// Takes the next namespace. False: nothing more is needed.
    pub fn take(&mut self, namespace: &Namespace) -> bool {
        if self.query.matches(namespace) {
            let depth = self.query.max_depth.unwrap_or(usize::MAX);
            let shown = namespace.truncated(depth);
            // They come in order, so equal ones stand together.
            if self.last.as_ref() != Some(&shown) {
                self.last = Some(shown.clone());
                if self.skipped < self.query.offset {
                    self.skipped += 1;
                } else {
                    self.found.push(shown);
                }
            }
        }
        self.found.len() < self.query.limit
    }

    /// The namespace behind which this range goes on; None: it begins at its prefix.
    pub fn after(&self, prefix: &Namespace) -> Option<&'a Namespace> {
        self.query.after.as_ref().filter(|it| *it >= prefix)
    }

    /// Labels after which the rest of a namespace makes no difference; None: it always does.
    pub fn depth(&self) -> Option<usize> {
        let fixed = self.query.prefix().labels().len();
        let only_prefix = self.query.conditions.iter().all(|it| {
            it.kind == crate::domain::store::item::MatchKind::Prefix
                && it.path.iter().all(Option::is_some)
        });
        self.query.max_depth.filter(|_| only_prefix).map(|it| it.max(fixed))
    }

    pub fn finish(self) -> Vec<Namespace> {
        self.found
    }
}
