//! Queues commands in front of a lane. Tenants take turns. Commands of one key keep their order. Large commands stand apart from small
//! ones, so small ones do not wait for them. Pure.
//!
//! **Invariant:** while a command of a key waits or is being written, no later one of the key is given out as the other size.

use std::collections::{HashMap, VecDeque};

use crate::domain::limits::LIMITS;

/// Commands in one batch of small ones, with their bytes and rows. About 50 ms of a database.
const COMMANDS_MAX: usize = 256;
const BYTES_MAX: usize = 4 << 20;
const ROWS_MAX: usize = 4_096;
/// A command with more than this is large: it is written alone, beside the batches of small ones.
const SMALL_BYTES_MAX: usize = BYTES_MAX / 4;
const SMALL_ROWS_MAX: usize = ROWS_MAX / 4;

/// How much of a database a command takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Weight {
    pub bytes: usize,
    pub rows: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Small = 0,
    Large = 1,
}

impl Weight {
    fn size(self) -> Size {
        let is_small = self.bytes <= SMALL_BYTES_MAX && self.rows <= SMALL_ROWS_MAX;
        if is_small { Size::Small } else { Size::Large }
    }

    fn and(self, more: Self) -> Self {
        Self { bytes: self.bytes + more.bytes, rows: self.rows + more.rows }
    }

    /// Whether it is within one part of `parts` of a batch.
    fn fits(self, parts: usize) -> bool {
        self.bytes <= BYTES_MAX / parts && self.rows <= ROWS_MAX / parts
    }
}

pub trait Queued {
    fn tenant(&self) -> &str;
    /// Commands with equal keys keep their order.
    fn key(&self) -> u64;
    fn weight(&self) -> Weight;
}

pub struct FairQueue<T> {
    tenants: HashMap<String, Line<T>>,
    /// By size: tenants with a command that may be given out. The one in front is next.
    turns: [VecDeque<String>; 2],
    keys: HashMap<u64, Order<T>>,
}

/// What waits of one tenant.
struct Line<T> {
    /// By size: what may be given out.
    ready: [VecDeque<T>; 2],
    /// What waits behind other sizes of its key counts too.
    commands: usize,
    bytes: usize,
}

/// Commands of one key.
struct Order<T> {
    /// Of those that wait in a line or are being written.
    size: Size,
    ahead: usize,
    /// What came later, from the first one of another size on.
    behind: VecDeque<T>,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self { tenants: HashMap::new(), turns: Default::default(), keys: HashMap::new() }
    }
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { ready: Default::default(), commands: 0, bytes: 0 }
    }
}

impl<T> Line<T> {
    /// One command always finds a place.
    fn has_room_for(&self, weight: Weight) -> bool {
        let commands_max = usize::try_from(LIMITS.waiting_commands_per_tenant_max);
        let bytes_max = usize::try_from(LIMITS.waiting_bytes_per_tenant_max);
        self.commands == 0
            || self.commands < commands_max.unwrap_or(usize::MAX)
                && self.bytes + weight.bytes <= bytes_max.unwrap_or(usize::MAX)
    }
}

impl<T: Queued> FairQueue<T> {
    /// Which size may be asked for now that was not before; none for a command that waits behind others of its key.
    ///
    /// # Errors
    /// The command, where its tenant's line is full.
    pub fn push(&mut self, command: T) -> Result<Option<Size>, T> {
        let (weight, key) = (command.weight(), command.key());
        let size = weight.size();
        let is_new = !self.tenants.contains_key(command.tenant());
        if is_new {
            self.tenants.insert(command.tenant().to_owned(), Line::default());
        }
        let line = self.tenants.get_mut(command.tenant()).expect("it was made above");
        if !line.has_room_for(weight) {
            return Err(command);
        }
        line.commands += 1;
        line.bytes += weight.bytes;
        let none = || Order { size, ahead: 0, behind: VecDeque::new() };
        let order = self.keys.entry(key).or_insert_with(none);
        if order.size != size || !order.behind.is_empty() {
            order.behind.push_back(command);
            return Ok(None);
        }
        order.ahead += 1;
        self.make_ready(size, command);
        Ok(Some(size))
    }

