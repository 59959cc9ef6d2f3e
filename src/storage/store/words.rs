//! Encodes words of items as bytes, and counts them.

/// Eight bytes each, little-endian.
pub fn bytes_of(words: &[i64]) -> Vec<u8> {
    words.iter().flat_map(|it| it.to_le_bytes()).collect()
}

/// How often each of some words comes, in their order. None: none does. Damaged bytes find nothing.
pub fn counts_of(words: &[u8], counts: &[u8], wanted: &[i64]) -> Option<Vec<u8>> {
    let (words, _) = words.as_chunks::<8>();
    let find = |wanted: &i64| {
        let at = words.binary_search_by_key(wanted, |it| i64::from_le_bytes(*it)).ok()?;
        counts.get(at).copied()
    };
    let found: Vec<u8> = wanted.iter().map(|it| find(it).unwrap_or(0)).collect();
    found.iter().any(|it| *it > 0).then_some(found)
}
