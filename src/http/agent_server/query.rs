//! Reads the queries of SDKs: each has its own way to send lists and booleans.

use crate::domain::{Error, Result};
use crate::http::request::query_fields::Fields;

/// `a,b`, the JSON list `["a","b"]` and repeated names are the same.
///
/// # Errors
/// 422 for what begins as a JSON list and is none of texts.
pub fn list(fields: &Fields, name: &str) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for text in fields.all(name) {
        if text.trim_start().starts_with('[') {
            let wrong = |_| Error::invalid(name, format!("{name} must be a list of texts"));
            all.extend(serde_json::from_str::<Vec<String>>(text).map_err(wrong)?);
            continue;
        }
        all.extend(text.split(',').filter(|it| !it.is_empty()).map(str::to_owned));
    }
    Ok(all)
}

/// `true`, `false`, `1` or `0`, in small or large letters. Absent: false.
///
/// # Errors
/// 422 for anything else.
pub fn flag(fields: &Fields, name: &str) -> Result<bool> {
    match fields.all(name).last().map(str::to_ascii_lowercase).as_deref() {
        None | Some("" | "false" | "0") => Ok(false),
        Some("true" | "1") => Ok(true),
        Some(_) => Err(Error::invalid(name, format!("{name} must be true or false"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(query: &str) -> Fields {
        Fields::with_unknown(&format!("/x?{query}").parse().unwrap()).unwrap()
    }

    #[test]
    fn a_list_comes_in_three_styles() {
        for query in ["n=a,b", "n=%5B%22a%22%2C%22b%22%5D", "n=a&n=b", "n=a,&other=1&n=b"] {
            assert_eq!(list(&fields(query), "n").unwrap(), ["a", "b"], "{query}");
        }
        assert!(list(&fields("n=[1]"), "n").is_err());
        assert!(list(&fields("n="), "n").unwrap().is_empty());
    }

    #[test]
    fn a_flag_is_a_word_or_a_digit() {
        for (query, expected) in [("n=True", true), ("n=1", true), ("n=FALSE", false), ("", false)]
        {
            assert_eq!(flag(&fields(query), "n").unwrap(), expected, "{query}");
        }
        assert!(flag(&fields("n=maybe"), "n").is_err());
    }
}
