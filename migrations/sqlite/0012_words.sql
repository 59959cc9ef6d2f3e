-- Words of items in namespaces that declare text_fields: as on PostgreSQL (migrations/postgres/0012_words.sql), without an
-- index: a search goes through the words of the items below its prefix, which are few bytes and never opened.

-- Numbers of eight bytes, little-endian, least first, and at the same place how often each comes.
alter table items add column words blob;
alter table items add column word_counts blob;
alter table items add column word_total integer;
alter table items add column word_fields integer;

-- Namespaces whose declaration of words was changed, until a server has gone through the items below them.
create table word_walks (
    tenant text not null,
    namespace blob not null,
    changed_at integer not null,
    after_namespace blob,
    after_key blob,
    claimed_until integer not null,
    primary key (tenant, namespace)
) strict, without rowid;
