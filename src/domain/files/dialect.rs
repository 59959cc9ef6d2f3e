//! Defines the two languages of deepagents; a request is in one.

/// They differ in the values they write, in sizes, orders, globs, lines, and in the texts of their errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Dialect {
    #[default]
    Python,
    JavaScript,
}
