//! Defines vectors of items: the numbers that a model makes of a text, and how near two of them are. Pure.

use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::names::at_most;

/// Numbers that are finite as 32-bit floats, at least one of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector(Vec<f32>);

impl Vector {
    /// # Errors
    /// 422 naming `field`, for none, too many, and what is not finite.
    pub fn new(field: &str, numbers: Vec<f32>) -> Result<Self> {
        let (count, max) = (numbers.len() as u64, LIMITS.vector_dims_max);
        if count == 0 {
            return Err(Error::invalid(field, format!("{field} has no numbers")));
        }
        if count > max {
            let detail = format!("{field} has {count} numbers, a vector has at most {max}");
            return Err(Error::out_of_range(field, detail, max));
        }
        if let Some(at) = numbers.iter().position(|it| !it.is_finite()) {
            let detail = format!("{field}[{at}] is not a finite 32-bit number");
            return Err(Error::invalid(field, detail));
        }
        Ok(Self(numbers))
    }

    pub fn numbers(&self) -> &[f32] {
        &self.0
    }

    pub fn dims(&self) -> usize {
        self.0.len()
    }

    /// One that points nowhere: no angle to it is defined.
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|it| *it == 0.0)
    }
}

/// Name of what made a vector. Only vectors of one model are compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Model(String);

/// Of vectors whose sender does not say.
const MODEL_DEFAULT: &str = "default";

