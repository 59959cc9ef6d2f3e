//! Runs the storage contract (`tests/contract`) on each version of PostgreSQL that threadkeep supports, in containers.

#[cfg(test)]
mod tests {
    use std::path::Path;

    use testcontainers::core::{IntoContainerPort as _, WaitFor};
    use testcontainers::runners::AsyncRunner as _;
    use testcontainers::{GenericImage, ImageExt as _};
    use tokio::process::Command;

    const PORT: u16 = 5432;

    /// Every case that runs on PostgreSQL. The container ends with the block.
    async fn the_contract_holds(version: &str) {
        // It starts twice: for its own set-up, then for everybody.
        let ready = WaitFor::message_on_stderr("database system is ready to accept connections");
        let postgres = GenericImage::new("pgvector/pgvector", version)
            .with_exposed_port(PORT.tcp())
            .with_wait_for(WaitFor::message_on_stdout("PostgreSQL init process complete"))
            .with_wait_for(ready)
            .with_env_var("POSTGRES_HOST_AUTH_METHOD", "trust")
            .with_cmd(["postgres", "-c", "max_connections=300"])
            .start()
            .await
            .unwrap();
        let (host, port) =
            (postgres.get_host().await.unwrap(), postgres.get_host_port_ipv4(PORT).await.unwrap());
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let contract = Command::new("cargo")
            .args(["test", "--locked", "--no-fail-fast", "--test", "contract", "postgres::"])
            .current_dir(root)
            .env(
                "THREADKEEP_TEST_DATABASE_URL",
                format!("postgres://postgres@{host}:{port}/postgres"),
            )
            .status()
            .await
            .unwrap();
        assert!(contract.success(), "the contract on PostgreSQL {version}: {contract}");
    }

    // One after the other: each is a whole run of the contract.
    #[tokio::test(flavor = "multi_thread")]
    async fn the_contract_holds_on_every_version() {
        for version in ["pg14", "pg15", "pg16", "pg17", "pg18"] {
            the_contract_holds(version).await;
        }
    }
}
