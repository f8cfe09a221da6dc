//! Users, their tokens and sessions.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Millis;

/// What a user may do. Each role may do all that those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Has an account, and publishes nothing: on a site that asks everybody to sign in, reads.
    Reader,
    /// Publishes runs, and edits the notes of the own ones.
    Publisher,
    /// Withdraws and restores any run, with a reason that is public; closes reports of problems.
    Moderator,
    /// Changes roles.
    Admin,
}

impl Role {
    /// All of them, in rising order.
    pub const ALL: [Role; 4] = [Role::Reader, Role::Publisher, Role::Moderator, Role::Admin];

    /// The word in files and answers.
    pub fn code(self) -> &'static str {
        match self {
            Role::Reader => "reader",
            Role::Publisher => "publisher",
            Role::Moderator => "moderator",
            Role::Admin => "admin",
        }
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Role, String> {
        Role::ALL
            .into_iter()
            .find(|role| role.code() == text)
            .ok_or_else(|| format!("{text:?} is no role; use reader, publisher, moderator or admin"))
    }
}

/// Somebody with an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct User {
    /// UUID.
    pub id: String,
    /// The public name.
    pub handle: String,
    /// What they may do.
    pub role: Role,
    /// When the account was made.
    pub created_at: Millis,
    /// When it was closed.
    pub disabled_at: Option<Millis>,
}

/// What a token is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// To read where a site asks everybody to sign in, and to see and end one's own tokens.
    Read,
    /// To publish runs and to revise the own ones.
    Publish,
    /// To withdraw and restore runs and to close reports, where the user's role allows it.
    Moderate,
    /// To see users and to change their roles, where the user's role allows it.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Scope; 4] = [Scope::Read, Scope::Publish, Scope::Moderate, Scope::Admin];

    /// The least role that can use it.
    pub fn least(self) -> Role {
        match self {
            Scope::Read => Role::Reader,
            Scope::Publish => Role::Publisher,
            Scope::Moderate => Role::Moderator,
            Scope::Admin => Role::Admin,
        }
    }

    /// The word in files and answers.
    pub fn code(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Publish => "publish",
            Scope::Moderate => "moderate",
            Scope::Admin => "admin",
        }
    }
}

/// The scopes of one token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Scopes(pub Vec<Scope>);

impl Scopes {
    /// Every scope that a user of this role can use.
    pub fn of_role(role: Role) -> Scopes {
        Scopes(Scope::ALL.into_iter().filter(|scope| scope.least() <= role).collect())
    }

    /// What a user of this role can use and these do not have, if there is such a scope. A token that lacks none signs in
    /// at the pages.
    pub fn lacking(&self, role: Role) -> Option<Scope> {
        Scopes::of_role(role).0.into_iter().find(|scope| !self.has(*scope))
    }

    /// True if `scope` is among them.
    pub fn has(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.0.iter().map(|scope| scope.code()).collect();
        f.write_str(&words.join(" "))
    }
}

impl FromStr for Scopes {
    type Err = String;

    fn from_str(text: &str) -> Result<Scopes, String> {
        let scope = |word: &str| {
            Scope::ALL
                .into_iter()
                .find(|scope| scope.code() == word)
                .ok_or_else(|| format!("{word:?} is no scope; use read, publish, moderate, admin"))
        };
        text.split_whitespace().map(scope).collect::<Result<Vec<_>, _>>().map(Scopes)
    }
}

/// A token to be stored: never the token itself.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Its public part, by which it is found.
    pub id: String,
    /// SHA-256 of the whole token.
    pub hash: [u8; 32],
    /// Whose it is.
    pub user_id: String,
    /// What it is good for.
    pub scopes: Scopes,
    /// What the user calls it.
    pub label: String,
    /// Until when it holds; none: until it is revoked.
    pub expires_at: Option<Millis>,
}

/// A token as it is stored.
#[derive(Debug, Clone)]
pub struct TokenRow {
    /// Its public part.
    pub id: String,
    /// SHA-256 of the whole token.
    pub hash: Vec<u8>,
    /// Whose it is.
    pub user: User,
    /// What it is good for.
    pub scopes: Scopes,
    /// What the user calls it.
    pub label: String,
    /// When it was made.
    pub created_at: Millis,
    /// Until when it holds.
    pub expires_at: Option<Millis>,
    /// When it was last used, to the hour.
    pub last_used_at: Option<Millis>,
    /// When it was revoked.
    pub revoked_at: Option<Millis>,
}

/// A session that begins.
#[derive(Debug, Clone, Copy)]
pub struct NewSession<'a> {
    /// Whose.
    pub user_id: &'a str,
    /// The token that began it, and that it ends with; none for one that a provider began.
    pub token_id: Option<&'a str>,
    /// What each form of the session must bring along.
    pub form_key: &'a str,
    /// When.
    pub created_at: Millis,
    /// Until when it holds.
    pub expires_at: Millis,
}

/// Somebody who signed in with a browser.
#[derive(Debug, Clone)]
pub struct Session {
    /// Who.
    pub user: User,
    /// What each form of the session must bring along.
    pub form_key: String,
    /// Until when it holds.
    pub expires_at: Millis,
}
