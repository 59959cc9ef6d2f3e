//! Maps the errors of a command to exit codes: one code for each thing that a person or a script can do about it.
//! docs/operate/exit-codes.md has the table for people; a test runs it row by row.

use crate::domain::Error;
use crate::domain::error::Obstacle;

/// The text says why: what is named is not there, is in the way of it, or is damaged; "internal error" is a defect.
const FAILED: u8 = 1;
/// An argument or a setting is wrong; clap's own refusals have this code, too.
const SETTING_WRONG: u8 = 2;
const ADDRESS_TAKEN: u8 = 3;
const FILE_MISSING: u8 = 4;
const PERMISSION_DENIED: u8 = 5;
const DISK_FULL: u8 = 6;
const FILE_FAILED: u8 = 7;
const DATABASE_AWAY: u8 = 8;
const DATABASE_REFUSED: u8 = 9;
const DATABASE_MISSING: u8 = 10;
const DATABASE_TAKEN: u8 = 11;

/// Whether the database may answer later.
pub fn is_database_away(error: &Error) -> bool {
    code(error) == DATABASE_AWAY
}

pub fn code(error: &Error) -> u8 {
    match error {
        Error::Invalid { .. } | Error::TooLarge { .. } => SETTING_WRONG,
        Error::Unavailable { .. } | Error::CommitUnknown { .. } => DATABASE_AWAY,
        Error::Obstacle { kind, .. } => match kind {
            Obstacle::AddressTaken => ADDRESS_TAKEN,
            Obstacle::FileMissing | Obstacle::DatabaseAbsent => FILE_MISSING,
            Obstacle::TenantMissing => FAILED,
            Obstacle::PermissionDenied => PERMISSION_DENIED,
            Obstacle::DiskFull => DISK_FULL,
            Obstacle::FileFailed => FILE_FAILED,
            Obstacle::DatabaseAway => DATABASE_AWAY,
            Obstacle::DatabaseRefused => DATABASE_REFUSED,
            Obstacle::DatabaseMissing => DATABASE_MISSING,
            Obstacle::DatabaseTaken => DATABASE_TAKEN,
        },
        _ => FAILED,
    }
}
