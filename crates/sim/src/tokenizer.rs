//! The tokenizer of the simulated model: fixed rules, no vocabulary file.
//!
//! Text is cut into pieces, and each piece is one token:
//!
//! - up to 12 ASCII letters in a row (a longer run is cut every 12 letters),
//! - up to 3 ASCII digits in a row,
//! - one other ASCII character that is no white space,
//! - one character beyond ASCII,
//! - up to 16 white-space characters in a row.
//!
//! A single space belongs to the piece behind it, as in the tokenizers of real models. So text is additive by
//! words: what is appended behind a space never changes the tokens before it.
//!
//! The chat template adds [`MESSAGE_TOKENS`] per message and [`REPLY_TOKENS`] at the end.

/// Longest run of letters in one token.
pub const MAX_LETTERS: usize = 12;
/// Longest run of digits in one token.
pub const MAX_DIGITS: usize = 3;
/// Longest run of white space in one token.
pub const MAX_SPACES: usize = 16;
/// Tokens that the chat template adds around each message.
pub const MESSAGE_TOKENS: u64 = 5;
/// Tokens with which the chat template opens the reply.
pub const REPLY_TOKENS: u64 = 3;
/// Number of token ids.
pub const VOCABULARY: u32 = 131_072;
/// Tokens of one block of the prefix cache.
pub const BLOCK_TOKENS: u64 = 16;

/// The id of the token that ends an output.
pub const END_TOKEN: u32 = 2;

/// Ids below this one are kept for the chat template and [`END_TOKEN`].
const RESERVED: u32 = 16;
/// Opens a message.
const START_TOKEN: u32 = 1;
/// Ends the line of a role or of a message.
const LINE_TOKEN: u32 = 3;
/// Roles, by their number from here on.
const ROLE_TOKEN: u32 = 4;

/// Hands the id of each token of `text` to `sink`.
pub fn tokenize(text: &str, mut sink: impl FnMut(u32)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let end = piece_end(bytes, at);
        sink(token_id(&bytes[at..end]));
        at = end;
    }
}

/// Number of tokens of `text`.
pub fn count(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let (mut at, mut tokens) = (0, 0);
    while at < bytes.len() {
        at = piece_end(bytes, at);
        tokens += 1;
    }
    tokens
}

/// The id of a piece: a hash of its bytes (FNV-1a).
pub fn token_id(piece: &[u8]) -> u32 {
    let hash = piece.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    RESERVED + ((hash >> 20) % u64::from(VOCABULARY - RESERVED)) as u32
}

/// Opens a message of this role in the chat template; its content follows.
pub fn open_message(role: &str, mut sink: impl FnMut(u32)) {
    let number = match role {
        "system" => 0,
        "user" => 1,
        "assistant" => 2,
        _ => 3,
    };
    [START_TOKEN, ROLE_TOKEN + number, LINE_TOKEN].into_iter().for_each(&mut sink);
}

/// Closes a message in the chat template.
pub fn close_message(sink: impl FnMut(u32)) {
    [END_TOKEN, LINE_TOKEN].into_iter().for_each(sink);
}

/// Opens the reply behind the last message.
pub fn open_reply(sink: impl FnMut(u32)) {
    open_message("assistant", sink);
}

/// A tokenized prompt, as the engine takes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    /// Number of tokens.
    pub tokens: u64,
    /// One hash per full block of [`BLOCK_TOKENS`]; each also depends on all blocks before it.
    pub blocks: Vec<u64>,
    chain: u64,
}

impl Prompt {
    /// The prompt of this text, without the chat template.
    pub fn from_text(text: &str) -> Prompt {
        let mut prompt = Prompt::default();
        tokenize(text, |id| prompt.push(id));
        prompt
    }

    /// Appends a token.
    pub fn push(&mut self, id: u32) {
        self.chain = (self.chain.rotate_left(5) ^ u64::from(id)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.tokens += 1;
        if self.tokens.is_multiple_of(BLOCK_TOKENS) {
            self.chain = crate::random::mix(self.chain);
            self.blocks.push(self.chain);
        }
    }

    /// Forgets the tokens behind this many; none may be appended then.
    pub(crate) fn truncate(&mut self, tokens: u64) {
        self.tokens = self.tokens.min(tokens);
        self.blocks.truncate((self.tokens / BLOCK_TOKENS) as usize);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Digit,
    Space,
    Sign,
    Wide,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Sign; 256];
    let mut byte = 0;
    while byte < 256 {
        let c = byte as u8;
        if c.is_ascii_alphabetic() {
            classes[byte] = Class::Letter;
        } else if c.is_ascii_digit() {
            classes[byte] = Class::Digit;
        } else if c.is_ascii_whitespace() {
            classes[byte] = Class::Space;
        } else if c >= 0x80 {
            classes[byte] = Class::Wide;
        }
        byte += 1;
    }
    classes
};

fn class(byte: u8) -> Class {
    CLASSES[usize::from(byte)]
}

/// Where the piece that starts at `start` ends.
fn piece_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    if bytes[at] == b' ' && bytes.get(at + 1).is_some_and(|&next| class(next) != Class::Space) {
        at += 1;
    }
    let run = |limit: usize, wanted: Class| {
        let rest = &bytes[at + 1..bytes.len().min(at + limit)];
        at + 1 + rest.iter().take_while(|&&byte| class(byte) == wanted).count()
    };
    match class(bytes[at]) {
        Class::Letter => run(MAX_LETTERS, Class::Letter),
        Class::Digit => run(MAX_DIGITS, Class::Digit),
        Class::Sign => at + 1,
        Class::Wide => at + 1 + bytes[at + 1..].iter().take_while(|&&byte| byte & 0xc0 == 0x80).count(),
        Class::Space => {
            let end = run(MAX_SPACES, Class::Space);
            // The last space of a run belongs to the word behind it.
            let word_follows = bytes.get(end).is_some_and(|&next| class(next) != Class::Space);
            if word_follows && bytes[end - 1] == b' ' { end - 1 } else { end }
        }
    }
}
