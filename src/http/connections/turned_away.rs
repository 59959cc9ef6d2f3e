//! Logs requests that are refused with 503: one line a second, with the number of requests since the line before that have none. A lost
//! database or a full disk refuses every request, and a line for each would fill the disk of the log.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

const EVERY: Duration = Duration::from_secs(1);

/// Of the process: so is the log.
static SAID: Mutex<Said> = Mutex::new(Said::NOTHING);

/// Writes it, or counts it for the next line.
pub fn log(code: &'static str, cause: &str) {
    match said().next(Instant::now(), code, cause) {
        Next::Line => tracing::warn!(code, cause, "the request was turned away"),
        Next::SummaryAt(at) => {
            tokio::spawn(async move {
                sleep_until(at).await;
                if let Some(LeftOut { count, code, cause }) = said().take_left_out() {
                    tracing::warn!(left_out = count, code, cause, "more requests were turned away");
                }
            });
        }
        Next::Nothing => {}
    }
}

fn said() -> MutexGuard<'static, Said> {
    SAID.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Said {
    /// Before then there is no other line.
    quiet_until: Option<Instant>,
    left_out: Option<LeftOut>,
}

/// Requests without a line, and what the last of them was refused for.
#[derive(Debug, PartialEq, Eq)]
struct LeftOut {
    count: u64,
    code: &'static str,
    cause: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Next {
    Line,
    /// The first that is left out: somebody has to say how many there were.
    SummaryAt(Instant),
    Nothing,
}

impl Said {
    const NOTHING: Self = Self { quiet_until: None, left_out: None };

    fn next(&mut self, now: Instant, code: &'static str, cause: &str) -> Next {
        if let Some(left_out) = &mut self.left_out {
            *left_out = LeftOut { count: left_out.count + 1, code, cause: cause.to_owned() };
            return Next::Nothing;
        }
        match self.quiet_until.filter(|until| now < *until) {
            Some(until) => {
                self.left_out = Some(LeftOut { count: 1, code, cause: cause.to_owned() });
                // The summary is a line, too.
                self.quiet_until = Some(until + EVERY);
                Next::SummaryAt(until)
            }
            None => {
                self.quiet_until = Some(now + EVERY);
                Next::Line
            }
        }
    }

    fn take_left_out(&mut self) -> Option<LeftOut> {
        self.left_out.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_line_a_second_and_every_request_is_counted() {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let mut said = Said::NOTHING;
        assert_eq!(said.next(at(0), "unavailable", "a"), Next::Line);
        assert_eq!(said.next(at(1), "unavailable", "b"), Next::SummaryAt(at(1_000)));
        assert_eq!(said.next(at(2), "commit_unknown", "c"), Next::Nothing);
        // The task that was to say it comes late: what came meanwhile counts.
        assert_eq!(said.next(at(1_100), "unavailable", "d"), Next::Nothing);
        let left_out = LeftOut { count: 3, code: "unavailable", cause: "d".into() };
        assert_eq!(said.take_left_out(), Some(left_out));
        assert_eq!(said.next(at(1_200), "unavailable", "e"), Next::SummaryAt(at(2_000)));
        assert_eq!(said.take_left_out().unwrap().count, 1);
        assert_eq!(said.next(at(3_000), "unavailable", "f"), Next::Line);
        assert_eq!(said.take_left_out(), None);
    }
}
