//! Signs and checks addresses of files. A holder of one may read one file for a while, without a key. The form is
//! `<kid>.<what is signed>.<mac>`; the last two parts are base64url.
//!
//! **Invariant:** the signed bytes are a list of length-prefixed fields behind a version, so no two addresses sign the same bytes. The MAC
//! has a key of its own, so no token is an address and no address is a token.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use super::token_text::mac_key;
use crate::domain::clock::Micros;
use crate::domain::tokens::credential::SigningSecret;
use crate::domain::tokens::token::TokenId;

/// Of what is signed. Another layout has another number.
const VERSION: u8 = 1;
/// Separates these MACs from those of tokens, which the same secret makes.
const PURPOSE: &[u8] = b"threadkeep signed address of a file";
const METHOD: &[u8] = b"GET";
/// Labels, path and subject within their limits, as base64.
const TEXT_BYTES_MAX: usize = 8_192;
const KID_BYTES: usize = 16;

/// What an address says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedUrl {
    pub tenant: String,
    /// Whose drive it leads into; None: it was made for a file of a namespace.
    pub subject: Option<String>,
    pub namespace: Vec<String>,
    /// The exact key of the file.
    pub key: String,
    /// When the file was made: one that was deleted and made again is another file.
    pub created_at: Micros,
    /// The only version that it opens; None: whichever the file has.
    pub version: Option<i64>,
    pub disposition: Disposition,
    /// The first moment at which it is not valid any more.
    pub expires_at: Micros,
    /// What it was made with, as tokens say it.
    pub minter: String,
    /// The token that it was made with, and those that this was narrowed from: it dies with any of them.
    pub chain: Vec<TokenId>,
}

/// How the browser is told to take the file, where its type allows both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    Inline,
    Attachment,
    /// As [`Self::Inline`], and HTML and SVG are shown, too: on the host of files, without scripts, forms and network.
    Isolated,
}

/// The text of an address.
pub fn seal(url: &SignedUrl, secret: &SigningSecret) -> String {
    let mut text = format!("{}.{}", secret.kid, URL_SAFE_NO_PAD.encode(signed_bytes(url)));
    let mac = hmac::sign(&address_key(&mac_key(secret)), text.as_bytes());
    text.push('.');
    text.push_str(&URL_SAFE_NO_PAD.encode(mac));
    text
}

/// The id of the secret that a text says it was signed with. None: this is no address.
pub fn kid(text: &str) -> Option<&str> {
    let (kid, _) = text.split_once('.')?;
    (text.len() <= TEXT_BYTES_MAX && kid.len() == KID_BYTES).then_some(kid)
}

/// What the text says, if this secret of this tenant signed it.
pub fn open(text: &str, secret: &hmac::Key, tenant: &str) -> Option<SignedUrl> {
    let (signed, mac) = text.rsplit_once('.')?;
    let mac = URL_SAFE_NO_PAD.decode(mac).ok()?;
    hmac::verify(&address_key(secret), signed.as_bytes(), &mac).ok()?;
    let (_, fields) = signed.split_once('.')?;
    let url = read(&URL_SAFE_NO_PAD.decode(fields).ok()?)?;
    (url.tenant == tenant).then_some(url)
}

/// A key that only addresses are signed with.
fn address_key(secret: &hmac::Key) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(secret, PURPOSE).as_ref())
}

fn signed_bytes(url: &SignedUrl) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    let mut put = |field: &[u8]| {
        let length = u32::try_from(field.len()).expect("fields are within the limits of texts");
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(field);
    };
    put(url.tenant.as_bytes());
    put(optional(url.subject.as_deref()).as_bytes());
    put(&count(url.namespace.len()));
    url.namespace.iter().for_each(|label| put(label.as_bytes()));
    put(url.key.as_bytes());
    put(&url.created_at.to_be_bytes());
    put(url.version.map_or_else(|| "*".to_owned(), |it| it.to_string()).as_bytes());
    put(METHOD);
    put(match url.disposition {
        Disposition::Inline => b"inline",
        Disposition::Attachment => b"attachment",
        Disposition::Isolated => b"isolated",
    });
    put(&url.expires_at.to_be_bytes());
    put(url.minter.as_bytes());
    put(&count(url.chain.len()));
    url.chain.iter().for_each(|id| put(&id.0));
    bytes
}

/// None and the empty text are two things.
fn optional(text: Option<&str>) -> String {
    text.map_or_else(String::new, |it| format!("={it}"))
}

fn count(length: usize) -> [u8; 4] {
    u32::try_from(length).expect("lists are within their limits").to_be_bytes()
}

