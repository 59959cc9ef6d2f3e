//! Tests searches by meaning among so many items that PostgreSQL asks an index.

use threadkeep::domain::store::item::{ItemOp, SearchItems};
use threadkeep::domain::store::vector::Metric;

use crate::harness::Harness;
use crate::item_vectors::{is_refused, near, put_near};
use crate::store::{Store, keys};

/// Beyond some thousand candidates PostgreSQL asks an index, and remembers for a minute that there were so many. Fewer are left by
/// then: the page is as full as it can be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_the_nearest_come_and_so_do_the_few_that_are_left_of_them() {
    const MANY: u16 = 5_200;
    let h = Harness::postgres().await;
    let store = Store::on(&h).await;
    if is_refused(&store).await {
        return;
    }
    let put = |at: u16| {
        let angle = f32::from(at) / f32::from(MANY);
        ItemOp::Change(put_near(&["n"], &format!("{at:04}"), "{}", &[&[angle.cos(), angle.sin()]]))
    };
    for from in (0..MANY).step_by(400) {
        let ops = (from..MANY.min(from + 400)).map(put).collect();
        store.batch(ops, true).await.unwrap();
    }
    let query = SearchItems { limit: 5, ..near(&["n"], "{}", &[1.0, 0.0], Metric::L2) };
    let found = async || keys(&store.search(query.clone()).await.items);
    let nearest = ["0000", "0001", "0002", "0003", "0004"];
    assert_eq!(found().await, nearest);
    let valid =
        "select count(*) from pg_index where indrelid = 'item_vectors'::regclass and indisvalid
        and not indisprimary";
    while h.count(valid).await == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(found().await, nearest);
    h.sql("delete from items where key in ('0001', '0003')").await;
    assert_eq!(found().await, ["0000", "0002", "0004", "0005", "0006"]);
    h.sql("delete from items where key not in ('0002', '3000', '5000')").await;
    for _ in 0..2 {
        assert_eq!(found().await, ["0002", "3000", "5000"]);
    }
}
