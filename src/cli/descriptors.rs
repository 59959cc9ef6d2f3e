//! Derives the limit on client connections from the file descriptors of the process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::Serve;
use crate::domain::{Error, Result};

/// Files of the embedded database, connections to an object store, to Redis, to issuers and endpoints.
const RESERVED: usize = 256;
/// Fewer connections of clients than this are no useful server, unless it was asked for fewer.
const CONNECTIONS_MIN: usize = 64;

/// How many connections of clients there may be. What else needs file descriptors is left enough of them.
///
/// # Errors
/// `Invalid` where the system grants too few file descriptors for a useful server.
pub(super) fn connections_max(serve: &Serve) -> Result<usize> {
    let wanted = serve.client_connections_max as usize;
    let Some(granted) = granted() else { return Ok(wanted) };
    let connections_max = within(granted, wanted, RESERVED + serve.database.connections)?;
    if connections_max < wanted {
        tracing::warn!(
            connections_max,
            wanted,
            "the system grants fewer file descriptors (ulimit -n)"
        );
    }
    Ok(connections_max)
}

fn within(granted: usize, wanted: usize, reserved: usize) -> Result<usize> {
    let free = granted.saturating_sub(reserved);
    let needed = wanted.min(CONNECTIONS_MIN);
    if free >= needed {
        return Ok(wanted.min(free));
    }
    let (least, all) = (reserved + needed, reserved + wanted);
    let detail = format!(
        "the system grants {granted} file descriptors (ulimit -n), too few for a server: {least} are needed for {needed} connections of \
         clients, {all} for all {wanted} of --client-connections-max; raise the limit with `ulimit -n {all}`, or LimitNOFILE={all} of systemd"
    );
    Err(Error::invalid("client-connections-max", detail))
}

/// How many file descriptors there are, after taking all that are granted; None: without a limit.
fn granted() -> Option<usize> {
    let granted = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: granted.maximum, ..granted };
    let now = if setrlimit(Resource::Nofile, raised).is_ok() { raised } else { granted };
    now.current.map(|it| usize::try_from(it).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_of_clients_get_what_is_left_and_too_few_are_refused() {
        assert_eq!(within(100_000, 8_192, 264).unwrap(), 8_192);
        assert_eq!(within(1_024, 8_192, 264).unwrap(), 760);
        assert_eq!(within(264 + 64, 8_192, 264).unwrap(), 64);
        assert_eq!(within(264 + 5, 5, 264).unwrap(), 5, "no more were asked for");
        let refused = within(264 + 63, 8_192, 264).unwrap_err().to_string();
        assert!(refused.contains("327 file descriptors (ulimit -n)"), "{refused}");
        assert!(
            refused.contains("328 are needed") && refused.contains("ulimit -n 8456"),
            "{refused}"
        );
    }
}
