//! Compiles a glob pattern into one flat program. It has instructions for each place of the pattern times the states of the text before it,
//! which are few. So the choices of braces stand side by side and are not multiplied.

use std::collections::HashMap;

use super::dialect::Dialect;
use super::glob::GlobLimit;
use super::glob_braces::{Piece, written_out};
use super::glob_name::{Group, Take, Unit, units};
use crate::domain::limits::LIMITS;

/// Where an instruction stands in its program.
pub(super) type At = usize;

#[derive(Debug, Clone)]
pub(super) struct Program {
    pub instructions: Vec<Instruction>,
    pub first: At,
    /// Instructions, with the parts of each.
    pub size: usize,
    pub has_negations: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Instruction {
    pub does: Does,
    pub next: At,
}

/// Positions are those of a path's characters; a slash is behind each name, the last one too.
#[derive(Debug, Clone)]
pub(super) enum Does {
    Nothing,
    /// Goes to each of these.
    Split(Vec<At>),
    Take(Take),
    /// Characters of a name, any number of them.
    Star,
    /// Fails at the beginning of a name that wildcards do not match.
    Guard,
    /// The name ends here.
    EndName,
    /// Any number of directories, and something behind them; `skip` is the instruction that passes one over.
    Deep {
        skip: At,
    },
    SkipName,
    /// All that is left, something at least; or nothing, if so allowed.
    Rest {
        or_nothing: bool,
    },
    /// Characters of a name that the body, which begins there, does not match.
    Not {
        body: At,
    },
    /// The path matches if it ends here; of a body: it matches up to here.
    Found,
}

/// A pattern, place by place. Rows of choices go on at the same place.
enum PatternStep {
    Unit(Unit, usize),
    Choice(Vec<usize>),
    End,
}

/// What is known before a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Before {
    part: Part,
    /// The last name, as long as nothing but stars follow it.
    name: Name,
    /// `**` stands between it and this part.
    is_deep: bool,
}

/// The part between slashes up to here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Empty,
    OneStar,
    TwoStars,
    EndsWithStar,
    EndsOtherwise,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Name {
    /// There is none.
    None,
    EndsWithStar,
    EndsOtherwise,
}

impl Program {
    pub(super) fn new(
        dialect: Dialect,
        pieces: &[Piece],
        pattern_bytes: usize,
    ) -> Result<Self, GlobLimit> {
        let mut places = Places { dialect, all: vec![PatternStep::End] };
        let first = match places.row(pieces, END) {
            Some(first) => first,
            None => places.written_out(pieces, pattern_bytes)?,
        };
        let compiler = Compiler {
            dialect,
            places: &places.all,
            instructions: Vec::new(),
            known: HashMap::new(),
            shared: HashMap::new(),
            open: Vec::new(),
            has_negations: false,
        };
        Ok(compiler.run(first))
    }
}

/// The place of [`PatternStep::End`].
const END: usize = 0;

struct Places {
    dialect: Dialect,
    all: Vec<PatternStep>,
}

impl Places {
    /// The place of a row that goes on at `next`. None: a bracket of Python has braces in it.
    fn row(&mut self, pieces: &[Piece], next: usize) -> Option<usize> {
        pieces.iter().rev().try_fold(next, |next, piece| match piece {
            Piece::Text(text) => self.text(text, next),
            Piece::Choice(rows) => {
                let rows = rows.iter().map(|it| self.row(it, next));
                let rows = rows.collect::<Option<Vec<_>>>()?;
                Some(self.add(PatternStep::Choice(rows)))
            }
            Piece::Group { kind, rows } => Some(self.unit(group(*kind, rows), next)),
        })
    }

    fn text(&mut self, text: &[char], next: usize) -> Option<usize> {
        let units = units(self.dialect, text, next == END)?;
        Some(units.into_iter().rev().fold(next, |next, it| self.unit(it, next)))
    }

    fn unit(&mut self, unit: Unit, next: usize) -> usize {
        self.add(PatternStep::Unit(unit, next))
    }

