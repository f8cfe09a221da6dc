//! What people with an account do.

use super::Reader;

/// From the button to the provider, back with a name, and a program let in; then again without scripts.
pub(super) fn signing_in(reader: &Reader<'_>, user_code: &str) {
    reader.go(&format!("/device?user_code={user_code}"));
    assert!(reader.place().starts_with("/sign-in?next="), "{}", reader.place());
    reader.holds("sign-in-provider");
    reader.follow("#provider");
    at_the_provider(reader);
    assert!(reader.place().starts_with("/sign-in/new"), "{}", reader.place());
    assert_eq!(reader.text("return document.getElementById('handle').value"), "ada");
    reader.holds("newcomer");
    reader.follow("main button[type=submit]");
    assert_eq!(reader.place(), format!("/device?user_code={user_code}"));
    reader.holds("device");
    reader.follow("main button[type=submit]");
    assert!(reader.says("main").contains("gpu1") && reader.says("main").contains("read, publish"));
    reader.holds("device-asks");
    reader.follow("button[value=yes]");
    assert!(reader.says("main").contains("It is in"));
    // Out, and in again without scripts: nothing is asked a second time.
    reader.follow(".masthead form button");
    assert_eq!(reader.place(), "/signed-out");
    reader.holds("signed-out");
    reader.scripts(false);
    reader.go("/sign-in?next=%2Fpublish");
    let before = reader.text("window.isBefore = true; return location.href");
    reader.browser.run("document.querySelector('#provider').click()");
    reader.arrived(&before);
    if !reader.place().starts_with("/publish") {
        at_the_provider(reader);
    }
    assert_eq!(reader.place(), "/publish");
    reader.scripts(true);
}

/// Signs in there, by whatever form it has: a name and a password, then "continue".
fn at_the_provider(reader: &Reader<'_>) {
    for _ in 0..4 {
        let host = reader.text("return location.origin");
        if host == reader.url {
            return;
        }
        reader.browser.run(
            "for (const input of document.querySelectorAll('input[type=text], input[type=password]')) input.value = 'ada';",
        );
        reader.follow("form button[type=submit], form [type=submit]");
    }
    assert_eq!(reader.text("return location.origin"), reader.url, "{}", reader.says("body"));
}

/// The page of one's own tokens, and the roles of everybody.
pub(super) fn keeping(reader: &Reader<'_>, admin: &str) {
    reader.go("/account");
    assert!(reader.says("table.tokens").contains("on gpu1"), "{}", reader.says("main"));
    reader.holds("account");
    reader.browser.run("document.getElementById('label').value = 'the lab'");
    reader.follow("form[action='/account/tokens'] button");
    assert!(reader.says("#new-token").starts_with("tokometer_"));
    reader.holds("new-token");
    reader.go("/account");
    reader.follow("form[action$='/revoke'] button");
    assert!(reader.says("table.tokens").contains("ended"));
    reader.go("/users");
    assert!(reader.says("main").contains("Not for you") || reader.says("main").contains("admin"));
    reader.follow(".masthead form button");
    reader.go("/sign-in?next=%2Fusers");
    reader.browser.run(&format!("document.getElementById('token').value = '{admin}'"));
    reader.follow("main button[type=submit]");
    assert_eq!(reader.place(), "/users");
    reader.holds("users");
    reader.browser.run(
        "const form = document.querySelector('form[action=\"/users/ada/role\"]');
         form.querySelector('select').value = 'moderator'; form.querySelector('[name=reason]').value = 'test'; form.id = 'wanted'",
    );
    reader.follow("#wanted button");
    assert!(reader.says(".users").contains("moderator"));
    reader.go("/moderation");
    assert!(reader.says(".log").contains("ada: publisher became moderator: test"), "{}", reader.says(".log"));
}
