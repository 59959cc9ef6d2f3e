//! Tests the turns of tenants, and the order of commands of one key.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Command {
    tenant: u8,
    key: u64,
    number: usize,
    weight: Weight,
}

const TENANTS: [&str; 4] = ["acme", "globex", "initech", "umbrella"];
const LIGHT: Weight = Weight { bytes: 100, rows: 1 };
const HEAVY: Weight = Weight { bytes: 100, rows: SMALL_ROWS_MAX };
const LARGE: Weight = Weight { bytes: 100, rows: SMALL_ROWS_MAX + 1 };

impl Queued for Command {
    fn tenant(&self) -> &str {
        TENANTS[usize::from(self.tenant)]
    }

    fn key(&self) -> u64 {
        self.key
    }

    fn weight(&self) -> Weight {
        self.weight
    }
}

fn command(tenant: u8, key: u64, number: usize, weight: Weight) -> Command {
    Command { tenant, key, number, weight }
}

fn finish(queue: &mut FairQueue<Command>, taken: &[Command]) -> bool {
    let keys: Vec<u64> = taken.iter().map(|it| it.key).collect();
    queue.finish(&keys, Vec::new())
}

#[test]
fn who_comes_last_of_many_tenants_is_in_the_next_batch() {
    let mut queue = FairQueue::default();
    for number in 0..2_000 {
        queue.push(command(0, number as u64, number, LIGHT)).unwrap();
    }
    queue.push(command(1, 5_000, 0, LIGHT)).unwrap();
    let batch = queue.take(Size::Small);
    assert_eq!(batch.len(), COMMANDS_MAX);
    assert!(batch.iter().any(|it| it.tenant == 1));
}

#[test]
fn heavy_commands_of_one_tenant_take_half_a_batch_while_others_wait() {
    let mut queue = FairQueue::default();
    for number in 0..100 {
        queue.push(command(0, number as u64, number, HEAVY)).unwrap();
    }
    for number in 0..100 {
        queue.push(command(1, 1_000 + number as u64, number, LIGHT)).unwrap();
    }
    let batch = queue.take(Size::Small);
    let count = |tenant| batch.iter().filter(|it| it.tenant == tenant).count();
    assert_eq!((count(0), count(1)), (2, 100));
    finish(&mut queue, &batch);
    // Alone it has the whole batch.
    assert_eq!(queue.take(Size::Small).len(), ROWS_MAX / HEAVY.rows);
}

#[test]
fn a_large_command_goes_alone_and_small_ones_of_other_keys_do_not_wait_for_it() {
    let mut queue = FairQueue::default();
    assert_eq!(queue.push(command(0, 1, 0, LARGE)), Ok(Some(Size::Large)));
    assert_eq!(queue.push(command(0, 2, 0, LARGE)), Ok(Some(Size::Large)));
    assert_eq!(queue.push(command(0, 1, 1, LIGHT)), Ok(None), "behind the large one of its key");
    assert_eq!(queue.push(command(1, 3, 0, LIGHT)), Ok(Some(Size::Small)));
    let large = queue.take(Size::Large);
    assert_eq!(large.len(), 1);
    let small = queue.take(Size::Small);
    assert_eq!(small.iter().map(|it| it.key).collect::<Vec<_>>(), [3]);
    assert!(queue.take(Size::Small).is_empty());
    assert!(finish(&mut queue, &large), "what was behind it is ready");
    assert_eq!(queue.take(Size::Small), [command(0, 1, 1, LIGHT)]);
}

