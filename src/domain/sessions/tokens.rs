//! Estimates the tokens by which Agentrail cuts its messages. It follows Agentrail's rules number by number, because a client and this
//! server must cut at the same message.

use serde_json::Value as Json;

/// Of an image in a message of a user or a tool.
const IMAGE_TOKENS: u64 = 1_500;
const MESSAGE_TOKENS: u64 = 4;

/// What a message counts for. What is no message of Agentrail counts with its whole text.
pub fn estimate(message: &[u8]) -> u64 {
    let Ok(text) = std::str::from_utf8(message) else { return 0 };
    let Ok(Json::Object(fields)) = serde_json::from_slice::<Json>(message) else {
        return quarters(text).div_ceil(4) + MESSAGE_TOKENS;
    };
    let has_images =
        matches!(fields.get("role").and_then(Json::as_str), Some("user" | "toolResult"));
    let (mut count, mut images) = (0, 0);
    match fields.get("content") {
        Some(Json::String(text)) => count = quarters(text),
        Some(Json::Array(blocks)) => {
            for block in blocks {
                // Texts of a message count as one. Arguments of tool calls do not count.
                let of = |name: &str| block.get(name).and_then(Json::as_str).map_or(0, quarters);
                let is_image = block.get("type").and_then(Json::as_str) == Some("image");
                count += of("text") + of("thinking");
                images += u64::from(is_image && has_images);
            }
        }
        _ if fields.contains_key("role") => {}
        _ => count = quarters(text),
    }
    count.div_ceil(4) + images * IMAGE_TOKENS + MESSAGE_TOKENS
}

/// A quarter of a token per ASCII character, four per other.
fn quarters(text: &str) -> u64 {
    text.chars().map(|it| if it.is_ascii() { 1 } else { 4 }).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(message: &Json) -> u64 {
        estimate(message.to_string().as_bytes())
    }

    #[test]
    fn messages_count_by_the_published_rules() {
        assert_eq!(of(&json!({"role": "user", "content": "12345"})), 2 + 4);
        assert_eq!(of(&json!({"role": "user", "content": "日本a"})), 3 + 4);
        let image = json!({"type": "image", "data": "x".repeat(9_000), "mimeType": "image/png"});
        let text = json!({"type": "text", "text": "abcd"});
        assert_eq!(of(&json!({"role": "user", "content": [text, image]})), 1 + 1_500 + 4);
        let call = json!({"type": "toolCall", "id": "1", "name": "n", "arguments": {"a": "long"}});
        let thinking = json!({"type": "thinking", "thinking": "abcde"});
        assert_eq!(of(&json!({"role": "assistant", "content": [thinking, call]})), 2 + 4);
        assert_eq!(of(&json!({"role": "assistant", "content": []})), 4);
        let parts = json!([{"type": "text", "text": "a"}, {"type": "thinking", "thinking": "bcd"}]);
        assert_eq!(of(&json!({"role": "assistant", "content": parts})), 1 + 4);
        // A lone surrogate is no text, and no reason to fail.
        assert!(estimate(br#"{"role":"user","content":"\ud800"}"#) > 0);
    }
}
