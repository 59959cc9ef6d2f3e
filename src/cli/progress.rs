//! Says on standard error how far a long command is: on a terminal in one line that is written anew each second, elsewhere in a line every ten
//! seconds.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use super::form::Form;
use crate::domain::progress::{Progress, Step};

const EVERY_ON_TERMINAL: Duration = Duration::from_secs(1);
const EVERY: Duration = Duration::from_secs(10);
/// A longer line would take two lines of a narrow terminal, of which only the second is written anew.
const WIDTH_MAX: usize = 79;
/// To its beginning, and nothing on it.
const CLEARED: &str = "\r\x1b[K";

/// The terminal shows a line of progress, behind which the next text would stand.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Rewritten,
    Lines,
    Json,
}

/// How a command tells of its progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Telling {
    way: Way,
    every: Duration,
}

impl Telling {
    pub fn new(form: Form) -> Self {
        match form {
            Form::Json => Self { way: Way::Json, every: EVERY },
            Form::Text if std::io::stderr().is_terminal() => {
                Self { way: Way::Rewritten, every: EVERY_ON_TERMINAL }
            }
            Form::Text => Self { way: Way::Lines, every: EVERY },
        }
    }

    /// Also where there is no terminal.
    pub fn each_second(self) -> Self {
        Self { every: EVERY_ON_TERMINAL, ..self }
    }

    /// Does the work, and meanwhile tells what `say` answers; nothing where that is empty.
    pub async fn watch<T>(
        self,
        say: impl Fn() -> String + Send + 'static,
        work: impl Future<Output = T>,
    ) -> T {
        let is_over = Arc::new(Mutex::new(false));
        let seen = Arc::clone(&is_over);
        // A task of its own: the work may hold up the one that it runs in.
        let telling = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(self.every);
            // The first one comes at once.
            ticks.tick().await;
            loop {
                ticks.tick().await;
                let is_over = seen.lock().expect("nothing panics while it tells");
                if *is_over {
                    return;
                }
                let said = say();
                if !said.is_empty() {
                    self.tell(&said);
                }
            }
        });
        let done = work.await;
        *is_over.lock().expect("nothing panics while it tells") = true;
        telling.abort();
        clear();
        done
    }

    /// As [`Telling::watch`], of work that keeps its progress.
    pub async fn watch_steps<T>(self, steps: &Arc<Progress>, work: impl Future<Output = T>) -> T {
        let steps = Arc::clone(steps);
        self.watch(move || said(&steps.step()), work).await
    }

    fn tell(self, said: &str) {
        // Nobody is left who could be told that it failed.
        let _ = std::io::stderr().write_all(self.line(said).as_bytes());
        if self.way == Way::Rewritten {
            IS_SHOWN.store(true, Ordering::Relaxed);
        }
    }

    fn line(self, said: &str) -> String {
        let line = format!("threadkeep: {said}");
        match self.way {
            Way::Lines => line + "\n",
            Way::Json => format!("{}\n", json!({ "progress": said })),
            Way::Rewritten => {
                // A name of a tenant has no control characters.
                let cut: String = line.chars().take(WIDTH_MAX).collect();
                format!("{CLEARED}{cut}")
            }
        }
    }
}

/// Makes room for another text where the terminal shows progress.
pub(super) fn clear() {
    if IS_SHOWN.swap(false, Ordering::Relaxed) {
        eprint!("{CLEARED}");
    }
}

/// Empty before the work has begun.
fn said(step: &Step) -> String {
    let Step { tenant, what, done, all } = step;
    let whose = if tenant.is_empty() { String::new() } else { format!("tenant {tenant}: ") };
    match (*done, *all) {
        (0, 0) => format!("{whose}{what}"),
        (done, 0) => format!("{whose}{done} {what}"),
        (done, all) => format!("{whose}{done} of {all} {what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_written_anew_on_a_terminal_alone() {
        let line = |way| Telling { way, every: EVERY }.line("3 of 7 threads");
        assert_eq!(line(Way::Lines), "threadkeep: 3 of 7 threads\n");
        assert_eq!(line(Way::Json), "{\"progress\":\"3 of 7 threads\"}\n");
        assert_eq!(line(Way::Rewritten), "\r\x1b[Kthreadkeep: 3 of 7 threads");
        let long = Telling { way: Way::Rewritten, every: EVERY }.line(&"x".repeat(200));
        assert_eq!(long.len(), CLEARED.len() + WIDTH_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_asked_at_its_pace_until_the_work_is_done() {
        let asked = Arc::new(Mutex::new(0));
        let seen = Arc::clone(&asked);
        let say = move || {
            *seen.lock().unwrap() += 1;
            String::new()
        };
        let telling = Telling { way: Way::Lines, every: EVERY };
        let done = telling.watch(say, async {
            tokio::time::sleep(Duration::from_secs(35)).await;
            7
        });
        assert_eq!(done.await, 7);
        assert_eq!(*asked.lock().unwrap(), 3);
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(*asked.lock().unwrap(), 3, "nothing is told of work that is done");
    }
}
