//! Defines what an export holds, without the keys, seals and numbers of one database.

pub mod items;
pub mod readable;
pub mod records;
pub mod storage;
