//! Decides the media type of a path. The tables are those of deepagents: programs ask the same of either backend.

use super::value::{Content, FileValue};

/// Of what nothing more is known.
const BYTES: &str = "application/octet-stream";
const TEXT: &str = "text/plain";

/// By the extension, as JavaScript has it; what is not listed is text.
pub fn by_extension(path: &str) -> &'static str {
    match javascript_extension(path).as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "heic" => "image/heic",
        "heif" => "image/heif",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "aiff" => "audio/aiff",
        "aac" => "audio/aac",
        "ogg" => "audio/ogg",
        "flac" => "audio/flac",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        "mpeg" | "mpg" => "video/mpeg",
        "mov" => "video/quicktime",
        "avi" => "video/x-msvideo",
        "flv" => "video/x-flv",
        "wmv" => "video/x-ms-wmv",
        "3gpp" => "video/3gpp",
        "pdf" => "application/pdf",
        "ppt" => "application/vnd.ms-powerpoint",
        "pptx" => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "md" | "markdown" => "text/markdown",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "xml" => "text/xml",
        "json" => "application/json",
        "js" | "mjs" | "cjs" => "application/javascript",
        _ => TEXT,
    }
}

/// What JavaScript reads as text.
pub fn is_text(media_type: &str) -> bool {
    let others = ["application/json", "application/javascript", "image/svg+xml"];
    media_type.starts_with("text/") || others.contains(&media_type)
}

/// The type that a value declares, else by the extension; bytes are never shown as text for an extension's sake.
pub fn shown(declared: Option<&str>, is_bytes: bool, path: &str) -> String {
    let found = declared.filter(|it| !it.is_empty()).unwrap_or_else(|| by_extension(path));
    let is_guessed = declared.is_none_or(str::is_empty);
    (if is_bytes && is_guessed && is_text(found) { BYTES } else { found }).to_owned()
}

/// As [`shown`], of a value.
pub fn of_value(value: &FileValue, path: &str) -> String {
    let declared = value.media_type.as_ref().and_then(|it| it.text());
    let is_bytes = matches!(value.content, Content::Base64(_) | Content::Bytes(_));
    shown(declared, is_bytes, path)
}

/// For bytes of which nobody says what they are.
pub fn of_bytes(path: &str) -> &'static str {
    match by_extension(path) {
        found if is_text(found) => BYTES,
        found => found,
    }
}

/// Files that Python reads whole, whatever window is asked for.
pub fn is_whole_in_python(path: &str) -> bool {
    const WHOLE: [&str; 24] = [
        "png", "jpeg", "jpg", "webp", "gif", "heic", "heif", "mp4", "mpeg", "mov", "avi", "flv",
        "mpg", "webm", "wmv", "3gpp", "mkv", "wav", "mp3", "aiff", "aac", "ogg", "flac", "pdf",
    ];
    let name = path.rsplit('/').next().unwrap_or_default();
    let suffix = match name.rfind('.') {
        Some(at) if at > 0 && at + 1 < name.len() => name[at + 1..].to_lowercase(),
        _ => return false,
    };
    WHOLE.contains(&suffix.as_str()) || suffix == "ppt" || suffix == "pptx"
}

fn javascript_extension(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    match name.rfind('.') {
        Some(at) if at > 0 => name[at + 1..].to_lowercase(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_say_what_deepagents_says() {
        let of = |path| by_extension(path);
        assert_eq!((of("/a/B.PNG"), of("/x.py"), of("/x")), ("image/png", TEXT, TEXT));
        assert_eq!((of("/.png"), of("/a.b/c"), of("/x.json")), (TEXT, TEXT, "application/json"));
        assert!(is_whole_in_python("/x.MKV") && is_whole_in_python("/a.b.pptx"));
        assert!(!is_whole_in_python("/.png") && !is_whole_in_python("/x.svg"));
        assert!(!is_whole_in_python("/png") && !is_whole_in_python("/x.png."));
    }

    #[test]
    fn bytes_are_not_text_unless_somebody_says_so() {
        assert_eq!(shown(None, true, "/x.bin"), BYTES);
        assert_eq!(shown(Some("text/plain"), true, "/x.bin"), TEXT);
        assert_eq!(shown(Some(""), true, "/x.png"), "image/png");
        assert_eq!(shown(None, false, "/x.bin"), TEXT);
        assert!(is_text("image/svg+xml") && !is_text("image/png"));
    }
}
