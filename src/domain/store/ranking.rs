//! Orders the results of a search: BM25 over the words of its candidates, and the fusion of two orders. Pure, so that every engine has the
//! same order.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::Hash;

use super::item::Address;
use crate::domain::clock::Micros;

/// How soon more of a word adds nothing, and how much the length of a text counts.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// Of reciprocal ranks: how much less a later place counts.
const FUSED_K: f64 = 60.0;

/// An item with at least one of the words.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub address: Address,
    pub version: i64,
    pub created_at: Micros,
    /// All words of the item.
    pub total: i32,
    /// How often each word of the query comes, in their order.
    pub counts: Vec<u8>,
}

/// A candidate with its score, higher is better.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    pub address: Address,
    pub version: i64,
    pub created_at: Micros,
    pub score: f64,
}

/// Best first; of equal ones the newest, then by namespace and key. How rare a word is, and how long a text usually is, is told
/// by the candidates: what else there is has no say, and nothing else has to be read.
pub fn rank(candidates: Vec<Candidate>) -> Vec<Ranked> {
    let all = candidates.len() as f64;
    let words = candidates.iter().map(|it| it.counts.len()).max().unwrap_or(0);
    let mut with_word = vec![0_u32; words];
    let mut total = 0_i64;
    for candidate in &candidates {
        total += i64::from(candidate.total);
        for (seen, count) in with_word.iter_mut().zip(&candidate.counts) {
            *seen += u32::from(*count > 0);
        }
    }
    let usual = (total as f64 / all).max(1.0);
    let rarity: Vec<f64> = with_word
        .iter()
        .map(|it| (1.0 + (all - f64::from(*it) + 0.5) / (f64::from(*it) + 0.5)).ln())
        .collect();
    let score = |candidate: &Candidate| {
        let length = 1.0 - B + B * f64::from(candidate.total) / usual;
        let part = |(count, rarity): (&u8, &f64)| {
            let count = f64::from(*count);
            rarity * count * (K1 + 1.0) / (count + K1 * length)
        };
        candidate.counts.iter().zip(&rarity).map(part).sum()
    };
    let ranked = candidates.into_iter().map(|it| {
        let score = score(&it);
        let Candidate { address, version, created_at, .. } = it;
        Ranked { address, version, created_at, score }
    });
    let mut ranked: Vec<Ranked> = ranked.collect();
    ranked.sort_by(better);
    ranked
}

fn better(a: &Ranked, b: &Ranked) -> Ordering {
    let by_time = || b.created_at.cmp(&a.created_at).then_with(|| a.address.cmp(&b.address));
    b.score.total_cmp(&a.score).then_with(by_time)
}

/// Two orders as one, by the sum of reciprocal ranks: what both have near their beginning comes first. Of equal sums the
/// better of the first order, then of the second.
pub fn fuse<T: Hash + Eq + Clone>(first: &[T], second: &[T]) -> Vec<(T, f64)> {
    let mut scores: HashMap<&T, (f64, usize)> = HashMap::new();
    let mut order: Vec<&T> = Vec::new();
    for one in [first, second] {
        for (at, it) in one.iter().enumerate() {
            let place = order.len();
            let entry = scores.entry(it).or_insert_with(|| {
                order.push(it);
                (0.0, place)
            });
            entry.0 += 1.0 / (FUSED_K + (at + 1) as f64);
        }
    }
    let mut fused: Vec<(&T, f64, usize)> =
        order.into_iter().map(|it| (it, scores[it].0, scores[it].1)).collect();
    fused.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.2.cmp(&b.2)));
    fused.into_iter().map(|(it, score, _)| (it.clone(), score)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::store::item::Key;
    use crate::domain::store::namespace::Namespace;

    fn candidate(key: &str, created_at: Micros, total: i32, counts: &[u8]) -> Candidate {
        let address = Address {
            namespace: Namespace::stored(vec!["n".into()]),
            key: Key::of_text(key).unwrap(),
        };
        Candidate { address, version: 1, created_at, total, counts: counts.to_vec() }
    }

    fn order(candidates: Vec<Candidate>) -> Vec<String> {
        rank(candidates).iter().map(|it| it.address.key.text().unwrap().to_owned()).collect()
    }

    #[test]
    fn rare_words_many_words_and_short_texts_come_first() {
        let common = |key| candidate(key, 0, 10, &[1, 0]);
        let all = vec![common("a"), common("b"), candidate("rare", 0, 10, &[0, 1]), common("c")];
        assert_eq!(order(all)[0], "rare");
        let all = vec![candidate("one", 0, 10, &[1]), candidate("three", 0, 10, &[3])];
        assert_eq!(order(all), ["three", "one"]);
        let all = vec![candidate("long", 0, 100, &[1]), candidate("short", 0, 5, &[1])];
        assert_eq!(order(all), ["short", "long"]);
        let both = vec![candidate("one", 0, 10, &[2, 0]), candidate("both", 0, 10, &[1, 1])];
        assert_eq!(order(both), ["both", "one"]);
    }

    #[test]
    fn of_equal_ones_the_newest_comes_first_then_the_key() {
        let of = |key, at| candidate(key, at, 3, &[1]);
        assert_eq!(order(vec![of("b", 1), of("a", 1), of("c", 2)]), ["c", "a", "b"]);
        assert_eq!(rank(Vec::new()), []);
        let zero = rank(vec![candidate("a", 0, 0, &[1])]);
        assert!(zero[0].score.is_finite() && zero[0].score > 0.0);
    }

    #[test]
    fn what_both_orders_have_comes_first() {
        let fused = fuse(&["a", "b", "c"], &["c", "d", "a"]);
        let names: Vec<&str> = fused.iter().map(|it| it.0).collect();
        assert_eq!(names, ["a", "c", "b", "d"]);
        assert!((fused[0].1 - (1.0 / 61.0 + 1.0 / 63.0)).abs() < 1e-12);
        assert_eq!(fused[0].1.to_bits(), fused[1].1.to_bits(), "a tie: the first order decides");
        assert_eq!(fuse::<u8>(&[], &[]), []);
        assert_eq!(fuse(&[], &[1, 2]).iter().map(|it| it.0).collect::<Vec<_>>(), [1, 2]);
    }
}
