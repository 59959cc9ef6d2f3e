//! Tests valid archives, and one archive of each kind that must be refused.

use std::io::Write as _;

use tar::{Builder, EntryType, Header};

use super::*;

const LIMITS: TarLimits =
    TarLimits { members_max: 20, decoded_bytes_max: 64 << 20, ratio_max: 100, path_bytes_max: 200 };

type Files = Vec<(String, Vec<u8>)>;

fn unpack(archive: &[u8]) -> Result<Files, TarError> {
    let mut files: Files = Vec::new();
    read(archive, LIMITS, |piece| {
        match piece {
            Piece::File { path, .. } => files.push((path, Vec::new())),
            Piece::Bytes(bytes) => files.last_mut().unwrap().1.extend_from_slice(&bytes),
            Piece::End => {}
        }
        true
    })?;
    Ok(files)
}

#[track_caller]
fn refused(archive: &[u8]) -> String {
    unpack(archive).expect_err("the archive has to be refused").to_string()
}

/// An archive of one member, whose header a test can change.
fn one(path: &[u8], body: &[u8], change: impl FnOnce(&mut Header)) -> Vec<u8> {
    let mut header = Header::new_ustar();
    header.as_old_mut().name[..path.len()].copy_from_slice(path);
    header.set_size(body.len() as u64);
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    change(&mut header);
    header.set_cksum();
    let mut builder = Builder::new(Vec::new());
    builder.append(&header, body).unwrap();
    builder.into_inner().unwrap()
}

fn of_kind(kind: EntryType) -> Vec<u8> {
    one(b"some/member", b"", |header| {
        header.set_entry_type(kind);
        header.set_link_name("/etc/passwd").unwrap();
    })
}

/// A header with extensions, then a file of three bytes.
fn extended(records: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    let records = records.iter().map(|(key, value)| (*key, value.as_bytes()));
    builder.append_pax_extensions(records).unwrap();
    let mut archive = builder.into_inner().unwrap();
    archive.truncate(archive.len() - 1_024);
    [archive, one(b"plain", b"abc", |_| ())].concat()
}

