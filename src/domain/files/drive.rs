//! Maps the paths of the drive to namespaces. The drive is the one tree of paths that a person sees. Pure.
//!
//! | path | namespace | key |
//! |---|---|---|
//! | `/memories/x`, alias `/memory/x` | (u, "filesystem") | `/x` |
//! | `/threads/{label}/x` | (u, "threads", label, "artifacts") | `/x` |
//! | `/workspace/x` and every other `/x` | (u, "workspace") | `/x` |

use crate::domain::error::{Error, Result};
use crate::domain::label::label;
use crate::domain::limits::LIMITS;
use crate::domain::store::namespace::Namespace;

const MEMORIES: &str = "memories";
const MEMORY: &str = "memory";
const THREADS: &str = "threads";
const WORKSPACE: &str = "workspace";
const FILESYSTEM: &str = "filesystem";
const ARTIFACTS: &str = "artifacts";
/// First names that do not stand for a folder of the workspace.
const MOUNTS: [&str; 4] = [MEMORIES, MEMORY, THREADS, WORKSPACE];

/// One person's drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drive {
    /// The first label of everything in it.
    root: String,
}

/// A part of the drive: one namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Area {
    Workspace,
    Memories,
    /// What the thread of this label wrote.
    Thread(String),
}

/// What a path of the drive names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DriveTarget {
    /// `/`: the workspace, and the other areas as folders.
    Root,
    /// `/threads`: a folder for each thread.
    Threads,
    Within(Spot),
}

/// Somewhere in an area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    pub area: Area,
    /// Begins with `/`; `/` alone is the area itself.
    pub key: String,
}

impl Drive {
    pub fn of(subject: &str) -> Self {
        Self { root: label(subject) }
    }

    pub fn namespace(&self, area: &Area) -> Namespace {
        let labels: &[&str] = match area {
            Area::Workspace => &[WORKSPACE],
            Area::Memories => &[FILESYSTEM],
            Area::Thread(thread) => &[THREADS, thread, ARTIFACTS],
        };
        let all = [self.root.as_str()].into_iter().chain(labels.iter().copied());
        Namespace::stored(all.map(str::to_owned).collect())
    }

    /// What all threads' files lie below.
    pub fn threads(&self) -> Namespace {
        Namespace::stored(vec![self.root.clone(), THREADS.to_owned()])
    }

    /// The label of the thread whose files a namespace holds.
    pub fn thread_of<'a>(&self, namespace: &'a Namespace) -> Option<&'a str> {
        match namespace.labels() {
            [root, threads, thread, artifacts]
                if *root == self.root && threads == THREADS && artifacts == ARTIFACTS =>
            {
                Some(thread)
            }
            _ => None,
        }
    }
}

impl DriveTarget {
    /// Reads a path of the drive. A path without a slash at its start is one from the root.
    ///
    /// # Errors
    /// 422 for a path that is not canonical.
    pub fn of_path(path: &str) -> Result<Self> {
        let names = names(path)?;
        let within =
            |area, rest: &[&str]| Self::Within(Spot { area, key: format!("/{}", rest.join("/")) });
        Ok(match names.as_slice() {
            [] => Self::Root,
            [MEMORIES | MEMORY, rest @ ..] => within(Area::Memories, rest),
            [THREADS] => Self::Threads,
            [THREADS, thread, rest @ ..] => {
                if !is_label(thread) {
                    return Err(refuse("/threads/ is followed by the label of a thread"));
                }
                within(Area::Thread((*thread).to_owned()), rest)
            }
            // What has no place of its own is in the workspace.
            [WORKSPACE, rest @ ..] | rest => within(Area::Workspace, rest),
        })
    }

    /// The file that a path names.
    ///
    /// # Errors
    /// 422 for what is not canonical, or can only be a folder.
    pub fn of_file(path: &str) -> Result<Spot> {
        match Self::of_path(path)? {
            Self::Within(spot) if spot.key != "/" && !path.ends_with('/') => Ok(spot),
            _ => Err(refuse("path names a folder, not a file")),
        }
    }
}

