//! Checks that any text of an address or a head is understood or refused, and that what is understood says the same when it is written
//! again.
//!
//! Input: 1 byte which text it is, then the text.

use threadkeep::decode::Pointer;
use threadkeep::http::request::decoders::{TEXTS, read_text};

pub fn check(data: &[u8]) {
    let Some((which, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    if which % (TEXTS + 1) == TEXTS {
        check_pointer(&text);
        return;
    }
    let Some(read) = read_text(*which, &text) else { return };
    assert_eq!(read_text(*which, &read).as_ref(), Some(&read), "{text:?}");
}

fn check_pointer(text: &str) {
    let Ok(pointer) = Pointer::new(text) else { return };
    let escaped = pointer.channel().replace('~', "~0").replace('/', "~1");
    assert_eq!(text.split('/').nth(1), Some(escaped.as_str()), "{text:?}");
    assert_eq!(Pointer::new(&format!("/{escaped}")).unwrap().channel(), pointer.channel());
}

/// Whether it is understood.
#[allow(dead_code)] // Only tells whether a seed is a good one.
pub fn is_read(data: &[u8]) -> bool {
    let (which, text) = data.split_first().unwrap();
    let text = std::str::from_utf8(text).unwrap();
    if which % (TEXTS + 1) == TEXTS {
        return Pointer::new(text).is_ok();
    }
    read_text(*which, text).is_some()
}
