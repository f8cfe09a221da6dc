//! Commands that read runs again: `analyse`, `verify`, `compare`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(
    after_help = "A window is a part of the recorded one, counted from its start. Limits are kept by a cell where the \
                  lower 95 % bound of the share of its requests that keep all of them reaches the share asked for \
                  (90 % unless said). Nothing is written without --out.\n\nExamples:\n  \
                  tokometer analyse runs/<id> --window 10s..25s\n  \
                  tokometer analyse runs/<id> --slo 'ttft<=1s,rate>=50'\n  \
                  tokometer analyse runs/<id> --slo 'ttft<=500ms,share>=95%' --json"
)]
pub(crate) struct AnalyseArgs {
    /// Folder of a run, or its run.json
    pub(crate) run: PathBuf,
    /// Part of each window: `10s..25s`, `10s..`, `..25s`
    #[arg(long, value_name = "FROM..TO")]
    pub(crate) window: Option<String>,
    /// Limits that a served user's request keeps: `ttft<=1s,rate>=50,share>=90%`
    #[arg(long, value_name = "LIMITS")]
    pub(crate) slo: Option<String>,
    /// Save the result as a run of its own in this folder for runs (needs --window)
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON document on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A failure is a contradiction: a number that does not follow from the trace, a trace that was changed, a \
                  record that does not agree with itself. A warning is a figure that somebody should look at. Exit code: \
                  0 without failures, 1 with.\n\nExamples:\n  tokometer verify runs/<id>\n  \
                  tokometer verify runs/<id> --json"
)]
pub(crate) struct VerifyArgs {
    /// Folder of a run, its run.json, or its page (report.html)
    pub(crate) run: PathBuf,
    /// Print one JSON document on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A gate is QUANTITY<LIMIT or QUANTITY>LIMIT, with one of total_rate, decoding_rate, prefill_rate, ttft, \
                  time_between_tokens, per_request_rate, per_gpu_rate, verify_steps_rate, energy_per_token. LIMIT is a change against the base (-3%, +50ms) or, without a \
                  sign, the run's own figure (1s, 200). A cell fails a gate where it is beyond the limit and the \
                  difference is detectable; without intervals the estimate decides.\n\nExamples:\n  \
                  tokometer compare runs/<base> runs/<new>\n  \
                  tokometer compare runs/<base> runs/<new> --fail-if 'total_rate<-3%' --fail-if 'ttft>+5%'\n  \
                  tokometer compare runs/<a> runs/<b> runs/<c> --slo 'ttft<=500ms,rate>=30' --json"
)]
pub(crate) struct CompareArgs {
    /// Base: folder of a run, its run.json, or its report.html
    pub(crate) base: PathBuf,
    /// Runs to compare with it, up to five
    #[arg(required = true, num_args = 1..)]
    pub(crate) new: Vec<PathBuf>,
    /// Exit with 4 if a cell is beyond this limit (see below); may be given several times
    #[arg(long, value_name = "GATE", allow_hyphen_values = true)]
    pub(crate) fail_if: Vec<String>,
    /// Limits that a served user's request keeps
    #[arg(long, value_name = "LIMITS", default_value = "ttft<=1s,rate>=50")]
    pub(crate) slo: String,
    /// Print one JSON document on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the comparison as one page to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}
