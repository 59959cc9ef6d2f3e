//! Tests tokens that another program signed, each way of spoiling one, and configurations that are refused.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::json;

use super::*;

const SECOND: Micros = 1_000_000;
/// Between `nbf` and `exp` of the vectors.
const NOW: Micros = 1_750_000_000 * SECOND;
const SECRET: &[u8; 32] = b"0123456789abcdef0123456789abcdef";

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../tests/vectors/jwt.json")).unwrap()
}

fn parse(file: &Value) -> Result<Issuers> {
    let variable = |name: &str| match name {
        "SECRET" => Some(String::from_utf8(SECRET.to_vec()).unwrap()),
        "VECTORS" => Some("a secret of thirty-two bytes or so".into()),
        "SHORT" => Some("x".repeat(31)),
        _ => None,
    };
    Issuers::parse(&file.to_string(), &variable)
}

fn entry(more: &Value) -> Value {
    let mut entry = json!({
        "name": "login", "tenant": "acme", "issuer": "https://login.acme.test",
        "audience": "threadkeep", "algorithm": "HS256", "secret_env": "SECRET"
    });
    for (name, value) in more.as_object().unwrap() {
        entry[name] = value.clone();
    }
    entry.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    entry
}

fn one(more: &Value) -> Issuers {
    parse(&json!({"issuers": [entry(more)]})).unwrap()
}

fn of_vector(case: &Value) -> Issuers {
    let secret = case["secret"].is_string().then_some("VECTORS");
    one(&json!({"algorithm": case["algorithm"], "secret_env": secret, "jwks": case["jwks"]}))
}

fn claims(more: &Value) -> Value {
    let mut claims = json!({
        "iss": "https://login.acme.test", "aud": "threadkeep", "sub": "ann", "exp": 1_760_000_000
    });
    for (name, value) in more.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| *value != "absent");
    claims
}

fn signed_with(secret: &[u8], header: &Value, claims: &Value) -> String {
    let encode = |json: &Value| URL_SAFE_NO_PAD.encode(json.to_string());
    let message = format!("{}.{}", encode(header), encode(claims));
    let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(mac))
}

fn signed(claims: &Value) -> String {
    signed_with(SECRET, &json!({"alg": "HS256"}), claims)
}

#[tokio::test]
async fn tokens_of_every_algorithm_say_who_it_is() {
    for case in vectors()["cases"].as_array().unwrap() {
        let found = of_vector(case).identify(case["token"].as_str().unwrap(), NOW).await.unwrap();
        let expected = External {
            tenant: "acme".into(),
            subject: "ann@acme.test".into(),
            issuer: "login".into(),
            expires_at: 1_800_000_000 * SECOND,
        };
        assert_eq!(found, expected, "{}", case["algorithm"]);
    }
}

#[tokio::test]
async fn a_token_that_was_changed_in_any_byte_does_not_open() {
    for case in vectors()["cases"].as_array().unwrap() {
        let (issuers, token) = (of_vector(case), case["token"].as_str().unwrap());
        for at in 0..token.len() {
            let mut changed = token.as_bytes().to_vec();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(issuers.identify(&changed, NOW).await, Err(UNKNOWN), "{changed}");
        }
    }
}

#[tokio::test]
async fn a_key_is_never_used_for_another_algorithm() {
    let all = vectors();
    let cases = all["cases"].as_array().unwrap();
    for (configured, signed_by) in cases.iter().flat_map(|it| cases.iter().map(move |by| (it, by)))
    {
        let opened =
            of_vector(configured).identify(signed_by["token"].as_str().unwrap(), NOW).await;
        assert_eq!(opened.is_ok(), configured["algorithm"] == signed_by["algorithm"]);
    }
    // The public key of an issuer, taken for a shared secret.
    let jwk = cases[0]["jwks"]["keys"][0].clone();
    let text = jwk.to_string();
    let modulus = URL_SAFE_NO_PAD.decode(jwk["n"].as_str().unwrap()).unwrap();
    for secret in [text.as_bytes(), &modulus] {
        for alg in ["HS256", "RS256", "none"] {
            let forged =
                signed_with(secret, &json!({"alg": alg, "kid": "r1"}), &claims(&json!({})));
            assert_eq!(of_vector(&cases[0]).identify(&forged, NOW).await, Err(UNKNOWN));
        }
    }
    let issuers = one(&json!({}));
    for header in
        [json!({"alg": "none"}), json!({"alg": "hs256"}), json!({"alg": "HS512"}), json!({})]
    {
        let token = signed_with(SECRET, &header, &claims(&json!({})));
        assert_eq!(issuers.identify(&token, NOW).await, Err(UNKNOWN), "{header}");
        let unsigned = format!("{}.", token.rsplit_once('.').unwrap().0);
        assert_eq!(issuers.identify(&unsigned, NOW).await, Err(UNKNOWN), "{header}");
    }
    // What must be understood is not.
    let header = json!({"alg": "HS256", "crit": ["b64"], "b64": false});
    let token = signed_with(SECRET, &header, &claims(&json!({})));
    assert_eq!(issuers.identify(&token, NOW).await, Err(UNKNOWN));
}

