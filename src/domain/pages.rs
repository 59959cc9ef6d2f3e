//! Cuts rows that a storage has read into pages.

use super::limits::LIMITS;

/// Rows of one kind that a list counts for one of its entries. A count that has reached it says: so many, or more.
pub const COUNTED_MAX: i64 = 10_000;
/// Entries of a page whose things are counted.
pub const COUNTED_ROWS_MAX: usize = 100;

/// Returns how many rows a page has: as many as were asked for, up to `list_rows_max`.
pub fn page_rows(asked: usize) -> usize {
    asked.min(usize::try_from(LIMITS.list_rows_max).unwrap_or(usize::MAX))
}

/// Cuts rows to one page. They were read with a limit of one more: where it is there, returns the position of the page's last row.
pub fn cut<T, C>(rows: &mut Vec<T>, limit: usize, position: impl FnOnce(&T) -> C) -> Option<C> {
    let more = rows.len() > limit;
    rows.truncate(limit);
    rows.last().filter(|_| more).map(position)
}

#[cfg(test)]
mod tests {
    use super::{LIMITS, cut, page_rows};

    #[test]
    fn a_page_has_a_position_only_where_there_are_more() {
        let page = |mut rows: Vec<i32>| {
            let next = cut(&mut rows, 2, |it| it * 10);
            (rows, next)
        };
        assert_eq!(page(vec![]), (vec![], None));
        assert_eq!(page(vec![1, 2]), (vec![1, 2], None));
        assert_eq!(page(vec![1, 2, 3]), (vec![1, 2], Some(20)));
        assert_eq!(page_rows(7), 7);
        assert_eq!(page_rows(usize::MAX) as u64, LIMITS.list_rows_max);
    }
}
