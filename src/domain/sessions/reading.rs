//! Reads sessions for callers.

use super::ledger::Part;
use super::loading::{EntriesQuery, Load, Loaded, fitting};
use super::name::{SessionName, check_kind, check_name, check_prefix};
use super::service::Sessions;
use super::storage::{
    Described, FindDocuments, ListKinds, ListSessions, SessionCursor, SessionKind,
};
use super::{Content, Document, Session, Stream};
use crate::domain::caller::{Caller, Permission};
use crate::domain::error::Result;
use crate::domain::limits::LIMITS;
use crate::domain::pages::{COUNTED_ROWS_MAX, cut, page_rows};
use crate::domain::tokens::grants::Action;

/// A page of a listing.
#[derive(Debug, Default)]
pub struct SessionPage {
    pub sessions: Vec<Session>,
    pub next: Option<SessionCursor>,
}

/// A page of kinds.
#[derive(Debug, Default)]
pub struct KindPage {
    pub kinds: Vec<SessionKind>,
    /// Set when there are more.
    pub next: Option<String>,
}

impl Sessions {
    /// # Errors
    /// A storage that cannot be read.
    pub async fn get(&self, caller: &Caller, session: &SessionName) -> Result<Option<Described>> {
        if !may_read(caller, session)? {
            return Ok(None);
        }
        self.storage.get_session(caller, session, Action::Read).await
    }

    /// None: the stream was never written.
    ///
    /// # Errors
    /// 422 for what cannot be asked for; a storage that cannot be read.
    pub async fn load(
        &self,
        caller: &Caller,
        session: &SessionName,
        load: &Load,
    ) -> Result<Option<Loaded>> {
        load.check()?;
        if !may_read(caller, session)? {
            return Ok(None);
        }
        let mut asked = EntriesQuery {
            stream: load.stream.clone(),
            after_seq: load.after_seq.unwrap_or(0),
            before_seq: load.is_tail().then_some(i64::MAX),
            rows_max: load.rows_max(),
            bytes_max: load.bytes_max(),
        };
        let Some(budget) = load.token_budget else {
            return self.storage.load_entries(caller, session, &asked).await;
        };
        // Page by page from the end, until the budget is used up.
        let (mut left, mut all) = (budget, Loaded::default());
        asked.rows_max = asked.rows_max.min(LIMITS.session_budget_page_rows);
        let mut rows_left = load.rows_max();
        loop {
            let Some(mut page) = self.storage.load_entries(caller, session, &asked).await? else {
                return Ok((!all.entries.is_empty()).then_some(all));
            };
            let fit = fitting(&page.entries, &mut left, all.entries.is_empty());
            let cut = page.entries.len() - fit;
            page.entries.drain(..cut);
            rows_left = rows_left.saturating_sub(fit as u64);
            let bytes: usize = page.entries.iter().map(|it| it.data.len()).sum();
            asked.bytes_max = asked.bytes_max.saturating_sub(bytes as u64);
            asked.before_seq = page.entries.first().map(|it| it.seq);
            let is_last = cut > 0 || !page.more || rows_left == 0 || asked.bytes_max == 0;
            page.entries.append(&mut all.entries);
            all = Loaded {
                head: if all.head == 0 { page.head } else { all.head },
                count: page.count,
                more: cut > 0 || page.more,
                entries: page.entries,
            };
            if is_last {
                return Ok(Some(all));
            }
            asked.rows_max = asked.rows_max.min(rows_left);
        }
    }

    /// # Errors
    /// A storage that cannot be read; as for the next ones.
    pub async fn list_streams(
        &self,
        caller: &Caller,
        session: &SessionName,
    ) -> Result<Vec<Stream>> {
        if !may_read(caller, session)? {
            return Ok(Vec::new());
        }
        self.storage.list_streams(caller, session).await
    }

