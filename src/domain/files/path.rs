//! Checks the paths of files: keys of items. Every stored key can be listed, read, edited and deleted as it is. A new file needs a path in
//! its one canonical form.

use super::problem::problem;
use crate::domain::error::{FileProblem, Result};
use crate::domain::json::wide_text::WideText;
use crate::domain::limits::LIMITS;
use crate::domain::store::item::Key;

/// A path in a request.
///
/// # Errors
/// `invalid_path` over the limit: nothing has such a key.
pub fn of_request(text: WideText) -> Result<Key> {
    let max = LIMITS.item_key_bytes_max;
    if text.as_bytes().len() as u64 > max {
        let detail = format!("Path is longer than {max} bytes");
        return Err(problem(FileProblem::InvalidPath, detail));
    }
    Ok(Key::stored(text.into_bytes()))
}

/// Whether a file may be made at this path: absolute, every component a name, text without NUL.
///
/// # Errors
/// `invalid_path` with the reason.
pub fn check_new(path: &Key) -> Result<()> {
    let shown = path.wide().shown();
    let refuse = |why: &str| Err(problem(FileProblem::InvalidPath, format!("{why}: {shown}")));
    let max = LIMITS.item_key_bytes_max;
    if path.as_bytes().len() as u64 > max {
        return refuse(&format!("Path is longer than {max} bytes"));
    }
    let Some(text) = path.text() else {
        return refuse("Path is not text");
    };
    // Backslashes separate on some systems: what climbs there climbs nowhere.
    if text.split(['/', '\\']).any(|it| it == "..") {
        return refuse("Path traversal not allowed");
    }
    if text.contains('\0') {
        return refuse("Path holds NUL");
    }
    if !text.starts_with('/') {
        return refuse("Path must begin with a slash");
    }
    if text[1..].split('/').any(|it| it.is_empty() || it == ".") {
        return refuse("Path is not canonical");
    }
    Ok(())
}

/// Where listings of a directory begin: its path with one slash at the end.
pub fn directory(path: &Key) -> Vec<u8> {
    let mut bytes = path.as_bytes().to_vec();
    if bytes.last() != Some(&b'/') {
        bytes.push(b'/');
    }
    bytes
}

/// Without slashes at the end.
pub fn trimmed(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|it| *it != b'/').map_or(0, |it| it + 1);
    &path[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_made_at_canonical_paths_only() {
        let check = |text: &str| check_new(&of_request(text.into()).unwrap());
        for good in ["/a", "/a b/ü.md", "/a..b", "/.hidden/...", "/~x", "/C:/x", "/%2e%2e/x"] {
            assert!(check(good).is_ok(), "{good}");
        }
        for bad in [
            "", "/", "a", "a/b", "//a", "/a//b", "/a/", "/./a", "/a/.", "/..", "/a/../b", "/a\0",
            "/a/..\\b", "..\\a",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
        let lone = WideText::of_json("x", br#""/\ud800""#).unwrap();
        assert!(check_new(&of_request(lone).unwrap()).is_err());
        assert!(of_request("x".repeat(1_025).into()).is_err());
    }

    #[test]
    fn directories_end_with_one_slash() {
        let of = |text: &str| directory(&Key::of_text(text).unwrap());
        assert_eq!(
            (of("/"), of("/a"), of("/a/")),
            (b"/".to_vec(), b"/a/".to_vec(), b"/a/".to_vec())
        );
        assert_eq!(
            (trimmed(b"/a//"), trimmed(b"/"), trimmed(b"a")),
            (&b"/a"[..], &b""[..], &b"a"[..])
        );
    }
}
