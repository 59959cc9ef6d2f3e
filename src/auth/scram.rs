//! Computes the verifier that PostgreSQL stores for a password (RFC 5802, SCRAM-SHA-256).
//! The server computes it, so the password is in no statement and in no log of the database.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

/// PostgreSQL's own number. The passwords are random, so more would only slow logins down.
const ITERATIONS: u32 = 4_096;

/// The verifier of a password of ASCII characters, which need no normalization.
pub fn verifier(password: &str, salt: &[u8; 16]) -> String {
    let salted = salted(password, salt);
    let stored_key = Sha256::digest(hmac(&salted, b"Client Key"));
    let server_key = hmac(&salted, b"Server Key");
    let [salt, stored, server] =
        [&salt[..], &stored_key, &server_key].map(|it| STANDARD.encode(it));
    format!("SCRAM-SHA-256${ITERATIONS}:{salt}${stored}:{server}")
}

/// PBKDF2 for one block.
fn salted(password: &str, salt: &[u8]) -> [u8; 32] {
    let mut round = hmac(password.as_bytes(), &[salt, &1_u32.to_be_bytes()].concat());
    let mut all = round;
    for _ in 1..ITERATIONS {
        round = hmac(password.as_bytes(), &round);
        all.iter_mut().zip(round).for_each(|(sum, it)| *sum ^= it);
    }
    all
}

fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(text);
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange of RFC 7677, section 3: the keys that it is made with answer with its signatures.
    #[test]
    fn the_verifier_answers_the_exchange_of_the_rfc() {
        let salt: [u8; 16] =
            STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap().try_into().unwrap();
        let verifier = verifier("pencil", &salt);
        let (head, keys) = verifier.rsplit_once('$').unwrap();
        assert_eq!(head, "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==");
        let (stored, server) = keys.split_once(':').unwrap();
        let exchange = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
            s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let signature = hmac(&STANDARD.decode(server).unwrap(), exchange.as_bytes());
        assert_eq!(STANDARD.encode(signature), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
        // The proof, opened with the client's signature, is the key whose hash is stored.
        let proof = STANDARD.decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=").unwrap();
        let mask = hmac(&STANDARD.decode(stored).unwrap(), exchange.as_bytes());
        let client_key: Vec<u8> = proof.iter().zip(mask).map(|(a, b)| a ^ b).collect();
        assert_eq!(STANDARD.encode(Sha256::digest(client_key)), stored);
    }
}
