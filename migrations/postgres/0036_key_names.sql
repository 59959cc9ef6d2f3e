-- For people who look at a list of keys: what the maker called the key, and how its text begins. They decide no right, so no MAC covers them.
alter table keys add column name text;
alter table keys add column text_prefix text;
