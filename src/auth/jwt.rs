//! Parses a JWT and checks its signature with the one algorithm that the configuration names. The token's own header is only compared with
//! that algorithm. ring does the arithmetic.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Refusal;
use crate::domain::clock::Micros;
use crate::domain::limits::LIMITS;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Algorithm {
    #[serde(rename = "HS256")]
    Hs256,
    #[serde(rename = "RS256")]
    Rs256,
    #[serde(rename = "ES256")]
    Es256,
    /// With Ed25519.
    #[serde(rename = "EdDSA")]
    EdDsa,
}

/// What one signature is checked with.
pub enum VerifyingKey {
    Hmac(hmac::Key),
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// Uncompressed point.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// Keys of an issuer with their ids.
#[derive(Default)]
pub struct KeySet(Vec<(Option<String>, VerifyingKey)>);

/// A token whose signature was not checked yet.
pub struct Jwt<'a> {
    signed: &'a str,
    signature: Vec<u8>,
    header: Header,
    pub claims: Map<String, Value>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// Extensions that must be understood. None are.
    crit: Option<Value>,
}

/// A public key as issuers publish it. Only what the algorithms above need.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    used_for: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl Algorithm {
    pub fn name(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }
}

impl<'a> Jwt<'a> {
    /// None: this is no JWT.
    pub fn parse(text: &'a str) -> Option<Self> {
        if text.len() as u64 > LIMITS.external_token_bytes_max {
            return None;
        }
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        Some(Self {
            signed,
            signature: decode(signature)?,
            header: serde_json::from_slice(&decode(header)?).ok()?,
            claims: serde_json::from_slice(&decode(claims)?).ok()?,
        })
    }

    pub fn kid(&self) -> Option<&str> {
        self.header.kid.as_deref()
    }

    /// Whether it says that it was signed in this way, and asks for nothing more.
    pub fn claims_algorithm(&self, algorithm: Algorithm) -> bool {
        self.header.alg == algorithm.name() && self.header.crit.is_none()
    }

    pub fn is_signed_with(&self, key: &VerifyingKey) -> bool {
        let (message, signature) = (self.signed.as_bytes(), self.signature.as_slice());
        match key {
            VerifyingKey::Hmac(key) => hmac::verify(key, message, signature).is_ok(),
            VerifyingKey::Rsa { n, e } => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
                .is_ok(),
            VerifyingKey::P256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
                .verify(message, signature)
                .is_ok(),
            VerifyingKey::Ed25519(key) => {
                UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok()
            }
        }
    }

    /// Whether `aud`, a text or several, names this one.
    pub fn is_for(&self, audience: &str) -> bool {
        match self.claims.get("aud") {
            Some(Value::String(text)) => text == audience,
            Some(Value::Array(all)) => all.iter().any(|it| it == audience),
            _ => false,
        }
    }

    pub fn text(&self, claim: &str) -> Option<&str> {
        self.claims.get(claim)?.as_str()
    }

    /// A time in microseconds, if the claim is there.
    ///
    /// # Errors
    /// When it is there and no time.
    pub fn time(&self, claim: &str) -> Result<Option<Micros>, Refusal> {
        let Some(value) = self.claims.get(claim) else { return Ok(None) };
        let whole = value.as_i64().and_then(|it| it.checked_mul(1_000_000));
        let broken = || {
            let micros = value.as_f64()? * 1e6;
            // Up to here every whole number is one of these; it is the year 2255.
            let sane = micros.is_finite() && micros.abs() < 9e15;
            #[allow(clippy::cast_possible_truncation)]
            sane.then_some(micros as Micros)
        };
        let wrong = Refusal::Unauthorized("a time in the token is not a number of seconds");
        whole.or_else(broken).map(Some).ok_or(wrong)
    }
}

impl KeySet {
    pub fn of_secret(secret: &[u8]) -> Self {
        Self(vec![(None, VerifyingKey::Hmac(hmac::Key::new(hmac::HMAC_SHA256, secret)))])
    }

    /// Those keys of a JWK set that this algorithm can use. None: it is no JWK set, or has no such key.
    pub fn of_jwks(jwks: &[u8], algorithm: Algorithm) -> Option<Self> {
        #[derive(Deserialize)]
        struct Jwks {
            keys: Vec<Value>,
        }
        let Jwks { keys } = serde_json::from_slice(jwks).ok()?;
        let usable = keys.into_iter().filter_map(|it| serde_json::from_value::<Jwk>(it).ok());
        let usable = usable.filter_map(|it| Some((it.kid.clone(), it.key(algorithm)?)));
        Some(Self(usable.collect())).filter(|set| !set.0.is_empty())
    }

    /// The key with this id. A set of one key needs no ids.
    pub fn find(&self, kid: Option<&str>) -> Option<&VerifyingKey> {
        if let [(own, only)] = &self.0[..] {
            return (own.is_none() || kid.is_none() || own.as_deref() == kid).then_some(only);
        }
        let kid = kid?;
        self.0.iter().find(|(own, _)| own.as_deref() == Some(kid)).map(|(_, key)| key)
    }
}

impl Jwk {
    /// Keys for other uses, of other kinds, and secrets, which nobody publishes, are none.
    fn key(&self, algorithm: Algorithm) -> Option<VerifyingKey> {
        let for_signing = self.used_for.as_deref().is_none_or(|it| it == "sig");
        let fits = self.alg.as_deref().is_none_or(|it| it == algorithm.name());
        if !for_signing || !fits {
            return None;
        }
        let part = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_deref()?).ok();
        match (algorithm, self.kty.as_str(), self.crv.as_deref()) {
            (Algorithm::Rs256, "RSA", _) => {
                let number = |bytes: Vec<u8>| {
                    bytes.into_iter().skip_while(|it| *it == 0).collect::<Vec<u8>>()
                };
                let (n, e) = (number(part(&self.n)?), number(part(&self.e)?));
                // 2,048 bits, as ring demands of every signature.
                (n.len() >= 256).then_some(VerifyingKey::Rsa { n, e })
            }
            (Algorithm::Es256, "EC", Some("P-256")) => {
                let (x, y) = (part(&self.x)?, part(&self.y)?);
                let point = [&[4], &x[..], &y[..]].concat();
                (x.len() == 32 && y.len() == 32).then_some(VerifyingKey::P256(point))
            }
            (Algorithm::EdDsa, "OKP", Some("Ed25519")) => {
                part(&self.x).filter(|it| it.len() == 32).map(VerifyingKey::Ed25519)
            }
            _ => None,
        }
    }
}