#[test]
fn a_line_that_is_full_refuses_its_tenant_alone() {
    let mut queue = FairQueue::default();
    let max = usize::try_from(LIMITS.waiting_commands_per_tenant_max).unwrap();
    for number in 0..max {
        // What waits behind another size of its key counts.
        let weight = if number == 0 { LARGE } else { LIGHT };
        queue.push(command(0, (number % 7) as u64, number, weight)).unwrap();
    }
    queue.push(command(0, 9, max, LIGHT)).unwrap_err();
    queue.push(command(1, 10, 0, LIGHT)).unwrap();
    let batch = queue.take(Size::Small);
    finish(&mut queue, &batch);
    queue.push(command(0, 9, max, LIGHT)).unwrap();

    let mut queue = FairQueue::default();
    let bytes = usize::try_from(LIMITS.waiting_bytes_per_tenant_max).unwrap();
    let huge = Weight { bytes: bytes + 1, rows: 1 };
    queue.push(command(0, 1, 0, huge)).expect("one always finds a place");
    queue.push(command(0, 2, 1, LIGHT)).unwrap_err();
    queue.push(command(1, 3, 0, huge)).unwrap();
}

/// One step of somebody's.
#[derive(Debug, Clone)]
enum Step {
    Push {
        tenant: u8,
        key: u64,
        is_large: bool,
    },
    Take(bool),
    /// Ends the oldest batch, and gives back so many of it.
    Finish {
        given_back: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4_u8, 0..3_u64, prop::bool::weighted(0.3)).prop_map(|(tenant, key, is_large)| Step::Push {
            tenant,
            key: u64::from(tenant) * 10 + key,
            is_large,
        }),
        2 => any::<bool>().prop_map(Step::Take),
        2 => (0..3_usize).prop_map(|given_back| Step::Finish { given_back }),
    ]
}

proptest! {
    #[test]
    fn commands_of_a_key_are_written_once_and_in_their_order(steps in prop::collection::vec(step(), 1..300)) {
        let mut queue: FairQueue<Command> = FairQueue::default();
        let mut batches: Vec<Vec<Command>> = Vec::new();
        let (mut pushed, mut written) = (HashMap::<u64, usize>::new(), HashMap::<u64, usize>::new());
        // A lane has one batch of each size at a time.
        let mut is_busy = [false; 2];
        let mut end = |queue: &mut FairQueue<Command>, is_busy: &mut [bool; 2], batch: Vec<Command>, given_back: usize| {
            let keys: Vec<u64> = batch.iter().map(|it| it.key).collect();
            is_busy[batch[0].weight.size() as usize] = false;
            // The last of a batch are the last of their keys in it.
            let rest = batch[batch.len() - given_back.min(batch.len())..].to_vec();
            for command in &batch[..batch.len() - rest.len()] {
                let next = written.entry(command.key).or_default();
                assert_eq!(command.number, *next, "key {}", command.key);
                *next += 1;
            }
            queue.finish(&keys, rest);
        };
        for step in steps {
            match step {
                Step::Push { tenant, key, is_large } => {
                    let number = pushed.entry(key).or_default();
                    let weight = if is_large { LARGE } else { LIGHT };
                    queue.push(command(tenant, key, *number, weight)).unwrap();
                    *number += 1;
                }
                Step::Take(is_large) => {
                    let size = if is_large { Size::Large } else { Size::Small };
                    if is_busy[size as usize] {
                        continue;
                    }
                    let batch = queue.take(size);
                    for command in &batch {
                        assert_eq!(command.weight.size(), size);
                        let elsewhere = batches.iter().flatten().any(|it| it.key == command.key);
                        assert!(!elsewhere, "key {} is being written already", command.key);
                    }
                    if !batch.is_empty() {
                        is_busy[size as usize] = true;
                        batches.push(batch);
                    }
                }
                Step::Finish { given_back } if !batches.is_empty() => {
                    let batch = batches.remove(0);
                    end(&mut queue, &mut is_busy, batch, given_back);
                }
                Step::Finish { .. } => {}
            }
        }
        loop {
            for size in [Size::Small, Size::Large] {
                if !is_busy[size as usize] {
                    batches.extend(Some(queue.take(size)).filter(|it| !it.is_empty()));
                }
            }
            if batches.is_empty() {
                break;
            }
            for batch in std::mem::take(&mut batches) {
                end(&mut queue, &mut is_busy, batch, 0);
            }
        }
        prop_assert!(queue.is_empty() && queue.tenants.is_empty());
        prop_assert!(queue.turns.iter().all(VecDeque::is_empty));
        prop_assert_eq!(written, pushed);
    }
}
