//! Checks that any bytes of a body become a request or a typed refusal.
//! Decoding neither panics nor recurses without end, and takes no more memory than the limits of lists allow.
//!
//! Input: 1 byte which body it is and in which form, then the body.

use threadkeep::http::request::decoders::{COUNT, decode};

pub fn check(data: &[u8]) {
    let Some((which, body)) = data.split_first() else { return };
    let (number, is_json) = form(*which);
    let first = decode(number, is_json, body);
    if let Err((status, code, field)) = &first {
        let known = matches!(
            (status, *code),
            (400, "malformed_body") | (413, "too_large" | "value_too_large") | (410 | 422, _)
        );
        assert!(known, "{status} {code}");
        assert!(field.len() <= 1_100, "a field of {} bytes", field.len());
    }
    assert_eq!(decode(number, is_json, body), first, "the same again");
}

/// Whether it is a request.
#[allow(dead_code)] // Only tells whether a seed is a good one.
pub fn is_read(data: &[u8]) -> bool {
    let (number, is_json) = form(data[0]);
    decode(number, is_json, &data[1..]).is_ok()
}

/// Which body it is, and whether it is JSON.
fn form(which: u8) -> (u8, bool) {
    ((which & 0x7f) % COUNT, which & 0x80 != 0)
}
