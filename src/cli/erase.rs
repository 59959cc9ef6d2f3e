//! `threadkeep erase`: removes a subject with everything that belongs to it, perhaps beside a running server.

use std::sync::Arc;

use serde_json::json;

use super::{open_beside, print};
use crate::config::Erase;
use crate::domain::Result;
use crate::domain::caller::{Caller, check_tenant};
use crate::domain::erasure::Erasures;

/// Prints the receipt as JSON.
pub(super) async fn run(command: Erase) -> Result<()> {
    check_tenant(&command.tenant)?;
    let storage = open_beside(&command.database).await?;
    let erasures = Erasures::new(Arc::clone(&storage));
    let caller = Caller::of_tenant(&command.tenant);
    let receipt = erasures.erase(&caller, &command.subject, |_| {}).await;
    storage.close().await;
    print(&format!("{:#}\n", json!(receipt?)))
}
