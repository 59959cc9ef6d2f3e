//! Protects a server without keys: it answers only requests that a local program makes on its own account. Access to a loopback port does
//! not prove a local user. A web page can send requests there and, with a name that resolves to 127.0.0.1, read the answers. A proxy can
//! let strangers in.

use std::net::SocketAddr;

use super::Refusal;

/// What of a request decides.
#[derive(Debug, Default)]
pub struct Visit<'a> {
    /// Every `Host` header, and the authority of the request line where there is one.
    pub hosts: Vec<&'a [u8]>,
    /// Every `Origin` header.
    pub origins: Vec<&'a [u8]>,
    /// Every `Sec-Fetch-Site` header.
    pub fetch_sites: Vec<&'a [u8]>,
    /// Whether there is a header that proxies add.
    pub forwarded: bool,
    /// Origins of front ends that the person who starts the server has named.
    pub pages: &'a [String],
}

/// What proxies, tunnels and content networks add, in lower case: where a request came from, or that it came through them.
const OF_PROXIES: [&str; 20] = [
    "via",
    "forwarded",
    "forwarded-for",
    "x-real-ip",
    "x-client-ip",
    "x-remote-ip",
    "x-remote-addr",
    "x-cluster-client-ip",
    "x-proxyuser-ip",
    "x-envoy-external-address",
    "x-azure-clientip",
    "x-azure-socketip",
    "x-amz-cf-id",
    "x-arr-log-id",
    "true-client-ip",
    "fastly-client-ip",
    "proxy-client-ip",
    "wl-proxy-client-ip",
    "cdn-loop",
    "client-ip",
];
const PREFIXES_OF_PROXIES: [&str; 7] =
    ["x-forwarded", "x-original-", "cf-", "fly-", "x-vercel-", "x-appengine-", "tailscale-"];

/// Whether proxies add a header of this name, which is in lower case. One that adds none cannot be told from a local program.
pub fn is_of_proxy(name: &str) -> bool {
    OF_PROXIES.contains(&name) || PREFIXES_OF_PROXIES.iter().any(|it| name.starts_with(it))
}

/// # Errors
/// The reason why a server without keys does not answer this request.
pub fn check(visit: &Visit<'_>, listen: SocketAddr) -> Result<(), Refusal> {
    let own = |host: &[u8]| std::str::from_utf8(host).is_ok_and(|it| is_own(it, listen.port()));
    if visit.hosts.is_empty() || !visit.hosts.iter().all(|host| own(host)) {
        return Err(Refusal::ForbiddenHost);
    }
    let same = |origin: &[u8]| origin.strip_prefix(b"http://").is_some_and(own);
    let local = |site: &[u8]| site == b"same-origin" || site == b"none";
    let from_here = visit.origins.iter().all(|origin| same(origin))
        && visit.fetch_sites.iter().all(|site| local(site));
    let is_named = |origin: &&[u8]| visit.pages.iter().any(|it| it.as_bytes() == *origin);
    let from_page = matches!(&visit.origins[..], [origin] if is_named(origin));
    if !from_here && !from_page {
        return Err(Refusal::ForbiddenOrigin);
    }
    if visit.forwarded {
        return Err(Refusal::ForbiddenForwarding);
    }
    Ok(())
}

/// `127.0.0.1`, `[::1]` or `localhost` with the server's port; no port means 80.
fn is_own(host: &str, port: u16) -> bool {
    let host = host.to_ascii_lowercase();
    let names = ["127.0.0.1", "[::1]", "localhost"];
    names.iter().any(|name| match host.strip_prefix(name) {
        Some("") => port == 80,
        Some(rest) => rest.strip_prefix(':').is_some_and(|it| it == port.to_string()),
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTEN: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7070);

    fn answer(host: &[u8], change: impl FnOnce(&mut Visit<'static>)) -> Result<(), Refusal> {
        let mut visit = Visit { hosts: vec![host.to_vec().leak()], ..Visit::default() };
        change(&mut visit);
        check(&visit, LISTEN)
    }

    #[test]
    fn only_own_names_with_the_own_port_are_hosts() {
        for host in ["127.0.0.1:7070", "[::1]:7070", "localhost:7070", "LocalHost:7070"] {
            assert_eq!(answer(host.as_bytes(), |_| ()), Ok(()), "{host}");
        }
        let foreign = [
            "evil.test:7070",
            "127.0.0.1",
            "localhost:80",
            "127.0.0.1:7070.evil.test",
            "localhost.evil.test:7070",
            "127.0.0.1:07070",
            "",
            "127.0.0.2:7070",
            "a@localhost:7070",
        ];
        for host in foreign {
            assert_eq!(answer(host.as_bytes(), |_| ()), Err(Refusal::ForbiddenHost), "{host}");
        }
        assert_eq!(check(&Visit::default(), LISTEN), Err(Refusal::ForbiddenHost));
        let two = answer(b"localhost:7070", |visit| visit.hosts.push(b"evil.test"));
        assert_eq!(two, Err(Refusal::ForbiddenHost));
    }

    #[test]
    fn other_sites_are_refused() {
        let origin = |text: &'static [u8]| answer(b"localhost:7070", |it| it.origins.push(text));
        assert_eq!(origin(b"http://localhost:7070"), Ok(()));
        for text in ["http://localhost:3000", "https://localhost:7070", "null", "http://evil.test"]
        {
            assert_eq!(origin(text.as_bytes()), Err(Refusal::ForbiddenOrigin), "{text}");
        }
        let site = |text: &'static [u8]| answer(b"[::1]:7070", |it| it.fetch_sites.push(text));
        assert_eq!(site(b"none"), Ok(()));
        assert_eq!(site(b"same-origin"), Ok(()));
        assert_eq!(site(b"cross-site"), Err(Refusal::ForbiddenOrigin));
        assert_eq!(site(b"same-site"), Err(Refusal::ForbiddenOrigin));
    }

    #[test]
    fn a_page_that_was_named_is_let_in() {
        let pages = ["http://localhost:3000".to_owned()];
        let visit = |origins: &[&'static str]| Visit {
            hosts: vec![b"localhost:7070"],
            origins: origins.iter().map(|it| it.as_bytes()).collect(),
            fetch_sites: vec![b"cross-site"],
            pages: &pages,
            ..Visit::default()
        };
        assert_eq!(check(&visit(&["http://localhost:3000"]), LISTEN), Ok(()));
        for other in [&["http://localhost:3001"][..], &[], &["http://localhost:3000", "null"]] {
            let refused = check(&visit(other), LISTEN);
            assert_eq!(refused, Err(Refusal::ForbiddenOrigin), "{other:?}");
        }
        let forwarded = Visit { forwarded: true, ..visit(&["http://localhost:3000"]) };
        assert_eq!(check(&forwarded, LISTEN), Err(Refusal::ForbiddenForwarding));
    }

    #[test]
    fn forwarded_requests_are_refused() {
        let forwarded = answer(b"localhost:7070", |visit| visit.forwarded = true);
        assert_eq!(forwarded, Err(Refusal::ForbiddenForwarding));
    }
}
