//! Tests lanes on a storage that writes when the test lets it.

use std::collections::VecDeque;

use futures::FutureExt;
use tokio::sync::Semaphore;

use super::*;

/// (tenant, number, rows)
type Command = (&'static str, usize, usize);

/// A storage that writes a batch whenever the test lets it.
#[derive(Default)]
struct Fake {
    written: Mutex<Vec<Vec<Command>>>,
}

struct FakeWriter {
    fake: Arc<Fake>,
    /// By size: large commands come alone.
    may_write: Arc<[Semaphore; 2]>,
}

const LARGE_ROWS: usize = 20_000;

#[async_trait]
impl Writer for FakeWriter {
    type Command = Command;
    type Answer = ();

    fn deadline(command: &Command) -> Micros {
        if command.1 == usize::MAX { 0 } else { Micros::MAX }
    }

    fn tenant(command: &Command) -> &str {
        command.0
    }

    fn weight(command: &Command) -> Weight {
        Weight { bytes: 100, rows: command.2 }
    }

    async fn write_next(&mut self, waiting: Vec<Job<Self>>) -> Vec<Job<Self>> {
        let is_large = waiting[0].command.2 == LARGE_ROWS;
        self.may_write[usize::from(is_large)].acquire().await.unwrap().forget();
        assert_ne!(waiting[0].command.0, "panics");
        self.fake.written.lock().unwrap().push(waiting.iter().map(|it| it.command).collect());
        for job in waiting {
            job.answer(Ok(()));
        }
        Vec::new()
    }
}

struct Stage {
    lanes: Lanes<FakeWriter>,
    fake: Arc<Fake>,
    may_write: Arc<[Semaphore; 2]>,
}

impl Stage {
    fn new() -> Self {
        let fake: Arc<Fake> = Arc::default();
        let may_write = Arc::new([Semaphore::new(0), Semaphore::new(0)]);
        let writer = || FakeWriter { fake: Arc::clone(&fake), may_write: Arc::clone(&may_write) };
        let lanes = Lanes::start("test", 1, &Arc::new(Clock::System), writer);
        Self { lanes, fake, may_write }
    }

    /// Queues a command. Its key is its tenant and what remains of its number by `keys`.
    fn commit(
        &self,
        command: Command,
        keys: usize,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<()>> + Send + '_>> {
        let mut future = Box::pin(self.lanes.commit((command.0, command.1 % keys), command));
        let early = future.as_mut().now_or_never();
        match early {
            Some(result) => Box::pin(async { result }),
            None => future,
        }
    }

    async fn let_write(&self, batches: usize) {
        for _ in 0..batches {
            let before = self.fake.written.lock().unwrap().len();
            self.may_write[0].add_permits(1);
            while self.fake.written.lock().unwrap().len() == before {
                tokio::task::yield_now().await;
            }
        }
    }
}

/// What is being written when it comes, and its own batch.
const BATCHES_MAX: usize = 2;

#[tokio::test]
async fn a_tenant_that_floods_is_overtaken() {
    let stage = Stage::new();
    let mut flood: VecDeque<_> =
        (0..3_000).map(|it| stage.commit(("acme", it, 1), 3_000)).collect();
    // Its first batch is being written.
    tokio::task::yield_now().await;
    let innocent = stage.commit(("globex", 0, 1), 1);
    stage.let_write(BATCHES_MAX).await;
    innocent.now_or_never().expect("it is written").unwrap();
    let written = |fake: &Fake| fake.written.lock().unwrap().iter().map(Vec::len).sum::<usize>();
    assert!(written(&stage.fake) < 600, "{}", written(&stage.fake));
    stage.may_write[0].add_permits(100);
    while let Some(one) = flood.pop_front() {
        one.await.unwrap();
    }
}

#[tokio::test]
async fn a_large_command_holds_up_only_what_comes_behind_it_under_its_key() {
    let stage = Stage::new();
    let large = stage.commit(("acme", 0, LARGE_ROWS), 10);
    let behind = stage.commit(("acme", 10, 1), 10);
    let beside = stage.commit(("acme", 1, 1), 10);
    let innocent = stage.commit(("globex", 0, 1), 10);
    stage.let_write(1).await;
    let (beside, innocent) = (beside.now_or_never(), innocent.now_or_never());
    assert!(matches!((beside, innocent), (Some(Ok(())), Some(Ok(())))));
    stage.may_write[1].add_permits(1);
    large.await.unwrap();
    stage.may_write[0].add_permits(1);
    behind.await.unwrap();
    let written = stage.fake.written.lock().unwrap().concat();
    let numbers: Vec<usize> = written.iter().filter(|it| it.0 == "acme").map(|it| it.1).collect();
    assert_eq!(numbers, [1, 0, 10]);
}

#[tokio::test]
async fn a_full_line_refuses_its_tenant_and_nobody_else() {
    let stage = Stage::new();
    let max = usize::try_from(LIMITS.waiting_commands_per_tenant_max).unwrap();
    // A batch is being written, and as many as may wait.
    let mut flood = vec![stage.commit(("acme", 0, 1), max * 2)];
    tokio::task::yield_now().await;
    flood.extend((1..=max).map(|it| stage.commit(("acme", it, 1), max * 2)));
    let refused = stage.commit(("acme", max + 1, 1), max * 2).now_or_never().expect("at once");
    assert!(matches!(refused, Err(Error::Unavailable { .. })), "{refused:?}");
    let innocent = stage.commit(("globex", 0, 1), 1);
    stage.let_write(BATCHES_MAX).await;
    innocent.now_or_never().expect("it is written").unwrap();
    stage.may_write[0].add_permits(100);
    for one in flood {
        one.await.unwrap();
    }
}

#[tokio::test]
async fn late_commands_and_writers_that_panic_hold_nobody_up() {
    let stage = Stage::new();
    let late = stage.commit(("acme", usize::MAX, 1), 1);
    assert!(matches!(late.await, Err(Error::DeadlineExceeded)));
    let lost = stage.commit(("panics", 0, 1), 1);
    stage.may_write[0].add_permits(1);
    assert!(matches!(lost.await, Err(Error::CommitUnknown { .. })));
    let after = stage.commit(("acme", 0, 1), 1);
    stage.may_write[0].add_permits(1);
    after.await.unwrap();
}

#[tokio::test]
async fn stopping_writes_what_was_taken() {
    let stage = Stage::new();
    stage.may_write.iter().for_each(|it| it.add_permits(10));
    let Stage { lanes, fake, .. } = stage;
    let lanes = Arc::new(lanes);
    let mut callers = Vec::new();
    for (number, rows) in [(0, LARGE_ROWS), (1, 1), (2, 1), (3, LARGE_ROWS)] {
        let lanes = Arc::clone(&lanes);
        let mut commit = Box::pin(async move { lanes.commit("one", ("acme", number, rows)).await });
        assert!(commit.as_mut().now_or_never().is_none());
        callers.push(commit);
    }
    // The callers leave.
    drop(callers);
    Arc::into_inner(lanes).unwrap().stop().await;
    let written = fake.written.lock().unwrap().concat();
    assert_eq!(written.iter().map(|it| it.1).collect::<Vec<_>>(), [0, 1, 2, 3]);
}
