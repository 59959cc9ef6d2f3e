-- A key that a server does not know yet is looked up by its hash.
create index keys_hash on keys (hash);
