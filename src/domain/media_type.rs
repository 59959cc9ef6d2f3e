//! The media type of a file that does not say its own: what its name says, else whether it is text.

/// By the last extension of a name. Types that a browser would run something in are named as what they are: whoever serves them
/// knows that they are not to be shown.
const TYPES: &[(&str, &str)] = &[
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("mjs", "text/javascript"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("wasm", "application/wasm"),
    ("webp", "image/webp"),
    ("xhtml", "application/xhtml+xml"),
    ("xml", "text/xml"),
    ("zip", "application/zip"),
];

/// The type for a path whose content is text or not.
pub fn by_name(path: &str, is_text: bool) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map(|(_, it)| it.to_ascii_lowercase());
    let known = extension.and_then(|it| TYPES.iter().find(|(own, _)| *own == it));
    match known {
        Some((_, media_type)) => media_type,
        None if is_text => "text/plain",
        None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::by_name;

    #[test]
    fn the_last_extension_counts_and_text_is_shown_as_text() {
        assert_eq!(by_name("/a/b.tar.GZ", false), "application/gzip");
        assert_eq!(by_name("/a.png/README", true), "text/plain");
        assert_eq!(by_name("/main.py", true), "text/plain");
        assert_eq!(by_name("/x", false), "application/octet-stream");
        assert_eq!(by_name("/x.svg", true), "image/svg+xml");
    }
}
