//! Verifies the rows of a tenant that decide rights. The record has a key for their MACs, a counter, and a sum over the
//! tenant's keys, signing secrets and revocations. It is sealed with the master key, so only who has that can change it.
//!
//! The sum adds a keyed hash of each row, in any order, so a change costs the same whatever the tenant has. Neither the hashes nor
//! the sum are ever seen outside: nobody can look for other rows with the same sum.

use super::cipher::KEY_BYTES;

const HASH_BYTES: usize = 32;
/// Counter, flag, key, sum, quota.
const BYTES: usize = 8 + 1 + KEY_BYTES + HASH_BYTES + HASH_BYTES;

/// The columns of a row that decide, in a fixed order.
pub type Columns<'a> = [&'a [u8]];

/// A sum of hashes of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowSum([u64; 4]);

/// What the sealed row of a tenant holds.
#[derive(Clone, PartialEq, Eq)]
pub struct Rights {
    /// Rises with every change.
    pub counter: u64,
    /// There is a key, or was one.
    pub had_keys: bool,
    pub sum: RowSum,
    /// The hash of the quota's row; zeros: there is none.
    pub quota: [u8; HASH_BYTES],
    key: [u8; KEY_BYTES],
}

impl std::fmt::Debug for Rights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rights({})", self.counter)
    }
}

impl RowSum {
    pub fn add(&mut self, hash: &[u8; HASH_BYTES]) {
        self.combine(hash, u64::wrapping_add);
    }

    pub fn subtract(&mut self, hash: &[u8; HASH_BYTES]) {
        self.combine(hash, u64::wrapping_sub);
    }

    fn combine(&mut self, hash: &[u8; HASH_BYTES], with: fn(u64, u64) -> u64) {
        let (words, _) = hash.as_chunks::<8>();
        for (sum, word) in self.0.iter_mut().zip(words) {
            *sum = with(*sum, u64::from_le_bytes(*word));
        }
    }
}

impl Rights {
    /// Of a tenant that has nothing.
    pub fn new(counter: u64) -> Self {
        let (sum, quota) = (RowSum::default(), [0; HASH_BYTES]);
        Self { counter, had_keys: false, sum, quota, key: rand::random() }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend_from_slice(&self.counter.to_le_bytes());
        bytes.push(u8::from(self.had_keys));
        bytes.extend_from_slice(&self.key);
        self.sum.0.iter().for_each(|it| bytes.extend_from_slice(&it.to_le_bytes()));
        bytes.extend_from_slice(&self.quota);
        bytes
    }

    /// None for bytes of another length.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        let (counter, rest) = bytes.split_first_chunk()?;
        let (had_keys, rest) = rest.split_first()?;
        let (key, rest) = rest.split_first_chunk()?;
        let (sum, quota) = rest.split_first_chunk::<HASH_BYTES>()?;
        let mut read = RowSum::default();
        read.add(sum);
        Some(Self {
            counter: u64::from_le_bytes(*counter),
            had_keys: *had_keys != 0,
            sum: read,
            quota: quota.try_into().ok()?,
            key: *key,
        })
    }

    /// What a row carries.
    pub fn mac(&self, table: &str, columns: &Columns<'_>) -> [u8; HASH_BYTES] {
        *self.keyed("mac", table, columns).as_bytes()
    }

    /// Compared in constant time.
    pub fn has_mac(&self, table: &str, columns: &Columns<'_>, mac: &[u8]) -> bool {
        mac.try_into().is_ok_and(|mac: [u8; HASH_BYTES]| self.keyed("mac", table, columns) == mac)
    }

    /// What a row adds to the sum.
    pub fn hash(&self, table: &str, columns: &Columns<'_>) -> [u8; HASH_BYTES] {
        *self.keyed("sum", table, columns).as_bytes()
    }

    /// Every part with its length before it, so that parts cannot run into each other.
    fn keyed(&self, purpose: &str, table: &str, columns: &Columns<'_>) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        for part in [purpose.as_bytes(), table.as_bytes()].iter().chain(columns) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_is_of_one_table_row_and_tenant() {
        let (own, other) = (Rights::new(1), Rights::new(1));
        let mac = own.mac("keys", &[b"ab", b"c"]);
        assert!(own.has_mac("keys", &[b"ab", b"c"], &mac));
        assert!(!own.has_mac("quotas", &[b"ab", b"c"], &mac));
        assert!(!own.has_mac("keys", &[b"a", b"bc"], &mac));
        assert!(!own.has_mac("keys", &[b"ab", b"c"], &mac[..31]));
        assert!(!own.has_mac("keys", &[b"ab", b"c"], b""));
        assert!(!other.has_mac("keys", &[b"ab", b"c"], &mac));
        assert_ne!(own.hash("keys", &[b"ab", b"c"]), mac, "what is summed is never seen");
    }

    #[test]
    fn a_sum_knows_no_order_and_a_row_that_goes_twice_is_not_one_that_stays() {
        let rights = Rights::new(7);
        let hash = |row: &[u8]| rights.hash("keys", &[row]);
        let sum = |rows: &[&[u8]]| {
            let mut sum = RowSum::default();
            for row in rows {
                sum.add(&hash(row));
            }
            sum
        };
        assert_eq!(sum(&[b"a", b"b", b"c"]), sum(&[b"c", b"a", b"b"]));
        let mut less = sum(&[b"a", b"b"]);
        less.subtract(&hash(b"b"));
        assert_eq!(less, sum(&[b"a"]));
        less.subtract(&hash(b"b"));
        assert_ne!(less, sum(&[b"a", b"b"]));
    }

    #[test]
    fn what_is_sealed_is_read_back() {
        let mut rights = Rights { had_keys: true, quota: [9; 32], ..Rights::new(3) };
        rights.sum.add(&rights.hash("keys", &[b"a"]));
        assert!(Rights::read(&rights.to_bytes()) == Some(rights.clone()));
        assert!(Rights::read(&rights.to_bytes()[1..]).is_none());
    }
}
