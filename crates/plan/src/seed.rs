//! Seeds of texts: a pure function of the run's seed and of what the text is for.
//!
//! The mix is fixed: from 0 on, each field in turn is added to the state, which then goes through one step of
//! SplitMix64. A record that names the run's seed names all of its texts.

/// What a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Cold prefill requests.
    Prefill,
    /// Streams of the decode matrix.
    Decode,
    /// Requests before the first measurement.
    WarmUp,
    /// Requests that only find the size of a prompt.
    Sizing,
}

impl Purpose {
    fn number(self) -> u64 {
        match self {
            Purpose::Prefill => 1,
            Purpose::Decode => 2,
            Purpose::WarmUp => 3,
            Purpose::Sizing => 4,
        }
    }
}

/// Where a text belongs in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TextSeed {
    /// The user's `--seed`, or the default.
    pub seed: u64,
    /// What it is for.
    pub purpose: Purpose,
    /// Context length by label.
    pub context: u64,
    /// Stream, where each has its own prompt; else 0.
    pub stream: u64,
    /// Repetition of a prefill measurement; else 0.
    pub repeat: u64,
}

impl TextSeed {
    /// The seed of the first text for `purpose` at `context`.
    pub fn new(seed: u64, purpose: Purpose, context: u64) -> TextSeed {
        TextSeed { seed, purpose, context, stream: 0, repeat: 0 }
    }

    /// The seed as a number, for [`crate::text::Source::new`].
    pub fn value(&self) -> u64 {
        let fields = [self.seed, self.purpose.number(), self.context, self.stream, self.repeat];
        fields.into_iter().fold(0, mix)
    }
}

/// The seed of a run's salts, from its id.
pub fn of_run(id: &str) -> u64 {
    id.bytes().fold(id.len() as u64, |state, byte| mix(state, u64::from(byte)))
}

/// The seed of a round's order of cells.
pub fn of_order(seed: u64, round: u32) -> u64 {
    // Texts are mixed from five fields: no order has the seed of a text.
    [seed, ORDER, u64::from(round)].into_iter().fold(0, mix)
}

/// Stands for the purpose of an order.
const ORDER: u64 = 0x006f_7264_6572;

/// Takes `field` into `state`.
pub fn mix(state: u64, field: u64) -> u64 {
    let mut bits = state.wrapping_add(field).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
