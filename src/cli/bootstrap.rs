//! Makes the first key of an operator from a variable, so that a server that is set up by a program can be administered over HTTP.

use super::sources;
use crate::auth::operators::{Bootstrap, bootstrap, bootstrap_secret};
use crate::auth::secret::Secret;
use crate::domain::Result;
use crate::domain::clock::Clock;
use crate::domain::storage::Storage;

const VARIABLE: &str = "THREADKEEP_BOOTSTRAP_KEY";

/// The key that the server was given.
///
/// # Errors
/// As [`bootstrap_secret`]; a file of it that cannot be read.
pub(super) fn given() -> Result<Option<Secret>> {
    let text = sources::secret(VARIABLE, |name| std::env::var_os(name))?;
    text.map(|it| bootstrap_secret(VARIABLE, &it, Clock::System.now())).transpose()
}

/// # Errors
/// A database that cannot be read or written.
pub(super) async fn make(storage: &dyn Storage, given: Option<&Secret>) -> Result<()> {
    let Some(secret) = given else { return Ok(()) };
    match bootstrap(storage, secret, Clock::System.now()).await? {
        Bootstrap::Made => tracing::info!(
            "made the key of an operator that {VARIABLE} gives: from now on every request needs a key"
        ),
        Bootstrap::Known => {}
        Bootstrap::Unneeded => {
            tracing::info!("{VARIABLE} makes no key: operators have one that opens this server");
        }
    }
    Ok(())
}
