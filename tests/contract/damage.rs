//! Tests that stored bytes that do not match their digest are an error, never data and never absence.

use threadkeep::domain::Error;
use threadkeep::domain::checkpoints::checkpoint::ListQuery;

use crate::commands::{Put, Writes};
use crate::harness::{Harness, everything, target, thread_id};

/// Replaces the last byte of every stored value of a column by its complement; twice is as before.
async fn flip(h: &Harness, table: &str, column: &str) {
    let statement = if h.is_sqlite() {
        let nibble = |from_end: u8| {
            format!(
                "substr('FEDCBA9876543210', instr('0123456789ABCDEF', substr(hex({column}), -{from_end}, 1)), 1)"
            )
        };
        format!(
            "update {table} set {column} = unhex(substr(hex({column}), 1, 2 * length({column}) - 2) || {} || {})
             where {column} is not null",
            nibble(2),
            nibble(1)
        )
    } else {
        format!(
            "update {table} set {column} = set_byte({column}, length({column}) - 1,
                255 - get_byte({column}, length({column}) - 1)) where {column} is not null"
        )
    };
    h.sql(&statement).await;
}

async fn read(h: &Harness) -> Vec<Result<(), Error>> {
    let get = h.storage.get_checkpoint(&h.caller, &target("t", "", None), &["m".into()]).await;
    let query = ListQuery {
        thread_id: Some(thread_id("t")),
        history_channels: Some(vec!["m".into()]),
        ..everything()
    };
    let list = h.storage.list_checkpoints(&h.caller, &query).await;
    vec![get.map(drop), list.map(drop)]
}

async fn fill(h: &Harness) {
    let large: String = (0..5_000).map(|it| it.to_string()).collect();
    h.put(Put::new("1").sets("small", "1", "abc").sets("m", "1", "seed")).await;
    h.write(Writes::new("1", "t").write(0, "m", "delta")).await;
    let put = Put::new("2").parent("1").carries("small", "1").sets("large", "2", &large);
    h.put(put.empties("m", "2")).await;
    h.write(Writes::new("2", "t").write(0, "a", "pending")).await;
    assert!(read(h).await.iter().all(Result::is_ok));
}

pub async fn a_flipped_bit_is_an_error_and_never_data(h: Harness) {
    fill(&h).await;
    for (table, column) in [
        ("checkpoints", "documents"),
        ("manifests", "body"),
        ("manifests", "parts"),
        ("chunks", "body"),
        ("writes", "body"),
        ("manifests", "digest"),
    ] {
        flip(&h, table, column).await;
        for result in read(&h).await {
            let error = result.unwrap_err();
            assert!(matches!(error, Error::Integrity(_)), "{table}.{column}: {error}");
        }
        flip(&h, table, column).await;
        assert!(read(&h).await.iter().all(Result::is_ok), "{table}.{column} as it was");
    }
}

pub async fn a_missing_value_is_an_error(h: Harness) {
    fill(&h).await;
    h.sql("delete from chunks").await;
    for result in read(&h).await {
        assert!(matches!(result.unwrap_err(), Error::Integrity(_)));
    }
    h.sql("delete from manifests").await;
    for result in read(&h).await {
        assert!(matches!(result.unwrap_err(), Error::Integrity(_)));
    }
}
