//! Builds the headers and ranges of answers with raw bytes of files, for callers that may be browsers. Agents wrote the files, so the
//! server never trusts their declared type and lets nothing in them run.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::auth::signed_url::Disposition;

/// Types that a browser shows without running anything in them.
const SHOWN: [&str; 6] =
    ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "text/plain"];
/// Types that it shows without running anything, where the policy lets nothing run.
const SHOWN_ISOLATED: [&str; 2] = ["text/html", "image/svg+xml"];
/// For these: what the file itself holds is shown. Scripts, forms, plugins and every request of it are refused.
const ISOLATION: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; \
     form-action 'none'";
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// What a browser may do with the bytes: nothing but show or keep them.
const SAFETY: [(&str, &str); 4] = [
    ("x-content-type-options", "nosniff"),
    ("content-security-policy", "sandbox; default-src 'none'"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "private, no-cache"),
];

/// A part of a file: from `start`, up to and without `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub start: u64,
    pub end: u64,
}

/// What the caller wants of a file of this size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedRange {
    Whole,
    Part(Span),
    /// Nothing that it asks for is there.
    Unsatisfiable,
}

/// Headers of an answer with, or about, the bytes of a file. `name` is the last name of its path.
pub fn headers(name: &str, media_type: &str, disposition: Disposition, etag: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in SAFETY {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let media_type = legal_type(media_type);
    let essence = essence(&media_type);
    let is_isolated =
        disposition == Disposition::Isolated && SHOWN_ISOLATED.contains(&essence.as_str());
    if is_isolated {
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(ISOLATION));
    }
    let is_shown = is_isolated || SHOWN.contains(&essence.as_str());
    let disposition = content_disposition(name, disposition != Disposition::Attachment && is_shown);
    for (name, value) in [
        (header::CONTENT_TYPE, media_type.as_str()),
        (header::CONTENT_DISPOSITION, disposition.as_str()),
        (header::ETAG, etag),
        (header::ACCEPT_RANGES, "bytes"),
    ] {
        let value = HeaderValue::from_str(value);
        headers.insert(name, value.expect("made of visible ASCII characters"));
    }
    headers
}

/// Whether the caller holds this state of the file already.
pub fn is_held(request: &HeaderMap, etag: &str) -> bool {
    let tags = request.get_all(header::IF_NONE_MATCH);
    tags.iter().filter_map(|it| it.to_str().ok()).any(|tags| {
        let mut tags = tags.split(',').map(str::trim);
        tags.any(|it| it == "*" || it.strip_prefix("W/").unwrap_or(it) == etag)
    })
}

/// What of `size` bytes is asked for. Several ranges, and what cannot be read, are answered with the whole, as RFC 9110 allows;
/// `If-Range` with another state as well.
pub fn wanted(request: &HeaderMap, size: u64, etag: &str) -> RequestedRange {
    let text = |name| request.get(name).and_then(|it: &HeaderValue| it.to_str().ok());
    let Some(range) = text(header::RANGE) else { return RequestedRange::Whole };
    if request.contains_key(header::IF_RANGE) && text(header::IF_RANGE) != Some(etag) {
        return RequestedRange::Whole;
    }
    let Some(range) = range.trim().strip_prefix("bytes=").map(str::trim) else {
        return RequestedRange::Whole;
    };
    let Some((first, last)) = range.split_once('-') else { return RequestedRange::Whole };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
        // More digits than a number has are more than any file has.
        digits.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    let span = match (number(first.trim()), number(last.trim())) {
        (Some(first), Some(last)) if first <= last => {
            Span { start: first, end: size.min(last.saturating_add(1)) }
        }
        (Some(first), None) if last.trim().is_empty() => Span { start: first, end: size },
        (None, Some(count)) if first.trim().is_empty() => {
            Span { start: size - count.min(size), end: size }
        }
        _ => return RequestedRange::Whole,
    };
    if span.start < span.end { RequestedRange::Part(span) } else { RequestedRange::Unsatisfiable }
}

/// The type if it is one, in visible ASCII characters.
fn legal_type(media_type: &str) -> String {
    let token = |text: &str| {
        let legal = |it: u8| it.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&it);
        !text.is_empty() && text.bytes().all(legal)
    };
    let essence = essence(media_type);
    let is_type = essence.split_once('/').is_some_and(|(kind, sub)| token(kind) && token(sub));
    if !is_type {
        return UNKNOWN_TYPE.to_owned();
    }
    // What may follow only says how text is written; and all text is UTF-8 here.
    if essence.starts_with("text/") { format!("{essence}; charset=utf-8") } else { essence }
}

fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// RFC 6266: a name in ASCII for everybody, and the name itself as RFC 8187 writes it.
fn content_disposition(name: &str, inline: bool) -> String {
    let kind = if inline { "inline" } else { "attachment" };
    let plain: String =
        name.chars()
            .map(|it| {
                if (it.is_ascii_graphic() || it == ' ') && !"\"\\%;/".contains(it) {
                    it
                } else {
                    '_'
                }
            })
            .collect();
    let mut text = format!("{kind}; filename=\"{plain}\"");
    if plain != name {
        text.push_str("; filename*=UTF-8''");
        for byte in name.bytes() {
            if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte) {
                text.push(char::from(byte));
            } else {
                text.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn only_types_that_run_nothing_are_shown() {
        let disposition = |media_type: &str| {
            let all = headers("a", media_type, Disposition::Inline, "\"1\"");
            all[header::CONTENT_DISPOSITION].to_str().unwrap().split(';').next().unwrap().to_owned()
        };
        for shown in [
            "image/png",
            "IMAGE/JPEG",
            "image/gif",
            "image/webp",
            "application/pdf",
            "text/plain; charset=x",
        ] {
            assert_eq!(disposition(shown), "inline", "{shown}");
        }
        for kept in [
            "text/html",
            "image/svg+xml",
            "application/xhtml+xml",
            "text/xml",
            "text/javascript",
            "",
            "image/png/x",
            "image/png\n",
        ] {
            let expected = if kept == "image/png\n" { "inline" } else { "attachment" };
            assert_eq!(disposition(kept), expected, "{kept}");
        }
        let forced = headers("a", "image/png", Disposition::Attachment, "\"1\"");
        assert!(forced[header::CONTENT_DISPOSITION].to_str().unwrap().starts_with("attachment"));
    }

    #[test]
    fn every_answer_says_that_nothing_runs() {
        let all = headers("a.html", "text/html", Disposition::Inline, "\"1\"");
        assert_eq!(all["x-content-type-options"], "nosniff");
        assert_eq!(all["content-security-policy"], "sandbox; default-src 'none'");
        assert_eq!(all["referrer-policy"], "no-referrer");
        assert!(all["cache-control"].to_str().unwrap().starts_with("private"));
        assert_eq!(all["content-type"], "text/html; charset=utf-8");
        assert_eq!(
            headers("a", "nonsense", Disposition::Inline, "\"1\"")["content-type"],
            UNKNOWN_TYPE
        );
    }

    #[test]
    fn pages_and_drawings_are_shown_in_isolation_only_and_nothing_else_more_than_before() {
        for (media_type, shown) in [
            ("text/html", true),
            ("IMAGE/SVG+XML; charset=x", true),
            ("image/png", true),
            ("text/xml", false),
            ("application/xhtml+xml", false),
            ("text/javascript", false),
        ] {
            let all = headers("a", media_type, Disposition::Isolated, "\"1\"");
            let said = all[header::CONTENT_DISPOSITION].to_str().unwrap();
            assert_eq!(said.starts_with("inline"), shown, "{media_type}");
            let policy = all[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
            assert!(policy.starts_with("sandbox; default-src 'none'"), "{policy}");
            assert!(!policy.contains("allow-") && !policy.contains("http"), "{policy}");
        }
    }

    #[test]
    fn names_come_whole_and_cannot_break_out() {
        let named = |name: &str| content_disposition(name, false);
        assert_eq!(named("a b.txt"), "attachment; filename=\"a b.txt\"");
        assert_eq!(
            named("a\"; x=\r\n.txt"),
            "attachment; filename=\"a__ x=__.txt\"; filename*=UTF-8''a%22%3B%20x%3D%0D%0A.txt"
        );
        assert_eq!(named("ü%"), "attachment; filename=\"__\"; filename*=UTF-8''%C3%BC%25");
    }

    #[test]
    fn ranges_are_read_as_the_rfc_says() {
        let part = |start, end| RequestedRange::Part(Span { start, end });
        for (range, answer) in [
            ("bytes=0-0", part(0, 1)),
            ("bytes=10-19", part(10, 20)),
            ("bytes=90-", part(90, 100)),
            ("bytes=-10", part(90, 100)),
            ("bytes=-1000", part(0, 100)),
            ("bytes=95-99999999999999999999999999", part(95, 100)),
            ("bytes= 5 - 6 ", part(5, 7)),
            ("bytes=100-", RequestedRange::Unsatisfiable),
            ("bytes=100-200", RequestedRange::Unsatisfiable),
            ("bytes=-0", RequestedRange::Unsatisfiable),
            ("bytes=9-5", RequestedRange::Whole),
            ("bytes=0-1,5-6", RequestedRange::Whole),
            ("bytes=+1-2", RequestedRange::Whole),
            ("bytes=a-b", RequestedRange::Whole),
            ("bytes=-", RequestedRange::Whole),
            ("lines=0-1", RequestedRange::Whole),
        ] {
            assert_eq!(wanted(&asks(header::RANGE, range), 100, "\"1\""), answer, "{range}");
        }
        assert_eq!(
            wanted(&asks(header::RANGE, "bytes=0-"), 0, "\"1\""),
            RequestedRange::Unsatisfiable
        );
        assert_eq!(wanted(&HeaderMap::new(), 100, "\"1\""), RequestedRange::Whole);
        let mut both = asks(header::RANGE, "bytes=0-0");
        both.insert(header::IF_RANGE, HeaderValue::from_static("\"1\""));
        assert_eq!(wanted(&both, 100, "\"1\""), part(0, 1));
        assert_eq!(wanted(&both, 100, "\"2\""), RequestedRange::Whole);
    }

    #[test]
    fn a_caller_that_holds_the_state_is_told_so() {
        let holds = |tags: &str| is_held(&asks(header::IF_NONE_MATCH, tags), "\"1-a\"");
        assert!(holds("\"1-a\"") && holds("W/\"1-a\"") && holds("\"x\", \"1-a\"") && holds("*"));
        assert!(
            !holds("\"1\"")
                && !holds("1-a")
                && !holds("")
                && !is_held(&HeaderMap::new(), "\"1-a\"")
        );
    }
}
