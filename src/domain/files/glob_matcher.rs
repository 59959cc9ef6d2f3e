//! Matches paths against the program of a pattern. It reads a path once, character by character, with the set of instructions that can be
//! reached there. It looks at each instruction once per position. Only `!(…)` begins again, once at each position.

use std::collections::HashMap;
use std::rc::Rc;

use super::dialect::Dialect;
use super::glob::Glob;
use super::glob_program::{At, Does, Instruction, parts_of};
use super::listing::base_name_of;
use crate::domain::scheduling::long_work::Stop;

/// How often the time is looked at.
const STEPS: u64 = 32_768;

/// Words of what is remembered of bodies in bodies: all of them in the longest path.
pub(super) const MATCHED_WORDS_MAX: usize = 1 << 18;

pub struct Matcher<'a> {
    glob: &'a Glob,
    stop: &'a Stop,
    /// Instructions that were looked at, and parts of these, for all paths.
    steps: u64,
    looks_at: u64,
    is_stopped: bool,
    path: Path,
    /// For the program, for bodies in it, and for bodies in these.
    levels: [Level; 3],
    /// What bodies in bodies match, by where they begin.
    matched: HashMap<(At, usize), Rc<Positions>>,
    matched_words: usize,
}

#[derive(Default)]
struct Path {
    characters: Vec<char>,
    /// Where the name ends that a position is in.
    ends: Vec<usize>,
    /// From where on all directories may be entered.
    open_from: usize,
}

#[derive(Default)]
struct Level {
    now: Reached,
    next: Reached,
    /// Where instructions go on behind a `!(…)`.
    later: Vec<(At, Positions)>,
}

/// Instructions, each once.
#[derive(Default)]
struct Reached {
    all: Vec<At>,
    marks: Vec<u32>,
    mark: u32,
}

#[derive(Clone)]
struct Positions(Vec<u64>);

impl<'a> Matcher<'a> {
    pub(super) fn new(glob: &'a Glob, stop: &'a Stop) -> Self {
        let count = glob.program.instructions.len();
        let level =
            || Level { now: Reached::of(count), next: Reached::of(count), later: Vec::new() };
        let inner = || if glob.program.has_negations { level() } else { Level::default() };
        Self {
            glob,
            stop,
            steps: 0,
            looks_at: STEPS,
            is_stopped: false,
            path: Path::default(),
            levels: [level(), inner(), inner()],
            matched: HashMap::new(),
            matched_words: 0,
        }
    }

    /// `relative` to where the search begins. Means nothing once it is stopped.
    pub fn matches(&mut self, relative: &str) -> bool {
        let glob = self.glob;
        let text = if glob.is_of_names { base_name_of(relative) } else { relative };
        let found = glob.literal.as_deref() == Some(text) || self.holds(text);
        found != glob.is_negated
    }

    /// The time was up before all was looked at.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    pub fn steps(&self) -> u64 {
        self.steps
    }

    #[cfg(test)]
    pub(super) fn matched_words(&self) -> usize {
        self.matched_words
    }

    fn holds(&mut self, text: &str) -> bool {
        self.path.set(self.glob.dialect, text);
        self.forget_matched();
        let end = self.path.end();
        self.count(end);
        let mut found = Positions::none(end);
        self.run(0, self.glob.program.first, 0, end, &mut found);
        found.has(end)
    }

    fn forget_matched(&mut self) {
        self.matched.clear();
        self.matched_words = 0;
    }

    fn count(&mut self, steps: usize) {
        self.steps += steps as u64;
        if self.steps >= self.looks_at {
            self.looks_at = self.steps + STEPS;
            self.is_stopped |= self.stop.is_due();
        }
    }

    /// From which position on to which the program or a body leads. Calls itself for bodies only, which are nested twice at most.
    fn run(&mut self, depth: usize, first: At, from: usize, to: usize, found: &mut Positions) {
        let mut level = std::mem::take(&mut self.levels[depth]);
        level.now.clear();
        level.next.clear();
        level.later.clear();
        level.now.add(first);
        for at in from..=to {
            for (next, positions) in &level.later {
                if positions.has(at) {
                    level.now.add(*next);
                }
            }
            let mut looked_at = 0;
            while let Some(&instruction) = level.now.all.get(looked_at) {
                looked_at += 1;
                self.step(depth, instruction, at, &mut level, found);
            }
            self.count(1 + level.later.len());
            if self.is_stopped || (level.next.all.is_empty() && level.later.is_empty()) {
                break;
            }
            std::mem::swap(&mut level.now, &mut level.next);
            level.next.clear();
        }
        self.levels[depth] = level;
    }

    fn step(
        &mut self,
        depth: usize,
        at: At,
        position: usize,
        level: &mut Level,
        found: &mut Positions,
    ) {
        let Instruction { does, next } = &self.glob.program.instructions[at];
        self.count(1 + parts_of(does));
        let path = &self.path;
        let is_end = position == path.end();
        match does {
            Does::Nothing => level.now.add(*next),
            Does::Split(rows) => rows.iter().for_each(|it| level.now.add(*it)),
            Does::Take(take) => {
                if path.name_character(position).is_some_and(|it| take.takes(it)) {
                    level.next.add(*next);
                }
            }
            Does::Star => {
                level.now.add(*next);
                if path.name_character(position).is_some() {
                    level.next.add(at);
                }
            }
            Does::Guard => {
                if !path.is_hidden(self.glob.dialect, position) {
                    level.now.add(*next);
                }
            }
            Does::EndName => {
                if path.is_behind_name(position) {
                    level.next.add(*next);
                }
            }
            Does::Deep { skip } => {
                if !is_end {
                    level.now.add(*next);
                    if may_enter(self.glob.dialect, path.name(position)) {
                        level.now.add(*skip);
                    }
                }
            }
            Does::SkipName => {
                let is_behind = path.is_behind_name(position);
                level.next.add(if is_behind { *next } else { at });
            }
            Does::Rest { or_nothing } => {
                let is_rest = if is_end { *or_nothing } else { position >= path.open_from };
                if is_rest {
                    found.add(path.end());
                }
            }
            Does::Not { body } => {
                if !is_end {
                    self.not(depth, (*body, *next), position, level);
                }
            }
            Does::Found => found.add(position),
        }
    }

    fn not(&mut self, depth: usize, (body, next): (At, At), position: usize, level: &mut Level) {
        let end = self.path.ends[position];
        let known = self.matched.get(&(body, position)).map(Rc::clone);
        let matched = known.unwrap_or_else(|| {
            let mut found = Positions::none(self.path.end());
            self.run(depth + 1, body, position, end, &mut found);
            let found = Rc::new(found);
            if depth > 0 {
                if self.matched_words + found.0.len() > MATCHED_WORDS_MAX {
                    self.forget_matched();
                }
                self.matched_words += found.0.len();
                self.matched.insert((body, position), Rc::clone(&found));
            }
            found
        });
        self.count(matched.0.len());
        if !matched.has(position) {
            level.now.add(next);
        }
        let index = level.later.iter().position(|it| it.0 == next).unwrap_or_else(|| {
            level.later.push((next, Positions::none(self.path.end())));
            level.later.len() - 1
        });
        level.later[index].1.add_missing(&matched, position + 1, end);
    }
}

