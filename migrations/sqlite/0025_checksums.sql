-- With which text each migration was applied (SHA-256 in hexadecimal). A program that knows another text refuses the database.
-- The oldest schema that a program has to know to run here is min_binary_version.

alter table schema_version add column checksum text;
