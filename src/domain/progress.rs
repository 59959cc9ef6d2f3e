//! Tells how far long work is: examinations, encryption, exports, erasures.

use std::sync::Mutex;

/// Where long work stands, for whoever waits for it.
#[derive(Debug, Default)]
pub struct Progress(Mutex<Step>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// Empty: nothing of a tenant.
    pub tenant: String,
    pub what: &'static str,
    pub done: u64,
    /// 0: not known.
    pub all: u64,
}

impl Progress {
    pub fn begin(&self, tenant: &str, what: &'static str, all: u64) {
        *self.lock() = Step { tenant: tenant.to_owned(), what, done: 0, all };
    }

    pub fn advance(&self, count: u64) {
        self.lock().done += count;
    }

    pub fn step(&self) -> Step {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Step> {
        self.0.lock().expect("nothing panics while it holds the step")
    }
}
