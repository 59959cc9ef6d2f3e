//! Files: what each operation does to the items of a namespace, on every engine.

use std::sync::Arc;

use threadkeep::domain::caller::Caller;
use threadkeep::domain::files::changing::{AppendFile, EditFile, UploadFile, WriteFile};
use threadkeep::domain::files::dialect::Dialect;
use threadkeep::domain::files::listing::{GlobFiles, ListDirectory};
use threadkeep::domain::files::moving::{DeleteFile, MoveFile, Moved};
use threadkeep::domain::files::reading::{Body, ReadFile, Shown};
use threadkeep::domain::files::searching::{GrepFiles, GrepMatches};
use threadkeep::domain::files::{Asked, Asking, Files};
use threadkeep::domain::grants::Actions;
use threadkeep::domain::item::Key;
use threadkeep::domain::namespace::Namespace;
use threadkeep::domain::{Error, Result};

use crate::harness::{Harness, NEVER};
use crate::store::{Store, current, granted, namespace};

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
        let files = Files::new(Arc::clone(&store.items), 1 << 20);
        let caller = store.caller.clone();
        let namespace = namespace(&LABELS);
        Self { store, files, caller, dialect: Dialect::Python, namespace }
    }

    pub fn asking(&self) -> Asking<'_> {
        Asking { caller: &self.caller, dialect: self.dialect, namespace: &self.namespace }
    }

    pub fn asked(&self) -> Asked<'_> {
        Asked { asking: self.asking(), idempotency: None, deadline: NEVER }
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

fn write(path: &str, content: &str) -> WriteFile {
    WriteFile { path: key(path), content: content.into(), if_version: None }
}

fn edit(path: &str, old: &str, new: &str) -> EditFile {
    EditFile { path: key(path), old: old.into(), new: new.into(), all: false, if_version: None }
}

fn moving(drive: &Drive, from: &str, to: &str) -> MoveFile {
    MoveFile {
        from: key(from),
        to: key(to),
        to_namespace: drive.namespace.clone(),
        overwrites: false,
        if_version: None,
        copies: false,
    }
}

