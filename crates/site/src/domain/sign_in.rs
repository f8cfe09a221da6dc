//! Sign-in by a provider of identities, and by a device without a browser.

use super::{Millis, Role, Scopes, User};

/// Who somebody is to a provider: never an address of e-mail, which changes hands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The provider's address, as it names itself.
    pub issuer: String,
    /// The provider's name of the person, which stays.
    pub subject: String,
    /// What the provider calls the person, for the person to recognise.
    pub name: String,
    /// The role that the provider's groups lead to, if any does.
    pub mapped: Option<Role>,
}

/// An identity of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Who it is to the provider.
    pub subject: Subject,
    /// When it came to the account.
    pub created_at: Millis,
    /// When it was last used.
    pub used_at: Millis,
}

/// A device that asks for a token (RFC 8628).
#[derive(Debug, Clone)]
pub struct NewDevice {
    /// SHA-256 of the code that the device keeps.
    pub hash: [u8; 32],
    /// SHA-256 of the code that its user types.
    pub user_code: [u8; 32],
    /// What it says that it is.
    pub program: String,
    /// What it says that its host is called.
    pub host: String,
    /// From where it asked.
    pub address: String,
    /// What the token shall be good for.
    pub scopes: Scopes,
    /// When it asked.
    pub created_at: Millis,
    /// Until when it may be answered.
    pub expires_at: Millis,
}

impl NewDevice {
    /// Seconds between two times that a device asks, at first.
    pub const PAUSE: i64 = 5;
}

/// A device that waits for its user.
#[derive(Debug, Clone)]
pub struct WaitingDevice {
    /// What it says that it is.
    pub program: String,
    /// What it says that its host is called.
    pub host: String,
    /// From where it asked.
    pub address: String,
    /// What the token shall be good for.
    pub scopes: Scopes,
    /// When it asked.
    pub created_at: Millis,
}

/// What a device hears that asks whether its user has answered.
#[derive(Debug, Clone)]
pub enum Poll {
    /// The code is not known, was used, or has run out and was cleared away.
    Unknown,
    /// Not in time.
    Expired,
    /// It asks too often; it must wait five seconds more between two times from now on.
    TooFast,
    /// The user has not answered.
    Pending,
    /// The user said no.
    Denied,
    /// The user said yes: the code is used up, and the token is to be made for this user.
    Granted {
        /// Whose token it is.
        user: User,
        /// What the device says that it is, and where.
        label: String,
        /// What it is good for.
        scopes: Scopes,
    },
}