fn read(bytes: &[u8]) -> Option<SignedUrl> {
    let (version, rest) = bytes.split_first()?;
    let mut fields = (*version == VERSION).then_some(Fields(rest))?;
    let url = SignedUrl {
        tenant: fields.text()?,
        subject: match fields.text()?.as_str() {
            "" => None,
            text => Some(text.strip_prefix('=')?.to_owned()),
        },
        namespace: (0..fields.count()?).map(|_| fields.text()).collect::<Option<_>>()?,
        key: fields.text()?,
        created_at: fields.number()?,
        version: match fields.text()?.as_str() {
            "*" => None,
            text => Some(text.parse().ok()?),
        },
        disposition: (fields.next()? == METHOD).then_some(()).and_then(|()| {
            match fields.next()? {
                b"inline" => Some(Disposition::Inline),
                b"attachment" => Some(Disposition::Attachment),
                b"isolated" => Some(Disposition::Isolated),
                _ => None,
            }
        })?,
        expires_at: fields.number()?,
        minter: fields.text()?,
        chain: (0..fields.count()?)
            .map(|_| fields.next()?.try_into().ok().map(TokenId))
            .collect::<Option<_>>()?,
    };
    fields.0.is_empty().then_some(url)
}

/// What is left to read.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk::<4>()?;
        let (field, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        self.0 = rest;
        Some(field)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.next()?.to_vec()).ok()
    }

    fn number(&mut self) -> Option<i64> {
        Some(i64::from_be_bytes(self.next()?.try_into().ok()?))
    }

    fn count(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.next()?.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::token_text;

    fn url() -> SignedUrl {
        SignedUrl {
            tenant: "acme".into(),
            subject: Some("ann".into()),
            namespace: vec!["ann".into(), "workspace".into()],
            key: "/code/ä b.html".into(),
            created_at: 1_700_000_000_000_000,
            version: Some(7),
            disposition: Disposition::Inline,
            expires_at: 1_800_000_000_000_000,
            minter: "key_1".into(),
            chain: vec![TokenId::random(), TokenId::random()],
        }
    }

    fn opened(text: &str, secret: &SigningSecret) -> Option<SignedUrl> {
        open(text, &mac_key(secret), &secret.tenant)
    }

    #[test]
    fn an_address_comes_back_as_it_was_made() {
        let secret = SigningSecret::random("acme", 0);
        let least = SignedUrl { subject: None, version: None, chain: Vec::new(), ..url() };
        let empty = SignedUrl {
            subject: Some(String::new()),
            disposition: Disposition::Attachment,
            ..url()
        };
        let isolated = SignedUrl { disposition: Disposition::Isolated, ..url() };
        for made in [url(), least, empty, isolated] {
            let text = seal(&made, &secret);
            assert_eq!(kid(&text), Some(secret.kid.as_str()));
            assert_eq!(opened(&text, &secret), Some(made));
        }
    }

    #[test]
    fn an_address_that_was_changed_in_any_byte_does_not_open() {
        let secret = SigningSecret::random("acme", 0);
        let text = seal(&url(), &secret);
        for at in 0..text.len() {
            for other in b"ABCxyz019-_.=".iter().filter(|it| **it != text.as_bytes()[at]) {
                let mut changed = text.clone().into_bytes();
                changed[at] = *other;
                assert_eq!(opened(&String::from_utf8(changed).unwrap(), &secret), None, "{at}");
            }
            assert_eq!(opened(&text[..at], &secret), None);
        }
    }

    /// A label that ends where the next begins, and the like: what is signed always differs.
    #[test]
    fn fields_do_not_run_into_each_other() {
        let changes: [fn(&mut SignedUrl); 9] = [
            |it| it.namespace = vec!["annworkspace".into()],
            |it| it.namespace = vec!["ann".into(), "workspace".into(), "/code/ä b.html".into()],
            |it| (it.tenant, it.subject) = ("acm".into(), Some("eann".into())),
            |it| it.subject = None,
            |it| it.version = None,
            |it| it.created_at += 1,
            |it| it.disposition = Disposition::Attachment,
            |it| it.disposition = Disposition::Isolated,
            |it| it.chain.truncate(1),
        ];
        let base = signed_bytes(&url());
        for change in changes {
            let mut other = url();
            change(&mut other);
            assert_ne!(signed_bytes(&other), base, "{other:?}");
        }
    }

    #[test]
    fn tokens_and_addresses_are_not_each_other() {
        let secret = SigningSecret::random("acme", 0);
        let text = seal(&url(), &secret);
        assert_eq!(token_text::kid(&text), None);
        let as_token = format!("{}{text}", token_text::PREFIX);
        assert_eq!(token_text::open(&as_token, &mac_key(&secret), "acme"), None);
        // Signed like a token: with the secret itself.
        let (signed, _) = text.rsplit_once('.').unwrap();
        let mac = URL_SAFE_NO_PAD.encode(hmac::sign(&mac_key(&secret), signed.as_bytes()));
        assert_eq!(opened(&format!("{signed}.{mac}"), &secret), None);
    }

    #[test]
    fn another_secret_tenant_or_version_opens_nothing() {
        let secret = SigningSecret::random("acme", 0);
        let text = seal(&url(), &secret);
        assert_eq!(opened(&text, &SigningSecret::random("acme", 0)), None);
        assert_eq!(open(&text, &mac_key(&secret), "globex"), None);
        let mut later = signed_bytes(&url());
        later[0] = 2;
        assert_eq!(read(&later), None);
        let longer = [signed_bytes(&url()), vec![0]].concat();
        assert_eq!(read(&longer), None);
    }
}
