//! Converts an error of sqlx into the domain's error, so that `?` is enough at every call. A batch asks its engine itself, because it needs
//! to know more of an error than a caller.

use sqlx::sqlite::SqliteError;

use crate::domain::Error;
use crate::storage::postgres::failure;
use crate::storage::sqlite::errors;

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        let is_of_sqlite = error
            .as_database_error()
            .is_some_and(|it| it.try_downcast_ref::<SqliteError>().is_some());
        if is_of_sqlite { errors::storage_error(&error) } else { failure::of_call(&error) }
    }
}