fn says<T: std::fmt::Debug>(result: Result<T>) -> String {
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
        ("/a.py", "import x\nTODO one\n"),
        ("/src/b.py", "TODO two TODO"),
        ("/src/deep/c.py", "nothing"),
        ("/src/d.md", "a\n\nTODO"),
        ("/.hidden/e.py", "TODO hidden"),
    ] {
        drive.store.clock.advance(1_000);
        drive.write(path, content).await.unwrap();
    }
    drive.store.put(&LABELS, "/odd", r#"{"content":[1]}"#).await;
    let bytes = UploadFile { path: key("/i.bin"), bytes: b"TODO\xff".to_vec(), media_type: None };
    drive.files.upload(drive.asked(), vec![bytes]).await.unwrap()[0].as_ref().unwrap();
    assert_eq!(
        drive.glob("*.py", None).await,
        ["/.hidden/e.py", "/src/deep/c.py", "/src/b.py", "/a.py"]
    );
    assert_eq!(drive.glob("**/*.py", Some("/src")).await, ["/src/deep/c.py", "/src/b.py"]);
    assert_eq!(drive.glob("/*.py", Some("/")).await, ["/a.py"]);
    assert_eq!(drive.glob("d.md", Some("/src/d.md")).await, ["/src/d.md"]);
    for _ in 0..2 {
        let found = drive.grep("TODO", None, None).await;
        let expected = [
            ("/.hidden/e.py", 1, "TODO hidden"),
            ("/a.py", 2, "TODO one"),
            ("/src/b.py", 1, "TODO two TODO"),
            ("/src/d.md", 3, "TODO"),
        ];
        assert_eq!(lines(&found), expected);
        assert!(!found.is_truncated);
    }
    assert_eq!(
        lines(&drive.grep("TODO", Some("/src/"), Some("*.md")).await),
        [("/src/d.md", 3, "TODO")]
    );
    assert_eq!(lines(&drive.grep("TODO", Some("/a.py"), None).await), [("/a.py", 2, "TODO one")]);
    // What another puts is seen at once, whatever is remembered.
    drive.store.put(&LABELS, "/a.py", r#"{"content":"TODO now"}"#).await;
    drive.delete("/src").await.unwrap();
    let found = drive.grep("TODO", None, None).await;
    assert_eq!(lines(&found), [("/.hidden/e.py", 1, "TODO hidden"), ("/a.py", 1, "TODO now")]);
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

pub async fn keys_in_other_forms_are_read_changed_and_deleted_as_they_are(h: Harness) {
    let drive = Drive::on(&h).await;
    for odd in ["rel", "/a/../b", "/f.md/child", "//x", "/", ""] {
        drive.store.put(&LABELS, odd, r#"{"content":["a","b"]}"#).await;
        assert_eq!(drive.text(odd).await, "a\nb", "{odd:?}");
        drive.edit(odd, "a", "c").await.unwrap();
        assert_eq!(drive.write(odd, "whole").await.unwrap().1, false);
        assert_eq!(drive.text(odd).await, "whole");
    }
    for bad in ["new", "/x/../y", "/x/", "//y", "/x\0", "/./x"] {
        let refused = drive.write(bad, "").await;
        assert!(matches!(refused, Err(Error::File { .. })), "{bad:?}");
        assert!(says(drive.files.append(drive.asked(), &append(bad, "")).await).contains("Path"));
    }
    assert_eq!(drive.delete("rel").await.unwrap(), 1);
    assert_eq!(drive.delete("/f.md").await.unwrap(), 1);
    assert_eq!(drive.delete("/").await.unwrap(), 4, "and the empty key");
}

fn append(path: &str, content: &str) -> AppendFile {
    AppendFile { path: key(path), content: content.into(), base_sha256: None, if_version: None }
}

pub async fn deletions_take_all_below_and_nothing_else(h: Harness) {
    let drive = Drive::on(&h).await;
    for path in ["/a", "/a/b", "/a/c/d", "/a!", "/ab", "/a0", "/b"] {
        drive.write(path, &"long ".repeat(20_000)).await.unwrap();
    }
    drive.store.put(&LABELS, "/a/odd", "{}").await;
    drive.store.put(&["u"], "/a/b", "{}").await;
    assert_eq!(drive.delete("/a/").await.unwrap(), 4);
    assert_eq!(drive.list("/", true, 100).await, ["/a!", "/a0", "/ab", "/b"]);
    assert!(drive.store.get(&["u"], "/a/b").await.is_some());
    let (version, _) = drive.write("/b", "x").await.unwrap();
    let with = |it| DeleteFile { path: key("/b"), if_version: Some(it) };
    assert_eq!(current(drive.files.delete(drive.asked(), &with(version - 1)).await), version);
    assert_eq!(drive.files.delete(drive.asked(), &with(version)).await.unwrap(), 1);
    assert_eq!(drive.delete("/").await.unwrap(), 3);
    // Nothing of the contents is left behind.
    assert!(h.count("select count(*) from garbage where scope_id is not null").await > 0);
}

pub async fn moves_and_copies_take_whole_directories(h: Harness) {
    let drive = Drive::on(&h).await;
    for path in ["/d/a", "/d/b/c", "/d/b/d", "/e"] {
        drive.write(path, path).await.unwrap();
    }
    assert_eq!(drive.transfer("/d", "/n/d", false).await.unwrap().files, 3);
    assert_eq!(drive.list("/", true, 100).await, ["/e", "/n/d/a", "/n/d/b/c", "/n/d/b/d"]);
    assert_eq!(drive.text("/n/d/b/c").await, "/d/b/c");
    assert_eq!(drive.transfer("/n/d/b", "/n/d", true).await.unwrap().files, 2);
    assert_eq!(drive.list("/n/d", false, 9).await, ["/n/d/a", "/n/d/b/", "/n/d/c", "/n/d/d"]);
    assert_eq!(
        says(drive.transfer("/e", "/n/d/a", false).await),
        "Error: File '/n/d/a' already exists"
    );
    assert_eq!(says(drive.transfer("/gone", "/x", false).await), "Error: File '/gone' not found");
    for inside in ["/n", "/n/x", "/n/d/y"] {
        assert!(says(drive.transfer("/n", inside, true).await).contains("lies in it"));
    }
    let over = MoveFile { overwrites: true, ..moving(&drive, "/e", "/n/d/a") };
    let moved = drive.files.transfer(drive.asked(), &over).await.unwrap();
    assert_eq!(drive.shown("/n/d/a", 0, 9).await.unwrap().version, moved.version);
    assert_eq!(drive.text("/n/d/a").await, "/e");
    let elsewhere = MoveFile { to_namespace: namespace(&["v"]), ..moving(&drive, "/n", "/n") };
    assert_eq!(drive.files.transfer(drive.asked(), &elsewhere).await.unwrap().files, 5);
    assert!(drive.list("/", true, 100).await.is_empty());
    assert!(drive.store.get(&["v"], "/n/d/b/c").await.is_some());
}

pub async fn appends_go_where_they_were_meant(h: Harness) {
    use sha2::Digest as _;

    let drive = Drive::on(&h).await;
    let run = async |append: AppendFile| drive.files.append(drive.asked(), &append).await;
    let based = |content: &str, base: &str| AppendFile {
        base_sha256: Some(sha2::Sha256::digest(base).into()),
        ..append("/log", content)
    };
    assert_eq!(says(run(based("x", "")).await), "Error: File '/log' not found");
    run(append("/log", "a\n")).await.unwrap();
    run(based("b\n", "a\n")).await.unwrap();
    assert_eq!(drive.text("/log").await, "a\nb\n");
    assert!(says(run(based("c\n", "a\n")).await).contains("another content"));
    let version = drive.shown("/log", 0, 1).await.unwrap().version;
    let stale = AppendFile { if_version: Some(version - 1), ..append("/log", "c") };
    assert_eq!(current(run(stale).await), version);
    assert_eq!(drive.text("/log").await, "a\nb\n");
}

/// A request that is sent again is answered as the first, whatever has come in between.
pub async fn repeated_changes_happen_once(h: Harness) {
    let drive = Drive::on(&h).await;
    let keys: Vec<(String, [u8; 32])> = (0..9).map(|it| (format!("k{it}"), [it; 32])).collect();
    let asked = |at: usize| Asked { idempotency: Some(&keys[at]), ..drive.asked() };
    let written = drive.files.write(asked(0), &write("/x", "a b")).await.unwrap();
    let edited = drive.files.edit(asked(1), &edit("/x", "b", "c")).await.unwrap();
    let appended = drive.files.append(asked(2), &append("/x", "!")).await.unwrap();
    let copied = drive
        .files
        .transfer(asked(3), &MoveFile { copies: true, ..moving(&drive, "/x", "/d/y") })
        .await;
    let moved = drive.files.transfer(asked(4), &moving(&drive, "/d", "/e")).await.unwrap();
    let delete = DeleteFile { path: key("/e"), if_version: None };
    let deleted = drive.files.delete(asked(5), &delete).await.unwrap();
    let last = DeleteFile { path: key("/x"), if_version: Some(appended) };
    let gone = drive.files.delete(asked(6), &last).await.unwrap();
    assert_eq!((deleted, gone, written.1, edited.1), (1, 1, true, 1));
    drive.write("/other", "z").await.unwrap();
    for _ in 0..2 {
        assert_eq!(drive.files.write(asked(0), &write("/x", "a b")).await.unwrap(), written);
        assert_eq!(drive.files.edit(asked(1), &edit("/x", "b", "c")).await.unwrap(), edited);
        assert_eq!(drive.files.append(asked(2), &append("/x", "!")).await.unwrap(), appended);
        let again = MoveFile { copies: true, ..moving(&drive, "/x", "/d/y") };
        assert_eq!(
            &drive.files.transfer(asked(3), &again).await.unwrap(),
            copied.as_ref().unwrap()
        );
        assert_eq!(
            drive.files.transfer(asked(4), &moving(&drive, "/d", "/e")).await.unwrap(),
            moved
        );
        assert_eq!(drive.files.delete(asked(5), &delete).await.unwrap(), deleted);
        assert_eq!(drive.files.delete(asked(6), &last).await.unwrap(), gone);
    }
    assert_eq!(drive.list("/", true, 9).await, ["/other"]);
    let other = Asked { idempotency: Some(&(keys[0].0.clone(), [99; 32])), ..drive.asked() };
    let refused = drive.files.write(other, &write("/x", "other")).await;
    assert!(matches!(refused, Err(Error::IdempotencyMismatch)));
    let other = Asked { idempotency: Some(&(keys[5].0.clone(), [99; 32])), ..drive.asked() };
    assert!(matches!(drive.files.delete(other, &delete).await, Err(Error::IdempotencyMismatch)));
}

/// Eight writers, twenty edits each, through two servers.
pub async fn all_edits_of_one_file_survive(h: Harness) {
    let drives = Arc::new([Drive::on(&h).await, Drive::on(&h).await]);
    drives[0].write("/x", "begin\n").await.unwrap();
    let writer = |task: usize| {
        let drives = Arc::clone(&drives);
        tokio::spawn(async move {
            for at in 0..20 {
                let drive = &drives[task % 2];
                let line = format!("begin\n{task}-{at}\n");
                drive.edit("/x", "begin\n", &line).await.unwrap();
            }
        })
    };
    for task in (0..8).map(writer).collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let text = drives[0].text("/x").await;
    let mut found: Vec<&str> = text.lines().skip(1).collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!((found.len(), text.lines().count()), (160, 161));
}

/// Every file that is there all the time is in every listing, once.
pub async fn listings_beside_writers_are_complete(h: Harness) {
    let drive = Arc::new(Drive::on(&h).await);
    for at in 0..120 {
        drive.write(&format!("/d{}/f{at:03}", at % 7), "x").await.unwrap();
    }
    let other = Arc::clone(&drive);
    let writer = tokio::spawn(async move {
        for at in 0..60 {
            other.edit(&format!("/d{}/f{:03}", at % 7, at), "x", "y").await.unwrap();
            other.write(&format!("/new{at}"), "x").await.unwrap();
            other.delete(&format!("/new{at}")).await.unwrap();
        }
    });
    while !writer.is_finished() {
        let mut all = drive.list("/", true, 11).await;
        all.retain(|it| !it.starts_with("/new"));
        let before = all.len();
        all.dedup();
        assert_eq!((before, all.len()), (120, 120));
    }
    writer.await.unwrap();
}

pub async fn a_token_reaches_the_files_of_its_namespaces(h: Harness) {
    let mut drive = Drive::on(&h).await;
    drive.write("/x", "secret").await.unwrap();
    drive.caller = granted(&drive.caller.tenant, &[(&["u", "other"], Actions::ALL)]);
    assert!(drive.list("/", true, 9).await.is_empty());
    assert_eq!(says(drive.shown("/x", 0, 9).await), "File '/x' not found");
    assert!(drive.glob("*", None).await.is_empty());
    assert!(drive.grep("secret", None, None).await.matches.is_empty());
    let denied = |it: Error| matches!(it, Error::NotGranted(_));
    assert!(denied(drive.write("/y", "").await.unwrap_err()));
    assert!(denied(drive.edit("/x", "s", "").await.unwrap_err()));
    assert!(denied(drive.delete("/x").await.unwrap_err()));
    assert!(denied(drive.transfer("/x", "/y", true).await.unwrap_err()));
    let into = MoveFile { to_namespace: namespace(&LABELS), ..moving(&drive, "/x", "/y") };
    drive.namespace = namespace(&["u", "other"]);
    assert!(denied(drive.files.transfer(drive.asked(), &into).await.unwrap_err()));
    drive.write("/mine", "x").await.unwrap();
}
