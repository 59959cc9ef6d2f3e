//! Tests which heads and parts of a file are refused, part by part.

use std::collections::BTreeMap;

use super::*;

const BYTES: usize = 1 << 20;

fn head() -> SnapshotOf {
    SnapshotOf {
        snapshot_id: "s".into(),
        owner: Some("ann".into()),
        created_at: 2,
        taken_at: 1,
        expires_at: Some(3),
        labels: BTreeMap::from([("sandbox".to_owned(), "a".to_owned())]),
        document: Some(ByteBuf::from(r#"{"n": 1.0,  "n": 2}"#)),
        asked: ByteBuf::from([7_u8; 32]),
    }
}

fn part(part_no: i64) -> PartOf {
    PartOf {
        part_no,
        thread_id: None,
        namespace: None,
        session: None,
        owner: None,
        history: None,
        generation: None,
        entries: 1,
        size_bytes: 10,
    }
}

fn thread(part_no: i64, name: &str) -> PartOf {
    let (history, generation) = (Some("all".into()), Some("g".into()));
    PartOf { thread_id: Some(name.into()), history, generation, ..part(part_no) }
}

fn below(part_no: i64, labels: &[&str]) -> PartOf {
    let labels = labels.iter().map(|it| (*it).to_owned()).collect();
    PartOf { namespace: Some(labels), ..part(part_no) }
}

fn session(part_no: i64, key: &str) -> PartOf {
    PartOf { session: Some(("files".into(), vec![key.into()])), ..part(part_no) }
}

fn read(parts: Vec<PartOf>) -> Result<Snapshot> {
    let mut head = SnapshotHead::begin(head(), 9)?;
    parts.into_iter().try_for_each(|it| head.add_part(it))?;
    Ok(head.snapshot)
}

#[test]
fn what_is_written_is_read_again() {
    let of = vec![
        thread(0, "t"),
        PartOf { owner: Some("ann".into()), ..thread(2, "u") },
        below(3, &["a", "b"]),
        below(7, &["a", "c"]),
        session(8, "p"),
    ];
    let snapshot = read(of.clone()).unwrap();
    assert_eq!(parts(&snapshot), of);
    assert_eq!(snapshot.size_bytes(), 50);
    assert_eq!(of_snapshot(&snapshot, vec![7; 32]), head());
}

#[test]
fn a_snapshot_that_nobody_could_have_taken_is_refused() {
    let many = (0..33).map(|it| (it.to_string(), String::new())).collect();
    let label = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
    let document = |it: &[u8]| Some(ByteBuf::from(it.to_vec()));
    let large = [&b"\""[..], &vec![b'x'; BYTES], b"\""].concat();
    for bad in [
        SnapshotOf { snapshot_id: String::new(), ..head() },
        SnapshotOf { asked: ByteBuf::from([7_u8; 31]), ..head() },
        SnapshotOf { created_at: -1, ..head() },
        SnapshotOf { taken_at: -1, ..head() },
        SnapshotOf { expires_at: Some(0), ..head() },
        SnapshotOf { owner: Some(String::new()), ..head() },
        SnapshotOf { owner: Some("a\0".into()), ..head() },
        SnapshotOf { labels: many, ..head() },
        SnapshotOf { labels: label("", "a"), ..head() },
        SnapshotOf { labels: label("a", "\0"), ..head() },
        SnapshotOf { labels: label("a", &"x".repeat(257)), ..head() },
        SnapshotOf { document: document(b"{"), ..head() },
        SnapshotOf { document: document(b""), ..head() },
        SnapshotOf { document: document(b"{} {}"), ..head() },
        SnapshotOf { document: document(b"\"\xff\""), ..head() },
        SnapshotOf { document: document(&large), ..head() },
    ] {
        let refused = SnapshotHead::begin(bad.clone(), 9).err();
        let is_typed = matches!(refused, Some(Error::Invalid { .. } | Error::TooLarge { .. }));
        assert!(is_typed, "{bad:?}: {refused:?}");
    }
}

#[test]
fn parts_that_nobody_could_have_named_are_refused() {
    for bad in [
        vec![PartOf { entries: -1, ..thread(0, "t") }],
        vec![PartOf { size_bytes: -1, ..thread(0, "t") }],
        vec![PartOf { owner: Some(String::new()), ..thread(0, "t") }],
        vec![PartOf { owner: Some("a\0".into()), ..session(0, "p") }],
        vec![PartOf { generation: Some("\0".into()), ..thread(0, "t") }],
        vec![PartOf { history: Some("some".into()), ..thread(0, "t") }],
        vec![PartOf { history: None, ..thread(0, "t") }],
        vec![part(0)],
        vec![PartOf { namespace: Some(vec!["a".into()]), ..thread(0, "t") }],
        vec![thread(-1, "t")],
        vec![thread(0, "t"), thread(0, "u")],
        vec![thread(1, "t"), thread(0, "u")],
        vec![thread(0, "t"), thread(1, "t")],
        vec![below(0, &["a"]), thread(1, "t")],
        vec![session(0, "p"), thread(1, "t")],
        vec![session(0, "p"), below(1, &["a"])],
        vec![session(0, "p"), session(1, "p")],
        vec![below(0, &[])],
        vec![below(0, &["a"]), below(1, &["a"])],
        vec![below(0, &["a"]), below(1, &["a", "b"])],
        vec![below(0, &["a", "b"]), below(1, &["a"])],
        (0..101).map(|it| below(it, &[&it.to_string()])).collect(),
        vec![PartOf { size_bytes: i64::MAX, ..thread(0, "t") }, thread(1, "u")],
    ] {
        let refused = read(bad.clone());
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{bad:?}: {refused:?}");
    }
}

#[test]
fn an_archive_that_nobody_could_have_staged_is_refused() {
    let archive = |size_bytes| ArchiveOf {
        workspace: "w".into(),
        size_bytes,
        file_count: 1,
        sha256: ByteBuf::from([0_u8; 32]),
        staged_at: 1,
    };
    let mut head = SnapshotHead::begin(head(), 9).unwrap();
    head.check_archive(&archive(1_024)).unwrap();
    let digest = ArchiveOf { sha256: ByteBuf::from([0_u8; 31]), ..archive(1_024) };
    for bad in [archive(u64::MAX), digest, ArchiveOf { staged_at: 0, ..archive(1_024) }] {
        assert!(head.check_archive(&bad).is_err(), "{bad:?}");
    }
    head.add_part(PartOf { size_bytes: i64::MAX - 1_023, ..thread(0, "t") }).unwrap();
    head.check_archive(&archive(1_023)).unwrap();
    head.check_archive(&archive(1_024)).unwrap_err();
}