#[tokio::test]
async fn claims_decide_and_are_needed() {
    let issuers = one(&json!({}));
    let ask = async |more: &Value| issuers.identify(&signed(&claims(more)), NOW).await;
    for more in [
        json!({}),
        json!({"aud": ["x", "threadkeep"]}),
        json!({"exp": 1_750_000_000.5}),
        json!({"nbf": 1_750_000_030}),
        json!({"sub": "ü/.~ 1"}),
    ] {
        assert!(ask(&more).await.is_ok(), "{more}");
    }
    for more in [
        json!({"iss": "https://login.acme.test/"}),
        json!({"iss": "absent"}),
        json!({"iss": ["https://login.acme.test"]}),
        json!({"aud": "other"}),
        json!({"aud": "absent"}),
        json!({"aud": []}),
        json!({"aud": [["threadkeep"]]}),
        json!({"exp": "absent"}),
        json!({"exp": "1760000000"}),
        json!({"exp": null}),
        json!({"exp": 1e300}),
        json!({"nbf": 1_750_000_031}),
        json!({"nbf": "1"}),
        json!({"sub": "absent"}),
        json!({"sub": ""}),
        json!({"sub": 7}),
        json!({"sub": "a\0b"}),
        json!({"sub": "x".repeat(513)}),
    ] {
        let refused = ask(&more).await;
        assert!(matches!(refused, Err(Refusal::Unauthorized(_))), "{more}: {refused:?}");
    }
    let exp = json!({"exp": 1_750_000_000});
    assert_eq!(ask(&exp).await, Err(Refusal::TokenExpired { at: NOW }));
    assert!(issuers.identify(&signed(&claims(&exp)), NOW - 1).await.is_ok());
}

#[tokio::test]
async fn the_claim_that_names_the_subject_can_be_chosen() {
    let issuers = one(&json!({"subject_claim": "email"}));
    let found = issuers.identify(&signed(&claims(&json!({"email": "a@b.c"}))), NOW).await.unwrap();
    assert_eq!(found.subject, "a@b.c");
    assert!(issuers.identify(&signed(&claims(&json!({}))), NOW).await.is_err());
}

#[tokio::test]
async fn issuer_and_audience_together_find_the_tenant() {
    let two = json!({"name": "two", "tenant": "globex", "audience": "other"});
    let issuers = parse(&json!({"issuers": [entry(&json!({})), entry(&two)]})).unwrap();
    let tenant = async |aud: Value| {
        let token = signed(&claims(&json!({"aud": aud})));
        issuers.identify(&token, NOW).await.map(|it| it.tenant)
    };
    assert_eq!(tenant(json!("threadkeep")).await.unwrap(), "acme");
    assert_eq!(tenant(json!(["other", "x"])).await.unwrap(), "globex");
    // Which of the two tenants would it be?
    assert_eq!(tenant(json!(["other", "threadkeep"])).await, Err(UNKNOWN));
    assert!(issuers.has("two", "globex") && !issuers.has("two", "acme"));
}

#[tokio::test]
async fn what_is_no_jwt_is_unknown() {
    let long = signed(&claims(&json!({"x": "x".repeat(17_000)})));
    let issuers = one(&json!({}));
    for text in ["", ".", "..", "a.b.c", "e30.e30.", "e30.e30.AA.AA", &long] {
        assert_eq!(issuers.identify(text, NOW).await, Err(UNKNOWN), "{text:.40}");
    }
    let fine = signed(&claims(&json!({})));
    assert_eq!(Issuers::default().identify(&fine, NOW).await, Err(UNKNOWN));
}

