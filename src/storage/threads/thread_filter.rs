//! Turns a caller's grants into SQL conditions: the owner that a thread must have, and the filter of a listing. The decision is the
//! domain's; the conditions and binds are the same for every engine.

use crate::domain::caller::Caller;
use crate::domain::names::HIDDEN;
use crate::domain::tokens::grants::{Action, Reach};

/// One thread, and who may find it.
#[derive(Debug, Clone, Copy)]
pub struct OwnedThread<'a> {
    pub tenant: &'a str,
    pub thread_id: &'a str,
    /// Subject that it must belong to; else it is absent. None: anybody's.
    pub owner: Option<&'a str>,
}

impl<'a> OwnedThread<'a> {
    pub fn by(caller: &'a Caller, thread_id: &'a str, action: Action) -> Self {
        let owner = caller.thread_owner(thread_id, action);
        Self { tenant: &caller.tenant, thread_id, owner }
    }

    /// By the server itself, which carries out what was asked for before.
    pub fn by_server(tenant: &'a str, thread_id: &'a str) -> Self {
        Self { tenant, thread_id, owner: None }
    }

    /// Whether a thread that was found is not the caller's.
    pub fn is_taken(&self, owner: Option<&str>) -> bool {
        self.owner.is_some() && self.owner != owner
    }
}

/// Which threads listings show: those of snapshots have ids over the limit, see `ThreadId::hidden`.
pub const SHOWN: &str = "octet_length(thread_id) <= 512";

/// Whether a thread with this key is shown, from the tables beside `threads`: almost all are. The others were deleted or are not complete
/// yet, which makes them garbage, or snapshots keep them. $1 tenant.
pub fn is_of_shown_thread(key: &str) -> String {
    let (first, behind) = (HIDDEN, end(HIDDEN));
    format!(
        "{key} not in (select thread_key from garbage where tenant = $1
            union all select thread_key from threads where tenant = $1 and not {SHOWN}
                and thread_id >= '{first}' and thread_id < '{behind}')"
    )
}

/// The threads of a listing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadFilter {
    pub everything: bool,
    pub owner: Option<String>,
    pub exact: Vec<String>,
    /// First id of each prefix, and the first one after it, by bytes.
    pub firsts: Vec<String>,
    pub ends: Vec<String>,
}

/// A way to be in a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Everything,
    Owner,
    Exact,
    Prefix,
}

impl ThreadFilter {
    pub fn by(caller: &Caller, action: Action) -> Self {
        let Reach { everything, owner, exact, prefixes } = caller.reach_threads(action);
        let ends = prefixes.iter().map(|it| end(it)).collect();
        Self { everything, owner, exact, firsts: prefixes, ends }
    }

    /// Empty: nothing is reached.
    pub fn ways(&self) -> Vec<Way> {
        if self.everything {
            return vec![Way::Everything];
        }
        let ways = [
            (Way::Owner, self.owner.is_some()),
            (Way::Exact, !self.exact.is_empty()),
            (Way::Prefix, !self.firsts.is_empty()),
        ];
        ways.into_iter().filter_map(|(way, given)| given.then_some(way)).collect()
    }

    /// Any of the ways, as a condition that follows others. `one` writes one of them.
    pub fn condition(&self, one: impl Fn(Way) -> &'static str) -> String {
        let ways = self.ways();
        if ways == [Way::Everything] {
            return String::new();
        }
        let ways: Vec<&str> = ways.into_iter().map(one).collect();
        if ways.is_empty() { " and false".into() } else { format!(" and ({})", ways.join(" or ")) }
    }
}

/// The first text, by bytes, that does not begin with `prefix` and comes after all that do. UTF-8 orders as its characters.
pub fn end(prefix: &str) -> String {
    let mut rest = prefix.to_owned();
    while let Some(last) = rest.pop() {
        let next =
            if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(last as u32 + 1) };
        if let Some(next) = next {
            rest.push(next);
            return rest;
        }
    }
    // Of an empty prefix, which nobody is granted: no text is before this one.
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_a_prefix_holds_what_begins_with_it() {
        let ends = ["a:", "a/", "a\u{d7ff}", "a\u{10ffff}", "\u{10ffff}"].map(end);
        assert_eq!(ends, ["a;", "a0", "a\u{e000}", "b", ""]);
        for (name, is_in) in [
            ("a:", true),
            ("a:\u{10ffff}", true),
            ("a:%", true),
            ("a", false),
            ("a;", false),
            ("a-b", false),
            ("A:", false),
        ] {
            assert_eq!(("a:" <= name) && (name < end("a:").as_str()), is_in, "{name}");
        }
    }

    #[test]
    fn what_is_not_granted_is_nobodys() {
        let nobody = OwnedThread { tenant: "t", thread_id: "x", owner: Some("") };
        assert!(nobody.is_taken(None) && nobody.is_taken(Some("ann")));
        let all = OwnedThread::by_server("t", "x");
        assert!(!all.is_taken(None) && !all.is_taken(Some("ann")));
        assert_eq!(ThreadFilter::default().condition(|_| "x"), " and false");
    }
}
