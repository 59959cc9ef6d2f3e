//! Tests reading, listing and searching files of a namespace, on every engine. It also has helpers for tests with files.

use std::sync::Arc;
use std::time::Duration;

use threadkeep::domain::caller::Caller;
use threadkeep::domain::files::changing::{EditFile, UploadFile, WriteFile};
use threadkeep::domain::files::dialect::Dialect;
use threadkeep::domain::files::listing::{GlobFiles, ListDirectory};
use threadkeep::domain::files::moving::{DeleteFile, MoveFile, Moved};
use threadkeep::domain::files::reading::{Body, ReadFile, Shown};
use threadkeep::domain::files::searching::{GrepFiles, GrepMatches, SearchBudget};
use threadkeep::domain::files::{FileCall, FileChangeCall, Files};
use threadkeep::domain::store::item::Key;
use threadkeep::domain::store::namespace::Namespace;
use threadkeep::domain::{Error, Result};

use crate::harness::{Harness, NEVER};
use crate::store::{Store, namespace};

const LABELS: [&str; 2] = ["u", "filesystem"];

/// A server of files, and who asks it.
pub struct Drive {
    pub store: Store,
    pub files: Files,
    pub caller: Caller,
    pub dialect: Dialect,
    pub namespace: Namespace,
}

impl Drive {
    pub async fn on(h: &Harness) -> Self {
        let store = Store::on(h).await;
        let files = Files::new(store.storage.clone(), Arc::clone(&store.items), 1 << 20);
        let caller = store.caller.clone();
        let namespace = namespace(&LABELS);
        Self { store, files, caller, dialect: Dialect::Python, namespace }
    }

    pub fn asking(&self) -> FileCall<'_> {
        FileCall { caller: &self.caller, dialect: self.dialect, namespace: &self.namespace }
    }

    pub fn asked(&self) -> FileChangeCall<'_> {
        FileChangeCall { asking: self.asking(), idempotency: None, deadline: NEVER }
    }

    pub async fn write(&self, path: &str, content: &str) -> Result<(i64, bool)> {
        self.files.write(self.asked(), &write(path, content)).await
    }

    pub async fn edit(&self, path: &str, old: &str, new: &str) -> Result<(i64, u64)> {
        self.files.edit(self.asked(), &edit(path, old, new)).await
    }

    pub async fn shown(&self, path: &str, offset: i64, limit: i64) -> Result<Shown> {
        let read = ReadFile { path: key(path), offset, limit };
        self.files.read(self.asking(), &read).await
    }

    pub async fn text(&self, path: &str) -> String {
        match self.shown(path, 0, 1_000_000).await.unwrap().body {
            Body::Text(text) => text.text().unwrap().to_owned(),
            other => panic!("{other:?}"),
        }
    }

    pub async fn delete(&self, path: &str) -> Result<u64> {
        let delete = DeleteFile { path: key(path), if_version: None };
        self.files.delete(self.asked(), &delete).await
    }

    /// Paths of a directory, page by page.
    pub async fn list(&self, path: &str, is_recursive: bool, limit: usize) -> Vec<String> {
        let mut query = ListDirectory { path: key(path), is_recursive, limit, after: None };
        let mut all = Vec::new();
        loop {
            let page = self.files.list(self.asking(), &query).await.unwrap();
            assert!(page.entries.len() <= limit);
            all.extend(page.entries.iter().map(|it| it.path.text().unwrap().to_owned()));
            if !page.is_cut {
                return all;
            }
            query.after = page.entries.last().map(|it| it.path.clone());
        }
    }

    pub async fn glob(&self, pattern: &str, path: Option<&str>) -> Vec<String> {
        let query = GlobFiles { pattern: pattern.into(), path: path.map(key), limit: 10_000 };
        let found = self.files.glob(self.asking(), &query).await.unwrap();
        assert!(!found.is_truncated);
        found.files.iter().map(|it| it.key.text().unwrap().to_owned()).collect()
    }

    pub async fn grep(&self, pattern: &str, path: Option<&str>, glob: Option<&str>) -> GrepMatches {
        let query = GrepFiles {
            pattern: pattern.into(),
            path: path.map(key),
            glob: glob.map(Into::into),
            count_max: None,
        };
        self.files.grep(self.asking(), &query).await.unwrap()
    }

    pub async fn transfer(&self, from: &str, to: &str, copies: bool) -> Result<Moved> {
        let request = MoveFile { copies, ..moving(self, from, to) };
        self.files.transfer(self.asked(), &request).await
    }
}

pub fn key(path: &str) -> Key {
    Key::of_text(path).unwrap()
}

pub fn write(path: &str, content: &str) -> WriteFile {
    WriteFile { path: key(path), content: content.into(), if_version: None }
}