    /// What one batch of this size takes; nothing where nothing is ready. Each comes back by [`Self::finish`].
    pub fn take(&mut self, size: Size) -> Vec<T> {
        let (mut taken, mut all) = (Vec::new(), Weight::default());
        // Who alone has something ready has the whole batch, else half of it at most.
        let share = if self.turns[size as usize].len() > 1 { 2 } else { 1 };
        let mut taken_of: HashMap<String, Weight> = HashMap::new();
        let mut sitting_out = Vec::new();
        let commands_max = if size == Size::Large { 1 } else { COMMANDS_MAX };
        while taken.len() < commands_max
            && let Some(tenant) = self.turns[size as usize].pop_front()
        {
            let line = self.tenants.get_mut(&tenant).expect("who has a turn has a line");
            let ready = &mut line.ready[size as usize];
            let weight = ready.front().expect("who has a turn has something ready").weight();
            let own = taken_of.get(&tenant).copied().unwrap_or_default();
            if !taken.is_empty() && !own.and(weight).fits(share) && own != Weight::default() {
                sitting_out.push(tenant);
                continue;
            }
            if !taken.is_empty() && !all.and(weight).fits(1) {
                self.turns[size as usize].push_front(tenant);
                break;
            }
            taken.extend(ready.pop_front());
            let has_more = !ready.is_empty();
            line.commands -= 1;
            line.bytes -= weight.bytes;
            all = all.and(weight);
            if line.commands == 0 {
                self.tenants.remove(&tenant);
            } else if has_more {
                if share > 1 {
                    taken_of.insert(tenant.clone(), own.and(weight));
                }
                self.turns[size as usize].push_back(tenant);
            }
        }
        self.turns[size as usize].extend(sitting_out);
        taken
    }

    /// Ends a batch: `keys` are those of all that was taken, `rest` was not written and is next. Answers whether commands became
    /// ready that had waited behind others of their key.
    pub fn finish(&mut self, keys: &[u64], rest: Vec<T>) -> bool {
        let mut unwritten: HashMap<u64, usize> = HashMap::new();
        for command in rest.into_iter().rev() {
            *unwritten.entry(command.key()).or_default() += 1;
            self.put_back(command);
        }
        let mut has_freed = false;
        for key in keys {
            match unwritten.get_mut(key) {
                Some(count) if *count > 0 => *count -= 1,
                _ => has_freed |= self.end(*key),
            }
        }
        has_freed
    }

    /// Nothing waits and nothing is being written.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    fn put_back(&mut self, command: T) {
        let weight = command.weight();
        let size = weight.size() as usize;
        let line = self.tenants.entry(command.tenant().to_owned()).or_default();
        line.commands += 1;
        line.bytes += weight.bytes;
        if line.ready[size].is_empty() {
            self.turns[size].push_front(command.tenant().to_owned());
        }
        line.ready[size].push_front(command);
    }

    /// One command of the key is answered.
    fn end(&mut self, key: u64) -> bool {
        let Some(order) = self.keys.get_mut(&key) else { return false };
        order.ahead -= 1;
        if order.ahead > 0 {
            return false;
        }
        let Some(first) = order.behind.front() else {
            self.keys.remove(&key);
            return false;
        };
        let size = first.weight().size();
        let same = order.behind.iter().take_while(|it| it.weight().size() == size).count();
        (order.size, order.ahead) = (size, same);
        let ready: Vec<T> = order.behind.drain(..same).collect();
        for command in ready {
            self.make_ready(size, command);
        }
        true
    }

    fn make_ready(&mut self, size: Size, command: T) {
        let line = self.tenants.get_mut(command.tenant()).expect("what waits is counted in a line");
        if line.ready[size as usize].is_empty() {
            self.turns[size as usize].push_back(command.tenant().to_owned());
        }
        line.ready[size as usize].push_back(command);
    }
}

#[cfg(test)]
mod tests;
