//! The token of an agent: made at its first start, kept in a file that only its user can read.

use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use tokometer_record::store::sha256;
use tokometer_wire::Secret;

/// Random bytes of a token.
const BYTES: usize = 32;
/// Characters that a token has at least: a short one could be guessed.
const LEAST: usize = 16;

/// Who has it may ask the agent.
#[derive(Debug, Clone)]
pub struct Token(Secret);

/// Why there is no token. No message has any of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// Its file can't be read or written.
    #[error("cannot {what} the token file {path}: {source}")]
    File {
        /// `read`, `write`.
        what: &'static str,
        /// The file.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// Other users can read its file.
    #[error(
        "other users may read the token file {path}: chmod 600 {path}, and make a new token if it was shared"
    )]
    Open {
        /// The file.
        path: String,
    },
    /// It is empty, or too short.
    #[error("the token in {place} has less than {LEAST} characters")]
    Short {
        /// The file or variable.
        place: String,
    },
}

impl Token {
    /// A token that was stated; `place` says where, for the message.
    pub fn stated(text: &str, place: &str) -> Result<Token, TokenError> {
        let text = text.trim();
        let fits = text.len() >= LEAST && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Token(Secret::new(text))) } else { Err(TokenError::Short { place: place.to_owned() }) }
    }

    /// The token of a file.
    pub fn read(path: &Path) -> Result<Token, TokenError> {
        let name = path.display().to_string();
        let fail = |source| TokenError::File { what: "read", path: name.clone(), source };
        let mut file = File::open(path).map_err(fail)?;
        if file.metadata().map_err(fail)?.mode() & 0o077 != 0 {
            return Err(TokenError::Open { path: name });
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(fail)?;
        Token::stated(&text, &name)
    }

    /// The token of a file, which is made where it is not there; true if it was.
    pub fn read_or_make(path: &Path) -> Result<(Token, bool), TokenError> {
        match Token::make(path) {
            Ok(token) => Ok((token, true)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok((Token::read(path)?, false)),
            Err(source) => {
                let path = path.display().to_string();
                Err(TokenError::File { what: "write", path, source })
            }
        }
    }

    fn make(path: &Path) -> io::Result<Token> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut bytes = [0; BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
        let text: String = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
        // Only a file that was not there before: nobody else has it open.
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        Ok(Token(Secret::new(text)))
    }

    /// The token itself, for a header or for a user who asked to see it.
    pub fn secret(&self) -> &Secret {
        &self.0
    }

    /// True if `given` is this token. Takes the same time whatever is given: two hashes of one length are compared as a
    /// whole.
    pub fn is(&self, given: &str) -> bool {
        let (own, given) = (sha256(self.0.expose().as_bytes()), sha256(given.as_bytes()));
        let different =
            own.bytes().zip(given.bytes()).fold(0, |all, (one, other)| black_box(all | (one ^ other)));
        black_box(different) == 0
    }
}
