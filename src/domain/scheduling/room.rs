//! Waits for room in the share of a holder. For long streams and large reads: a short shortage does not end them.

use std::time::Duration;

use tokio::time::Instant;

use super::shares::{Full, Held};

/// Looks again after this time.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Holds `bytes`, as soon as there is room for them.
///
/// # Errors
/// As [`Held::resize`], when there was no room for this long, or the client has left.
pub async fn wait_for(
    held: &mut Held,
    bytes: usize,
    patience: Duration,
    has_left: impl Fn() -> bool,
) -> Result<(), Full> {
    let until = Instant::now() + patience;
    loop {
        match held.resize(bytes) {
            Err(Full::Share(_)) if Instant::now() < until && !has_left() => {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::scheduling::pace::PATIENCE;
    use crate::domain::scheduling::shares::{Holder, Shares, Sizes};

    #[tokio::test(start_paused = true)]
    async fn who_finds_no_room_waits_until_another_gives_it_back() {
        let shares = Shares::new(Sizes { all: 100, ..Sizes::default() });
        let account = shares.account(Holder::new("acme", "key"));
        let [mut first, mut second] = [account.open(), account.open()];
        first.grow(60).unwrap();
        let begun = Instant::now();
        assert_eq!(wait_for(&mut second, 60, PATIENCE, || true).await, Err(Full::Share(100)));
        assert_eq!(begun.elapsed(), Duration::ZERO, "who has left does not wait");
        assert_eq!(wait_for(&mut second, 60, PATIENCE, || false).await, Err(Full::Share(100)));
        assert!(begun.elapsed() >= PATIENCE);
        let later = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            drop(first);
        });
        assert_eq!(wait_for(&mut second, 60, PATIENCE, || false).await, Ok(()));
        later.await.unwrap();
        assert_eq!(shares.held_bytes(), 60);
    }
}