impl Area {
    /// Where the drive shows a key of the area; None for keys that it does not show, since no path leads there.
    pub fn path(&self, key: &str) -> Option<String> {
        let path = match self {
            Self::Memories => format!("/{MEMORIES}{key}"),
            Self::Thread(thread) => format!("/{THREADS}/{thread}{key}"),
            Self::Workspace => {
                let first = key.trim_start_matches('/').split('/').next().unwrap_or_default();
                let hidden = MOUNTS.contains(&first);
                if hidden { format!("/{WORKSPACE}{key}") } else { key.to_owned() }
            }
        };
        let shown = DriveTarget::of_path(path.trim_end_matches('/')).ok()?;
        let key = if key == "/" { key } else { key.trim_end_matches('/') };
        let leads_back = DriveTarget::Within(Spot { area: self.clone(), key: key.to_owned() });
        (shown == leads_back || key == "/").then_some(path)
    }
}

/// The names of a canonical path. Whoever would smuggle in another path hides it from one of two readers: so nothing that
/// some reader takes for a separator, a parent or an escape is let through, in whatever spelling.
fn names(path: &str) -> Result<Vec<&str>> {
    let max = LIMITS.item_key_bytes_max;
    if path.len() as u64 > max {
        let detail = format!("path is {} bytes long, at most {max} are allowed", path.len());
        return Err(Error::out_of_range("path", detail, max));
    }
    if path.chars().any(char::is_control) {
        return Err(refuse("path must not have control characters"));
    }
    if path.contains('\\') {
        return Err(refuse("path must not have a backslash; folders are parted by /"));
    }
    if path.chars().any(is_lookalike) {
        return Err(refuse("path must not have characters that look like / \\ or ."));
    }
    if has_escape(path) {
        return Err(refuse(
            "path must not have %2e, %2f, %5c, %25 or %00: it is not decoded twice",
        ));
    }
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    if path.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = path.split('/').collect();
    for name in &names {
        if name.is_empty() {
            return Err(refuse("path must not have empty names (//)"));
        }
        if name.trim().chars().all(|it| it == '.') {
            return Err(refuse("path must not have . or .. as a name"));
        }
    }
    Ok(names)
}

