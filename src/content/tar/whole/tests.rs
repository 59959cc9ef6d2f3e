//! Tests valid archives of working directories, and one of each kind that must be refused.

use std::io::Write as _;

use tar::{Builder, EntryType, Header};

use super::*;

const LIMITS: TarLimits = TarLimits {
    members_max: 20,
    decoded_bytes_max: 64 << 20,
    ratio_max: 100,
    path_bytes_max: 4_096,
};

fn kept(archive: &[u8], links: Links) -> Result<(Whole, Vec<u8>), TarError> {
    let mut bytes = Vec::new();
    let whole = read(archive, LIMITS, links, |piece| {
        bytes.extend_from_slice(piece);
        true
    })?;
    Ok((whole, bytes))
}

#[track_caller]
fn refused(archive: &[u8]) -> String {
    kept(archive, Links::Inside(3)).expect_err("the archive has to be refused").to_string()
}

enum Of<'a> {
    Folder(&'a str),
    File(&'a str, &'a [u8]),
    Symlink(&'a str, &'a str),
    HardLink(&'a str, &'a str),
    Kind(&'a str, EntryType),
}

fn archive(members: &[Of<'_>]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for member in members {
        let mut header = Header::new_gnu();
        header.set_mode(0o644);
        let (path, kind, body) = match member {
            Of::Folder(path) => (*path, EntryType::Directory, &b""[..]),
            Of::File(path, body) => (*path, EntryType::Regular, *body),
            Of::Symlink(path, _) => (*path, EntryType::Symlink, &b""[..]),
            Of::HardLink(path, _) => (*path, EntryType::Link, &b""[..]),
            Of::Kind(path, kind) => (*path, *kind, &b""[..]),
        };
        header.set_entry_type(kind);
        header.set_size(body.len() as u64);
        if let Of::Symlink(_, target) | Of::HardLink(_, target) = member {
            let longest = target.len().min(100);
            header.as_old_mut().linkname[..longest].copy_from_slice(&target.as_bytes()[..longest]);
        }
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        builder.append(&header, body).unwrap();
    }
    builder.into_inner().unwrap()
}

fn sound() -> Vec<u8> {
    archive(&[
        Of::Folder("./"),
        Of::Folder("./bin/"),
        Of::File("./bin/tool", &[7; 3_000]),
        Of::Symlink("./bin/also", "../lib/real"),
        Of::Symlink("./here", "."),
        Of::HardLink("./same", "./bin/tool"),
        Of::File("./empty", b""),
    ])
}

#[test]
fn what_is_handed_on_is_the_archive_without_its_packing() {
    let plain = sound();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    let zstd = zstd::encode_all(&plain[..], 3).unwrap();
    let expected = Whole { size_bytes: plain.len() as u64, file_count: 5 };
    for packed in [&plain, &gzip.finish().unwrap(), &zstd] {
        assert_eq!(kept(packed, Links::Inside(3)).unwrap(), (expected, plain.clone()));
    }
    let padded = [&plain[..], &[0; 8_192]].concat();
    assert_eq!(kept(&padded, Links::Any).unwrap().1, padded);
    let nothing = archive(&[]);
    assert_eq!(kept(&nothing, Links::Any).unwrap().0.file_count, 0);
}

#[test]
fn what_is_cut_off_or_damaged_is_refused_wherever_it_is() {
    let plain = sound();
    // Behind a member, inside of one, and inside of the end.
    for length in (0..plain.len()).step_by(256) {
        assert!(refused(&plain[..length]).contains("cannot be read"), "{length}");
    }
    let behind = [&plain[..], b"more"].concat();
    assert!(refused(&behind).contains("cannot be read"));
    let joined = [&plain[..], &plain[..]].concat();
    assert!(refused(&joined).contains("cannot be read"));
    let zstd = zstd::encode_all(&plain[..], 3).unwrap();
    for length in 1..zstd.len() {
        assert!(kept(&zstd[..length], Links::Any).is_err(), "{length}");
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    let mut gzip = gzip.finish().unwrap();
    assert!(refused(&gzip[..gzip.len() - 1]).contains("cannot be read"));
    // The sum at its end, which a reader that stops at the end of the tar does not see.
    let sum = gzip.len() - 8;
    gzip[sum] ^= 1;
    assert!(refused(&gzip).contains("cannot be read"));
}

#[test]
fn names_that_are_one_without_case_or_with_normalization_are_refused() {
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}");
    for (members, second) in [
        (vec![Of::File("a/README", b""), Of::File("a/readme", b"")], "a/readme"),
        (vec![Of::File("A/x", b""), Of::File("a/y", b"")], "a/y"),
        (vec![Of::File(composed, b""), Of::File(decomposed, b"")], decomposed),
        (vec![Of::Folder("x/y/"), Of::Symlink("X/Y", "z")], "X/Y"),
        (vec![Of::Symlink("x/y", ".."), Of::Symlink("X/Y/l", "..")], "X/Y/l"),
    ] {
        let reason = refused(&archive(&members));
        let named = reason.contains(&format!("{second:?}")) && reason.contains("member 1");
        assert!(named || reason.contains("lies behind a link"), "{reason}");
        assert!(kept(&archive(&members), Links::Any).is_ok(), "whoever takes any links");
    }
    // The same name twice is one that is replaced.
    let again =
        [Of::File("a/b", b"1"), Of::Folder("./a/"), Of::File("a/b", b"2"), Of::File("ab", b"")];
    kept(&archive(&again), Links::Inside(3)).unwrap();
}

#[test]
fn a_hard_link_to_a_link_is_refused_in_any_case() {
    let members = [Of::Symlink("a/l", "b"), Of::HardLink("c", "A/L")];
    assert!(refused(&archive(&members)).contains("leads outside"));
}

#[test]
fn folders_have_a_limit_too() {
    let below = vec!["d"; 45].join("/");
    let paths: Vec<String> = (0..10).map(|at| format!("{at}/{below}")).collect();
    let members: Vec<_> = paths.iter().map(|it| Of::File(it, b"")).collect();
    kept(&archive(&members[..5]), Links::Inside(3)).unwrap();
    assert!(refused(&archive(&members)).contains("members"));
}

#[test]
fn links_lead_inside_or_the_archive_is_refused() {
    let outside = "leads outside";
    for (members, reason) in [
        (vec![Of::Symlink("a", "/etc")], outside),
        (vec![Of::Symlink("a", "..")], outside),
        (vec![Of::Symlink("a/b", "../..")], outside),
        (vec![Of::Symlink("a/b", "c/../../..")], outside),
        // Down and up again: what lies between may be a link.
        (vec![Of::Symlink("a/b", ".."), Of::Symlink("c", "a/b/..")], outside),
        (vec![Of::Symlink("a", "c:\\x")], outside),
        (vec![Of::Symlink("a", "")], outside),
        (vec![Of::Symlink("a", "."), Of::File("a/f", b"x")], "lies behind a link"),
        (vec![Of::Symlink("a", "."), Of::Symlink("a/b", "..")], "lies behind a link"),
        (vec![Of::Symlink("a", "b"), Of::Folder("./a/c/")], "lies behind a link"),
        (vec![Of::HardLink("a", "/etc/passwd")], outside),
        (vec![Of::HardLink("a", "../b")], outside),
        (vec![Of::Symlink("d/e/l", "../.."), Of::HardLink("m", "d/e/l")], outside),
        (vec![Of::Symlink("d", "e"), Of::HardLink("m", "d/f")], outside),
    ] {
        let text = refused(&archive(&members));
        assert!(text.contains(reason), "{text}");
        if !text.contains("c:") {
            kept(&archive(&members), Links::Any).unwrap();
        }
    }
    let four: Vec<Of<'_>> = ["a", "b", "c", "d"].map(|it| Of::Symlink(it, "x")).into();
    assert_eq!(refused(&archive(&four)), "the archive has more than 3 links");
}

#[test]
fn what_is_neither_file_folder_nor_link_is_refused_by_name() {
    for kind in [EntryType::Char, EntryType::Block, EntryType::Fifo, EntryType::GNUSparse] {
        let text = refused(&archive(&[Of::Kind("some/member", kind)]));
        assert!(text.contains("some/member"), "{text}");
    }
    for path in ["/etc/passwd", "../x", "a/../../x", "a\\..\\x", "a\nb"] {
        for links in [Links::Inside(3), Links::Any] {
            assert!(kept(&archive(&[Of::File(path, b"x")]), links).is_err(), "{path}");
        }
    }
    let deep = "d/".repeat(45);
    assert!(kept(&archive(&[Of::Folder(&deep)]), Links::Inside(3)).is_ok());
}

#[test]
fn limits_hold_whatever_the_packing() {
    let many: Vec<Of<'_>> = (0..21).map(|_| Of::File("a", b"")).collect();
    assert_eq!(refused(&archive(&many)), "the archive has more than 20 members");
    let zeros = vec![0; 60 << 20];
    let dense = zstd::encode_all(&archive(&[Of::File("a", &zeros)])[..], 3).unwrap();
    assert_eq!(refused(&dense), "the archive unpacks to more than 100 times its size");
    let large = archive(&[Of::File("a", &vec![0; 65 << 20])]);
    assert!(refused(&large).contains("more than 67108864 bytes"));
    let stopped = read(&large[..], LIMITS, Links::Any, |_| false);
    assert!(matches!(stopped, Err(TarError::Stopped)));
}

/// What extensions say of links counts, and a header for all members says nothing of where they are.
#[test]
fn extensions_are_read() {
    let link = |records: &[(&str, &str)]| {
        let mut builder = Builder::new(Vec::new());
        let records = records.iter().map(|(key, value)| (*key, value.as_bytes()));
        builder.append_pax_extensions(records).unwrap();
        let mut before = builder.into_inner().unwrap();
        before.truncate(before.len() - 1_024);
        [before, archive(&[Of::Symlink("a", "short")])].concat()
    };
    let long = format!("{}/end", "d".repeat(200));
    assert!(kept(&link(&[("linkpath", &long)]), Links::Inside(3)).is_ok());
    assert!(refused(&link(&[("linkpath", "../outside")])).contains("leads outside"));
    assert!(refused(&link(&[("path", "../outside")])).contains(".."));
    for (record, legal) in [(&b"13 comment=x\n"[..], true), (b"11 path=../\n", false)] {
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::XGlobalHeader);
        header.set_path("pax_global_header").unwrap();
        header.set_size(record.len() as u64);
        header.set_cksum();
        let mut builder = Builder::new(Vec::new());
        builder.append(&header, record).unwrap();
        assert_eq!(kept(&builder.into_inner().unwrap(), Links::Any).is_ok(), legal);
    }
}
