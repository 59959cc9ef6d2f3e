//! Tells places that a request waits for who asks: the door knows it, and the places are behind everything else. What is spawned, and work of
//! the server itself, has no asker.

use std::sync::OnceLock;

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
