//! Decides in whose share a caller's memory counts. All tokens of a chain count in the share of its first token.

use super::authenticator::Identity;
use super::signed_url::SignedUrl;
use crate::domain::caller::Caller;
use crate::domain::scheduling::shares::Holder;
use crate::domain::tokens::token::Pass;

impl Identity {
    /// In whose share it counts what is held for it: that of the first token of the chain.
    pub fn holder(&self) -> Holder {
        let Caller { tenant, credential, .. } = &self.caller;
        Holder::new(
            tenant,
            match &self.pass {
                Pass::Local | Pass::Operator | Pass::Key { .. } => credential.clone(),
                Pass::Token(_) | Pass::External { .. } => self.minter_and_subject(),
            },
        )
    }

    /// The same for a key and for all tokens that it makes for one subject, whatever is narrowed from them.
    pub fn minter_and_subject(&self) -> String {
        let subject = self.caller.subject.as_deref().unwrap_or_default();
        format!("{}/{subject}", self.pass.minter())
    }
}

impl SignedUrl {
    /// Apart from what its minter holds itself: an address may have gone to many.
    pub fn holder(&self) -> Holder {
        let subject = self.subject.as_deref().unwrap_or_default();
        Holder::new(&self.tenant, format!("{}/{subject}/addresses", self.minter))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::tokens::token::{MintRequest, NarrowRequest, mint, narrow};

    fn by(pass: Pass, caller: &Caller) -> Identity {
        Identity { caller: caller.clone(), pass }
    }

    #[test]
    fn what_is_narrowed_counts_with_the_first_token_and_apart_from_its_key() {
        let key = Pass::Key { key_id: "key_1".into(), expires_at: None };
        let caller = Caller { credential: "key_1".into(), ..Caller::of_tenant("acme") };
        let of = |subject: &str| {
            let request = MintRequest { subject: Some(subject.into()), ..MintRequest::default() };
            mint(&caller, &key, request, 0).unwrap()
        };
        let (ann, bob) = (of("ann"), of("bob"));
        let who = |token: &crate::domain::tokens::token::Token| Caller {
            subject: token.subject.clone(),
            grants: crate::domain::caller::Grants::Scoped(Arc::clone(&token.grants)),
            credential: token.token_id.to_string(),
            ..caller.clone()
        };
        let pass = Pass::Token(Arc::new(ann.clone()));
        let child = narrow(&who(&ann), &pass, NarrowRequest::default(), 0).unwrap();
        let first = by(pass, &who(&ann)).holder();
        assert_eq!(first, by(Pass::Token(Arc::new(child.clone())), &who(&child)).holder());
        assert_ne!(first, by(Pass::Token(Arc::new(bob.clone())), &who(&bob)).holder());
        assert_ne!(first, by(key, &caller).holder());
    }
}
