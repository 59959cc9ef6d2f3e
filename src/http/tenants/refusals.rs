//! Counts refused requests for the audit log: the caller, the reason and the route. It records nothing of the contents.

use std::sync::{Arc, OnceLock};

use axum::response::Response;

use crate::app::App;
use crate::domain::caller::Caller;
use crate::http::request::problem::{Code, Problem};

/// Who asked, once that is known: the extractor tells the edge.
#[derive(Clone, Default)]
pub struct Seen(Arc<OnceLock<(String, String)>>);

impl Seen {
    pub fn is(&self, caller: &Caller) {
        self.known_as(&caller.tenant, &caller.credential);
    }

    /// Also for a credential that is refused, if it is known whose it was.
    pub fn known_as(&self, tenant: &str, credential: &str) {
        // The first to know is right.
        let _ = self.0.set((tenant.to_owned(), credential.to_owned()));
    }
}

/// Counts the answer if it is a refusal.
pub fn count(app: &App, seen: &Seen, route: &str, response: &Response) {
    let Some(problem) = response.extensions().get::<Problem>() else { return };
    let refusals = [
        Code::Unauthorized,
        Code::KeyExpired,
        Code::TokenExpired,
        Code::TokenRevoked,
        Code::NotGranted,
        Code::TooManyRequests,
        Code::QuotaExceeded,
    ];
    if refusals.contains(&problem.code) {
        let who = seen.0.get().map(|(tenant, credential)| (tenant.as_str(), credential.as_str()));
        app.refusals.count(who, problem.code.parts().1, route);
    }
}
