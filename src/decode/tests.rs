//! Tests the rules of display on bytes as the clients write them.

mod cuts;
mod first_messages;
mod ids;
mod replaying;
mod run_states;
mod samples;
mod short_values;
mod states;

use serde_json::Value as Expected;

use super::Json;

fn as_json(shown: &Json) -> Expected {
    serde_json::from_str(&serde_json::to_string(shown).unwrap()).unwrap()
}

/// JSON as JSON for display.
fn of(value: &Expected) -> Json {
    let mut budget = super::Budget::new(1 << 20);
    super::read_text(value.to_string().as_bytes(), &mut budget).unwrap()
}
