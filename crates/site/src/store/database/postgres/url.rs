//! The address of a PostgreSQL database, which may hold a password.

use std::fmt;
use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;

/// Parameters that are understood; another one would be passed over, and its value written to a log.
const PARAMETERS: [&str; 17] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
];

/// The address of a PostgreSQL database: `postgres://user:password@host:5432/name?sslmode=verify-full`.
///
/// A folder as host (`postgres:///name?host=/run/postgresql`) means the Unix socket in it. What is left out comes from
/// `PGHOST`, `PGUSER`, `PGPASSWORD`, `PGSSLMODE` and the like, or from `~/.pgpass`. Shown without its password.
#[derive(Clone)]
pub struct DatabaseUrl {
    options: PgConnectOptions,
    has_password: bool,
}

impl DatabaseUrl {
    /// True if the text itself held a password.
    pub fn has_password(&self) -> bool {
        self.has_password
    }

    pub(super) fn options(&self) -> &PgConnectOptions {
        &self.options
    }
}

/// Why a text is no address of a database. It never repeats the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadDatabaseUrl {
    /// Another scheme, or none.
    #[error("the address of the database does not begin with postgres://; write postgres://USER@HOST/NAME")]
    Scheme,
    /// A parameter behind the question mark that is not known.
    #[error("the address of the database has the parameter {name:?}, which is not known; leave it out")]
    Parameter {
        /// Its name.
        name: String,
    },
    /// Something in it can't be read.
    #[error(
        "the address of the database can't be read: {why}; write postgres://USER:PASSWORD@HOST:PORT/NAME, with % \
         codes for special characters of the password"
    )]
    Unreadable {
        /// Which part.
        why: &'static str,
    },
}

impl FromStr for DatabaseUrl {
    type Err = BadDatabaseUrl;

    fn from_str(text: &str) -> Result<DatabaseUrl, BadDatabaseUrl> {
        let text = text.trim();
        let rest = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"));
        let rest = rest.ok_or(BadDatabaseUrl::Scheme)?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut has_password = place.rsplit_once('@').is_some_and(|(account, _)| account.contains(':'));
        for (name, _) in form_urlencoded::parse(query.as_bytes()) {
            let is_known = PARAMETERS.contains(&&*name) || name == "options" || name.starts_with("options[");
            if !is_known {
                return Err(BadDatabaseUrl::Parameter { name: name.into_owned() });
            }
            has_password |= name == "password";
        }
        // What the library says of a bad address may hold a part of it.
        let options = text
            .parse::<PgConnectOptions>()
            .map_err(|_| BadDatabaseUrl::Unreadable { why: "host, port, name or a parameter" })?;
        let options = if options.get_application_name().is_none() {
            options.application_name("tokometer")
        } else {
            options
        };
        Ok(DatabaseUrl { options, has_password })
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = &self.options;
        let name = options.get_database().unwrap_or_else(|| options.get_username());
        match options.get_socket() {
            Some(folder) => {
                write!(f, "PostgreSQL database {name} by the socket in {}", folder.display())
            }
            None => write!(f, "PostgreSQL database {name} on {}:{}", options.get_host(), options.get_port()),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_noticed_and_never_shown() {
        for text in [
            "postgres://me:hunter2@db.example:5433/bench?sslmode=verify-full",
            "postgresql:///bench?host=/run/postgresql&password=hunter2",
        ] {
            let url: DatabaseUrl = text.parse().unwrap();
            assert!(url.has_password(), "{url}");
            assert!(!format!("{url} {url:?}").contains("hunter2"), "{url:?}");
        }
        let url: DatabaseUrl = "postgres://me@db.example:5433/bench".parse().unwrap();
        assert!(!url.has_password());
        assert_eq!(url.to_string(), "PostgreSQL database bench on db.example:5433");
        let url: DatabaseUrl = "postgres:///bench?host=/run/postgresql".parse().unwrap();
        assert_eq!(url.to_string(), "PostgreSQL database bench by the socket in /run/postgresql");
    }

    #[test]
    fn a_bad_address_is_not_repeated() {
        for text in [
            "mysql://me:hunter2@db/bench",
            "hunter2",
            "postgres://me:hunter2@db:port/bench",
            "postgres://me@db/bench?pasword=hunter2",
            "postgres://me@db/bench?sslmode=hunter2",
        ] {
            let error = text.parse::<DatabaseUrl>().unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
