//! Defines the settings of the endpoint that makes vectors.

use clap::Args;

/// Vectors that the server makes. Off without a URL.
#[derive(Debug, Args)]
pub struct EmbeddingsEndpoint {
    /// `https://…/v1` of an endpoint that answers `POST …/embeddings` in the usual form (`http://` for programs next to the server):
    /// texts of items that are put with `index`, and of searches, go there. Its key comes from the variable
    /// `THREADKEEP_EMBEDDINGS_KEY`.
    #[arg(long, env = "THREADKEEP_EMBEDDINGS_URL", requires_all = ["embeddings_model", "embeddings_dims"])]
    pub embeddings_url: Option<String>,
    /// Model that it is asked for. The name stays with each vector; after a change all are made again, in the background.
    #[arg(long, env = "THREADKEEP_EMBEDDINGS_MODEL")]
    pub embeddings_model: Option<String>,
    /// Numbers in each of its vectors.
    #[arg(long, env = "THREADKEEP_EMBEDDINGS_DIMS", value_parser = clap::value_parser!(u32).range(1..=4_096))]
    pub embeddings_dims: Option<u32>,
}
