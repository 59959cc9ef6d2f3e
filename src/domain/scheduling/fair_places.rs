//! Shares out the places of a pool, such as database connections, among tenants. Each holds at most its share; waiting tenants take turns.
//! A credential has a share of the places that are held long, too.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::oneshot;

use super::asker;
use super::shares::Holder;
use crate::domain::{Error, Result};

/// How long a search waits for its turn.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Whether a tenant may have more than its share while nobody else waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// For what ends soon.
    WhileOthersWait,
    /// For what may take long. There a credential has half of its tenant's share.
    Always,
}

pub struct FairPlaces {
    share: Share,
    count: usize,
    share_max: usize,
    credential_max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    free: usize,
    held: HashMap<String, usize>,
    held_by: HashMap<Holder, usize>,
    waiting: HashMap<String, VecDeque<Waiting>>,
    /// Tenants that wait; the one in front is next.
    turns: VecDeque<String>,
    is_closed: bool,
}

struct Waiting {
    sender: oneshot::Sender<Place>,
    /// Whose share it counts in besides its tenant's.
    holder: Option<Holder>,
}

/// A place of a tenant; the next one gets it when this is dropped.
pub struct Place {
    places: Arc<FairPlaces>,
    tenant: String,
    holder: Option<Holder>,
}

impl FairPlaces {
    /// A tenant's share is one half, a credential's one quarter.
    pub fn new(count: usize, share: Share) -> Arc<Self> {
        let state = Mutex::new(State { free: count, ..State::default() });
        let (share_max, credential_max) = ((count / 2).max(1), count.div_ceil(4).max(1));
        Arc::new(Self { share, count, share_max, credential_max, state })
    }

    /// # Errors
    /// `Unavailable` when the wait is too long, `Internal` when the database was closed.
    pub async fn take(self: &Arc<Self>, tenant: &str) -> Result<Place> {
        let holder = asker::get().filter(|it| self.share == Share::Always && it.tenant() == tenant);
        let turn = {
            let mut state = self.state();
            if state.is_closed {
                return Err(closed());
            }
            let mine = state.held.get(tenant).copied().unwrap_or(0);
            let is_soft = self.share == Share::WhileOthersWait && state.turns.is_empty();
            let is_free = state.free > 0 && self.has_share(&state.held_by, holder.as_ref());
            if is_free && (mine < self.share_max || is_soft) {
                return Ok(self.give(&mut state, tenant, holder));
            }
            let (sender, receiver) = oneshot::channel();
            if !state.waiting.contains_key(tenant) {
                state.turns.push_back(tenant.to_owned());
            }
            let waiting = Waiting { sender, holder };
            state.waiting.entry(tenant.to_owned()).or_default().push_back(waiting);
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
        (state.free > 0).then(|| self.give(&mut state, tenant, None))
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
        state.waiting.values().flatten().filter(|it| !it.sender.is_closed()).count()
    }

    fn has_share(&self, held_by: &HashMap<Holder, usize>, holder: Option<&Holder>) -> bool {
        let held = holder.and_then(|it| held_by.get(it)).copied().unwrap_or(0);
        held < self.credential_max
    }

    fn give(self: &Arc<Self>, state: &mut State, tenant: &str, holder: Option<Holder>) -> Place {
        state.free -= 1;
        if let Some(holder) = &holder {
            *state.held_by.entry(holder.clone()).or_default() += 1;
        }
        match state.held.get_mut(tenant) {
            Some(held) => *held += 1,
            None => drop(state.held.insert(tenant.to_owned(), 1)),
        }
        Place { places: Arc::clone(self), tenant: tenant.to_owned(), holder }
    }

    /// Who is next, and its place.
    fn next(self: &Arc<Self>, state: &mut State) -> Option<(oneshot::Sender<Place>, Place)> {
        if state.free == 0 {
            return None;
        }
        // Whoever has left does not count.
        for waiting in state.waiting.values_mut() {
            waiting.retain(|it| !it.sender.is_closed());
        }
        let State { waiting, turns, held, held_by, .. } = &mut *state;
        waiting.retain(|_, it| !it.is_empty());
        turns.retain(|it| waiting.contains_key(it));
        let has_share = |it: &String| held.get(it).is_none_or(|held| *held < self.share_max);
        let soft = Some(0).filter(|_| self.share == Share::WhileOthersWait && !turns.is_empty());
        let fits = |it: &Waiting| self.has_share(held_by, it.holder.as_ref());
        let is_next = |it: &String| has_share(it) && waiting[it].iter().any(fits);
        let at = turns.iter().position(is_next).or(soft)?;
        let tenant = turns.remove(at)?;
        let line = waiting.get_mut(&tenant)?;
        // One whose credential has its share lets the others of its tenant pass.
        let first = line.iter().position(fits).unwrap_or(0);
        let Waiting { sender, holder } = line.remove(first)?;
        if line.is_empty() {
            waiting.remove(&tenant);
        } else {
            turns.push_back(tenant.clone());
        }
        Some((sender, self.give(state, &tenant, holder)))
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
            if let Some(holder) = &self.holder
                && let Some(held) = state.held_by.get_mut(holder)
            {
                *held -= 1;
                if *held == 0 {
                    state.held_by.remove(holder);
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
    async fn a_credential_holds_a_quarter_of_the_places_for_searches() {
        let places = FairPlaces::new(8, Share::Always);
        let by = |credential: &'static str, places: &Arc<FairPlaces>| {
            let places = Arc::clone(places);
            Box::pin(asker::scope(async move {
                asker::note(&Holder::new("acme", credential));
                places.take("acme").await
            }))
        };
        let first = by("ann", &places).await.unwrap();
        let _second = by("ann", &places).await.unwrap();
        let mut third = by("ann", &places);
        assert!(third.as_mut().now_or_never().is_none(), "six places are free, but not for it");
        let _bob = by("bob", &places).now_or_never().expect("another of the tenant").unwrap();
        // Of the tenant itself, whoever asks.
        let last = places.take("acme").now_or_never().expect("it has a share left").unwrap();
        let mut bob = by("bob", &places);
        assert!(bob.as_mut().now_or_never().is_none(), "the tenant has its half");
        // Who waits longest has no share: the next of its tenant passes.
        drop(last);
        let _passed = bob.now_or_never().expect("it is next").unwrap();
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        third.now_or_never().expect("its own place is free again").unwrap();
        // What ends soon has no such share.
        let soon = FairPlaces::new(8, Share::WhileOthersWait);
        let all: Vec<_> = (0..8).map(|_| by("ann", &soon).now_or_never().unwrap()).collect();
        assert!(all.iter().all(Result::is_ok));
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