/// Characters that normalization turns into a dot, a slash or a backslash, and those that nobody sees.
fn is_lookalike(it: char) -> bool {
    matches!(it,
        '\u{2024}'..='\u{2026}' | '\u{fe52}' | '\u{ff0e}' | '\u{fe19}' | '\u{fe30}'
        | '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{ff0f}' | '\u{2571}'
        | '\u{2216}' | '\u{29f5}' | '\u{29f9}' | '\u{fe68}' | '\u{ff3c}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn has_escape(path: &str) -> bool {
    let escapes = path.split('%').skip(1).filter_map(|it| it.get(..2));
    escapes.into_iter().any(|it| {
        ["2e", "2f", "5c", "25", "00", "c0", "c1"].contains(&it.to_ascii_lowercase().as_str())
    })
}

fn is_label(text: &str) -> bool {
    let legal = |it: u8| it.is_ascii_alphanumeric() || b"_@+:-~".contains(&it);
    !text.is_empty() && text.bytes().all(legal)
}

fn refuse(detail: &str) -> Error {
    Error::invalid("path", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(area: Area, key: &str) -> DriveTarget {
        DriveTarget::Within(Spot { area, key: key.into() })
    }

    #[test]
    fn each_path_lies_in_one_namespace() {
        let thread = || Area::Thread("t~2e1".into());
        for (path, place) in [
            ("/", DriveTarget::Root),
            ("", DriveTarget::Root),
            ("/threads", DriveTarget::Threads),
            ("/threads/", DriveTarget::Threads),
            ("/memories/a/b.md", spot(Area::Memories, "/a/b.md")),
            ("/memory/a/b.md", spot(Area::Memories, "/a/b.md")),
            ("/memories", spot(Area::Memories, "/")),
            ("/workspace/code/main.py", spot(Area::Workspace, "/code/main.py")),
            ("/code/main.py", spot(Area::Workspace, "/code/main.py")),
            ("code/main.py", spot(Area::Workspace, "/code/main.py")),
            ("/projects/x", spot(Area::Workspace, "/projects/x")),
            ("/uploads/x/", spot(Area::Workspace, "/uploads/x")),
            ("/workspace/workspace/x", spot(Area::Workspace, "/workspace/x")),
            ("/workspace/memories/x", spot(Area::Workspace, "/memories/x")),
            ("/workspace", spot(Area::Workspace, "/")),
            ("/threads/t~2e1/large_tool_results/9", spot(thread(), "/large_tool_results/9")),
            ("/100%/50% off", spot(Area::Workspace, "/100%/50% off")),
            ("/... and so on/.gitignore", spot(Area::Workspace, "/... and so on/.gitignore")),
        ] {
            assert_eq!(DriveTarget::of_path(path).unwrap(), place, "{path}");
        }
        let drive = Drive::of("a.b@x.com");
        let labels = |area| drive.namespace(&area).labels().join("|");
        assert_eq!(labels(Area::Workspace), "a~2eb@x~2ecom|workspace");
        assert_eq!(labels(Area::Memories), "a~2eb@x~2ecom|filesystem");
        assert_eq!(labels(thread()), "a~2eb@x~2ecom|threads|t~2e1|artifacts");
        assert_eq!(drive.thread_of(&drive.namespace(&thread())), Some("t~2e1"));
        assert_eq!(Drive::of("b").thread_of(&drive.namespace(&thread())), None);
    }

    #[test]
    fn the_drive_shows_a_key_where_its_path_leads_to_it() {
        for (area, key, path) in [
            (Area::Workspace, "/code/main.py", Some("/code/main.py")),
            (Area::Workspace, "/code/", Some("/code/")),
            (Area::Workspace, "/workspace/x", Some("/workspace/workspace/x")),
            (Area::Workspace, "/memories/x", Some("/workspace/memories/x")),
            (Area::Workspace, "/memory", Some("/workspace/memory")),
            (Area::Workspace, "/threads/x", Some("/workspace/threads/x")),
            (Area::Memories, "/a.md", Some("/memories/a.md")),
            (
                Area::Thread("t1".into()),
                "/large_tool_results/9",
                Some("/threads/t1/large_tool_results/9"),
            ),
            // Keys that a store put there, and that no path of the drive can name.
            (Area::Workspace, "no slash", None),
            (Area::Workspace, "/a/../b", None),
            (Area::Workspace, "/a//b", None),
        ] {
            assert_eq!(area.path(key).as_deref(), path, "{key}");
        }
    }

    #[test]
    fn paths_that_lead_elsewhere_for_some_reader_are_refused() {
        for path in [
            "..",
            "/..",
            "/../x",
            "/a/../../b",
            "/a/..",
            "/a/./b",
            "/.",
            "/a//b",
            "//a",
            "/a//",
            "\\..\\x",
            "/a\\b",
            "/%2e%2e/x",
            "/%2E%2e/x",
            "/a%2fb",
            "/a%5cb",
            "/%252e%252e/x",
            "/a%00b",
            "/\u{ff0e}\u{ff0e}/x",
            "/\u{2025}/x",
            "/a\u{2215}b",
            "/a\u{ff0f}b",
            "/a\u{ff3c}b",
            "/a\0b",
            "/a\nb",
            "/ .. /x",
            "/.../x",
            "/..\u{200b}/x",
            "/a\u{202e}b",
            "/%c0%ae%c0%ae/x",
            "/memories/../workspace/x",
            "/threads/../x",
            "/threads/a.b/x",
            "/threads/a b/x",
        ] {
            let refused = DriveTarget::of_path(path);
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{path:?}: {refused:?}");
        }
        let long = format!("/{}", "x".repeat(1_024));
        assert!(matches!(
            DriveTarget::of_path(&long),
            Err(Error::Invalid { limit: Some(1_024), .. })
        ));
    }

    #[test]
    fn folders_are_no_files() {
        for path in ["/", "/threads", "/threads/t1", "/memories", "/workspace/", "/a/"] {
            assert!(DriveTarget::of_file(path).is_err(), "{path}");
        }
        assert_eq!(
            DriveTarget::of_file("/a").unwrap(),
            Spot { area: Area::Workspace, key: "/a".into() }
        );
    }
}
