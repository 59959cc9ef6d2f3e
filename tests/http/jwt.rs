//! Tokens of other issuers, through the routes.
