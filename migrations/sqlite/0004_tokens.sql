-- Scoped tokens: the same tables as on PostgreSQL (migrations/postgres/0004_tokens.sql), in SQLite's idiom. A token is not
-- stored: it carries its claims and a MAC. Stored are the secrets that MACs are made with, and the ids of tokens that were
-- revoked before their time. Servers poll both with the keys.

-- Any number per tenant may be valid. The newest signs, for 30 days; all verify until they are removed, a day and more
-- after their last token has expired, or at once by `threadkeep token rotate-secrets`.
create table signing_secrets (
    tenant text not null,
    -- Random; in clear in every token that the secret signed.
    kid text not null,
    secret blob not null,
    created_at integer not null,
    primary key (tenant, kid)
) strict, without rowid;

-- A row is needed until the token would have expired anyway.
create table token_revocations (
    tenant text not null,
    token_id text not null,
    -- The latest time at which the token can have been valid.
    expires_at integer not null,
    revoked_at integer not null,
    primary key (tenant, token_id)
) strict, without rowid;
-- Sweeping by age.
create index token_revocations_expired on token_revocations (expires_at);
