//! Tells places that a request waits for who asks: the door knows it, and the places are behind everything else. What a request leaves to a
//! task of its own has the same asker, by [`spawn`]. Work of the server itself has none.

use std::sync::OnceLock;

use tokio::task::JoinHandle;

use super::shares::Holder;

tokio::task_local! {
    static ASKER: OnceLock<Holder>;
}

/// Runs a request. Who asks is noted once it is known.
pub async fn scope<T>(request: impl Future<Output = T>) -> T {
    ASKER.scope(OnceLock::new(), request).await
}

/// Notes who asks. Outside of a request nobody does.
pub fn note(holder: &Holder) {
    let _ = ASKER.try_with(|it| it.set(holder.clone()));
}

/// Who asks, as far as it is known.
pub fn get() -> Option<Holder> {
    ASKER.try_with(|it| it.get().cloned()).ok().flatten()
}

/// Spawns the rest of a request.
pub fn spawn<T: Send + 'static>(rest: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    match get() {
        Some(holder) => tokio::spawn(ASKER.scope(OnceLock::from(holder), rest)),
        None => tokio::spawn(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_rest_of_a_request_has_the_same_asker() {
        let ann = Holder::new("acme", "ann");
        let rest = scope(async {
            assert_eq!(spawn(async { get() }).await.unwrap(), None);
            note(&ann);
            spawn(async { spawn(async { get() }).await.unwrap() }).await.unwrap()
        });
        assert_eq!(rest.await, Some(ann.clone()));
        assert_eq!(spawn(async { get() }).await.unwrap(), None);
    }
}