impl Path {
    fn set(&mut self, dialect: Dialect, text: &str) {
        self.characters.clear();
        self.characters.extend(text.chars());
        self.ends.clear();
        self.open_from = 0;
        let mut from = 0;
        for name in self.characters.split(|it| *it == '/') {
            let end = from + name.len();
            self.ends.resize(end + 1, end);
            from = end + 1;
            if !may_enter(dialect, name) {
                self.open_from = from;
            }
        }
    }

    /// Behind the slash that is behind the last name.
    fn end(&self) -> usize {
        self.characters.len() + 1
    }

    fn name_character(&self, position: usize) -> Option<char> {
        self.characters.get(position).copied().filter(|it| *it != '/')
    }

    fn is_behind_name(&self, position: usize) -> bool {
        self.ends.get(position) == Some(&position)
    }

    /// What of a name is behind a position.
    fn name(&self, position: usize) -> &[char] {
        self.ends.get(position).map_or(&[], |end| &self.characters[position..*end])
    }

    /// Wildcards match no dot at the beginning in Python, and no `.` and `..` in JavaScript; and never nothing.
    fn is_hidden(&self, dialect: Dialect, position: usize) -> bool {
        match dialect {
            Dialect::Python => matches!(self.name(position), [] | ['.', ..]),
            Dialect::JavaScript => matches!(self.name(position), [] | ['.'] | ['.', '.']),
        }
    }
}

fn may_enter(dialect: Dialect, name: &[char]) -> bool {
    match dialect {
        Dialect::Python => name.first() != Some(&'.'),
        Dialect::JavaScript => !matches!(name, ['.'] | ['.', '.']),
    }
}

impl Reached {
    fn of(count: usize) -> Self {
        Self { all: Vec::new(), marks: vec![0; count], mark: 1 }
    }

    fn add(&mut self, at: At) {
        if self.marks[at] != self.mark {
            self.marks[at] = self.mark;
            self.all.push(at);
        }
    }

    fn clear(&mut self) {
        self.all.clear();
        self.mark = self.mark.wrapping_add(1);
        if self.mark == 0 {
            self.marks.fill(0);
            self.mark = 1;
        }
    }
}

impl Positions {
    fn none(last: usize) -> Self {
        Self(vec![0; last / 64 + 1])
    }

    fn add(&mut self, position: usize) {
        self.0[position / 64] |= 1 << (position % 64);
    }

    fn has(&self, position: usize) -> bool {
        self.0[position / 64] >> (position % 64) & 1 == 1
    }

    /// Those from one position to another that the others have not.
    fn add_missing(&mut self, others: &Self, from: usize, to: usize) {
        for word in from / 64..=to / 64 {
            let before = if word == from / 64 { !0 << (from % 64) } else { !0 };
            let behind = if word == to / 64 { !0 >> (63 - to % 64) } else { !0 };
            self.0[word] |= !others.0[word] & before & behind;
        }
    }
}
