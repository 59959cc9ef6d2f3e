//! Implements `threadkeep erase`: removes a subject with everything that belongs to it. Works beside a running server.

use std::sync::Arc;

use serde_json::json;

use super::form::{Answer, Form};
use super::opening::{journal, open_existing};
use super::progress::Telling;
use super::tenants;
use crate::config::Erase;
use crate::domain::Result;
use crate::domain::caller::{Caller, check_tenant};
use crate::domain::clock::Clock;
use crate::domain::progress::Progress;
use crate::domain::storage::Storage;
use crate::domain::tenants::audit::COMMAND_LINE;
use crate::domain::tenants::erasure::Erasures;

/// Prints the receipt, which is JSON in both forms.
pub(super) async fn run(command: Erase, form: Form) -> Result<()> {
    check_tenant(&command.tenant)?;
    let journal = journal(&command.database)?;
    let storage = open_existing(&command.database, None).await?;
    let erasures = Erasures::new(Arc::<dyn Storage>::clone(&storage), Arc::new(Clock::System));
    let erasures = erasures.journaled(journal);
    let mut caller = Caller::of_tenant(&command.tenant);
    COMMAND_LINE.clone_into(&mut caller.credential);
    let steps = Arc::new(Progress::default());
    steps.begin(&command.tenant, "threads of the subject removed", 0);
    let receipt = async {
        tenants::require(storage.as_ref(), &command.tenant).await?;
        erasures.erase(&caller, &command.subject, |_| steps.advance(1)).await
    };
    let receipt = Telling::new(form).watch_steps(&steps, receipt).await;
    storage.close().await;
    let receipt = json!(receipt?);
    form.print(&Answer::new(format!("{receipt:#}\n"), &receipt)?)
}
