//! Calls any endpoint that answers `POST …/embeddings` in the form of the `OpenAI` API: hosted, or a program on this machine.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode, Url};
use serde::{Deserialize, Serialize};

use crate::domain::store::embedding::{Embeddings, Refused};
use crate::domain::store::vector::{Model, Vector};
use crate::domain::{Error, Result};

const ANSWER_WITHIN: Duration = Duration::from_secs(30);
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Where the endpoint is and what it is asked for.
pub struct Settings {
    /// What stands before `/embeddings`.
    pub url: String,
    pub model: String,
    pub dims: usize,
    /// Sent as a bearer token, and never shown.
    pub key: Option<String>,
}

pub struct OpenAi {
    client: Client,
    url: Url,
    model: Model,
    dims: usize,
    key: Option<String>,
}

#[derive(Serialize)]
struct Question<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Embedded>,
}

#[derive(Deserialize)]
struct Embedded {
    index: usize,
    embedding: Vec<f32>,
}

impl OpenAi {
    /// # Errors
    /// What is wrong with a setting.
    pub fn new(settings: Settings) -> Result<Self> {
        let Settings { url, model, dims, key } = settings;
        let refuse = |detail: String| Error::invalid("embeddings-url", detail);
        let whole = format!("{}/embeddings", url.trim_end_matches('/'));
        let url =
            Url::parse(&whole).map_err(|error| refuse(format!("--embeddings-url: {error}")))?;
        let local = matches!(url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"));
        if url.scheme() != "https" && url.scheme() != "http" {
            return Err(refuse("--embeddings-url must be https:// or http://".into()));
        }
        // A second installation changes nothing; the first one is this one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder().redirect(Policy::none()).timeout(ANSWER_WITHIN);
        let builder = if local { builder.no_proxy() } else { builder };
        let client = builder.build().map_err(|error| refuse(error.to_string()))?;
        Ok(Self { client, url, model: Model::new(&model)?, dims, key })
    }

    /// `Err` with true: the endpoint looked at the texts and does not take them.
    async fn ask(&self, texts: &[String]) -> std::result::Result<Vec<u8>, Refused> {
        let away = |error: reqwest::Error| Refused::ForNow(error.without_url().to_string());
        let question =
            Question { model: self.model.as_str(), input: texts, encoding_format: "float" };
        let body = serde_json::to_vec(&question)
            .map_err(|error| Refused::ForNow(format!("no question: {error}")))?;
        let mut request = self.client.post(self.url.clone()).body(body);
        request = request.header("content-type", "application/json");
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        let mut response = request.send().await.map_err(away)?;
        let status = response.status();
        if status != StatusCode::OK {
            let detail = format!("status {}", status.as_u16());
            // What a wrong key or too many questions answer is mended without the texts.
            let of_texts = matches!(status.as_u16(), 400 | 413 | 422);
            return Err(if of_texts { Refused::Texts(detail) } else { Refused::ForNow(detail) });
        }
        let mut answer = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(away)? {
            answer.extend_from_slice(&chunk);
            if answer.len() > ANSWER_BYTES_MAX {
                return Err(Refused::Texts(format!("over {ANSWER_BYTES_MAX} bytes")));
            }
        }
        Ok(answer)
    }

    fn read(&self, answer: &[u8], count: usize) -> std::result::Result<Vec<Vector>, String> {
        let answer: Answer =
            serde_json::from_slice(answer).map_err(|error| format!("no embeddings: {error}"))?;
        let mut vectors: Vec<Option<Vector>> = vec![None; count];
        for it in answer.data {
            let found = it.embedding.len();
            if found != self.dims {
                let expected = self.dims;
                return Err(format!("{found} dimensions, --embeddings-dims says {expected}"));
            }
            let vector = Vector::new("embedding", it.embedding).map_err(|it| it.to_string())?;
            *vectors.get_mut(it.index).ok_or("an answer to what was not asked")? = Some(vector);
        }
        let all: Option<Vec<Vector>> = vectors.into_iter().collect();
        all.ok_or_else(|| "an embedding is missing".into())
    }
}

#[async_trait]
impl Embeddings for OpenAi {
    fn model(&self) -> &Model {
        &self.model
    }

    fn dims(&self) -> usize {
        self.dims
    }

    async fn embed(&self, texts: &[String]) -> std::result::Result<Vec<Vector>, Refused> {
        let answer = self.ask(texts).await?;
        self.read(&answer, texts.len()).map_err(Refused::ForNow)
    }
}
