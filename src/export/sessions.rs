//! Converts sessions of the domain to records of a file, and back.

use bytes::Bytes;
use serde_bytes::ByteBuf;

use super::records::{Entry, Log, Record, Session};
use super::values::{Packer, Unpacker};
use crate::domain::export::records::{SessionEntry, SessionHead, SessionLog, SessionRecord};

impl From<SessionHead> for Session {
    fn from(head: SessionHead) -> Self {
        Self {
            kind: head.kind,
            key: head.key,
            owner: head.owner,
            user_id: head.user_id,
            agent: head.agent,
            title: head.title,
            created_at: head.created_at,
            updated_at: head.updated_at,
            archives: head.archives,
            next_log: head.next_log,
            size_bytes: head.size_bytes,
        }
    }
}

impl From<Session> for SessionHead {
    fn from(head: Session) -> Self {
        Self {
            kind: head.kind,
            key: head.key,
            owner: head.owner,
            user_id: head.user_id,
            agent: head.agent,
            title: head.title,
            created_at: head.created_at,
            updated_at: head.updated_at,
            archives: head.archives,
            next_log: head.next_log,
            size_bytes: head.size_bytes,
        }
    }
}

pub fn of_session(packer: &mut Packer, record: SessionRecord) -> Record {
    match record {
        SessionRecord::Log(it) => Record::Log(Log {
            part: it.part,
            name: ByteBuf::from(it.name.to_vec()),
            log_no: it.log_no,
            era: it.era,
            floor: it.floor,
            ceiling: it.ceiling,
            head: it.head,
            compacted_head: it.compacted_head,
            version: it.version,
            size_bytes: it.size_bytes,
            updated_at: it.updated_at,
        }),
        SessionRecord::Entry(it) => Record::Entry(Entry {
            log_no: it.log_no,
            era: it.era,
            seq: it.seq,
            id: it.id.map(|it| ByteBuf::from(it.to_vec())),
            at: it.at,
            text: packer.pack(&it.text),
        }),
    }
}

/// What a record of the file says of a session. None: it is not of one, or its bytes make no text.
pub fn to_session(unpacker: &mut Unpacker, record: Record) -> Option<SessionRecord> {
    Some(match record {
        Record::Log(it) => SessionRecord::Log(SessionLog {
            part: it.part,
            name: Bytes::from(it.name.into_vec()),
            log_no: it.log_no,
            era: it.era,
            floor: it.floor,
            ceiling: it.ceiling,
            head: it.head,
            compacted_head: it.compacted_head,
            version: it.version,
            size_bytes: it.size_bytes,
            updated_at: it.updated_at,
        }),
        Record::Entry(it) => SessionRecord::Entry(SessionEntry {
            log_no: it.log_no,
            era: it.era,
            seq: it.seq,
            id: it.id.map(|it| Bytes::from(it.into_vec())),
            at: it.at,
            text: unpacker.unpack(it.text)?,
        }),
        _ => return None,
    })
}
