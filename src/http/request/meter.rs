//! Counts what one request body has taken so far, and remembers which limit it broke.

use std::cell::{Cell, RefCell};

use super::entries::{self, Counted};
use crate::domain::limits::LIMITS;

/// What one body has taken so far, and why it was refused.
#[derive(Debug, Default)]
pub struct Meter {
    entries: Cell<u64>,
    /// Values and writes of a commit.
    commit_entries: Cell<u64>,
    refusal: RefCell<Option<Refusal>>,
}

/// The limit that a body broke.
#[derive(Debug)]
pub struct Refusal {
    pub field: &'static str,
    pub limit: u64,
    pub detail: String,
}

/// Where a value stands.
#[derive(Debug, Clone, Copy, Default)]
pub struct At {
    /// The struct whose field it is, and the field.
    pub owner: &'static str,
    pub field: &'static str,
    /// Lists around it, inside of the field.
    pub lists: u32,
    /// Lists and maps around it, inside of the body.
    pub depth: u32,
    /// Of a struct that is about to be read: its fields.
    pub fields: &'static [&'static str],
}

impl Meter {
    /// Why reading ended, if that was for a limit.
    pub fn refusal(&self) -> Option<Refusal> {
        self.refusal.take()
    }

    fn refuse<E: serde::de::Error>(
        &self,
        field: &'static str,
        limit: u64,
        detail: String,
    ) -> Result<(), E> {
        let error = E::custom(&detail);
        self.refusal.replace(Some(Refusal { field, limit, detail }));
        Err(error)
    }

    /// One more entry of a list or map.
    pub fn count<E: serde::de::Error>(&self, list: Counted, read: u64) -> Result<(), E> {
        let Counted { field, entries_max, .. } = list;
        if read >= entries_max {
            let detail =
                format!("{field} has more entries than the {entries_max} that are allowed");
            return self.refuse(field, entries_max, detail);
        }
        if list.is_of_commit {
            let (all, limit) = (self.commit_entries.get(), LIMITS.writes_per_commit_max);
            if all >= limit {
                let detail = format!(
                    "the checkpoints and groups of a commit have at most {limit} values and writes together"
                );
                return self.refuse(field, limit, detail);
            }
            self.commit_entries.set(all + 1);
        }
        if list.is_of_numbers {
            return Ok(());
        }
        let (all, limit) = (self.entries.get(), LIMITS.body_entries_max);
        if all >= limit {
            let detail = format!("all lists of a body have at most {limit} entries together");
            return self.refuse("body", limit, detail);
        }
        self.entries.set(all + 1);
        Ok(())
    }

    pub fn check_depth<E: serde::de::Error>(&self, at: At) -> Result<(), E> {
        let limit = LIMITS.json_depth_max;
        if u64::from(at.depth) < limit {
            return Ok(());
        }
        self.refuse("body", limit, format!("the body nests deeper than {limit} lists and objects"))
    }
}

impl At {
    pub fn counted(self) -> Counted {
        entries::of(self.owner, self.field, self.lists)
    }

    pub fn in_list(self) -> Self {
        Self { lists: self.lists + 1, depth: self.depth + 1, fields: &[], ..self }
    }

    pub fn in_field(self, field: &'static str) -> Self {
        Self { field, lists: 0, depth: self.depth + 1, fields: &[], ..self }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Body {
        #[serde(default)]
        run_ids: Vec<String>,
        #[serde(default)]
        other: Vec<Vec<u8>>,
        #[serde(default)]
        labels: std::collections::BTreeMap<String, u8>,
    }

    /// What was read, or the limit that was broken; None: damaged.
    fn read(packed: &[u8]) -> Result<Body, Option<(&'static str, u64)>> {
        let meter = Meter::default();
        let mut inner = rmp_serde::Deserializer::from_read_ref(packed);
        let read = Body::deserialize(meter.over(&mut inner));
        read.map_err(|_| meter.refusal().map(|it| (it.field, it.limit)))
    }

    /// A map with this field, and the head of a list of so many entries.
    fn list(name: &[u8], count: u32) -> Vec<u8> {
        let mut packed = vec![0x81];
        packed.extend_from_slice(name);
        packed.push(0xdd);
        packed.extend_from_slice(&count.to_be_bytes());
        packed
    }

    const RUN_IDS: &[u8] = b"\xa7run_ids";

    #[test]
    fn reading_ends_at_the_first_entry_that_is_too_many() {
        let max = usize::try_from(LIMITS.ids_per_request_max).unwrap();
        let of = |name: &[u8], count: usize| [list(name, u32::MAX), vec![0xa0; count]].concat();
        let refused = Some(("run_ids", LIMITS.ids_per_request_max));
        // Where the entries end it would be damaged; it is not read so far.
        assert_eq!(read(&of(RUN_IDS, max + 1)).unwrap_err(), refused);
        assert_eq!(read(&of(RUN_IDS, max - 1)).unwrap_err(), None);
        // A name that comes as bytes, or as a place, is no way around: it is the same field, or none.
        for name in [&b"\xc4\x07run_ids"[..], b"\x00"] {
            let packed =
                [list(name, u32::try_from(max + 1).unwrap()), vec![0xa0; max + 1]].concat();
            assert!(read(&packed).is_err(), "{name:?}");
        }
        let whole = [list(RUN_IDS, 1_000), vec![0xa0; 1_000]].concat();
        let body = read(&whole).unwrap();
        assert_eq!((body.run_ids.len(), body.other.len(), body.labels.len()), (1_000, 0, 0));
    }

    #[test]
    fn a_struct_that_comes_as_a_list_is_counted_the_same() {
        let max = usize::try_from(LIMITS.ids_per_request_max).unwrap();
        let packed = [&[0x93, 0xdd, 0xff, 0xff, 0xff, 0xff][..], &vec![0xa0; max + 1]].concat();
        assert_eq!(read(&packed).unwrap_err(), Some(("run_ids", LIMITS.ids_per_request_max)));
    }

    #[test]
    fn maps_are_counted_too() {
        let max = LIMITS.snapshot_labels_max;
        let mut packed = b"\x81\xa6labels\xdf\xff\xff\xff\xff".to_vec();
        (0..=max).for_each(|at| packed.extend([0xa1, u8::try_from(at).unwrap(), 1]));
        assert_eq!(read(&packed).unwrap_err(), Some(("labels", max)));
    }

    #[test]
    fn all_lists_of_a_body_have_a_limit_together() {
        let lists = LIMITS.body_entries_max / 1_001 + 1;
        let one = [&b"\xdc\x03\xe8"[..], &[1; 1_000]].concat();
        let mut packed = list(b"\xa5other", u32::MAX);
        (0..lists).for_each(|_| packed.extend_from_slice(&one));
        assert_eq!(read(&packed).unwrap_err(), Some(("body", LIMITS.body_entries_max)));
    }

    #[test]
    fn no_value_nests_deeper_than_the_limit() {
        let meter = Meter::default();
        let deep = [0x91; 200];
        let mut inner = rmp_serde::Deserializer::from_read_ref(&deep[..]);
        let read = serde_json::Value::deserialize(meter.over(&mut inner));
        assert!(read.is_err());
        assert_eq!(meter.refusal().map(|it| it.limit), Some(LIMITS.json_depth_max));
    }
}
