//! `tokometer analyse RUN`.

use std::path::Path;

use tokometer_analysis::telemetry::summarise_on;
use tokometer_analysis::{AnalysisError, Context, Part, combine};
use tokometer_record::comparison::ServiceLevel;
use tokometer_record::reanalysis::{Reanalysis, WindowPart};
use tokometer_record::{Cell, CellTrace, Run, RunFolder};

use crate::args::judge::AnalyseArgs;
use crate::failure::Hinted;
use crate::out;

/// Computes the rows of a run again.
pub(crate) fn analyse(args: &AnalyseArgs) -> anyhow::Result<u8> {
    let usage = |error: AnalysisError| Hinted::usage(error.to_string(), "see tokometer analyse --help");
    let part = args.window.as_deref().map(str::parse::<Part>).transpose().map_err(usage)?.map(|part| part.0);
    let level =
        args.slo.as_deref().map(tokometer_analysis::parse_service_level).transpose().map_err(usage)?;
    let folder = RunFolder::open(&args.run)?;
    let run = folder.load_run()?;
    if run.cells.iter().all(|cell| cell.traces().next().is_none()) {
        let hint = "records that were imported have none, and so has a dry run";
        return Err(Hinted::new("the run has no traces to analyse again", hint).into());
    }
    let mut derived = args.out.as_deref().map(|out| Derived::start(out, &run, part)).transpose()?;
    let result = again(&folder, &run, part, level, derived.as_mut())?;
    let mut shown = run.clone();
    shown.cells.clone_from(&result.cells);
    shown.remarks.push(remark(&run, part));
    if args.json {
        out::result_line(&serde_json::to_string_pretty(&result)?)?;
    } else {
        out::result(&tokometer_report::terminal(&shown, out::width(), out::colour()))?;
        out::result(&tokometer_report::users_terminal(&result, out::width(), out::colour()))?;
    }
    if let Some(derived) = derived {
        derived.save(shown)?;
    }
    Ok(0)
}

fn again(
    folder: &RunFolder,
    run: &Run,
    part: Option<WindowPart>,
    level: Option<ServiceLevel>,
    mut derived: Option<&mut Derived>,
) -> anyhow::Result<Reanalysis> {
    let mut result = Reanalysis {
        schema: Reanalysis::SCHEMA.to_owned(),
        run: run.id.clone(),
        title: run.display_title(),
        window: part,
        cells: Vec::new(),
        as_recorded: Vec::new(),
        users: None,
        slo_cells: Vec::new(),
    };
    // A series that is not at hand, or was changed, is a matter of `verify`.
    let series = folder.load_series(run).ok().flatten();
    for cell in &run.cells {
        // As recorded, telemetry is of the whole window, and stands for no part of it; a prefill row has no window to
        // cut.
        let is_whole = part.is_none() || cell.phase == tokometer_record::Phase::Prefill;
        let machine = cell.telemetry.clone().filter(|_| is_whole && series.is_none());
        let context = Context {
            telemetry: machine.as_ref().map(Into::into),
            ..Context::of(run, cell.phase, cell.context_nominal)
        };
        let mut rows = Vec::new();
        for file in cell.traces() {
            let whole = folder.load_trace(file)?;
            let trace = match part {
                Some(part) => tokometer_analysis::part_of_window(&whole, part).unwrap_or(whole),
                None => whole,
            };
            let mut row = summarise_on(series.as_ref(), &trace, &context);
            if let Some(machine) = machine.clone() {
                tokometer_analysis::telemetry::attach(&mut row, machine);
            }
            row.trace = Some(match &mut derived {
                Some(derived) => derived.keep(&trace)?,
                None => file.clone(),
            });
            // Of several repeats the requests of all count.
            if let Some(level) = level.filter(|_| cell.phase == tokometer_record::Phase::Decode) {
                tokometer_analysis::add_count(&mut result.slo_cells, &trace, level);
            }
            rows.push((trace.meta.repeat, row));
        }
        result.cells.push(match rows.as_slice() {
            [] => {
                result.as_recorded.push(cell.name());
                cell.clone()
            }
            [(None, row)] => row.clone(),
            _ => {
                let rows: Vec<(u32, Cell)> =
                    rows.into_iter().map(|(repeat, row)| (repeat.unwrap_or(0), row)).collect();
                combine(&rows).unwrap_or_else(|| cell.clone())
            }
        });
    }
    result.users =
        level.map(|level| tokometer_analysis::users_by_requests(&result.cells, &result.slo_cells, level));
    Ok(result)
}

/// A run of its own, made from another one's traces.
struct Derived {
    folder: RunFolder,
    id: String,
}

impl Derived {
    fn start(out: &Path, run: &Run, part: Option<WindowPart>) -> anyhow::Result<Derived> {
        if part.is_none() {
            return Err(Hinted::usage(
                "without --window there is no other run to save",
                format!("give --window, or look at {}", run.id),
            )
            .into());
        }
        let id = uuid::Uuid::now_v7().to_string();
        Ok(Derived { folder: RunFolder::create(out, &id)?, id })
    }

    fn keep(&self, trace: &CellTrace) -> anyhow::Result<tokometer_record::TraceFile> {
        let mut trace = trace.clone();
        trace.meta.run.clone_from(&self.id);
        Ok(self.folder.save_trace(&trace)?)
    }

    fn save(self, mut run: Run) -> anyhow::Result<()> {
        run.id = self.id;
        run.sampling = None;
        if run.telemetry.take().is_some() {
            let why = "the series stays with the run that this one was made from";
            run.unknown.insert("telemetry".to_owned(), why.to_owned());
        }
        self.folder.save_run(&run)?;
        self.folder.save_report(&tokometer_report::html(&run)?)?;
        out::say(&format!("record: {}", self.folder.run_file().display()));
        Ok(())
    }
}

fn remark(run: &Run, part: Option<WindowPart>) -> String {
    let window = part.map_or_else(
        || "the whole windows".to_owned(),
        |part| {
            let to = part.to_seconds.map_or_else(|| "the end".to_owned(), |to| format!("{to} s"));
            format!("the windows from {} s to {to}", part.from_seconds)
        },
    );
    format!("analysed again from the traces of run {}: {window}", run.id)
}