pub fn edit(path: &str, old: &str, new: &str) -> EditFile {
    EditFile { path: key(path), old: old.into(), new: new.into(), all: false, if_version: None }
}

pub fn moving(drive: &Drive, from: &str, to: &str) -> MoveFile {
    MoveFile {
        from: key(from),
        to: key(to),
        to_namespace: drive.namespace.clone(),
        overwrites: false,
        if_version: None,
        copies: false,
    }
}

pub fn says<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

fn lines(found: &GrepMatches) -> Vec<(&str, u64, &str)> {
    let line = |it: &'_ threadkeep::domain::files::searching::GrepMatch| it.line;
    let each = found.matches.iter();
    each.map(|it| (it.path.text().unwrap(), line(it), it.text.text().unwrap())).collect()
}

pub async fn a_file_is_the_item_that_deepagents_would_have_put(h: Harness) {
    let mut drive = Drive::on(&h).await;
    let (version, created) = drive.write("/x.md", "# X\nhello\n").await.unwrap();
    assert!(created);
    let value = async |key: &str| {
        let item = drive.store.get(&LABELS, key).await.unwrap();
        String::from_utf8(item.value.unwrap().to_vec()).unwrap()
    };
    let time = r#""2023-11-14T22:13:20+00:00""#;
    assert_eq!(
        value("/x.md").await,
        format!(
            r##"{{"content":"# X\nhello\n","encoding":"utf-8","created_at":{time},"modified_at":{time}}}"##
        )
    );
    drive.store.clock.advance(1_500);
    let (next, count) = drive.edit("/x.md", "hello", "goodbye").await.unwrap();
    assert_eq!((next, count), (version + 1, 1));
    let later = r#""2023-11-14T22:13:20.001500+00:00""#;
    assert_eq!(
        value("/x.md").await,
        format!(
            r##"{{"content":"# X\ngoodbye\n","encoding":"utf-8","created_at":{time},"modified_at":{later}}}"##
        )
    );
    assert_eq!(drive.write("/x.md", "new").await.unwrap(), (version + 2, false));
    let shown = drive.shown("/x.md", 0, 10).await.unwrap();
    assert_eq!(shown.head.created_at.unwrap().json(), time);
    drive.dialect = Dialect::JavaScript;
    drive.write("/j.md", "x").await.unwrap();
    let time = r#""2023-11-14T22:13:20.001Z""#;
    let item = drive.store.get(&LABELS, "/j.md").await.unwrap();
    let expected = format!(
        r#"{{"content":"x","mimeType":"text/markdown","created_at":{time},"modified_at":{time}}}"#
    );
    assert_eq!(item.value.unwrap(), expected);
}

