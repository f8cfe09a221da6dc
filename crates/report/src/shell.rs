//! What stands around a page. A page of a run or of a comparison is content in a shell: a file has an empty one with
//! style, scripts and data inside; a web site puts its navigation and its links around the same content, and serves
//! style and scripts by itself.
//!
//! ```
//! use tokometer_record::{import, published};
//! use tokometer_report::{Assets, Data, Shell, run_page};
//!
//! let run = import::published(published::H200_X4, "h200-x4.json").unwrap();
//! let shell = Shell {
//!     site: "speed.example",
//!     header: r#"<nav class="masthead"><a href="/">All runs</a></nav>"#,
//!     actions: r#"<a class="tool" href="/r/1/run.json">JSON</a>"#,
//!     assets: Assets::Linked { style: "/a/page.css", early: "/a/early.js", script: "/a/run.js" },
//!     data: Data::LeftOut,
//!     ..Shell::default()
//! };
//! let page = run_page(&run, &[], &shell).unwrap();
//! assert!(page.contains("<link rel=\"stylesheet\" href=\"/a/page.css\">") && !page.contains("<style>"));
//! ```

/// What stands around a page's own content. The default is that of a file: nothing, and everything inside.
///
/// The slots are HTML that is put in as it is. Whoever fills them escapes what is foreign, and brings no inline style
/// and no inline script: the policy of a page takes none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shell<'a> {
    /// Behind the title of the document: `H200 SXM × 4 · tokometer`. Plain text.
    pub site: &'a str,
    /// At the end of `<head>`: `<link rel="canonical" …>`, `<meta property="og:image" …>`.
    pub head: &'a str,
    /// First in `<body>`: the site's bar with its navigation; the style sheet has `.masthead` for it, and in it `.brand`.
    pub header: &'a str,
    /// Beside the title, before the page's own buttons: links of class `tool`.
    pub actions: &'a str,
    /// Below the title and its badges: what the site has to say of this run, such as its level of evidence.
    pub notice: &'a str,
    /// Before the end of `<main>`: sections of the site's own, such as replicates of the run.
    pub after: &'a str,
    /// In the footer, behind the page's own line.
    pub footer: &'a str,
    /// Where style and scripts are.
    pub assets: Assets<'a>,
    /// Whether the page holds the record that it was made of.
    pub data: Data,
    /// Address of the method that the definitions belong to; none: they are not linked.
    pub method: Option<&'a str>,
    /// Addresses of the runs of a comparison, in its order; fewer, or empty ones: these are not linked.
    pub runs: &'a [&'a str],
}

impl Default for Shell<'_> {
    fn default() -> Self {
        Shell {
            site: "tokometer",
            head: "",
            header: "",
            actions: "",
            notice: "",
            after: "",
            footer: "",
            assets: Assets::Inline,
            data: Data::Embedded,
            method: None,
            runs: &[],
        }
    }
}

/// Where a page's style and scripts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Assets<'a> {
    /// In the page, with a content security policy in it that takes these and loads nothing.
    #[default]
    Inline,
    /// At these addresses of the same site. The page has no policy of its own: the server sends one in a header, which
    /// needs no more than `style-src 'self'; script-src 'self'; img-src data:`.
    Linked {
        /// Address of [`STYLE`].
        style: &'a str,
        /// Address of [`EARLY`], which runs before the page is drawn.
        early: &'a str,
        /// Address of [`RUN_SCRIPT`] or [`COMPARE_SCRIPT`].
        script: &'a str,
    },
}

/// Whether a page holds the documents that it was made of, as `<script type="application/json">` elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Data {
    /// It does: the page is a data file, can be copied from, and can be compared with another one.
    #[default]
    Embedded,
    /// It does not; whoever serves it links to the record. A page is then a fifth as large.
    LeftOut,
}

/// The style sheet of every page, charts included.
pub const STYLE: &str = concat!(include_str!("../assets/page.css"), include_str!("../assets/chart.css"));
/// What runs before a page is drawn, so that nothing moves when its script comes: it takes up the choice of theme.
pub const EARLY: &str = include_str!("../assets/early.js");
/// The script that any page can have: the theme's button (`id="theme"`), copying (`data-copy="ID"`). It needs an element
/// `id="said"` for what a screen reader is told, and goes without the buttons.
pub const COMMON_SCRIPT: &str = include_str!("../assets/common.js");
/// The script of a run's page; it has [`COMMON_SCRIPT`] inside.
pub const RUN_SCRIPT: &str = concat!(
    include_str!("../assets/common.js"),
    include_str!("../assets/page.js"),
    include_str!("../assets/beside.js")
);
/// The script of a comparison's page.
pub const COMPARE_SCRIPT: &str = COMMON_SCRIPT;

/// A shell with what its page needs beside, for templates.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) shell: &'a Shell<'a>,
    /// The content security policy; none where the server sends one.
    pub(crate) policy: Option<String>,
    /// Style and scripts to put in where assets are inline.
    pub(crate) style: &'static str,
    pub(crate) early: &'static str,
    pub(crate) script: &'static str,
    pub(crate) version: &'static str,
}

impl<'a> Frame<'a> {
    /// Around a page with this script.
    pub(crate) fn new(shell: &'a Shell<'a>, script: &'static str) -> Frame<'a> {
        let inline = shell.assets == Assets::Inline;
        Frame {
            shell,
            policy: inline.then(|| crate::csp::policy(STYLE, &[EARLY, script])),
            style: STYLE,
            early: EARLY,
            script,
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// Addresses of style, early script and script where they are linked.
    pub(crate) fn linked(&self) -> Option<[&'a str; 3]> {
        match self.shell.assets {
            Assets::Inline => None,
            Assets::Linked { style, early, script } => Some([style, early, script]),
        }
    }

    /// True if the page holds its documents.
    pub(crate) fn embedded(&self) -> bool {
        self.shell.data == Data::Embedded
    }

    /// Address of a run of the comparison.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "templates pass references")]
    pub(crate) fn run(&self, place: &usize) -> Option<&'a str> {
        self.shell.runs.get(*place).copied().filter(|address| !address.is_empty())
    }
}
