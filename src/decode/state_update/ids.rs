//! Makes ids of checkpoints as LangGraph does: UUIDs of version 6, whose order as text is the order of time, with the step inside.

use uuid::Uuid;

use crate::domain::clock::Micros;

/// Steps of 100 ns from the epoch of UUIDs, 1582, to that of Unix.
const UNIX: u64 = 0x01b2_1dd2_1381_4000;

/// An id of this time; where the newest id is of a later one, just behind it.
pub fn checkpoint_id(now: Micros, step: i64, newest_id: &str) -> String {
    let now = u64::try_from(now).unwrap_or(0) * 10 + UNIX;
    let newest = Uuid::parse_str(newest_id).ok().filter(|it| it.get_version_num() == 6);
    let after = newest.map_or(0, |it| time(it) + 1);
    let (time, node) = (now.max(after), rand::random::<u64>() & 0xffff_ffff_ffff);
    // The lowest 14 bits of the step; the variant stands before them.
    let sequence = (step.cast_unsigned() & 0x3fff) | 0x8000;
    let high = u128::from(time >> 12) << 80;
    let low = u128::from(0x6000 | (time & 0xfff)) << 64;
    Uuid::from_u128(high | low | (u128::from(sequence) << 48) | u128::from(node)).to_string()
}

fn time(id: Uuid) -> u64 {
    let (first, _) = id.as_u64_pair();
    (first >> 16) << 12 | first & 0xfff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_the_time_and_the_step_and_comes_behind_the_newest() {
        // As Python makes it at this time, but for the random end.
        let id = checkpoint_id(1_760_000_000_000_000, 3, "");
        assert!(id.starts_with("1f0a4ed6-78d4-6000-8003-"), "{id}");
        assert!(checkpoint_id(0, -1, "").contains("-bfff-"));
        let newest = "1ff4f797-8335-6428-8001-8a1503f9b875";
        let behind = checkpoint_id(1_760_000_000_000_000, 4, newest);
        assert!(behind.starts_with("1ff4f797-8335-6429-8004-"), "{behind}");
    }
}
