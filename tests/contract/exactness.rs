//! Tests that stored data comes back byte for byte.

use bytes::Bytes;

use crate::commands::{Put, Writes};
use crate::harness::{Harness, commit, text, value, values, writes};

pub async fn documents_come_back_byte_for_byte(h: Harness) {
    let skeleton = "{\"v\": 1, \"id\":\"x\",  \"n\":1.0,\"big\":1180591620717411303424, \
                    \"nul\":\"\\u0000\",\"lone\":\"\\ud800\", \"dup\":1,\"dup\":2, \
                    \"channel_versions\":{\"\\u0061\":3 , \"b\":1.50}, \"ü\":\"\u{10ffff}\"}";
    let metadata = " {\"step\":1e2,\"a\":\"\\u0000\",\"parents\":{},\"z\":null,\"f\":-0.0}";
    h.put(Put::new("1").skeleton(skeleton).metadata(metadata).unlisted("a", "3", value("t", "A")))
        .await;
    let view = h.get("1").await;
    assert_eq!(view.skeleton, skeleton.as_bytes());
    assert_eq!(view.metadata, metadata.as_bytes());
    assert_eq!(values(&view), [("a", "A".into())].into());
}

pub async fn versions_of_different_types_are_different_versions(h: Harness) {
    let versions = ["1", "\"1\"", "1.0", "1e0", "\"1.0\"", "2", "true_"];
    for (at, version) in versions[..6].iter().enumerate() {
        h.put(Put::new(&format!("a{at}")).sets("c", version, version)).await;
    }
    for (at, version) in versions[..6].iter().enumerate() {
        h.put(Put::new(&format!("b{at}")).parent("gone").carries("c", version)).await;
        assert_eq!(values(&h.get(&format!("b{at}")).await)["c"], *version);
    }
    let escaped = Put::new("c").skeleton(r#"{"channel_versions":{"c":"\u0031"}}"#);
    h.put(escaped.parent("also gone")).await;
    assert_eq!(values(&h.get("c").await)["c"], "\"1\"", "an escape does not make another version");
}

pub async fn ids_may_hold_any_text(h: Harness) {
    for odd in
        ["..", "a/b", "%2F", " ", "'; drop table threads; --", "\u{1}\u{7f}", "ü\u{1f600}", "\"\\"]
    {
        let put = Put::new(odd).ns(odd).sets("c", "1", odd);
        let group = Writes::new(odd, odd).ns(odd).path(odd).write(0, odd, odd);
        h.commit(commit(odd, vec![put.op(), group.op()])).await.unwrap();
        let view = h.found(odd, odd, Some(odd), &[]).await.view.unwrap();
        assert_eq!((view.thread_id.as_str(), view.ns.as_str(), view.id.as_str()), (odd, odd, odd));
        assert_eq!(values(&view)["c"], odd);
        assert_eq!(writes(&view), [format!("{odd}:{odd}={odd}")]);
        let listed = h.all(odd).await;
        assert_eq!(listed, [view]);
    }
    let group = Writes::new("1", "").write(0, "", "empty names");
    h.commit(commit("names", vec![Put::new("1").sets("", "1", "v").op(), group.op()]))
        .await
        .unwrap();
    let view = h.latest("names").await.unwrap();
    assert_eq!(values(&view)[""], "v");
    assert_eq!(writes(&view), [":=empty names"]);
}

pub async fn large_and_small_values_come_back_exactly(h: Harness) {
    let noise = |length: usize| {
        let mut state = 7_u64;
        let byte = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_be_bytes()[0]
        };
        Bytes::from((0..length).map(byte).collect::<Vec<u8>>())
    };
    for (at, length) in
        [0, 1, 63, 64, 1_020, 1_021, 1_022, 5_000, 3_000_000].into_iter().enumerate()
    {
        let id = format!("{at}");
        let data = noise(length);
        let put = Put::new(&id).sets_value("c", "1", value("bytes", data.clone()));
        let group = Writes::new(&id, "t").write_value(0, "c", value("odd tag+aes", data.clone()));
        h.commit(commit("t", vec![put.op(), group.op()])).await.unwrap();
        let view = h.get(&id).await;
        assert_eq!(view.values, [("c".into(), value("bytes", data.clone()))], "{length} bytes");
        assert_eq!(view.writes[0].value, value("odd tag+aes", data));
    }
    assert_eq!(text(&h.get("1").await.writes[0].value).len(), 1);
    h.check_counts("t").await;
}
