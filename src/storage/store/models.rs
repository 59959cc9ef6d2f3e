//! Checks that the vectors of a model in a tenant all have as many dimensions as its first one. It is the same on both engines.

use crate::content::keys::TenantSecret;
use crate::domain::limits::LIMITS;
use crate::domain::store::item::ChangeItem;
use crate::domain::store::vector::{Model, Near, NewVectors, check_dims};
use crate::domain::{Error, Result};
use crate::storage::db::access::Accessible;

/// Models that this process remembers.
const KNOWN_MAX: u64 = 100_000;

const FIND: &str = "select dims from vector_models where tenant = $1 and model = $2";

/// Two that meet at a new model: the one whose insert came second reads what the first one made.
const ADD: &str = "insert into vector_models (tenant, model, dims) values ($1, $2, $3)
    on conflict (tenant, model) do nothing";

const COUNT: &str = "select cast(count(*) as bigint) from vector_models where tenant = $1";

/// (tenant, model) → dimensions. They never change.
pub struct ModelMemory(moka::sync::Cache<(String, Model), usize>);

impl Default for ModelMemory {
    fn default() -> Self {
        Self(moka::sync::Cache::new(KNOWN_MAX))
    }
}

impl ModelMemory {
    /// Refuses vectors that cannot be stored. Round trips: two, the first time that this process meets the model of some.
    ///
    /// # Errors
    /// 422 naming the field.
    pub async fn check_changes(
        &self,
        engine: &dyn Accessible,
        (tenant, secret): (&str, &TenantSecret),
        changes: &[ChangeItem],
    ) -> Result<()> {
        for value in changes.iter().filter_map(|it| it.value.as_ref()) {
            if !value.index.is_empty() {
                check_plain(secret, "index")?;
            }
            if let Some(vectors) = &value.vectors {
                check_plain(secret, "vectors")?;
                self.check_new(engine, tenant, vectors).await?;
            }
        }
        Ok(())
    }

    /// Whether there can be vectors that the search compares with.
    ///
    /// # Errors
    /// 422 naming the field.
    pub async fn check_search(
        &self,
        engine: &dyn Accessible,
        (tenant, secret): (&str, &TenantSecret),
        near: &Near,
    ) -> Result<bool> {
        check_plain(secret, "query_vector")?;
        let Some(known) = self.find(engine, tenant, &near.model).await? else { return Ok(false) };
        check_dims("query_vector", &near.model, known, near.vector.dims())?;
        Ok(true)
    }

    /// Two round trips the first time that this process meets the model.
    ///
    /// # Errors
    /// 422 for other dimensions than the model has.
    pub async fn check_new(
        &self,
        engine: &dyn Accessible,
        tenant: &str,
        vectors: &NewVectors,
    ) -> Result<()> {
        let (model, dims) = (vectors.model(), vectors.dims());
        let known = match self.find(engine, tenant, model).await? {
            Some(known) => known,
            None => self.add(engine, tenant, model, dims).await?,
        };
        check_dims("vectors[0].vector", model, known, dims)
    }

    async fn find(
        &self,
        engine: &dyn Accessible,
        tenant: &str,
        model: &Model,
    ) -> Result<Option<usize>> {
        let place = (tenant.to_owned(), model.clone());
        if let Some(known) = self.0.get(&place) {
            return Ok(Some(known));
        }
        let rows = engine.read_rows(tenant, FIND, &[tenant.into(), model.as_str().into()]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let dims = usize::try_from(row.integer(0)?).unwrap_or(0);
        self.0.insert(place, dims);
        Ok(Some(dims))
    }

    async fn add(
        &self,
        engine: &dyn Accessible,
        tenant: &str,
        model: &Model,
        dims: usize,
    ) -> Result<usize> {
        let max = LIMITS.models_max;
        let count = i64::try_from(dims).unwrap_or(i64::MAX);
        let mut access = engine.begin_write().await?;
        let rows = access.rows(COUNT, &[tenant.into()]).await?;
        let used = rows.first().map_or(Ok(0), |row| row.integer(0))?;
        if used.unsigned_abs() >= max {
            access.end().await?;
            let detail = format!("a tenant uses at most {max} models");
            return Err(Error::out_of_range("model", detail, max));
        }
        access.rows(ADD, &[tenant.into(), model.as_str().into(), count.into()]).await?;
        access.end().await?;
        let missing = || Error::Internal("a model can be neither read nor made".into());
        self.find(engine, tenant, model).await?.ok_or_else(missing)
    }
}

/// Vectors say what is in the values: none is kept beside an encrypted one.
///
/// # Errors
/// 422 naming `field` where values are encrypted.
pub fn check_plain(secret: &TenantSecret, field: &'static str) -> Result<()> {
    if secret.cipher().is_none() { Ok(()) } else { Err(Error::VectorsNeedPlaintext { field }) }
}
