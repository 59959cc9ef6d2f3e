//! Tests batches on a storage that fails as the test says.

use std::collections::VecDeque;
use std::sync::Mutex;

use futures::future::join_all;

use super::*;

/// Its number, and what it does to a batch.
type Command = (usize, Does);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Succeed,
    /// Whatever batch it is in fails.
    Fail,
    /// It loses to another server once.
    LoseOnce,
    /// A connection that breaks would leave it in doubt.
    NotTwice,
}

#[derive(Default)]
struct Fake {
    written: Mutex<Vec<Vec<usize>>>,
    /// What the next attempts meet.
    met: Mutex<VecDeque<BatchError>>,
}

struct FakeBatches(Arc<Fake>);

#[async_trait]
impl Batches for FakeBatches {
    type Command = Command;
    type Answer = usize;
    type Key = usize;
    type Batch = Vec<Command>;
    type Place = usize;
    type Outcome = Option<usize>;

    const QUEUE: &str = "test";
    const METRIC: &str = "threadkeep_test_batch_commands";

    fn deadline(_: &Command) -> Micros {
        Micros::MAX
    }

    fn tenant(_: &Command) -> &'static str {
        "acme"
    }

    fn key(command: &Command) -> usize {
        command.0 % 10
    }

    fn weight(_: &Command) -> Weight {
        Weight { bytes: 1, rows: 1 }
    }

    fn plan(&self, waiting: &[&Command]) -> (Vec<Command>, Vec<(usize, usize)>) {
        let places = (0..waiting.len()).map(|at| (at, at)).collect();
        (waiting.iter().map(|it| **it).collect(), places)
    }

    async fn write(&self, batch: &Vec<Command>) -> Result<Vec<Option<usize>>, BatchError> {
        let mut written = self.0.written.lock().unwrap();
        let has_lost = |number: usize| written.iter().flatten().any(|it| *it == number);
        let outcomes = batch.iter().map(|(number, does)| {
            (*does != Does::LoseOnce || has_lost(*number)).then_some(*number)
        });
        let outcomes = outcomes.collect();
        written.push(batch.iter().map(|it| it.0).collect());
        if let Some(error) = self.0.met.lock().unwrap().pop_front() {
            return Err(error);
        }
        if batch.iter().any(|it| it.1 == Does::Fail) {
            return Err(BatchError::Statement("a poisonous command".into()));
        }
        Ok(outcomes)
    }

    fn is_repeatable(batch: &Vec<Command>) -> bool {
        batch.iter().all(|it| it.1 != Does::NotTwice)
    }

    fn answer(_: &Command, at: usize, outcomes: &[Option<usize>]) -> Option<Result<usize>> {
        outcomes[at].map(Ok)
    }
}

/// Commands that come together, in one batch. Answers theirs, and the batches that were written.
async fn written(
    commands: &[Command],
    met: impl IntoIterator<Item = BatchError>,
) -> (Vec<Result<usize>>, Vec<Vec<usize>>) {
    let fake = Arc::new(Fake { met: Mutex::new(met.into_iter().collect()), ..Fake::default() });
    let clock = Arc::new(Clock::System);
    let queue = BatchQueue::of(FakeBatches(Arc::clone(&fake)), 1, &clock);
    let answers = join_all(commands.iter().map(|it| queue.commit(*it))).await;
    queue.stop().await;
    let written = fake.written.lock().unwrap().clone();
    (answers, written)
}

fn numbers(answers: &[Result<usize>]) -> Vec<Option<usize>> {
    answers.iter().map(|it| it.as_ref().ok().copied()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_poisonous_command_fails_alone_and_keeps_out_of_batches() {
    let fake = Arc::new(Fake::default());
    let clock = Arc::new(Clock::System);
    let queue = BatchQueue::of(FakeBatches(Arc::clone(&fake)), 1, &clock);
    let commands = [(1, Does::Succeed), (2, Does::Fail), (3, Does::Succeed)];
    let answers = join_all(commands.iter().map(|it| queue.commit(*it))).await;
    assert_eq!(numbers(&answers), [Some(1), None, Some(3)]);
    assert!(matches!(answers[1], Err(Error::Internal(_))), "{:?}", answers[1]);
    // The next command of its key runs alone, before it could take others along.
    let commands = [(4, Does::Succeed), (12, Does::Fail), (5, Does::Succeed)];
    let answers = join_all(commands.iter().map(|it| queue.commit(*it))).await;
    assert_eq!(numbers(&answers), [Some(4), None, Some(5)]);
    let written = fake.written.lock().unwrap().clone();
    assert_eq!(written, [vec![1, 2, 3], vec![1], vec![2], vec![3], vec![12], vec![4, 5]]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_written_again_while_the_database_asks_for_it() {
    let retry = || BatchError::Retry("deadlock".into());
    let commands = [(1, Does::NotTwice), (2, Does::Succeed)];
    let (answers, batches) = written(&commands, [retry(), retry()]).await;
    assert_eq!(numbers(&answers), [Some(1), Some(2)]);
    assert_eq!(batches, vec![vec![1, 2]; 3]);
    let (answers, batches) = written(&commands, (0..ATTEMPTS_MAX).map(|_| retry())).await;
    assert!(answers.iter().all(|it| matches!(it, Err(Error::Unavailable { .. }))), "{answers:?}");
    assert_eq!(batches.len(), ATTEMPTS_MAX as usize);
}

#[tokio::test(start_paused = true)]
async fn after_a_connection_broke_only_what_is_safe_to_repeat_is_written_again() {
    let lost = || BatchError::ConnectionLost("reset".into());
    let (answers, batches) = written(&[(1, Does::Succeed)], [lost()]).await;
    assert_eq!((numbers(&answers), batches.len()), (vec![Some(1)], 2));
    let (answers, batches) = written(&[(1, Does::NotTwice)], [lost()]).await;
    assert!(matches!(answers[0], Err(Error::CommitUnknown { .. })), "{answers:?}");
    assert_eq!(batches.len(), 1);
    // What the first attempt wrote may be there, whatever the later ones say.
    let away = (1..ATTEMPTS_MAX).map(|_| BatchError::Unavailable("refused".into()));
    let (answers, _) = written(&[(1, Does::Succeed)], std::iter::once(lost()).chain(away)).await;
    assert!(matches!(answers[0], Err(Error::CommitUnknown { .. })), "{answers:?}");
    // Nothing was sent at all.
    let (answers, _) =
        written(&[(1, Does::Succeed)], [BatchError::Unavailable("refused".into())]).await;
    assert!(matches!(answers[0], Err(Error::Unavailable { .. })), "{answers:?}");
}

#[tokio::test(start_paused = true)]
async fn a_command_that_lost_to_another_server_is_written_again() {
    let commands = [(1, Does::Succeed), (2, Does::LoseOnce)];
    let (answers, batches) = written(&commands, []).await;
    assert_eq!(numbers(&answers), [Some(1), Some(2)]);
    assert_eq!(batches, [vec![1, 2], vec![2]]);
}

#[tokio::test(start_paused = true)]
async fn on_a_full_disk_each_command_is_tried_alone() {
    let full = || BatchError::Obstacle { kind: Obstacle::DiskFull, detail: "full".into() };
    let commands = [(1, Does::Succeed), (2, Does::Succeed)];
    let (answers, batches) = written(&commands, [full(), full()]).await;
    assert!(matches!(answers[0], Err(Error::Obstacle { .. })), "{answers:?}");
    assert_eq!(numbers(&answers), [None, Some(2)]);
    assert_eq!(batches, [vec![1, 2], vec![1], vec![2]]);
}
