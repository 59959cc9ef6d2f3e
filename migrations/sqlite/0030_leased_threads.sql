-- Threads whose lease somebody holds, or did not give back: they are busy. Renewals change no column of it.
create index threads_leased on threads (tenant, thread_id) where lease_holder is not null;
-- From here on details have a projection here, too, and filters look at it. Of a row without one the document decides, as before.
