//! Copies items for a snapshot: reads them in the reader's transaction, and writes them in slices as hidden copies.

use serde_json::json;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row};

use crate::domain::clock::Micros;
use crate::domain::store::namespace::Namespace;
use crate::domain::{Error, Result};
use crate::storage::sqlite::SqliteStorage;
use crate::storage::sqlite::connection::Read;
use crate::storage::sqlite::rows::RowSet;
use crate::storage::store::namespaces;
use crate::storage::threads::sqlite::copy_rows::cell;

/// Rows and bytes of one slice: some milliseconds of the writer's time.
const SLICE_ROWS: usize = 500;
const SLICE_BYTES: i64 = 1 << 20;

/// What of an item goes into which table; the columns of both begin with namespace and key.
const ITEMS: Copied = Copied {
    rows: "from items i
        left join item_indexing x on x.tenant = i.tenant and x.namespace = i.namespace and x.key = i.key
            and x.version = i.version
        where i.tenant = $1 and i.namespace >= $2 and i.namespace < $3 and (i.expires_at > $4 or i.expires_at is null)
        order by i.namespace, i.key limit $5 offset $6",
    size: "length(i.body) + coalesce(length(i.parts), 0)",
    columns: &[
        "i.namespace",
        "i.key",
        "i.updated_at",
        "i.ttl_micros",
        "i.size_bytes",
        "i.digest",
        "i.body",
        "i.parts",
        "i.scope_id",
        "i.file_head",
        "i.content_id",
        "i.created_at",
        "i.expires_at",
        "i.history",
        "i.words",
        "i.word_counts",
        "i.word_total",
        "i.word_fields",
        "i.vector_bytes",
        "x.fields",
    ],
    into: &[
        "insert into item_versions (tenant, namespace, key, version, updated_at, ttl_micros, size_bytes, digest, body, parts,
                scope_id, file_head, content_id) select $3, {0}, {1}, -$4, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}
         from jsonb_each($1) j",
        "insert into snapshot_items (tenant, snapshot_no, namespace, key, created_at, expires_at, size_bytes, history, words,
                word_counts, word_total, word_fields, vector_bytes, index_fields)
             select $3, $4, {0}, {1}, {11}, {12}, {4}, {13}, {14}, {15}, {16}, {17}, {18}, {19}
         from jsonb_each($1) j",
    ],
};

const VECTORS: Copied = Copied {
    rows: "from items i
        join item_vectors x on x.tenant = i.tenant and x.namespace = i.namespace and x.key = i.key
            and x.version = i.version
        where i.tenant = $1 and i.namespace >= $2 and i.namespace < $3 and (i.expires_at > $4 or i.expires_at is null)
            and i.vector_bytes > 0
        order by x.namespace, x.key, x.model, x.no limit $5 offset $6",
    size: "length(x.vector)",
    columns: &["x.namespace", "x.key", "x.model", "x.no", "x.field", "x.dims", "x.vector"],
    into: &["insert into snapshot_vectors (tenant, snapshot_no, namespace, key, model, no, field, dims, vector)
             select $3, $4, {0}, {1}, {2}, {3}, {4}, {5}, {6} from jsonb_each($1) j"],
};

struct Copied {
    /// What is read: from `from` to `offset`.
    rows: &'static str,
    size: &'static str,
    columns: &'static [&'static str],
    into: &'static [&'static str],
}

impl SqliteStorage {
    /// Copies what lives below a namespace in the reader's state.
    pub(super) async fn copy_items(
        &self,
        read: &mut Read<'_>,
        (tenant, number): (&str, i64),
        namespace: &Namespace,
        now: Micros,
    ) -> Result<()> {
        let place = NamespaceRange {
            tenant,
            from: namespaces::encode(namespace),
            to: namespaces::end(namespace).unwrap_or_default(),
            now,
        };
        for of in [&ITEMS, &VECTORS] {
            let mut skip = 0;
            loop {
                let sizes = sizes(read, of, &place, skip).await?;
                let count = slice(&sizes);
                if count == 0 {
                    break;
                }
                let rows = read_rows(read, of, &place, (skip, count)).await?;
                self.write_copies(of, (tenant, number), rows).await?;
                skip += count;
            }
        }
        Ok(())
    }

    async fn write_copies(&self, of: &Copied, place: (&str, i64), rows: RowSet) -> Result<()> {
        let _turn = self.connections.background().await;
        let mut write = self.connections.begin_write().await?;
        let json = rows.json();
        for into in of.into {
            sqlx::query(AssertSqlSafe(filled(into, of.columns.len())))
                .bind(json.clone())
                .bind(rows.blob.clone())
                .bind(place.0)
                .bind(place.1)
                .execute(&mut *write)
                .await?;
        }
        write.commit().await
    }
}

struct NamespaceRange<'a> {
    tenant: &'a str,
    from: Vec<u8>,
    to: Vec<u8>,
    now: Micros,
}

/// Sizes of the next rows. The reader's state does not move, so a position is a number.
async fn sizes(
    read: &mut SqliteConnection,
    of: &Copied,
    place: &NamespaceRange<'_>,
    skip: usize,
) -> Result<Vec<i64>> {
    let found = select(read, of.size, of, place, (skip, SLICE_ROWS)).await?;
    found.iter().map(|row| row.try_get(0).map_err(Error::from)).collect()
}

/// How many of them make a slice; a larger one is a slice of its own.
fn slice(sizes: &[i64]) -> usize {
    let mut bytes = 0;
    let fits = |size: &&i64| {
        bytes += **size;
        bytes <= SLICE_BYTES
    };
    sizes.iter().take_while(fits).count().max(sizes.len().min(1))
}

async fn read_rows(
    read: &mut SqliteConnection,
    of: &Copied,
    place: &NamespaceRange<'_>,
    page: (usize, usize),
) -> Result<RowSet> {
    let found = select(read, &of.columns.join(", "), of, place, page).await?;
    let mut rows = RowSet::default();
    for row in &found {
        let cells = (0..of.columns.len()).map(|at| cell(&mut rows, row, at));
        let cells = cells.collect::<Result<Vec<_>, sqlx::Error>>()?;
        rows.push(json!(cells));
    }
    Ok(rows)
}

async fn select(
    read: &mut SqliteConnection,
    columns: &str,
    of: &Copied,
    place: &NamespaceRange<'_>,
    (skip, count): (usize, usize),
) -> Result<Vec<sqlx::sqlite::SqliteRow>> {
    sqlx::query(AssertSqlSafe(format!("select {columns} {}", of.rows)))
        .bind(place.tenant)
        .bind(&place.from)
        .bind(&place.to)
        .bind(place.now)
        .bind(i64::try_from(count).unwrap_or(i64::MAX))
        .bind(i64::try_from(skip).unwrap_or(i64::MAX))
        .fetch_all(read)
        .await
        .map_err(Error::from)
}

/// `{3}` is the cell 3 of a row: bytes stand in the blob.
fn filled(text: &str, columns: usize) -> String {
    (0..columns).rev().fold(text.to_owned(), |text, at| {
        let cell = format!(
            "case json_type(j.value, '$[{at}]') when 'array'
             then substr($2, j.value ->> '$[{at}][0]', j.value ->> '$[{at}][1]') else j.value ->> {at} end"
        );
        text.replace(&format!("{{{at}}}"), &cell)
    })
}
