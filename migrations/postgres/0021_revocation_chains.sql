-- The first token of the chain that a revoked token is of: one chain takes only a share of its tenant's revocations. Empty: not known,
-- or a key of the whole tenant revoked it.
alter table token_revocations add column chain text collate "C" not null default '';
