//! The pages in a real browser: publish, find, read, compare, report a problem, take down.
//!
//! On with `TOKOMETER_BROWSER=1`; pictures go to `$TOKOMETER_ARTIFACTS`, `$TOKOMETER_AXE` names axe-core.

mod accounts;
mod steps;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use serde_json::json;
use tokometer_browser::{Browser, axe, axe_now, fits, has_contrast, pictures_of};

use crate::gallery;
use crate::site::Site;

/// A browser at a site.
pub(crate) struct Reader<'a> {
    pub(crate) browser: &'a Browser,
    pub(crate) url: String,
    axe: Option<String>,
    failed: RefCell<Vec<String>>,
}

impl Reader<'_> {
    pub(crate) fn go(&self, path: &str) {
        self.browser.go(&format!("{}{path}", self.url));
    }

    /// Path and query of the page that is shown.
    pub(crate) fn place(&self) -> String {
        self.text("return location.pathname + location.search")
    }

    pub(crate) fn text(&self, script: &str) -> String {
        self.browser.run(script).as_str().unwrap_or_else(|| panic!("no text: {script}")).to_owned()
    }

    pub(crate) fn count(&self, selector: &str) -> u64 {
        self.browser.run(&format!("return document.querySelectorAll(`{selector}`).length")).as_u64().unwrap()
    }

    /// What a part of the page says.
    pub(crate) fn says(&self, selector: &str) -> String {
        self.text(&format!("return document.querySelector(`{selector}`)?.innerText ?? 'nothing is there'"))
    }

    /// Clicks, and waits for the page that it leads to.
    pub(crate) fn follow(&self, selector: &str) {
        let before = self.text("window.isBefore = true; return location.href");
        self.browser.run(&format!("document.querySelector(`{selector}`).click()"));
        self.arrived(&before);
    }

    /// Waits until another page is there, whole.
    pub(crate) fn arrived(&self, before: &str) {
        for _ in 0..500 {
            let new = self.browser.run("return document.readyState === 'complete' && !window.isBefore");
            if new == true {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("still at {before}");
    }

    /// The page can be used by everybody, on every screen; its picture is taken. What fails is told at once, and counts
    /// at the end, so that one run tells of all pages.
    pub(crate) fn holds(&self, name: &str) {
        let check = |what: &dyn Fn()| {
            self.browser.screen(1400, 900, false);
            self.browser.medium("", "light");
            if catch_unwind(AssertUnwindSafe(what)).is_err() {
                self.failed.borrow_mut().push(name.to_owned());
            }
        };
        if let Some(axe) = &self.axe {
            check(&|| axe_now(self.browser, axe, &format!("{name} by day")));
            check(&|| {
                self.browser.medium("", "dark");
                axe_now(self.browser, axe, &format!("{name} by night"));
            });
            check(&|| {
                self.browser.screen(360, 800, true);
                axe_now(self.browser, axe, &format!("{name} on a phone"));
            });
        }
        check(&|| fits(self.browser));
        check(&|| has_contrast(self.browser));
        check(&|| self.is_quiet(name));
        pictures_of(self.browser, name);
        self.browser.screen(1400, 900, false);
    }

    /// Nothing is on the console: no script failed, and the page asked for nothing that the policy refuses.
    pub(crate) fn is_quiet(&self, name: &str) {
        let messages: Vec<_> = self
            .browser
            .log("browser")
            .into_iter()
            // A refusal is what these pages are.
            .filter(|entry| {
                !entry["message"]
                    .as_str()
                    .is_some_and(|text| text.contains("the server responded with a status of 4"))
            })
            .collect();
        assert!(messages.is_empty(), "{name}: {messages:?}");
    }

    pub(crate) fn scripts(&self, on: bool) {
        self.browser.devtools("Emulation.setScriptExecutionDisabled", &json!({ "value": !on }));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_site_in_a_browser() {
    if !tokometer_browser::is_wanted() {
        return;
    }
    let site = Site::start().await;
    let browser = Browser::start(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let reader = Reader {
        browser: &browser,
        url: format!("http://{}", site.address),
        axe: axe(),
        failed: RefCell::default(),
    };
    tokio::task::block_in_place(|| steps::an_empty_site(&reader));
    let gallery = gallery::fill(&site).await;
    tokio::task::block_in_place(|| {
        steps::finding(&reader, &gallery);
        steps::reading(&reader, &gallery);
        steps::comparing(&reader, &gallery);
        steps::other_pages(&reader, &gallery);
        steps::without_scripts(&reader, &gallery);
        steps::a_problem_and_a_tombstone(&reader, &gallery, &site.admin);
    });
    assert_eq!(reader.failed.into_inner(), Vec::<String>::new(), "pages that do not hold; why stands above");
    site.stop().await;
}

/// To the provider and back, a name, a token, a device; with `TOKOMETER_OIDC` naming the issuer of a real provider.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signing_in_with_a_browser() {
    let issuer = std::env::var("TOKOMETER_OIDC").unwrap_or_default();
    if !tokometer_browser::is_wanted() || issuer.is_empty() {
        return;
    }
    let settings = tokometer_site::OpenIdSettings {
        name: "the test provider".to_owned(),
        issuer,
        client_id: "tokometer".to_owned(),
        client_secret: Some(tokometer_wire::Secret::new("a-secret-of-tests")),
        ..tokometer_site::OpenIdSettings::default()
    };
    let site = Site::with(|config| config.sign_in = Some(settings)).await;
    let browser = Browser::start(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let reader = Reader {
        browser: &browser,
        url: format!("http://{}", site.address),
        axe: axe(),
        failed: RefCell::default(),
    };
    let (device, user) = crate::device::ask(&site).await;
    tokio::task::block_in_place(|| accounts::signing_in(&reader, &user));
    let answer = crate::device::poll(&site, &device).await.is(200).json();
    assert_eq!(answer["scope"], "read publish");
    tokio::task::block_in_place(|| accounts::keeping(&reader, &site.admin));
    assert_eq!(reader.failed.into_inner(), Vec::<String>::new(), "pages that do not hold; why stands above");
    site.stop().await;
}
