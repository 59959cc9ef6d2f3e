//! Rows that PostgreSQL cannot read: each is a finding that names its place, the rest is examined, and nothing is repaired.

use threadkeep::domain::doctor::{Noun, State};

use crate::doctor::{examine, fill};
use crate::harness::Harness;

/// Reading a base of thread `t` fails as a damaged page does.
const UNREADABLE: [&str; 3] = [
    "alter table delta_bases rename to bases_on_disk",
    "create function read_page(asked bigint) returns boolean language plpgsql as $$ begin
        if exists (select 1 from threads t where t.thread_key = asked and t.thread_id = 't') then
            raise exception 'invalid page in block 7' using errcode = 'data_corrupted';
        end if;
        return true;
    end $$",
    "create view delta_bases as select * from bases_on_disk where read_page(thread_key)",
];

#[tokio::test]
async fn a_page_that_postgres_cannot_read_is_a_finding_and_the_rest_is_examined() {
    let h = Harness::postgres().await;
    fill(&h).await;
    let sound = examine(&h, false).await;
    assert!(sound.is_sound() && sound.is_all_read());
    for statement in UNREADABLE {
        h.sql(statement).await;
    }
    h.sql(
        "insert into chunks (tenant, scope_id, name, body)
         select tenant, 4711, name, body from chunks order by name limit 2",
    )
    .await;
    let report = examine(&h, true).await;
    assert!(!report.is_sound() && !report.is_all_read());
    let place = report.places.iter().find(|it| it.what == Noun::Bases).unwrap();
    assert_eq!((place.state, place.place.thread_id.as_deref()), (State::Unread, Some("t")));
    assert_eq!(place.place.table.as_deref(), Some("delta_bases"));
    assert!(place.detail.contains("invalid page in block 7"), "{}", place.detail);
    for noun in [Noun::Threads, Noun::Documents, Noun::Maps, Noun::Writes, Noun::Values] {
        let (now, before) = (report.tally(State::Checked, noun), sound.tally(State::Checked, noun));
        assert_eq!(now, before, "{noun:?}");
    }
    assert_eq!(h.count("select count(*) from chunks where scope_id = 4711").await, 2);
    assert_eq!(report.tally(State::Orphan, Noun::Scopes).count, 1);
}
