//! What stands in an address, refused in the words of the site where it can't be read.

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::problem::Problem;

/// The values of an address's places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InPath<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for InPath<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<InPath<T>, Problem> {
        match Path::<T>::from_request_parts(parts, app).await {
            Ok(Path(value)) => Ok(InPath(value)),
            Err(_) => Err(Problem::bad(
                "bad_address",
                "a part of the address can't be read: a number is too large, is none, or is no plain text",
                "/openapi.json says what stands where",
            )),
        }
    }
}
