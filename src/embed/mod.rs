//! TEXT TO VECTOR: one file per kind of provider. Knows no noun of the server but vectors.

mod openai;

pub use openai::{OpenAi, Settings};
