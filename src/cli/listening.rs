//! Binds the address to listen on. If that fails, the error names the program that has the port, and the setting that chooses another.

use std::fs;
use std::io;
use std::path::Path;

use tokio::net::TcpListener;

use crate::domain::error::Obstacle;
use crate::domain::{Error, Result};
use crate::http::connections::listener;

/// State of a socket that listens, as `/proc/net/tcp` has it.
const LISTENING: &str = "0A";

/// For the API.
pub async fn listen(address: &str) -> Result<TcpListener> {
    let elsewhere = "--listen HOST:PORT or THREADKEEP_LISTEN";
    listener::bind(address).await.map_err(|error| refusal("listen", address, elsewhere, &error))
}

/// For metrics.
pub async fn listen_for_metrics(address: &str) -> Result<TcpListener> {
    let elsewhere = "--metrics-listen HOST:PORT or THREADKEEP_METRICS_LISTEN";
    let refused = |error| refusal("metrics-listen", address, elsewhere, &error);
    listener::bind(address).await.map_err(refused)
}

fn refusal(field: &str, address: &str, settings: &str, error: &io::Error) -> Error {
    let elsewhere = format!("choose another with {settings} (port 0 takes a free one)");
    let obstacle = |kind, detail| Error::Obstacle { kind, detail };
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            let holder = port_of(address).and_then(holder);
            let holder = holder.unwrap_or_else(|| "another program".into());
            obstacle(
                Obstacle::AddressTaken,
                format!(
                    "cannot listen on {address}: the port is in use by {holder}; stop it, or {elsewhere}"
                ),
            )
        }
        io::ErrorKind::AddrNotAvailable => obstacle(
            Obstacle::AddressTaken,
            format!(
                "cannot listen on {address}: this machine does not have that address; {elsewhere}"
            ),
        ),
        io::ErrorKind::PermissionDenied => obstacle(
            Obstacle::PermissionDenied,
            format!(
                "cannot listen on {address}: ports below 1024 need a permission of the system; {elsewhere}"
            ),
        ),
        // No address, or a name that nobody knows.
        _ => Error::invalid(field, format!("cannot listen on {address}: {error}; {elsewhere}")),
    }
}

fn port_of(address: &str) -> Option<u16> {
    address.rsplit_once(':')?.1.parse().ok()
}

/// The program that listens on a port, as far as this user may know it.
fn holder(port: u16) -> Option<String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let sockets = tables.iter().filter_map(|it| fs::read_to_string(it).ok());
    let sockets: Vec<String> = sockets.flat_map(|it| listening_on(&it, port)).collect();
    fs::read_dir("/proc").ok()?.flatten().find_map(|process| {
        let number: u32 = process.file_name().to_str()?.parse().ok()?;
        has_one_of(&process.path(), &sockets).then(|| {
            let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            format!("{} (process {number})", name.trim_end())
        })
    })
}

/// What links to the sockets that listen on a port look like.
fn listening_on(table: &str, port: u16) -> Vec<String> {
    let port = format!(":{port:04X}");
    let of_line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
        (local.ends_with(&port) && *state == LISTENING).then(|| format!("socket:[{inode}]"))
    };
    table.lines().filter_map(of_line).collect()
}

fn has_one_of(process: &Path, sockets: &[String]) -> bool {
    let Ok(files) = fs::read_dir(process.join("fd")) else { return false };
    let links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    links.into_iter().any(|link| sockets.iter().any(|socket| link.as_os_str() == socket.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1B9E 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0
   1: 0100007F:1B9E 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0 0 10 0
   2: 00000000:1B9F 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0 0 10 0";

    #[test]
    fn only_who_listens_on_the_port_has_it() {
        assert_eq!(listening_on(TABLE, 7_070), ["socket:[4711]"]);
        assert_eq!(listening_on(TABLE, 7_071), ["socket:[4713]"]);
        assert!(listening_on(TABLE, 70).is_empty());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_found_by_its_own_port() {
        let own = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let found = holder(own.local_addr().unwrap().port()).unwrap();
        assert!(found.ends_with(&format!("(process {})", std::process::id())), "{found}");
    }
}
