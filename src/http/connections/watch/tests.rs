//! Tests the limits on connections by address and by caller, and the end of connections that are idle or take nothing they are sent.

use super::*;

const PATIENCE: Patience =
    Patience { idle: Duration::from_secs(30), stalled: Duration::from_secs(30) };

fn enter(crowd: &Arc<Crowd>, from: &str) -> Option<Arc<Watch>> {
    crowd.enter(from.parse().unwrap(), true)
}

#[test]
fn one_address_or_network_of_ipv6_has_so_many_connections() {
    let crowd = Crowd::new(100, 2);
    for (one, other) in [("192.0.2.1", "192.0.2.2"), ("2001:db8::1", "2001:db8:0:1::1")] {
        let first = enter(&crowd, one).unwrap();
        let _second = enter(&crowd, one).unwrap();
        assert!(enter(&crowd, one).is_none());
        assert!(enter(&crowd, other).is_some());
        assert!(crowd.enter(one.parse().unwrap(), false).is_some());
        drop(first);
        assert!(enter(&crowd, one).is_some());
    }
    let _one = [enter(&crowd, "2001:db8:9::1"), enter(&crowd, "2001:db8:9::2")];
    assert!(enter(&crowd, "2001:db8:9::3").is_none());
    let _mapped = [enter(&crowd, "::ffff:198.51.100.1"), enter(&crowd, "198.51.100.1")];
    assert!(enter(&crowd, "198.51.100.1").is_none());
}

#[tokio::test]
async fn the_oldest_stranger_goes_but_not_before_one_without_a_request() {
    let crowd = Crowd::new(3, 100);
    let from = |last: u8| enter(&crowd, &format!("192.0.2.{last}")).unwrap();
    let (busy, known, quiet) = (from(1), from(2), from(3));
    let _request = busy.request();
    known.known();
    let _third = from(4);
    let _fourth = from(5);
    quiet.turned_out().await;
    let out = |it: &Arc<Watch>| !crowd.lock().strangers.contains_key(&it.id);
    assert!(!out(&busy) && out(&known));
}

#[tokio::test(start_paused = true)]
async fn idle_http2_finishes_and_then_ends_and_a_request_keeps_it() {
    let watch = enter(&Crowd::new(9, 9), "192.0.2.1").unwrap();
    let verdict = |version| watch.verdict(version, PATIENCE);
    assert_eq!(verdict(Version::Two), Verdict::Stays);
    let request = watch.request();
    tokio::time::advance(Duration::from_secs(1_000)).await;
    assert_eq!(verdict(Version::Two), Verdict::Stays);
    drop(request);
    tokio::time::advance(PATIENCE.idle).await;
    assert_eq!((verdict(Version::One), verdict(Version::Two)), (Verdict::Stays, Verdict::Finishes));
    tokio::time::advance(PATIENCE.idle).await;
    assert_eq!(verdict(Version::Two), Verdict::Ends);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_takes_nothing_ends_its_connection() {
    let watch = enter(&Crowd::new(9, 9), "192.0.2.1").unwrap();
    let verdict = |version| watch.verdict(version, PATIENCE);
    let mut body = watch.request().answer(Body::from("x"));
    let mut next = || {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        Pin::new(&mut body).poll_frame(&mut cx).is_ready()
    };
    tokio::time::advance(Duration::from_secs(100)).await;
    assert_eq!(verdict(Version::One), Verdict::Stays);
    assert!(next());
    tokio::time::advance(PATIENCE.stalled + Duration::from_secs(1)).await;
    assert_eq!((verdict(Version::One), verdict(Version::Two)), (Verdict::Ends, Verdict::Finishes));
    // It is too far behind now, until the answer is over.
    drop(body);
    assert_eq!((verdict(Version::One), verdict(Version::Two)), (Verdict::Stays, Verdict::Stays));
}