fn sound() -> (Vec<u8>, Files) {
    let long = format!("folder/{}.txt", "x".repeat(150));
    let mut builder = Builder::new(Vec::new());
    let mut folder = Header::new_gnu();
    folder.set_entry_type(EntryType::Directory);
    folder.set_size(0);
    builder.append_data(&mut folder, "folder/", &b""[..]).unwrap();
    let files: Files = vec![
        ("a.txt".into(), b"first".to_vec()),
        ("folder/\u{fc} b".into(), vec![7; 200_000]),
        ("empty".into(), Vec::new()),
        (long, b"long".to_vec()),
    ];
    for (path, body) in &files {
        let mut header = Header::new_gnu();
        header.set_size(body.len() as u64);
        builder.append_data(&mut header, path, &body[..]).unwrap();
    }
    (builder.into_inner().unwrap(), files)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn files_come_as_they_are_whatever_they_are_packed_with() {
    let (archive, files) = sound();
    for packed in [archive.clone(), gzip(&archive), zstd::bulk::compress(&archive, 3).unwrap()] {
        assert_eq!(unpack(&packed).unwrap(), files);
    }
    let renamed = unpack(&extended(&[("path", "other/n\u{e4}me"), ("mtime", "1.5")])).unwrap();
    assert_eq!(renamed, [("other/n\u{e4}me".to_owned(), b"abc".to_vec())]);
    assert_eq!(unpack(&[0; 1_024]).unwrap(), []);
    assert_eq!(unpack(b"").unwrap(), []);
}

#[test]
fn what_is_neither_file_nor_folder_is_refused_by_name() {
    for (kind, reason) in [
        (EntryType::Symlink, "is a symbolic link"),
        (EntryType::Link, "is a hard link"),
        (EntryType::Char, "is a device"),
        (EntryType::Block, "is a device"),
        (EntryType::Fifo, "is a pipe"),
        (EntryType::GNUSparse, "is a sparse file"),
        (EntryType::Continuous, "neither a file nor a folder"),
        (EntryType::GNULongLink, "neither a file nor a folder"),
        (EntryType::new(b'Z'), "neither a file nor a folder"),
    ] {
        let text = refused(&of_kind(kind));
        assert!(text.contains("\"some/member\"") && text.contains(reason), "{kind:?}: {text}");
    }
    let sparse = extended(&[("GNU.sparse.major", "1"), ("GNU.sparse.name", "x")]);
    assert!(refused(&sparse).contains("is a sparse file"));
}

#[test]
fn paths_that_lead_out_are_refused() {
    for (path, reason) in [
        ("/etc/passwd", "absolute"),
        ("\\windows", "absolute"),
        ("C:\\x", "absolute"),
        ("c:/x", "absolute"),
        ("../x", ".. in its path"),
        ("a/../../x", ".. in its path"),
        ("a/..", ".. in its path"),
        ("a\\..\\x", ".. in its path"),
        ("a\\b", "backslash"),
        ("a\nb", "control character"),
        (".", "has no name"),
    ] {
        let text = refused(&one(path.as_bytes(), b"", |_| ()));
        assert!(text.contains(reason), "{path}: {text}");
    }
}

#[test]
fn a_path_in_an_extension_is_a_path_too() {
    for path in ["/x", "../x", "a/../x"] {
        let text = refused(&extended(&[("path", path)]));
        assert!(text.contains("path"), "{path}: {text}");
    }
    let long = "x".repeat(201);
    assert!(refused(&extended(&[("path", &long)])).contains("too long"));
    assert!(refused(&extended(&[("comment", &"x".repeat(70_000))])).contains("too long"));
    assert!(refused(&one(b"a\xff", b"", |_| ())).contains("not UTF-8"));
}

#[test]
fn an_archive_that_two_readers_would_read_differently_is_refused() {
    for records in [[("size", "2")], [("size", "1024")], [("linkpath", "/etc/passwd")]] {
        assert!(refused(&extended(&records)).contains("contradict"), "{records:?}");
    }
    assert!(unpack(&extended(&[("size", "3")])).is_ok());
    let folder = one(b"folder/", b"hidden", |it| it.set_entry_type(EntryType::Directory));
    assert!(refused(&folder).contains("folder with content"));
}

#[test]
fn limits_hold_before_anything_is_kept() {
    let many: Vec<u8> = (0..21)
        .flat_map(|at| {
            let mut archive = one(format!("{at}").as_bytes(), b"", |_| ());
            archive.truncate(512);
            archive
        })
        .collect();
    assert!(refused(&many).contains("more than 20 members"));
    let large = one(b"zeros", &vec![0; 40 << 20], |_| ());
    for bomb in [gzip(&large), zstd::bulk::compress(&large, 3).unwrap()] {
        assert!(refused(&bomb).contains("more than 100 times"));
    }
    let mut noise = vec![0; 65 << 20];
    let mut state = 1_u64;
    for byte in &mut noise {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *byte = state.to_be_bytes()[0];
    }
    assert!(refused(&one(b"noise", &noise, |_| ())).contains("67108864 bytes"));
}

#[test]
fn damage_is_refused() {
    let (archive, _) = sound();
    let inside = &archive[..archive.len() / 2 + 100];
    let packed = gzip(&archive);
    let mut checksum = archive.clone();
    checksum[150] ^= 1;
    let mut huge = one(b"a", b"", |_| ());
    huge[124..136].copy_from_slice(b"\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff");
    let dangling = &extended(&[("path", "x")])[..1_024];
    for broken in [inside, &packed[..packed.len() / 2], &checksum, &huge, dangling, b"no archive"] {
        refused(broken);
    }
}