    /// # Errors
    /// `NotGranted` where the grants cover only sessions that they name.
    pub async fn list(&self, caller: &Caller, mut query: ListSessions) -> Result<SessionPage> {
        caller.require_session_listing(Action::Read)?;
        check_kind(&query.kind)?;
        check_prefix(&query.key_prefix)?;
        if let Some(stream) = &query.stream {
            check_name("stream", stream, true)?;
        }
        let limit = page_rows(query.limit);
        if limit == 0 {
            return Ok(SessionPage::default());
        }
        // One more than asked for tells whether there is a next page.
        query.limit = limit + 1;
        let mut sessions = self.storage.list_sessions(caller, &query).await?;
        let position =
            |it: &Session| SessionCursor { updated_at: it.updated_at, key: it.name.key_bytes() };
        let next = cut(&mut sessions, limit, position);
        Ok(SessionPage { sessions, next })
    }

    /// Those of which the caller may read something. A page may be short where there is a next one.
    ///
    /// # Errors
    /// As [`Self::list`].
    pub async fn list_kinds(&self, caller: &Caller, mut query: ListKinds) -> Result<KindPage> {
        caller.require_session_listing(Action::Read)?;
        let limit = query.limit.min(COUNTED_ROWS_MAX);
        if limit == 0 {
            return Ok(KindPage::default());
        }
        // One more than asked for tells whether there is a next page.
        query.limit = limit + 1;
        let mut kinds = self.storage.list_kinds(caller, &query).await?;
        let next = cut(&mut kinds, limit, |it| it.kind.clone());
        kinds.retain(|it| it.sessions > 0);
        Ok(KindPage { kinds, next })
    }

    /// # Errors
    /// As [`Self::list_streams`].
    pub async fn get_document(
        &self,
        caller: &Caller,
        session: &SessionName,
        name: &str,
    ) -> Result<Option<Content>> {
        check_name("name", name, true)?;
        if !may_read(caller, session)? {
            return Ok(None);
        }
        self.storage.get_document(caller, session, name).await
    }

    /// # Errors
    /// As [`Self::list_streams`].
    pub async fn list_documents(
        &self,
        caller: &Caller,
        session: &SessionName,
        name_prefix: &str,
    ) -> Result<Vec<Document>> {
        check_name("name_prefix", name_prefix, true)?;
        if !may_read(caller, session)? {
            return Ok(Vec::new());
        }
        self.storage.list_documents(caller, session, name_prefix).await
    }

    /// Numbers of the last entries of the streams, or values of the counters, of one name, by session.
    ///
    /// # Errors
    /// As [`Self::list`].
    pub async fn list_heads(
        &self,
        caller: &Caller,
        kind: &str,
        part: Part,
        name: &str,
    ) -> Result<Vec<(SessionName, i64)>> {
        caller.require_session_listing(Action::Read)?;
        self.storage.list_heads(caller, kind, part, name).await
    }

    /// # Errors
    /// As [`Self::list`].
    pub async fn find_documents(
        &self,
        caller: &Caller,
        query: &FindDocuments,
    ) -> Result<Vec<(SessionName, Content)>> {
        caller.require_session_listing(Action::Read)?;
        check_kind(&query.kind)?;
        check_prefix(&query.key_prefix)?;
        check_name("name", &query.name, true)?;
        self.storage.find_documents(caller, query).await
    }

    /// # Errors
    /// As [`Self::list_streams`].
    pub async fn get_counters(
        &self,
        caller: &Caller,
        session: &SessionName,
        names: &[&str],
    ) -> Result<Vec<i64>> {
        if !may_read(caller, session)? {
            return Ok(vec![0; names.len()]);
        }
        self.storage.get_counters(caller, session, names).await
    }
}

/// Whether the caller may read it, if the owner is right; where false it looks absent.
fn may_read(caller: &Caller, session: &SessionName) -> Result<bool> {
    caller.require(Permission::Sessions(Action::Read))?;
    Ok(caller.may_read_session(session))
}
