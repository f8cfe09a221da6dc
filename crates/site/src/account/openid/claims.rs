//! What the provider says of a person.

use serde_json::{Map, Value};

use super::settings::OpenIdSettings;
use crate::domain::{Role, Subject};

/// Longest name that is kept, characters.
const NAME: usize = 100;

/// Claims of a token whose signature was checked, and of the provider's answer about the person.
#[derive(Debug, Default)]
pub(super) struct Claims(pub(super) Map<String, Value>);

impl Claims {
    /// A claim by its name, or by names within each other joined by dots.
    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).or_else(|| {
            let (first, rest) = name.split_once('.')?;
            rest.split('.').try_fold(self.0.get(first)?, |value, name| value.get(name))
        })
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    fn groups(&self, settings: &OpenIdSettings) -> Vec<&str> {
        match self.get(&settings.groups_claim) {
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(one)) => vec![one],
            _ => Vec::new(),
        }
    }

    /// True if something is missing that the provider may tell when asked.
    pub(super) fn lack(&self, settings: &OpenIdSettings) -> bool {
        let by_group = !settings.allowed_groups.is_empty() || !settings.group_roles.is_empty();
        self.text(&settings.handle_claim).is_none()
            || (by_group && self.get(&settings.groups_claim).is_none())
            || (!settings.allowed_domains.is_empty()
                && (self.get("email").is_none() || self.get("email_verified").is_none())
                && self.get("hd").is_none())
    }

    /// True if the person may come in.
    pub(super) fn may_enter(&self, settings: &OpenIdSettings) -> bool {
        let groups = self.groups(settings);
        let by_group = settings.allowed_groups.is_empty()
            || settings.allowed_groups.iter().any(|group| groups.contains(&group.as_str()));
        let domains = &settings.allowed_domains;
        let by_domain = domains.is_empty()
            || self.domain().is_some_and(|domain| domains.iter().any(|one| one.eq_ignore_ascii_case(domain)));
        by_group && by_domain
    }

    /// The domain that the provider vouches for: of an organisation, or of a confirmed address of e-mail.
    fn domain(&self) -> Option<&str> {
        let confirmed = matches!(self.get("email_verified"), Some(Value::Bool(true)));
        let of_mail = || self.text("email").filter(|_| confirmed)?.rsplit_once('@').map(|(_, domain)| domain);
        self.text("hd").or_else(of_mail)
    }

    fn role(&self, settings: &OpenIdSettings) -> Option<Role> {
        let groups = self.groups(settings);
        let led = settings.group_roles.iter().filter(|(group, _)| groups.contains(&group.as_str()));
        led.map(|(_, role)| *role).max()
    }

    /// Who it is. What stands before an `@` is the name: addresses of e-mail are not kept.
    pub(super) fn person(&self, issuer: &str, subject: &str, settings: &OpenIdSettings) -> Subject {
        let name =
            [settings.handle_claim.as_str(), "nickname", "name"].into_iter().find_map(|name| self.text(name));
        let name = name.map_or("", |name| name.split('@').next().unwrap_or_default());
        let plain = name.chars().filter(|letter| !letter.is_control()).take(NAME).collect();
        Subject {
            issuer: issuer.to_owned(),
            subject: subject.to_owned(),
            name: plain,
            mapped: self.role(settings),
        }
    }
}

/// A public name made of what the provider calls somebody; empty where nothing of it can be used.
pub(crate) fn suggested_handle(name: &str) -> String {
    let mut handle = String::new();
    for letter in name.to_lowercase().chars() {
        match letter {
            'a'..='z' | '0'..='9' => handle.push(letter),
            _ if handle.is_empty() || handle.ends_with('-') => {}
            ' ' | '.' | '_' | '-' | '+' => handle.push('-'),
            _ => {}
        }
        if handle.len() == 28 {
            break;
        }
    }
    let handle = handle.trim_end_matches('-');
    if handle.len() < 2 { String::new() } else { handle.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claims(value: &Value) -> Claims {
        Claims(value.as_object().unwrap().clone())
    }

    #[test]
    fn groups_and_domains_decide() {
        let mut settings = OpenIdSettings {
            groups_claim: "realm_access.roles".to_owned(),
            allowed_groups: vec!["bench".to_owned()],
            group_roles: vec![("bench".to_owned(), Role::Publisher), ("ops".to_owned(), Role::Admin)],
            ..OpenIdSettings::default()
        };
        let one = claims(&json!({"realm_access": {"roles": ["bench", "ops"]}}));
        assert!(one.may_enter(&settings));
        assert_eq!(one.role(&settings), Some(Role::Admin));
        assert!(!claims(&json!({"groups": ["bench"]})).may_enter(&settings));
        settings.allowed_groups.clear();
        settings.allowed_domains = vec!["example.org".to_owned()];
        let mail =
            |confirmed: &Value| claims(&json!({"email": "a@Example.org", "email_verified": confirmed}));
        assert!(mail(&json!(true)).may_enter(&settings));
        assert!(!mail(&json!(false)).may_enter(&settings) && !mail(&json!("true")).may_enter(&settings));
        assert!(!claims(&json!({"email": "a@example.org"})).may_enter(&settings), "not confirmed");
        assert!(!claims(&json!({"hd": "example.org.evil.test"})).may_enter(&settings));
    }

    #[test]
    fn names_become_handles() {
        for (name, handle) in [
            ("Ada.Lovelace", "ada-lovelace"),
            ("-- x", ""),
            ("Ünal K", "nal-k"),
            ("a", ""),
            ("__bob__", "bob"),
        ] {
            assert_eq!(suggested_handle(name), handle);
        }
        let settings = OpenIdSettings { handle_claim: "email".to_owned(), ..OpenIdSettings::default() };
        let person = claims(&json!({"email": "ada@example.org"})).person("i", "s", &settings);
        assert_eq!(person.name, "ada", "no address is kept");
    }
}
