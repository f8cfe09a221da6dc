//! What stands around every page: head, bar, footer.

use askama::Template;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use tokometer_report::{Assets, Data, ReportError, Shell};

use super::assets::ASSETS;
use super::pack::Sealed;
use crate::account::Visitor;
use crate::app::App;
use crate::problem::Problem;

/// Which part of the site a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Here {
    Runs,
    Models,
    Hardware,
    Engines,
    Compare,
    Publish,
    About,
    Elsewhere,
}

/// What a page says of itself in its head.
#[derive(Debug, Default)]
pub(super) struct About {
    /// What the page is, in one sentence.
    pub(super) description: String,
    /// Path of its one true address; empty where it has none.
    pub(super) path: String,
    /// Path of a picture for those who share it.
    pub(super) image: Option<String>,
    /// Its title for those who share it; empty: none.
    pub(super) title: String,
    /// What its feed is narrowed to; empty: the feed of everything.
    pub(super) feed: String,
    /// Path of its run's page, where it can be put into other pages; empty: it can't.
    pub(super) embed: String,
}

#[derive(Template)]
#[template(path = "head.html")]
struct Head<'a> {
    about: &'a About,
    url: String,
    icon: &'a str,
}

#[derive(Template)]
#[template(path = "bar.html")]
struct Bar<'a> {
    here: Here,
    handle: Option<&'a str>,
    form_key: &'a str,
}

impl Bar<'_> {
    /// Name, address, and whether the reader is there.
    fn places(&self) -> [(&'static str, &'static str, bool); 7] {
        [
            ("Runs", "/", Here::Runs),
            ("Models", "/models", Here::Models),
            ("Hardware", "/hardware", Here::Hardware),
            ("Engines", "/engines", Here::Engines),
            ("Compare", "/compare", Here::Compare),
            ("Publish", "/publish", Here::Publish),
            ("About", "/about", Here::About),
        ]
        .map(|(name, address, place)| (name, address, place == self.here))
    }
}

/// Head, bar and footer of a page.
#[derive(Debug)]
pub(super) struct Frame {
    head: String,
    bar: String,
    /// True if the page holds a session's key for forms.
    is_sealed: bool,
}

/// Links of every page.
const FOOTER: &str = include_str!("../../templates/footer.html");

impl Frame {
    pub(super) fn new(app: &App, visitor: &Visitor, here: Here, about: &About) -> Result<Frame, Problem> {
        let head = Head { about, url: app.config.url(), icon: &ASSETS.icon };
        let bar = Bar { here, handle: visitor.handle(), form_key: visitor.form_key() };
        Ok(Frame { head: render(&head)?, bar: render(&bar)?, is_sealed: visitor.session.is_some() })
    }

    /// The shell for a page of the report.
    pub(super) fn shell(&self) -> Shell<'_> {
        Shell {
            head: &self.head,
            header: &self.bar,
            footer: FOOTER,
            assets: Assets::Linked { style: &ASSETS.style, early: &ASSETS.early, script: &ASSETS.common },
            data: Data::LeftOut,
            ..Shell::default()
        }
    }

    /// A page of the site's own.
    pub(super) fn page(
        &self,
        status: StatusCode,
        title: &str,
        content: &impl Template,
    ) -> Result<Response, Problem> {
        let page = tokometer_report::plain_page(title, &render(content)?, &self.shell())?;
        Ok(self.answer(status, page))
    }

    /// A whole page as an answer.
    pub(super) fn answer(&self, status: StatusCode, page: String) -> Response {
        // Ranks, evidence and tombstones change at any time.
        let cache = if self.is_sealed { "private, no-store" } else { "no-cache" };
        let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CACHE_CONTROL, cache)];
        let mut response = (status, headers, page).into_response();
        if self.is_sealed {
            response.extensions_mut().insert(Sealed);
        }
        response
    }
}

/// A template as text.
pub(super) fn render(template: &impl Template) -> Result<String, Problem> {
    template.render().map_err(|error| ReportError::from(error).into())
}
