//! A database of the version before roles of readers and sign-in by a provider.

use sqlx::Connection;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::SqliteConnectOptions;
use tokometer_site::domain::Role;
use tokometer_site::store::Store;

#[tokio::test]
async fn users_of_before_are_all_there() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("site.db");
    let text = include_str!("../../migrations/sqlite/0001_initial.sql");
    let step = Migration::new(
        1,
        "initial".into(),
        MigrationType::Simple,
        sqlx::SqlSafeStr::into_sql_str(text),
        false,
    );
    let options = SqliteConnectOptions::new().filename(&file).create_if_missing(true).foreign_keys(true);
    let mut old = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    Migrator::with_migrations(vec![step]).run(&mut old).await.unwrap();
    for statement in [
        "INSERT INTO users VALUES ('u1', 'ada', 'publisher', 1, NULL), ('u2', 'bob', 'admin', 2, 3)",
        "INSERT INTO tokens VALUES ('t1', 'u1', x'00', 'read publish', 'first', 1, NULL, NULL, NULL)",
        "INSERT INTO sessions VALUES (x'11', 'u1', 'key', 1, 9000000000000)",
        "INSERT INTO invitations VALUES (x'22', 'moderator', NULL, 1, 9000000000000, NULL, NULL)",
        "INSERT INTO invitations VALUES (x'33', 'publisher', 'x', 1, 2, 2, 'u1')",
        "INSERT INTO artefacts VALUES ('h', 5, 'u1', 1)",
    ] {
        sqlx::query(statement).execute(&mut old).await.unwrap();
    }
    assert!(
        sqlx::query("UPDATE users SET role = 'reader'").execute(&mut old).await.is_err(),
        "it is the old one"
    );
    old.close().await.unwrap();
    for _ in 0..2 {
        let store = Store::sqlite(&file).await.unwrap();
        let users = store.users().await.unwrap();
        let told: Vec<_> =
            users.iter().map(|user| (user.handle.as_str(), user.role, user.disabled_at)).collect();
        assert_eq!(told, [("ada", Role::Publisher, None), ("bob", Role::Admin, Some(3))]);
        assert_eq!(store.tokens("u1").await.unwrap()[0].user.handle, "ada");
        store.close().await;
    }
    let mut new = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::query("UPDATE users SET role = 'reader' WHERE id = 'u1'").execute(&mut new).await.unwrap();
    assert!(sqlx::query("UPDATE users SET role = 'king'").execute(&mut new).await.is_err());
    // References hold as before.
    assert!(sqlx::query("DELETE FROM users WHERE id = 'u1'").execute(&mut new).await.is_err());
    assert!(
        sqlx::query("INSERT INTO artefacts VALUES ('i', 5, 'nobody', 1)").execute(&mut new).await.is_err()
    );
    let role: (String,) =
        sqlx::query_as("SELECT role FROM invitations WHERE hash = x'22'").fetch_one(&mut new).await.unwrap();
    assert_eq!(role.0, "moderator");
}
