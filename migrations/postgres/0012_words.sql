-- Words of items in namespaces that declare text_fields. Not tsvector: to_tsvector has rules of its own for what a word is,
-- and an index of it has no column for the tenant. Words are numbers that servers make of tenant and word.

alter table items
    -- The different words, least first, and at the same place how often each comes, up to 255.
    add column words bigint[],
    add column word_counts bytea,
    -- All words, each as often as it comes.
    add column word_total integer,
    -- Names the fields that they are of.
    add column word_fields bigint;

-- Searches by words. Only declared namespaces have entries.
create index items_words on items using gin (words) where words is not null;

-- Namespaces whose declaration of words was changed, until a server has gone through the items below them.
create table word_walks (
    tenant text collate "C" not null,
    namespace bytea not null,
    changed_at bigint not null,
    -- The last item that was gone through.
    after_namespace text[] collate "C",
    after_key bytea,
    -- A server goes through it until then.
    claimed_until bigint not null,
    primary key (tenant, namespace)
);
alter table word_walks enable row level security;
