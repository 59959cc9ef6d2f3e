//! Shares out the places of a pool, such as database connections, among tenants. Each holds at most its share; waiting tenants take turns.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::domain::{Error, Result};

/// How long a search waits for its turn.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Whether a tenant may have more than its share while nobody else waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// For what ends soon.
    WhileOthersWait,
    /// For what may take long.
    Always,
}

pub struct FairPlaces {
    share: Share,
    count: usize,
    share_max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    free: usize,
    held: HashMap<String, usize>,
    waiting: HashMap<String, VecDeque<oneshot::Sender<Place>>>,
    /// Tenants that wait; the one in front is next.
    turns: VecDeque<String>,
    is_closed: bool,
}

/// A place of a tenant; the next one gets it when this is dropped.
pub struct Place {
    places: Arc<FairPlaces>,
    tenant: String,
}

impl FairPlaces {
    /// A tenant's share is one half.
    pub fn new(count: usize, share: Share) -> Arc<Self> {
        let state = Mutex::new(State { free: count, ..State::default() });
        Arc::new(Self { share, count, share_max: (count / 2).max(1), state })
    }

    /// # Errors
    /// `Unavailable` when the wait is too long, `Internal` when the database was closed.
    pub async fn take(self: &Arc<Self>, tenant: &str) -> Result<Place> {
        let turn = {
            let mut state = self.state();
            if state.is_closed {
                return Err(closed());
            }
            let mine = state.held.get(tenant).copied().unwrap_or(0);
            let is_soft = self.share == Share::WhileOthersWait && state.turns.is_empty();
            if state.free > 0 && (mine < self.share_max || is_soft) {
                return Ok(self.give(&mut state, tenant));
            }
            let (sender, receiver) = oneshot::channel();
            if !state.waiting.contains_key(tenant) {
                state.turns.push_back(tenant.to_owned());
            }
            state.waiting.entry(tenant.to_owned()).or_default().push_back(sender);
            receiver
        };
        if self.share == Share::WhileOthersWait {
            return turn.await.map_err(|_| closed());
        }
        let waited = tokio::time::timeout(WAIT_MAX, turn).await;
        let in_time = waited.map_err(|_| Error::Unavailable {
            detail: "too many searches run at one time; try again".into(),
            retry_after: Duration::from_secs(1),
        })?;
        in_time.map_err(|_| closed())
    }

    /// A place that is free, for who must not wait.
    pub fn take_free(self: &Arc<Self>, tenant: &str) -> Option<Place> {
        let mut state = self.state();
        (state.free > 0).then(|| self.give(&mut state, tenant))
    }

    /// Nobody gets a place any more.
    pub fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.turns.clear();
        state.waiting.clear();
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// How many places are taken.
    pub fn taken_count(&self) -> usize {
        self.count - self.state().free
    }

    /// How many calls wait for a place.
    pub fn waiting_count(&self) -> usize {
        let state = self.state();
        state.waiting.values().flatten().filter(|it| !it.is_closed()).count()
    }

    fn give(self: &Arc<Self>, state: &mut State, tenant: &str) -> Place {
        state.free -= 1;
        match state.held.get_mut(tenant) {
            Some(held) => *held += 1,
            None => drop(state.held.insert(tenant.to_owned(), 1)),
        }
        Place { places: Arc::clone(self), tenant: tenant.to_owned() }
    }

    /// Who is next, and its place.
    fn next(self: &Arc<Self>, state: &mut State) -> Option<(oneshot::Sender<Place>, Place)> {
        if state.free == 0 {
            return None;
        }
        // Whoever has left does not count.
        for waiting in state.waiting.values_mut() {
            waiting.retain(|it| !it.is_closed());
        }
        let State { waiting, turns, held, .. } = &mut *state;
        waiting.retain(|_, it| !it.is_empty());
        turns.retain(|it| waiting.contains_key(it));
        let has_share = |it: &String| held.get(it).is_none_or(|held| *held < self.share_max);
        let soft = Some(0).filter(|_| self.share == Share::WhileOthersWait && !turns.is_empty());
        let at = turns.iter().position(has_share).or(soft)?;
        let tenant = turns.remove(at)?;
        let line = waiting.get_mut(&tenant)?;
        let sender = line.pop_front()?;
        if line.is_empty() {
            waiting.remove(&tenant);
        } else {
            turns.push_back(tenant.clone());
        }
        Some((sender, self.give(state, &tenant)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds the places")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let next = {
            let mut state = self.places.state();
            state.free += 1;
            if let Some(held) = state.held.get_mut(&self.tenant) {
                *held -= 1;
                if *held == 0 {
                    state.held.remove(&self.tenant);
                }
            }
            self.places.next(&mut state)
        };
        if let Some((sender, place)) = next {
            // Who leaves at this moment drops its place, which gives it to the next.
            drop(sender.send(place));
        }
    }
}

fn closed() -> Error {
    Error::Internal("the database was closed".into())
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_tenant_holds_half_of_the_places_for_searches() {
        let places = FairPlaces::new(4, Share::Always);
        let first = places.take("acme").await.unwrap();
        let _second = places.take("acme").await.unwrap();
        let mut third = Box::pin(places.take("acme"));
        assert!(third.as_mut().now_or_never().is_none(), "two places are free, but not for it");
        let _other = places.take("globex").now_or_never().expect("at once").unwrap();
        drop(first);
        third.now_or_never().expect("its own place is free again").unwrap();
    }

    #[tokio::test]
    async fn those_that_wait_take_turns() {
        let places = FairPlaces::new(2, Share::WhileOthersWait);
        let mut held = vec![places.take("acme").await.unwrap(), places.take("acme").await.unwrap()];
        let mut flood: Vec<_> = (0..100).map(|_| Box::pin(places.take("acme"))).collect();
        assert!(flood.iter_mut().all(|it| it.as_mut().now_or_never().is_none()));
        let mut innocent = Box::pin(places.take("globex"));
        assert!(innocent.as_mut().now_or_never().is_none());
        // One of the flood at most goes ahead.
        drop(held.pop());
        let innocent = innocent.now_or_never().expect("it is next").unwrap();
        drop(innocent);
        drop(held);
        let served = flood.iter_mut().filter_map(|it| it.as_mut().now_or_never()).count();
        assert!(served > 0, "alone it has all places");
    }

    #[tokio::test]
    async fn who_leaves_keeps_no_place() {
        let places = FairPlaces::new(1, Share::WhileOthersWait);
        let held = places.take("acme").await.unwrap();
        let mut left = Box::pin(places.take("acme"));
        assert!(left.as_mut().now_or_never().is_none());
        let mut given = Box::pin(places.take("globex"));
        assert!(given.as_mut().now_or_never().is_none());
        drop(left);
        drop(held);
        // It was given the place, and leaves before it knows.
        drop(given);
        places.take("initech").now_or_never().expect("it is free").unwrap();
        assert!(places.state().held.is_empty());
    }
}