    /// The same of a pattern with braces in brackets, which it has in Python: each of its texts alone.
    fn written_out(&mut self, pieces: &[Piece], pattern_bytes: usize) -> Result<usize, GlobLimit> {
        let most = LIMITS.glob_written_out_per_byte_max.saturating_mul(pattern_bytes as u64);
        let texts = written_out(pieces, usize::try_from(most).unwrap_or(usize::MAX))
            .ok_or(GlobLimit::WrittenOut(most))?;
        self.all.truncate(END + 1);
        let places = texts.iter().map(|it| self.text(it, END));
        let places: Option<Vec<usize>> = places.collect();
        let places = places.expect("a text is read as it is where nothing follows");
        Ok(self.add(PatternStep::Choice(places)))
    }

    fn add(&mut self, place: PatternStep) -> usize {
        self.all.push(place);
        self.all.len() - 1
    }
}

pub(super) fn group(kind: char, rows: &[Vec<Piece>]) -> Unit {
    Unit::Group(Group { kind, choices: rows_in_group(rows) })
}

fn rows_in_group(rows: &[Vec<Piece>]) -> Vec<Vec<Unit>> {
    let units = |piece: &Piece| match piece {
        Piece::Text(text) => units(Dialect::JavaScript, text, true).unwrap_or_default(),
        Piece::Choice(rows) => vec![Unit::Choice(rows_in_group(rows))],
        Piece::Group { kind, rows } => vec![group(*kind, rows)],
    };
    rows.iter().map(|row| row.iter().flat_map(units).collect()).collect()
}

/// Inside of a part nothing counts but how it ends.
fn within(part: Part) -> Before {
    Before { part, name: Name::None, is_deep: false }
}

struct Compiler<'a> {
    dialect: Dialect,
    places: &'a [PatternStep],
    instructions: Vec<Instruction>,
    known: HashMap<(usize, Before), At>,
    /// What of a place is the same whatever is before it.
    shared: HashMap<usize, At>,
    /// What is known, and not yet made.
    open: Vec<(usize, Before, At)>,
    has_negations: bool,
}

