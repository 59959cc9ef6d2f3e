//! Makes the seeds of what reads texts and archives of clients.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tar::{Builder, EntryType, Header};

use crate::seeds::save;

pub fn write() {
    filters();
    words();
    texts();
    archives();
}

fn filters() {
    let document =
        r#"{"a":1.0,"b":{"c":"x","d":[1,"1",null]},"e":18446744073709551616,"f":"\ud800"}"#;
    let deep = r#"{"$not":"#.repeat(40) + r#"{"a":2}"# + &"}".repeat(40);
    let many = (0..200).map(|it| format!("\"n{it}\":{it}")).collect::<Vec<_>>().join(",");
    for (name, filter) in [
        ("equal", r#"{"a":1,"b.c":"x"}"#),
        ("orders", r#"{"a":{"$gte":1,"$lt":1e2},"b":{"c":{"$gt":"w"}}}"#),
        ("lists", r#"{"a":{"$in":[2,1]},"b.c":{"$nin":["y"]},"g":{"$exists":false}}"#),
        ("large", r#"{"e":{"$gt":18446744073709551615}}"#),
        ("any", r#"{"$or":[{"a":2},{"$and":[{"b.d":[1,"1",null]},{"f":{"$ne":"x"}}]}]}"#),
        ("not", r#"{"b":{"$not":{"$eq":1}},"$not":{"a":{"$exists":false}}}"#),
        ("deep-refused", &deep),
        ("many-refused", &format!("{{{many}}}")),
        ("operator-refused", r#"{"a":{"$regex":"(a+)+"}}"#),
    ] {
        save("filters", name, &[filter.as_bytes(), &[0], document.as_bytes()].concat());
    }
}

fn words() {
    for (name, query, document) in [
        ("latin", "Boats sail", r#"{"text":"A boat sails; two BOATS sail."}"#),
        ("scripts", "日本語 ἈΡΧΉ", r#"{"a":["日本語のテキスト",{"b":"ἀρχή"}],"c":1}"#),
        ("marks", "E\u{301}TE\u{301} 3.14", "{\"a\":\"e\u{301}te\u{301} don’t x_y 3.14\"}"),
        ("long", &"a".repeat(300), &format!("{{\"a\":\"{}\"}}", "a".repeat(300))),
    ] {
        save("words", name, &[query.as_bytes(), &[0], document.as_bytes()].concat());
    }
}

fn texts() {
    let cursor = URL_SAFE_NO_PAD.encode(br#"["kind",["t-1",5,["ann","notes"]]]"#);
    let other = URL_SAFE_NO_PAD.encode(br#"["other",["t-1",5,[]]]"#);
    for (which, name, text) in [
        (0, "cursor", cursor.as_str()),
        (0, "cursor-refused", &other),
        (1, "accept", "text/html, application/msgpack;q=0.9, */*;q=0.1"),
        (1, "accept-refused", "text/html;q=1, image/*"),
        (2, "content-type", "Application/JSON; charset=utf-8"),
        (2, "content-type-refused", "text/plain"),
        (3, "query", "a=x%2Fy+z&b=&a=%C3%BC"),
        (3, "query-refused", "a=1&c=2"),
        (4, "pointer", "/a~1b/3/~01/"),
        (4, "pointer-refused", "/a~2"),
    ] {
        save("texts", name, &[&[which], text.as_bytes()].concat());
    }
}

fn archives() {
    let long = "folder/".repeat(16) + "file";
    let plain = archive(|builder| {
        add(builder, EntryType::Directory, "a/", b"");
        add(builder, EntryType::Regular, "a/b.txt", b"content");
        add(builder, EntryType::Regular, &long, &[7; 700]);
    });
    let linked = archive(|builder| {
        add(builder, EntryType::Regular, "a/b.txt", b"content");
        let mut link = Header::new_gnu();
        link.set_entry_type(EntryType::Symlink);
        link.set_size(0);
        builder.append_link(&mut link, "a/link", "b.txt").unwrap();
    });
    let climbing = {
        let mut bytes = archive(|builder| add(builder, EntryType::Regular, "xx/b.txt", b"content"));
        bytes[..2].copy_from_slice(b"..");
        sum(&mut bytes);
        bytes
    };
    let bomb = archive(|builder| add(builder, EntryType::Regular, "zeros", &vec![0; 1_200_000]));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&plain).unwrap();
    let gzip = gzip.finish().unwrap();
    for (how, name, bytes) in [
        (0, "files", plain.clone()),
        (0, "gzip", gzip.clone()),
        (1, "whole", plain.clone()),
        (1, "whole-zstd", zstd::bulk::compress(&plain, 3).unwrap()),
        (1, "links", linked.clone()),
        (2, "any-links", linked.clone()),
        (0, "links-refused", linked),
        (0, "climbing-refused", climbing.clone()),
        (2, "climbing-whole-refused", climbing),
        (0, "bomb-refused", zstd::bulk::compress(&bomb, 3).unwrap()),
        (1, "cut-refused", plain[..plain.len() - 900].to_vec()),
        (0, "cut-gzip-refused", gzip[..gzip.len() / 2].to_vec()),
    ] {
        save("archives", name, &[&[how], &bytes[..]].concat());
    }
}

fn archive(fill: impl FnOnce(&mut Builder<Vec<u8>>)) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    fill(&mut builder);
    builder.into_inner().unwrap()
}

fn add(builder: &mut Builder<Vec<u8>>, kind: EntryType, path: &str, content: &[u8]) {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(content.len() as u64);
    builder.append_data(&mut header, path, content).unwrap();
}

/// Makes the checksum of the first header anew.
fn sum(archive: &mut [u8]) {
    let mut header = Header::from_byte_slice(&archive[..512]).clone();
    header.set_cksum();
    archive[..512].copy_from_slice(header.as_bytes());
}