pub async fn reads_show_windows_and_say_what_is_wrong(h: Harness) {
    let mut drive = Drive::on(&h).await;
    drive.write("/x.md", "a\nb\r\nc\n").await.unwrap();
    let shown = drive.shown("/x.md", 1, 1).await.unwrap();
    assert_eq!(shown.body, Body::Text("b\n".into()));
    assert_eq!((shown.place.unwrap().total_lines, shown.head.size), (3, 7));
    assert_eq!(says(drive.shown("/gone", 0, 1).await), "File '/gone' not found");
    assert_eq!(
        says(drive.shown("/x.md", 3, 1).await),
        "Line offset 3 exceeds file length (3 lines)"
    );
    drive.store.put(&LABELS, "/odd", r#"{"text":1,"more":2}"#).await;
    assert_eq!(
        says(drive.shown("/odd", 0, 1).await),
        "Store item does not contain valid content field. Got: dict_keys(['text', 'more'])"
    );
    assert_eq!(
        says(drive.edit("/odd", "a", "b").await),
        "Error: Store item does not contain valid content field. Got: dict_keys(['text', 'more'])"
    );
    assert_eq!(says(drive.edit("/gone", "a", "b").await), "Error: File '/gone' not found");
    assert_eq!(says(drive.delete("/gone").await), "Error: File '/gone' not found");
    assert_eq!(says(drive.edit("/x.md", "z", "b").await), "Error: String not found in file: 'z'");
    let bytes = UploadFile { path: key("/i.png"), bytes: vec![0xff, 1], media_type: None };
    drive.files.upload(drive.asked(), vec![bytes]).await.unwrap()[0].as_ref().unwrap();
    assert_eq!(
        says(drive.edit("/i.png", "a", "b").await),
        "Error: Cannot edit binary files with text replacements."
    );
    let shown = drive.shown("/i.png", 9, 0).await.unwrap();
    assert_eq!((shown.body, shown.media_type.as_str()), (Body::Bytes(vec![0xff, 1]), "image/png"));
    drive.dialect = Dialect::JavaScript;
    let shown = drive.shown("/i.png", 0, 5).await.unwrap();
    assert_eq!(shown.body, Body::Bytes(vec![0xff, 1]));
    assert_eq!(drive.shown("/x.md", 9, 1).await.unwrap().body, Body::Text("".into()));
    assert_eq!(
        says(drive.shown("/odd", 0, 1).await),
        "Store item does not contain valid FileData fields. Got keys: text, more"
    );
}

pub async fn listings_show_directories_and_skip_what_is_no_file(h: Harness) {
    let drive = Drive::on(&h).await;
    for path in ["/a.txt", "/a", "/a/b", "/a/c/d", "/a!", "/b/x", "/b/y/z", "/z"] {
        drive.write(path, "x").await.unwrap();
    }
    for (key, value) in [
        ("/odd", "{}"),
        ("/no/file", "{}"),
        ("rel", r#"{"content":"x"}"#),
        ("//q/r", r#"{"content":"x"}"#),
    ] {
        drive.store.put(&LABELS, key, value).await;
    }
    drive.store.put(&["u", "filesystem", "below"], "/below", r#"{"content":"x"}"#).await;
    let root = ["//", "/a", "/a!", "/a.txt", "/a/", "/b/", "/z"];
    for limit in [1, 2, 3, 100] {
        assert_eq!(drive.list("/", false, limit).await, root, "{limit}");
        assert_eq!(drive.list("/a", false, limit).await, ["/a/b", "/a/c/"]);
        let all = drive.list("/", true, limit).await;
        assert_eq!(all, ["//q/r", "/a", "/a!", "/a.txt", "/a/b", "/a/c/d", "/b/x", "/b/y/z", "/z"]);
    }
    assert_eq!(drive.list("/b/", false, 10).await, ["/b/x", "/b/y/"]);
    assert!(drive.list("/gone", false, 10).await.is_empty());
    assert!(drive.list("/z", false, 10).await.is_empty());
    let stat = drive.files.stat(drive.asking(), &key("/a/c")).await.unwrap();
    assert_eq!((stat.path.text(), stat.file.is_none()), (Some("/a/c/"), true));
    let stat = drive.files.stat(drive.asking(), &key("/a")).await.unwrap();
    assert_eq!(stat.file.unwrap().head.size, 1);
    assert_eq!(says(drive.files.stat(drive.asking(), &key("/odd")).await), "File '/odd' not found");
}

pub async fn globs_and_greps_find_what_they_should(h: Harness) {
    let mut drive = Drive::on(&h).await;
    for (path, content) in [
        ("/a.py", "import x\nFIND one\n"),
        ("/src/b.py", "FIND two FIND"),
        ("/src/deep/c.py", "nothing"),
        ("/src/d.md", "a\n\nFIND"),
        ("/.hidden/e.py", "FIND hidden"),
    ] {
        drive.store.clock.advance(1_000);
        drive.write(path, content).await.unwrap();
    }
    drive.store.put(&LABELS, "/odd", r#"{"content":[1]}"#).await;
    let bytes = UploadFile { path: key("/i.bin"), bytes: b"FIND\xff".to_vec(), media_type: None };
    drive.files.upload(drive.asked(), vec![bytes]).await.unwrap()[0].as_ref().unwrap();
    assert_eq!(
        drive.glob("*.py", None).await,
        ["/.hidden/e.py", "/src/deep/c.py", "/src/b.py", "/a.py"]
    );
    assert_eq!(drive.glob("**/*.py", Some("/src")).await, ["/src/deep/c.py", "/src/b.py"]);
    assert_eq!(drive.glob("/*.py", Some("/")).await, ["/a.py"]);
    assert_eq!(drive.glob("d.md", Some("/src/d.md")).await, ["/src/d.md"]);
    for _ in 0..2 {
        let found = drive.grep("FIND", None, None).await;
        let expected = [
            ("/.hidden/e.py", 1, "FIND hidden"),
            ("/a.py", 2, "FIND one"),
            ("/src/b.py", 1, "FIND two FIND"),
            ("/src/d.md", 3, "FIND"),
        ];
        assert_eq!(lines(&found), expected);
        assert!(!found.is_truncated);
    }
    assert_eq!(
        lines(&drive.grep("FIND", Some("/src/"), Some("*.md")).await),
        [("/src/d.md", 3, "FIND")]
    );
    assert_eq!(lines(&drive.grep("FIND", Some("/a.py"), None).await), [("/a.py", 2, "FIND one")]);
    // What another puts is seen at once, whatever is remembered.
    drive.store.put(&LABELS, "/a.py", r#"{"content":"FIND now"}"#).await;
    drive.delete("/src").await.unwrap();
    let found = drive.grep("FIND", None, None).await;
    assert_eq!(lines(&found), [("/.hidden/e.py", 1, "FIND hidden"), ("/a.py", 1, "FIND now")]);
    let refused = Error::to_string(
        &drive
            .files
            .glob(drive.asking(), &GlobFiles { pattern: "../*".into(), path: None, limit: 1 })
            .await
            .unwrap_err(),
    );
    assert_eq!(refused, "Path traversal not allowed in glob pattern '../*'");
    drive.dialect = Dialect::JavaScript;
    assert_eq!(
        drive.glob("*.py", None).await,
        Vec::<String>::new(),
        "no times, or not in the root"
    );
    assert_eq!(drive.glob("**/*.py", None).await, ["/.hidden/e.py"]);
}

pub async fn a_search_that_the_server_cuts_says_so(h: Harness) {
    let drive = Drive::on(&h).await;
    for at in 0..4 {
        drive.write(&format!("/{at}.py"), "FIND one\nFIND two\n").await.unwrap();
    }
    let whole = SearchBudget::default();
    let found = async |budget: SearchBudget, count_max: Option<usize>| {
        let files =
            Files::new(drive.store.storage.clone(), Arc::clone(&drive.store.items), 1 << 20)
                .with_search_budget(budget);
        let query = GrepFiles { pattern: "FIND".into(), path: None, glob: None, count_max };
        let found = files.grep(drive.asking(), &query).await.unwrap();
        (found.matches.len(), found.is_truncated, found.is_over_budget)
    };
    assert_eq!(found(whole, None).await, (8, false, false));
    assert_eq!(found(whole, Some(8)).await, (8, false, false));
    assert_eq!(found(whole, Some(7)).await, (7, true, false));
    assert_eq!(found(SearchBudget { matches: 8, ..whole }, None).await, (8, false, false));
    assert_eq!(found(SearchBudget { matches: 5, ..whole }, None).await, (5, true, true));
    // Of a line its text and its path count: 8 and 5.
    assert_eq!(found(SearchBudget { bytes: 8 * 13, ..whole }, None).await, (8, false, false));
    assert_eq!(found(SearchBudget { bytes: 8 * 13 - 1, ..whole }, None).await, (7, true, true));
    assert_eq!(found(SearchBudget { files: 2, ..whole }, None).await, (4, true, true));
    // The listing came in time, the contents would not.
    let none = SearchBudget { time: Duration::ZERO, ..whole };
    assert_eq!(found(none, None).await, (0, true, true));
    let two = SearchBudget { files: 2, ..whole };
    let files = Files::new(drive.store.storage.clone(), Arc::clone(&drive.store.items), 1 << 20)
        .with_search_budget(two);
    for (limit, shown) in [(10, 2), (1, 1)] {
        let query = GlobFiles { pattern: "*.py".into(), path: None, limit };
        let found = files.glob(drive.asking(), &query).await.unwrap();
        assert_eq!((found.files.len(), found.is_truncated), (shown, true));
    }
    let query = GlobFiles { pattern: "*.py".into(), path: None, limit: 3 };
    let found = drive.files.glob(drive.asking(), &query).await.unwrap();
    assert_eq!((found.files.len(), found.is_truncated), (3, true));
}

pub async fn both_languages_see_each_others_bytes(h: Harness) {
    let mut drive = Drive::on(&h).await;
    let upload =
        |path: &str| UploadFile { path: key(path), bytes: vec![0, 0xff, 7], media_type: None };
    for (dialect, path) in [(Dialect::Python, "/p.png"), (Dialect::JavaScript, "/j.png")] {
        drive.dialect = dialect;
        drive.files.upload(drive.asked(), vec![upload(path)]).await.unwrap()[0].as_ref().unwrap();
    }
    for dialect in [Dialect::Python, Dialect::JavaScript] {
        drive.dialect = dialect;
        let paths = [key("/p.png"), key("/j.png"), key("/gone")];
        let found = drive.files.download(drive.asking(), &paths).await.unwrap();
        assert_eq!(found[0].as_ref().unwrap().bytes, [0, 0xff, 7]);
        assert_eq!(found[1].as_ref().unwrap().bytes, [0, 0xff, 7]);
        assert!(found[2].is_err());
        for path in ["/p.png", "/j.png"] {
            assert_eq!(drive.shown(path, 0, 10).await.unwrap().body, Body::Bytes(vec![0, 0xff, 7]));
        }
    }
    let refused = UploadFile { path: key("/a/../b"), ..upload("/x") };
    let results =
        drive.files.upload(drive.asked(), vec![refused, upload("/ok.png")]).await.unwrap();
    assert!(results[0].is_err() && results[1].is_ok());
}
