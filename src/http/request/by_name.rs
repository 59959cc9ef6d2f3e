//! Deserializes enum values in requests from their names. Code that serde derives also takes the number of a variant in formats like
//! MessagePack; the document knows only names.

/// Reads each of these types, which derive `Deserialize` with `remote = "Self"`, from a string and nothing else.
macro_rules! by_name {
    ($($type:ty),+) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                <$type>::deserialize(serde::de::IntoDeserializer::into_deserializer(&*name))
            }
        }
    )+};
}

pub(in crate::http) use by_name;

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case", remote = "Self")]
    enum Choice {
        TheFirst,
        Second,
    }

    by_name!(Choice);

    #[test]
    fn a_choice_is_its_name_and_no_number() {
        let read = |value: serde_json::Value| {
            let packed = rmp_serde::to_vec(&value).unwrap();
            let of_packed: Result<Choice, _> = rmp_serde::from_slice(&packed);
            let of_json: Result<Choice, _> = serde_json::from_value(value);
            assert_eq!(of_json.as_ref().ok(), of_packed.as_ref().ok());
            of_packed.map_err(|error| error.to_string())
        };
        assert_eq!(read(json!("the_first")), Ok(Choice::TheFirst));
        assert_eq!(read(json!("second")), Ok(Choice::Second));
        for other in [
            json!(0),
            json!(1),
            json!("third"),
            json!({"second": null}),
            json!(["second"]),
            json!(null),
        ] {
            assert!(read(other.clone()).is_err(), "{other}");
        }
        assert!(read(json!("third")).unwrap_err().contains("the_first"), "it says what there is");
    }
}
