-- Threads whose lease somebody holds, or did not give back: they are busy. Renewals change no column of it.
create index threads_leased on threads (tenant collate "POSIX", thread_key) where lease_holder is not null;
