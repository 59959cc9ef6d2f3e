//! Mutates seeds without a fuzzer: it changes bytes and lengths, and splices seeds. Mutations are the same in every run.

/// Numbers at which lengths and kinds go wrong.
const EDGES: [u8; 9] = [0, 1, 2, 3, 0x0c, 0x0d, 0x7f, 0x80, 0xff];

pub struct Mutations<'a> {
    seeds: &'a [Vec<u8>],
    state: u64,
}

impl<'a> Mutations<'a> {
    pub fn of(seeds: &'a [Vec<u8>]) -> Self {
        Self { seeds, state: 0x9e37_79b9_7f4a_7c15 }
    }

    /// One seed, changed in one to four ways.
    pub fn next(&mut self) -> Vec<u8> {
        let mut data = self.seed().to_vec();
        for _ in 0..=self.below(4) {
            self.change(&mut data);
        }
        data
    }

    fn change(&mut self, data: &mut Vec<u8>) {
        if data.is_empty() {
            data.push(self.byte());
            return;
        }
        // The first bytes are lengths and kinds: they are hit as often as all others.
        let front = self.below(2) == 0;
        let at = self.below(if front { data.len().min(12) } else { data.len() });
        match self.below(7) {
            0 => data[at] ^= 1 << self.below(8),
            1 => data[at] = EDGES[self.below(EDGES.len())],
            2 => data[at] = data[at].wrapping_add(self.byte()),
            3 => data.truncate(at),
            4 => {
                let end = at + self.below((data.len() - at).min(300)) + 1;
                data.drain(at..end);
            }
            5 => {
                let end = at + self.below((data.len() - at).min(300)) + 1;
                let again = data[at..end].to_vec();
                data.splice(at..at, again);
            }
            _ => {
                let other = self.seed();
                let from = self.below(other.len());
                let to = from + self.below((other.len() - from).min(600)) + 1;
                data.splice(at..at, other[from..to].iter().copied());
            }
        }
    }

    fn seed(&mut self) -> &'a [u8] {
        let at = self.below(self.seeds.len());
        &self.seeds[at]
    }

    fn byte(&mut self) -> u8 {
        self.number().to_le_bytes()[5]
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.number() >> 33).unwrap() % end
    }

    fn number(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }
}