impl Compiler<'_> {
    fn run(mut self, first: usize) -> Program {
        let first = self.at(first, Before { part: Part::Empty, name: Name::None, is_deep: false });
        while let Some((place, before, at)) = self.open.pop() {
            self.make(place, before, at);
        }
        let Self { instructions, has_negations, .. } = self;
        let size = instructions.iter().map(|it| 1 + parts_of(&it.does)).sum();
        Program { instructions, first, size, has_negations }
    }

    fn at(&mut self, place: usize, before: Before) -> At {
        if let Some(at) = self.known.get(&(place, before)) {
            return *at;
        }
        let at = self.add(Does::Nothing, 0);
        self.known.insert((place, before), at);
        self.open.push((place, before, at));
        at
    }

    fn add(&mut self, does: Does, next: At) -> At {
        self.instructions.push(Instruction { does, next });
        self.instructions.len() - 1
    }

    fn make(&mut self, place: usize, before: Before, at: At) {
        let places = self.places;
        let next = match &places[place] {
            PatternStep::Choice(rows) => {
                let rows: Vec<At> = rows.iter().map(|it| self.at(*it, before)).collect();
                self.add(Does::Split(rows), 0)
            }
            PatternStep::Unit(unit, next) => self.unit((place, unit), *next, before),
            PatternStep::End => self.end(before),
        };
        self.instructions[at].next = next;
    }

    fn unit(&mut self, (place, unit): (usize, &Unit), next: usize, before: Before) -> At {
        let part = before.part;
        match unit {
            Unit::Slash => self.slash(next, before),
            Unit::Star => match part {
                Part::Empty => self.at(next, Before { part: Part::OneStar, ..before }),
                Part::OneStar => self.at(next, Before { part: Part::TwoStars, ..before }),
                Part::EndsWithStar => self.at(next, before),
                Part::TwoStars => {
                    let next = self.at(next, within(Part::EndsWithStar));
                    self.begin(before, false, next)
                }
                Part::EndsOtherwise => {
                    let next = self.at(next, within(Part::EndsWithStar));
                    self.add(Does::Star, next)
                }
            },
            Unit::Nothing => match part {
                Part::OneStar | Part::TwoStars => {
                    let next = self.at(next, within(Part::EndsWithStar));
                    self.begin(before, false, next)
                }
                _ => self.at(next, before),
            },
            Unit::Take(_) | Unit::Group(_) | Unit::Choice(_) => {
                let first = match self.shared.get(&place) {
                    Some(first) => *first,
                    None => {
                        let next = self.at(next, within(Part::EndsOtherwise));
                        let first = self.unit_of_name(unit, next);
                        self.shared.insert(place, first);
                        first
                    }
                };
                self.begin(before, !matches!(unit, Unit::Take(Take::Char(_))), first)
            }
        }
    }

    fn slash(&mut self, next: usize, before: Before) -> At {
        let of = |name| Before { part: Part::Empty, name, is_deep: false };
        let is_first = before.name == Name::None && !before.is_deep;
        match before.part {
            // Several slashes are one.
            Part::Empty if self.dialect == Dialect::Python && !is_first => self.at(next, before),
            Part::TwoStars => self.at(next, Before { part: Part::Empty, is_deep: true, ..before }),
            part => {
                let name = match part {
                    Part::OneStar | Part::EndsWithStar => Name::EndsWithStar,
                    _ => Name::EndsOtherwise,
                };
                let next = self.at(next, of(name));
                let next = self.add(Does::EndName, next);
                self.begin(before, false, next)
            }
        }
    }

    fn end(&mut self, before: Before) -> At {
        if before.part == Part::TwoStars {
            // A directory alone is matched by what is below it.
            let or_nothing =
                self.dialect == Dialect::JavaScript && before.name == Name::EndsOtherwise;
            return self.add(Does::Rest { or_nothing }, 0);
        }
        let next = self.add(Does::Found, 0);
        let next = self.add(Does::EndName, next);
        self.begin(before, false, next)
    }

    /// What was put off until something followed: directories, a star. `is_wild`: a name that begins here begins with a wildcard.
    fn begin(&mut self, before: Before, is_wild: bool, next: At) -> At {
        let has_star = matches!(before.part, Part::OneStar | Part::TwoStars);
        let is_first = has_star || before.part == Part::Empty;
        let next = if has_star { self.add(Does::Star, next) } else { next };
        let is_guarded = has_star || (is_first && is_wild);
        let next = if is_guarded { self.add(Does::Guard, next) } else { next };
        if !(is_first && before.is_deep) {
            return next;
        }
        let skip = self.add(Does::SkipName, 0);
        let deep = self.add(Does::Deep { skip }, next);
        self.instructions[skip].next = deep;
        deep
    }

    /// Calls itself for groups and choices, which are nested no deeper than is allowed.
    fn unit_of_name(&mut self, unit: &Unit, next: At) -> At {
        match unit {
            Unit::Star => self.add(Does::Star, next),
            Unit::Take(take) => self.add(Does::Take(take.clone()), next),
            Unit::Group(group) => self.group(group, next),
            Unit::Choice(rows) => {
                let rows = self.rows(rows, next);
                self.split(rows)
            }
            Unit::Nothing => next,
            // No name has it.
            Unit::Slash => self.add(Does::Take(Take::Char('/')), next),
        }
    }

    fn rows(&mut self, rows: &[Vec<Unit>], next: At) -> Vec<At> {
        let mut row = |units: &Vec<Unit>| {
            units.iter().rev().fold(next, |next, unit| self.unit_of_name(unit, next))
        };
        rows.iter().map(&mut row).collect()
    }

    fn group(&mut self, group: &Group, next: At) -> At {
        match group.kind {
            '*' | '+' => {
                let again = self.split(Vec::new());
                let mut rows = self.rows(&group.choices, again);
                let first = if group.kind == '+' { self.split(rows.clone()) } else { again };
                rows.push(next);
                self.instructions[again].does = Does::Split(rows);
                first
            }
            '!' => {
                self.has_negations = true;
                let found = self.add(Does::Found, 0);
                let rows = self.rows(&group.choices, found);
                let body = self.split(rows);
                self.add(Does::Not { body }, next)
            }
            kind => {
                let mut rows = self.rows(&group.choices, next);
                rows.extend((kind == '?').then_some(next));
                self.split(rows)
            }
        }
    }

    fn split(&mut self, rows: Vec<At>) -> At {
        self.add(Does::Split(rows), 0)
    }
}

/// What one instruction looks at.
pub(super) fn parts_of(does: &Does) -> usize {
    match does {
        Does::Split(rows) => rows.len(),
        Does::Take(Take::Class { ranges, kinds, .. }) => ranges.len() + kinds.len(),
        _ => 0,
    }
}
