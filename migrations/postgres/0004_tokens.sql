-- Scoped tokens. A token is not stored: it carries its claims and a MAC. Stored are the secrets that MACs are made with, and
-- the ids of tokens that were revoked before their time. Servers poll both with the keys.

-- Any number per tenant may be valid. The newest signs, for 30 days; all verify until they are removed, a day and more
-- after their last token has expired, or at once by `threadkeep token rotate-secrets`.
create table signing_secrets (
    tenant text collate "C" not null,
    -- Random; in clear in every token that the secret signed.
    kid text collate "C" not null,
    secret bytea not null,
    created_at bigint not null,
    primary key (tenant, kid)
);

-- A row is needed until the token would have expired anyway.
create table token_revocations (
    tenant text collate "C" not null,
    token_id text collate "C" not null,
    -- The latest time at which the token can have been valid.
    expires_at bigint not null,
    revoked_at bigint not null,
    primary key (tenant, token_id)
);
-- Sweeping by age.
create index token_revocations_expired on token_revocations (expires_at);