impl Model {
    /// Visible ASCII without quotes and backslashes: conditions of indexes hold it as text.
    ///
    /// # Errors
    /// 422 naming `model`.
    pub fn new(name: &str) -> Result<Self> {
        let max = LIMITS.model_bytes_max;
        let is_plain = |it: u8| it.is_ascii_graphic() && !b"'\"\\".contains(&it);
        if name.is_empty() || name.len() as u64 > max || !name.bytes().all(is_plain) {
            let detail = format!(
                "model must be 1 to {max} visible ASCII characters, without quotes and backslashes"
            );
            return Err(Error::out_of_range("model", detail, max));
        }
        Ok(Self(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Model {
    fn default() -> Self {
        Self(MODEL_DEFAULT.to_owned())
    }
}

/// How near vectors are: what a higher score means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Metric {
    /// Cosine of the angle, from -1 to 1; 0 where one of the two points nowhere.
    #[default]
    Cosine,
    /// The distance, negated: at most 0.
    L2,
    InnerProduct,
}

impl Metric {
    /// Higher is nearer. Both vectors have the same number of dimensions.
    pub fn score(self, a: &[f32], b: &[f32]) -> f64 {
        let pairs = || a.iter().zip(b).map(|(a, b)| (f64::from(*a), f64::from(*b)));
        match self {
            Self::L2 => -pairs().map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt(),
            Self::InnerProduct => pairs().map(|(a, b)| a * b).sum(),
            Self::Cosine => {
                let (mut product, mut left, mut right) = (0.0, 0.0, 0.0);
                for (a, b) in pairs() {
                    product += a * b;
                    left += a * a;
                    right += b * b;
                }
                let lengths: f64 = (left * right).sqrt();
                if lengths > 0.0 { (product / lengths).clamp(-1.0, 1.0) } else { 0.0 }
            }
        }
    }
}

/// A vector of a part of an item's value.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldVector {
    /// Path of the part, as the sender names it.
    pub field: String,
    pub vector: Vector,
}

/// All vectors of an item, of one model and of equal length. They replace those that it had.
#[derive(Debug, Clone, PartialEq)]
pub struct NewVectors {
    model: Model,
    vectors: Vec<FieldVector>,
}

impl NewVectors {
    /// # Errors
    /// 422 naming the field: for none, too many, and different lengths.
    pub fn new(model: Model, vectors: Vec<FieldVector>) -> Result<Self> {
        let Some(first) = vectors.first() else {
            return Err(Error::invalid("vectors", "vectors is empty; leave it out for none"));
        };
        at_most("vectors", vectors.len(), LIMITS.vectors_per_item_max)?;
        let dims = first.vector.dims();
        for (at, other) in vectors.iter().enumerate() {
            let found = other.vector.dims();
            if found != dims {
                let field = format!("vectors[{at}].vector");
                let detail = format!("{field} has {found} dimensions, the first one has {dims}");
                return Err(Error::invalid(field, detail));
            }
            check_field(&other.field)?;
        }
        Ok(Self { model, vectors })
    }

    pub fn model(&self) -> &Model {
        &self.model
    }

    pub fn dims(&self) -> usize {
        self.vectors.first().map_or(0, |it| it.vector.dims())
    }

    pub fn all(&self) -> &[FieldVector] {
        &self.vectors
    }

    pub fn size_bytes(&self) -> usize {
        self.vectors.iter().map(|it| it.field.len() + 4 * it.vector.dims()).sum()
    }
}

fn check_field(field: &str) -> Result<()> {
    let max = LIMITS.vector_field_bytes_max;
    if field.len() as u64 > max || field.contains('\0') {
        let detail = format!("the field of a vector has at most {max} bytes and no NUL");
        return Err(Error::out_of_range("vectors.field", detail, max));
    }
    Ok(())
}

/// What a search looks for: the nearest come first.
#[derive(Debug, Clone, PartialEq)]
pub struct Near {
    pub model: Model,
    pub metric: Metric,
    pub vector: Vector,
}

/// A model has one number of dimensions in a tenant: the one that it was first seen with.
///
/// # Errors
/// 422 naming `field`.
pub fn check_dims(field: &str, model: &Model, known: usize, found: usize) -> Result<()> {
    if known == found {
        return Ok(());
    }
    let detail = format!(
        "{field} has {found} dimensions, vectors of the model \"{}\" have {known}; another model needs another name",
        model.as_str()
    );
    Err(Error::invalid(field, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(numbers: &[f32]) -> Vector {
        Vector::new("v", numbers.to_vec()).unwrap()
    }

    #[test]
    fn what_is_not_finite_is_no_vector() {
        let wrong = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        for numbers in wrong.map(|it| vec![1.0, it]).into_iter().chain([vec![], vec![0.5; 4_097]]) {
            let Err(Error::Invalid { field, .. }) = Vector::new("vectors[3].vector", numbers)
            else {
                panic!("a wrong vector passed");
            };
            assert_eq!(field, "vectors[3].vector");
        }
        assert!(vector(&[0.0, -0.0]).is_zero() && !vector(&[0.0, 1e-40]).is_zero());
    }

    #[test]
    fn vectors_of_an_item_have_one_length() {
        let of = |numbers: &[f32]| FieldVector { field: "$".into(), vector: vector(numbers) };
        let new = |all: Vec<FieldVector>| NewVectors::new(Model::default(), all);
        let Err(Error::Invalid { field, .. }) = new(vec![of(&[1.0]), of(&[1.0, 2.0])]) else {
            panic!("different lengths passed");
        };
        assert_eq!(field, "vectors[1].vector");
        assert!(new(vec![]).is_err() && new(vec![of(&[1.0]); 129]).is_err());
        let nul = FieldVector { field: "a\0".into(), ..of(&[1.0]) };
        assert!(new(vec![nul]).is_err());
        assert_eq!(new(vec![of(&[1.0, 2.0]); 2]).unwrap().size_bytes(), 18);
    }

    #[test]
    fn a_model_is_a_plain_name() {
        assert!(Model::new("openai:text-embedding-3-small@1/x").is_ok());
        for wrong in ["", "a b", "it's", "a\"", "a\\", "ü", "a\n", &"x".repeat(129)] {
            assert!(Model::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn higher_scores_are_nearer() {
        let score = |metric: Metric, a: &[f32], b: &[f32]| metric.score(a, b);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(close(score(Metric::Cosine, &[1.0, 0.0], &[3.0, 0.0]), 1.0));
        assert!(close(score(Metric::Cosine, &[1.0, 0.0], &[-2.0, 0.0]), -1.0));
        assert!(close(score(Metric::Cosine, &[1.0, 0.0], &[0.0, 0.0]), 0.0));
        assert!(close(score(Metric::L2, &[0.0, 3.0], &[4.0, 0.0]), -5.0));
        assert!(close(score(Metric::InnerProduct, &[1.0, 2.0], &[3.0, 4.0]), 11.0));
        assert!(score(Metric::L2, &[f32::MAX], &[f32::MIN]).is_finite());
    }
}
