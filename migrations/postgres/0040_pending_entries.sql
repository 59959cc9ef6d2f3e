-- A search reads every entry of an index that is not in its tree yet, one after the other: with the 4 MB that PostgreSQL lets wait, a search
-- that finds nothing took 8 ms in place of 0.5. Writes bring the waiting entries into the tree, and the fewer there are the shorter is the
-- longest of these writes.
alter index thread_details_projection set (gin_pending_list_limit = 64);
alter index items_projection set (gin_pending_list_limit = 256);
alter index items_words set (gin_pending_list_limit = 256);
