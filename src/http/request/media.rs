//! Determines which of the two forms of a body a request sends and accepts.

use std::io::Write;

use axum::http::{HeaderMap, HeaderValue, header};
use serde::Serialize;

use super::problem::{Code, Problem};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Json,
    MessagePack,
}

impl Format {
    pub fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Json => "application/json",
            Self::MessagePack => "application/msgpack",
        })
    }

    /// Writes an answer in this form.
    ///
    /// # Errors
    /// The reason why it cannot be written.
    pub fn write(self, into: &mut impl Write, answer: &impl Serialize) -> Result<(), String> {
        match self {
            Self::Json => serde_json::to_writer(into, answer).map_err(|error| error.to_string()),
            Self::MessagePack => {
                rmp_serde::encode::write_named(into, answer).map_err(|error| error.to_string())
            }
        }
    }

    /// The form of the request's body.
    ///
    /// # Errors
    /// 415 for any other, and for none: a form that a web page can send without asking is never accepted.
    pub fn sent(headers: &HeaderMap) -> Result<Self, Problem> {
        let text = headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
        text.and_then(|it| named(&essence(it))).ok_or_else(|| {
            let detail = "Content-Type must be application/json or application/msgpack";
            Problem::new(Code::UnsupportedMediaType, detail).at("Content-Type")
        })
    }

    /// The form that the caller wants; JSON when it does not say.
    ///
    /// # Errors
    /// 406 when it accepts neither.
    pub fn wanted(headers: &HeaderMap) -> Result<Self, Problem> {
        let mut all = headers.get_all(header::ACCEPT).iter().peekable();
        if all.peek().is_none() {
            return Ok(Self::Json);
        }
        let ranges = all.filter_map(|it| it.to_str().ok()).flat_map(|it| it.split(','));
        let mut weights = Weights::default();
        for range in ranges {
            weights.add(range);
        }
        weights.best().ok_or_else(|| {
            let detail = "answers are application/json or application/msgpack";
            Problem::new(Code::NotAcceptable, detail).at("Accept")
        })
    }
}

/// Whether the caller names JSON, and plain text not as much. For answers that are text to whoever does not say.
pub fn prefers_json(headers: &HeaderMap) -> bool {
    let ranges = headers.get_all(header::ACCEPT).iter().filter_map(|it| it.to_str().ok());
    let (mut json, mut text) = (0.0, 0.0);
    for range in ranges.flat_map(|it| it.split(',')) {
        match essence(range).as_str() {
            "application/json" => json = weight(range),
            "text/plain" => text = weight(range),
            _ => {}
        }
    }
    json > text
}

/// (specificity, weight) of each form so far.
#[derive(Default)]
struct Weights {
    json: (u8, f32),
    message_pack: (u8, f32),
}

impl Weights {
    fn add(&mut self, range: &str) {
        let weight = weight(range);
        let essence = essence(range);
        match (essence.as_str(), named(&essence)) {
            (_, Some(Format::Json)) => self.json = (2, weight),
            (_, Some(Format::MessagePack)) => self.message_pack = (2, weight),
            (any @ ("*/*" | "application/*"), None) => {
                let specificity = u8::from(any != "*/*");
                for form in [&mut self.json, &mut self.message_pack] {
                    if specificity >= form.0 {
                        *form = (specificity, weight);
                    }
                }
            }
            _ => {}
        }
    }

    fn best(&self) -> Option<Format> {
        if self.message_pack.1 > self.json.1 {
            return Some(Format::MessagePack);
        }
        (self.json.1 > 0.0).then_some(Format::Json)
    }
}

/// How much the caller wants it.
fn weight(range: &str) -> f32 {
    let weight = range.split(';').skip(1).find_map(|it| it.trim().strip_prefix("q="));
    weight.map_or(1.0, |it| it.trim().parse().unwrap_or(0.0))
}

/// A media type without its parameters, in lower case.
fn essence(text: &str) -> String {
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn named(essence: &str) -> Option<Format> {
    match essence {
        "application/json" => Some(Format::Json),
        "application/msgpack" | "application/x-msgpack" | "application/vnd.msgpack" => {
            Some(Format::MessagePack)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(accept: &'static str) -> Option<Format> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        Format::wanted(&headers).ok()
    }

    #[test]
    fn the_accepted_form_with_the_greater_weight_wins() {
        assert_eq!(wanted("*/*"), Some(Format::Json));
        assert_eq!(wanted("application/msgpack"), Some(Format::MessagePack));
        assert_eq!(
            wanted("application/json;q=0.5, application/msgpack"),
            Some(Format::MessagePack)
        );
        assert_eq!(wanted("application/json, */*;q=0.1"), Some(Format::Json));
        assert_eq!(wanted("application/json;q=0, */*"), Some(Format::MessagePack));
        assert_eq!(wanted("text/html"), None);
        assert_eq!(wanted("application/json;q=0"), None);
    }

    #[test]
    fn json_is_preferred_to_text_only_by_its_name() {
        let prefers = |accept: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            prefers_json(&headers)
        };
        assert!(prefers("application/json"));
        assert!(prefers("text/plain;q=0.5, application/json, */*"));
        for text in ["*/*", "application/*", "text/plain, application/json", "application/json;q=0"]
        {
            assert!(!prefers(text), "{text}");
        }
        assert!(!prefers_json(&HeaderMap::new()));
    }

    #[test]
    fn parameters_and_case_of_a_content_type_do_not_matter() {
        let sent = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(text));
            Format::sent(&headers).ok()
        };
        assert_eq!(sent("Application/JSON; charset=utf-8"), Some(Format::Json));
        assert_eq!(sent("application/x-msgpack"), Some(Format::MessagePack));
        assert_eq!(sent("text/plain"), None);
        assert_eq!(sent("application/jsonp"), None);
    }
}
