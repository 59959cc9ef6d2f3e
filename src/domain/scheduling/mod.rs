//! Decides what runs when: queues and places that tenants share, memory of bodies, threads for CPU work, background work.

pub mod asker;
pub mod background_tasks;
pub mod batches;
pub mod contention;
pub mod cpu_pool;
pub mod cpu_threads;
pub mod fair_places;
pub mod fair_queue;
pub mod lanes;
pub mod long_work;
pub mod open_streams;
pub mod pace;
pub mod read_memory;
pub mod room;
pub mod shares;
pub mod tally;
pub mod task_health;
pub mod turns;
pub mod write_health;
