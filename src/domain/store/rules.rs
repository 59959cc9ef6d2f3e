//! Checks operations on items before any of them is carried out.

use std::collections::HashMap;

use super::item::{Address, ChangeItem, ItemOp, OpResult, Scope};
use super::namespace::Namespace;
use crate::domain::caller::{Caller, Permission};
use crate::domain::error::{Error, Result};
use crate::domain::tokens::grants::Action;

/// Decided from the token alone. A caller that may only append creates items and replaces none.
pub(in crate::domain) fn permitted(caller: &Caller, op: ItemOp) -> Result<ItemOp> {
    match &op {
        ItemOp::Change(change) => require_change(caller, change)?,
        _ => caller.require(Permission::Namespaces(Action::Read))?,
    }
    Ok(op)
}

/// # Errors
/// `NotGranted`.
pub(in crate::domain) fn require_change(caller: &Caller, change: &ChangeItem) -> Result<()> {
    let may = |action| caller.may_touch_namespace(change.address.namespace.labels(), action);
    let creates = change.value.is_some() && change.if_version == Some(0);
    if may(Action::Write) || creates && may(Action::Append) {
        return Ok(());
    }
    let only_adds = "it only allows to add items, with if_version 0";
    let reason = if may(Action::Append) { only_adds } else { "no grant covers this namespace" };
    Err(Error::NotGranted(reason))
}

/// Prefixes below which the scope looks; empty: it sees nothing.
pub(in crate::domain) fn within(caller: &Caller, scope: &Scope) -> Vec<Namespace> {
    if scope.exact && !caller.may_touch_namespace(scope.prefix.labels(), Action::Read) {
        return Vec::new();
    }
    scope.prefix.readable(caller)
}

/// Of several changes of one item the last one counts; with a condition among them that would lose what the others
/// were told.
pub(in crate::domain) fn check_repetitions(changes: &[(usize, ChangeItem)]) -> Result<()> {
    let mut seen: HashMap<&Address, bool> = HashMap::new();
    for (_, change) in changes {
        let conditional = change.if_version.is_some();
        if let Some(earlier) = seen.insert(&change.address, conditional)
            && (earlier || conditional)
        {
            return Err(Error::invalid(
                "ops",
                "an item is changed more than once, and with if_version",
            ));
        }
    }
    Ok(())
}

/// The first error, with the position of its operation, is that of the whole.
pub(in crate::domain) fn fail_as_one(results: &mut [Option<Result<OpResult>>]) -> Result<()> {
    for (at, result) in results.iter_mut().enumerate() {
        if matches!(result, Some(Err(_)))
            && let Some(Err(error)) = result.take()
        {
            // What the reads of the batch find together is no fault of one of them.
            let is_of_all = matches!(&error, Error::TooLarge { field, .. } if field == "ops");
            return Err(if is_of_all { error } else { error.within(&format!("ops[{at}]")) });
        }
    }
    Ok(())
}
