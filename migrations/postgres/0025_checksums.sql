-- With which text each migration was applied (SHA-256 in hexadecimal), and the oldest schema that a program has to know to run here.
-- A program that knows another text, or no schema that new, refuses the database.

alter table schema_version add column checksum text, add column schema_min bigint not null default 1;