#[test]
fn keys_for_other_uses_and_published_secrets_are_no_keys() {
    let rsa = vectors()["cases"][0]["jwks"]["keys"][0].clone();
    let usable = |change: &Value| {
        let mut key = rsa.clone();
        for (name, value) in change.as_object().unwrap() {
            key[name] = value.clone();
        }
        KeySet::of_jwks(json!({"keys": [key]}).to_string().as_bytes(), Algorithm::Rs256).is_some()
    };
    assert!(usable(&json!({})) && usable(&json!({"use": null, "alg": null})));
    for change in [
        json!({"use": "enc"}),
        json!({"alg": "RS512"}),
        json!({"kty": "EC"}),
        json!({"n": "AQAB"}),
        json!({"n": "*"}),
        json!({"e": null}),
    ] {
        assert!(!usable(&change), "{change}");
    }
    let secret = json!({"keys": [{"kty": "oct", "k": "AAAA", "alg": "HS256"}]});
    assert!(KeySet::of_jwks(secret.to_string().as_bytes(), Algorithm::Hs256).is_none());
}

#[test]
fn bad_configuration_is_refused_with_its_field() {
    let folder = tempfile::tempdir().unwrap();
    let (good, short) = (folder.path().join("good"), folder.path().join("short"));
    std::fs::write(&good, [&SECRET[..], b"\n"].concat()).unwrap();
    std::fs::write(&short, "short\n").unwrap();
    assert!(!one(&json!({"secret_env": null, "secret_file": good})).is_empty());
    let rs256 = |more: Value| {
        let mut all = json!({"algorithm": "RS256", "secret_env": null});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    for (more, field) in [
        (json!({"name": null}), "issuers[0]"),
        (json!({"name": "A b"}), "issuers[0].name"),
        (json!({"tenant": "Acme"}), "issuers[0].tenant"),
        (json!({"issuer": ""}), "issuers[0].issuer"),
        (json!({"audience": ""}), "issuers[0].audience"),
        (json!({"subject_claim": ""}), "issuers[0].subject_claim"),
        (json!({"algorithm": "none"}), "issuers[0].algorithm"),
        (json!({"algorithm": "RS256"}), "issuers[0].algorithm"),
        (json!({"secret_env": null}), "issuers[0].algorithm"),
        (json!({"secret_file": short}), "issuers[0].algorithm"),
        (json!({"secret_env": "MISSING"}), "issuers[0].secret_env"),
        (json!({"secret_env": "SHORT"}), "issuers[0].secret_env"),
        (json!({"secret_env": null, "secret_file": short}), "issuers[0].secret_file"),
        (json!({"secret_env": null, "secret_file": "/nowhere"}), "issuers[0].secret_file"),
        (json!({"secret": "literal"}), "issuers[0].secret"),
        (rs256(json!({"jwks_url": "http://login.acme.test/keys"})), "issuers[0].jwks_url"),
        (rs256(json!({"jwks_url": "keys.json"})), "issuers[0].jwks_url"),
        (rs256(json!({"jwks": {"keys": []}})), "issuers[0].jwks"),
        (rs256(json!({"jwks": {}, "jwks_url": "https://x.test"})), "issuers[0].algorithm"),
    ] {
        let refused = parse(&json!({"issuers": [entry(&more)]})).map(|it| it.0.len());
        match refused {
            Err(Error::Invalid { field: named, detail, .. }) => {
                assert_eq!(named, field, "{detail}");
                assert!(detail.starts_with("--issuers: issuers[0]"), "{detail}");
                assert!(!detail.contains("xxxx"), "a secret in {detail}");
            }
            other => panic!("{more}: {other:?}"),
        }
    }
    let twins = |more: &Value| match parse(&json!({"issuers": [entry(&json!({})), entry(more)]})) {
        Err(Error::Invalid { field, .. }) => field,
        _ => panic!("{more}"),
    };
    assert_eq!(twins(&json!({"audience": "other"})), "issuers[1].name");
    assert_eq!(twins(&json!({"name": "other", "tenant": "globex"})), "issuers[1].audience");
    for text in ["", "[]", "{}", "{\"issuers\": []} x", "{\"issuers\": [], \"x\": 1}"] {
        assert!(matches!(Issuers::parse(text, &|_| None), Err(Error::Invalid { .. })), "{text}");
    }
}
