//! Compiles a glob pattern into one flat program. It has instructions for each place of the pattern times the states of the text before it,
//! which are few. So the choices of braces stand side by side and are never multiplied.

use std::collections::HashMap;

use super::dialect::Dialect;
use super::glob::GlobLimit;
use super::glob_braces::{Piece, written_out};
use super::glob_name::{Group, Take, Unit, Unread, units};

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
    pub(super) fn new(dialect: Dialect, pieces: &[Piece]) -> Result<Self, GlobLimit> {
        let mut places = Places { dialect, all: vec![PatternStep::End] };
        let is_whole = matches!(pieces, [] | [Piece::Text(_)]);
        let first = match places.row(pieces, 0, is_whole) {
            Ok(first) => first,
            Err(Unread::Limit(limit)) => return Err(limit),
            Err(Unread::Open) => {
                places.all.truncate(1);
                places.written_out(pieces)?
            }
        };
        let compiler = Compiler {
            dialect,
            places: &places.all,
            instructions: Vec::new(),
            known: HashMap::new(),
            open: Vec::new(),
            size: 0,
            has_negations: false,
        };
        compiler.run(first)
    }
}

struct Places {
    dialect: Dialect,
    all: Vec<PatternStep>,
}

impl Places {
    /// The place of a row that goes on at `next`.
    fn row(&mut self, pieces: &[Piece], next: usize, is_whole: bool) -> Result<usize, Unread> {
        pieces.iter().rev().try_fold(next, |next, piece| match piece {
            Piece::Text(text) => self.text(text, next, is_whole),
            Piece::Choice(rows) => {
                let rows = rows.iter().map(|it| self.row(it, next, false));
                let rows = rows.collect::<Result<Vec<_>, _>>()?;
                Ok(self.add(PatternStep::Choice(rows)))
            }
        })
    }

    fn text(&mut self, text: &[char], next: usize, is_whole: bool) -> Result<usize, Unread> {
        let units = units(self.dialect, text, is_whole)?;
        Ok(units.into_iter().rev().fold(next, |next, it| self.add(PatternStep::Unit(it, next))))
    }

    /// The same of a pattern that has brackets or parentheses around braces: each of its texts alone.
    fn written_out(&mut self, pieces: &[Piece]) -> Result<usize, GlobLimit> {
        let most = usize::try_from(GlobLimit::Program.bound()).unwrap_or(usize::MAX);
        let texts = written_out(pieces, most)?;
        let places = texts.iter().map(|it| match self.text(it, 0, true) {
            Ok(place) => Ok(place),
            Err(Unread::Limit(limit)) => Err(limit),
            Err(Unread::Open) => unreachable!("a whole text is read as it is"),
        });
        let places = places.collect::<Result<Vec<_>, _>>()?;
        Ok(self.add(PatternStep::Choice(places)))
    }

    fn add(&mut self, place: PatternStep) -> usize {
        self.all.push(place);
        self.all.len() - 1
    }
}

struct Compiler<'a> {
    dialect: Dialect,
    places: &'a [PatternStep],
    instructions: Vec<Instruction>,
    known: HashMap<(usize, Before), At>,
    /// What is known, and not yet made.
    open: Vec<(usize, Before, At)>,
    size: usize,
    has_negations: bool,
}

impl Compiler<'_> {
    fn run(mut self, first: usize) -> Result<Program, GlobLimit> {
        let first = self.at(first, Before { part: Part::Empty, name: Name::None, is_deep: false });
        while let Some((place, before, at)) = self.open.pop() {
            if self.size as u64 > GlobLimit::Program.bound() {
                return Err(GlobLimit::Program);
            }
            self.make(place, before, at);
        }
        let Self { instructions, size, has_negations, .. } = self;
        Ok(Program { instructions, first, size, has_negations })
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
        self.size += 1 + parts_of(&does);
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
            PatternStep::Unit(unit, next) => self.unit(unit, *next, before),
            PatternStep::End => self.end(before),
        };
        self.instructions[at].next = next;
    }

    fn unit(&mut self, unit: &Unit, next: usize, before: Before) -> At {
        let part = before.part;
        // Inside of a part nothing counts but how it ends.
        let within = |part| Before { part, name: Name::None, is_deep: false };
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
            Unit::Take(take) => {
                let next = self.at(next, within(Part::EndsOtherwise));
                let next = self.add(Does::Take(take.clone()), next);
                self.begin(before, !matches!(take, Take::Char(_)), next)
            }
            Unit::Group(group) => {
                let next = self.at(next, within(Part::EndsOtherwise));
                let next = self.group(group, next);
                self.begin(before, true, next)
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

    /// Groups are nested no deeper than is allowed.
    fn group(&mut self, group: &Group, next: At) -> At {
        let once = |this: &mut Self, next: At| {
            group.choices.iter().map(|it| this.inner(it, next)).collect::<Vec<At>>()
        };
        match group.kind {
            '*' | '+' => {
                let again = self.add(Does::Split(Vec::new()), 0);
                let mut rows = once(self, again);
                let first = if group.kind == '+' { self.split(rows.clone()) } else { again };
                rows.push(next);
                self.size += rows.len();
                self.instructions[again].does = Does::Split(rows);
                first
            }
            '!' => {
                self.has_negations = true;
                let found = self.add(Does::Found, 0);
                let rows = once(self, found);
                let body = self.split(rows);
                self.add(Does::Not { body }, next)
            }
            kind => {
                let mut rows = once(self, next);
                rows.extend((kind == '?').then_some(next));
                self.split(rows)
            }
        }
    }

    fn split(&mut self, rows: Vec<At>) -> At {
        self.add(Does::Split(rows), 0)
    }

    fn inner(&mut self, units: &[Unit], next: At) -> At {
        units.iter().rev().fold(next, |next, unit| match unit {
            Unit::Star => self.add(Does::Star, next),
            Unit::Take(take) => self.add(Does::Take(take.clone()), next),
            Unit::Group(group) => self.group(group, next),
            Unit::Slash | Unit::Nothing => next,
        })
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
