//! Declares the clients that turn text into vectors: one file per kind of provider. Depends on no domain type but vectors.

mod openai;

pub use openai::{OpenAi, Settings};
