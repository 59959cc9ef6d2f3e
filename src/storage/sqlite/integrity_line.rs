//! Reads a line of `pragma integrity_check`: it names an index, or the first page of a tree.

/// What a line of the integrity check says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Nothing, or that pages are lost to the free list.
    Harmless,
    /// An index has no entry for the row's key.
    Row(i64, &'a str),
    Index(&'a str),
    /// The tree of an index or table with this first page.
    Tree(i64),
    Other,
}

impl<'a> Line<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        if line == "ok" || line.starts_with("*** in database") || line.ends_with("never used") {
            return Self::Harmless;
        }
        if let Some((row, index)) = line.split_once(" missing from index ") {
            let row = row.strip_prefix("row ").and_then(|it| it.parse().ok());
            return row.map_or(Self::Other, |row| Self::Row(row, index));
        }
        if let Some((_, index)) = line.split_once(" in index ") {
            return Self::Index(index);
        }
        let root = line.strip_prefix("Tree ").and_then(|it| it.split(' ').next());
        root.and_then(|it| it.parse().ok()).map_or(Self::Other, Self::Tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_integrity_check_tell_what_they_are_about() {
        let row = "row 15 missing from index sqlite_autoindex_items_1";
        assert_eq!(Line::of(row), Line::Row(15, "sqlite_autoindex_items_1"));
        assert_eq!(Line::of("wrong # of entries in index threads_key"), Line::Index("threads_key"));
        assert_eq!(Line::of("Tree 17 page 28 cell 3: Rowid 9 out of order"), Line::Tree(17));
        for line in ["ok", "*** in database source ***", "Page 5: never used"] {
            assert_eq!(Line::of(line), Line::Harmless);
        }
        assert_eq!(Line::of("NULL value in items.key"), Line::Other);
        assert_eq!(Line::of("Freelist: size is 3 but should be 4"), Line::Other);
    }
}
