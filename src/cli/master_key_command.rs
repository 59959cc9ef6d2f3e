//! Gets a master key from a command, such as the client of a key manager. Nothing that the command writes is shown: it may be the key.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::domain::{Error, Result};

const SETTING: &str = "master-key-command";
/// A key manager answers in a second or two.
const WITHIN: Duration = Duration::from_secs(30);
const LOOKS_EVERY: Duration = Duration::from_millis(20);
/// A key is short; whatever else it is, it is not read whole.
const OUTPUT_BYTES_MAX: u64 = 1_024;

/// What the command writes to standard output. `sh -c` runs it; its standard error is this program's.
///
/// # Errors
/// `Invalid` for a command that cannot be run, fails, takes longer than 30 seconds, or writes too much.
pub fn output(command: &str) -> Result<String> {
    let refuse = |why: String| Error::invalid(SETTING, format!("--{SETTING} {why}"));
    let child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| refuse(format!("cannot be run by sh: {error}")))?;
    let mut running = Running(child);
    let output = running.0.stdout.take().expect("standard output is piped");
    // A command that fills the pipe would never end, so it is read beside.
    let reader = std::thread::spawn(move || {
        use std::io::Read as _;
        let mut read = Vec::new();
        let _ = output.take(OUTPUT_BYTES_MAX + 1).read_to_end(&mut read);
        read
    });
    let status =
        running.wait(WITHIN).map_err(|error| refuse(format!("cannot be watched: {error}")))?;
    let Some(status) = status else {
        return Err(refuse(format!("did not end within {} seconds", WITHIN.as_secs())));
    };
    let read = reader.join().map_err(|_| refuse("could not be read".into()))?;
    if read.len() as u64 > OUTPUT_BYTES_MAX {
        return Err(refuse(format!(
            "wrote more than {OUTPUT_BYTES_MAX} bytes: a master key is short"
        )));
    }
    // One that wrote too much fails because nobody read on.
    if !status.success() {
        return Err(refuse(format!("failed: {status}")));
    }
    String::from_utf8(read).map_err(|_| refuse("wrote something other than text".into()))
}

/// A command that is ended with this value.
struct Running(Child);

impl Running {
    /// None: it runs on.
    fn wait(&mut self, within: Duration) -> std::io::Result<Option<std::process::ExitStatus>> {
        let end = Instant::now() + within;
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Some(status));
            }
            if Instant::now() >= end {
                return Ok(None);
            }
            std::thread::sleep(LOOKS_EVERY);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended cannot be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_is_the_key_and_a_failure_tells_none_of_it() {
        assert_eq!(output("printf abc").unwrap(), "abc");
        for (command, says) in [
            ("printf s3cret; exit 3", "exit status: 3"),
            ("head -c 5000 /dev/zero", "more than 1024 bytes"),
            ("printf '\\377'", "other than text"),
            ("/nowhere/at/all 2>/dev/null", "exit status: 127"),
        ] {
            let error = output(command).unwrap_err().to_string();
            assert!(error.contains(says), "{command}: {error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
