//! A model, hardware, or an engine: its best runs, and what else there is of it.

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use http::StatusCode;
use tokometer_report::number;

use super::frame::{About, Frame, Here};
use super::index::Link;
use super::rows::{self, Row};
use super::scatter::{self, Scatter};
use super::{links, words};
use crate::account::Visitor;
use crate::app::App;
use crate::domain::{FacetCount, Facets, Filters, Goal, RunQuery, Shelf};
use crate::problem::Problem;

/// Runs of the table and of the chart.
const ROWS: u32 = 25;
const CHARTED: u32 = 300;

/// What a page is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Model,
    Hardware,
    Engine,
}

impl Kind {
    /// Folder of its addresses, name of its facet, words for one and for all of them.
    fn names(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Kind::Model => ("models", "model", "Model", "Models"),
            Kind::Hardware => ("hardware", "hardware", "Hardware", "Hardware"),
            Kind::Engine => ("engines", "engine", "Engine", "Engines"),
        }
    }

    fn here(self) -> Here {
        match self {
            Kind::Model => Here::Models,
            Kind::Hardware => Here::Hardware,
            Kind::Engine => Here::Engines,
        }
    }

    fn counts(self, facets: &Facets) -> &[FacetCount] {
        match self {
            Kind::Model => &facets.model,
            Kind::Hardware => &facets.hardware,
            Kind::Engine => &facets.engine,
        }
    }

    fn filters(self, name: &str) -> Filters {
        let name = vec![name.to_owned()];
        match self {
            Kind::Model => Filters { model: name, ..Filters::default() },
            Kind::Hardware => Filters { hardware: name, ..Filters::default() },
            Kind::Engine => Filters { engine: name, ..Filters::default() },
        }
    }
}

/// The best of one goal.
struct Best {
    name: &'static str,
    value: String,
    unit: &'static str,
    run: String,
    link: String,
}

/// What else is known, by another facet.
struct Split {
    name: &'static str,
    values: Vec<Link>,
}

#[derive(Template)]
#[template(path = "entity.html")]
struct EntityPage<'a> {
    kind: &'static str,
    name: &'a str,
    total: String,
    best: Vec<Best>,
    goals: Vec<Link>,
    goal_meaning: &'static str,
    scatter: Option<Scatter>,
    table: Option<String>,
    all: String,
    splits: Vec<Split>,
    apart: Vec<Link>,
}

#[derive(Template)]
#[template(path = "entities.html")]
struct EntitiesPage {
    title: &'static str,
    entities: Vec<Link>,
    apart: Vec<Link>,
}

pub(super) async fn models(State(app): State<App>, visitor: Visitor) -> Result<Response, Problem> {
    all(&app, &visitor, Kind::Model).await
}

pub(super) async fn all_hardware(State(app): State<App>, visitor: Visitor) -> Result<Response, Problem> {
    all(&app, &visitor, Kind::Hardware).await
}

pub(super) async fn engines(State(app): State<App>, visitor: Visitor) -> Result<Response, Problem> {
    all(&app, &visitor, Kind::Engine).await
}

pub(super) async fn model(
    State(app): State<App>,
    visitor: Visitor,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    one(&app, &visitor, Kind::Model, &name, query.as_deref()).await
}

pub(super) async fn hardware(
    State(app): State<App>,
    visitor: Visitor,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    one(&app, &visitor, Kind::Hardware, &name, query.as_deref()).await
}

pub(super) async fn engine(
    State(app): State<App>,
    visitor: Visitor,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    one(&app, &visitor, Kind::Engine, &name, query.as_deref()).await
}

/// Every model, hardware or engine that has runs.
async fn all(app: &App, visitor: &Visitor, kind: Kind) -> Result<Response, Problem> {
    let (folder, code, _, title) = kind.names();
    let of = |shelf| RunQuery { shelf, ..RunQuery::default() };
    let ranked = app.store.facets(&of(Shelf::Ranked)).await?;
    let link = |one: &FacetCount| Link {
        text: one.value.clone(),
        count: Some(words::counted(one.count, "set-up")),
        address: links::entity(folder, code, &one.value),
        here: false,
    };
    let entities: Vec<Link> = kind.counts(&ranked).iter().map(link).collect();
    let mut apart = Vec::new();
    for shelf in [Shelf::Reported, Shelf::Simulated] {
        let facets = app.store.facets(&of(shelf)).await?;
        let known = |value: &str| kind.counts(&ranked).iter().any(|one| one.value == value);
        let others = kind.counts(&facets).iter().filter(|one| !known(&one.value));
        apart.extend(others.map(|one| Link {
            text: format!("{} ({})", one.value, words::shelf(shelf).to_lowercase()),
            ..link(one)
        }));
    }
    let about = About {
        description: format!("{title} with published runs."),
        path: format!("/{folder}"),
        ..About::default()
    };
    let page = EntitiesPage { title, entities, apart };
    Frame::new(app, visitor, kind.here(), &about)?.page(StatusCode::OK, title, &page)
}

async fn one(
    app: &App,
    visitor: &Visitor,
    kind: Kind,
    name: &str,
    query: Option<&str>,
) -> Result<Response, Problem> {
    let (folder, code, words_for_one, _) = kind.names();
    let asked = RunQuery::parse(query.unwrap_or_default(), &[])
        .map_err(|why| Problem::bad("bad_query", why, "take ?goal=peak, or nothing"))?;
    let query = RunQuery { goal: asked.goal, filters: kind.filters(name), ..RunQuery::default() };
    let counts = app.store.counts(&query, &[]).await?;
    if counts.shelves.iter().all(|(_, count)| *count == 0) {
        return Err(Problem::not_found("run of this name"));
    }
    let facets = app.store.facets(&query).await?;
    let list = app.store.list(&RunQuery { limit: CHARTED, ..query.clone() }).await?;
    let shown: Vec<Row> =
        list.rows.iter().take(ROWS as usize).map(|row| Row::of(row, &rows::FIGURES, true)).collect();
    let address = links::entity(folder, code, name);
    let page = EntityPage {
        kind: words_for_one,
        name,
        total: words::counted(facets.total, "ranked set-up"),
        best: best(app, &query).await?,
        goals: Goal::ALL
            .into_iter()
            .map(|goal| Link {
                text: words::goal(goal).to_owned(),
                count: None,
                address: if goal == Goal::default() {
                    address.clone()
                } else {
                    format!("{address}?goal={}", goal.code())
                },
                here: goal == query.goal,
            })
            .collect(),
        goal_meaning: words::goal_meaning(query.goal),
        scatter: scatter::draw(&list.rows),
        table: match shown.as_slice() {
            [] => None,
            shown => Some(rows::table(&format!("Runs of {name}"), shown, &rows::FIGURES, Some(query.goal))?),
        },
        all: links::list(&query),
        splits: splits(kind, &query, &facets),
        apart: counts
            .shelves
            .iter()
            .filter(|(shelf, count)| *shelf != Shelf::Ranked && *count > 0)
            .map(|(shelf, count)| Link {
                text: words::shelf(*shelf).to_owned(),
                count: Some(number::count(*count)),
                address: links::list(&RunQuery { shelf: *shelf, goal: Goal::Newest, ..query.clone() }),
                here: false,
            })
            .collect(),
    };
    let about = About {
        description: format!("{name}: measured speeds of {} set-ups.", facets.total),
        title: name.to_owned(),
        path: address,
        feed: super::feed::address(&query),
        ..About::default()
    };
    Frame::new(app, visitor, kind.here(), &about)?.page(StatusCode::OK, name, &page)
}

/// The run that is best by each goal that has a figure.
async fn best(app: &App, query: &RunQuery) -> Result<Vec<Best>, Problem> {
    let mut best = Vec::new();
    for goal in [Goal::Users, Goal::OneUser, Goal::PeakPerAccelerator, Goal::Prefill] {
        let list = app.store.list(&RunQuery { goal, limit: 1, ..query.clone() }).await?;
        let Some(row) = list.rows.first() else { break };
        let Some(value) = row.figure(goal) else { continue };
        let (name, unit) = words::column(goal);
        best.push(Best {
            name,
            value: words::value(goal, value),
            unit: if goal == Goal::Users { "users" } else { unit },
            run: rows::label(row),
            link: links::run(&row.id),
        });
    }
    Ok(best)
}

/// The list of the entity, narrowed by each of the other facets in turn.
fn splits(kind: Kind, query: &RunQuery, facets: &Facets) -> Vec<Split> {
    let split = |name, code: &str, counts: &[FacetCount], text: fn(&str) -> String| Split {
        name,
        values: counts
            .iter()
            .filter(|one| one.count > 0)
            .take(12)
            .map(|one| Link {
                text: text(&one.value),
                count: Some(number::count(one.count)),
                address: links::list(&query.toggled(code, &one.value)),
                here: false,
            })
            .collect(),
    };
    let plain = |text: &str| text.to_owned();
    let mut splits = Vec::new();
    if kind != Kind::Model {
        splits.push(split("Models", "model", &facets.model, plain));
    }
    if kind != Kind::Hardware {
        splits.push(split("Hardware", "hardware", &facets.hardware, plain));
    }
    splits.push(split("Accelerators", "accelerators", &facets.accelerators, |text| format!("× {text}")));
    if kind == Kind::Engine {
        splits.push(split("Versions", "engine_version", &facets.engine_version, plain));
    } else {
        splits.push(split("Engines", "engine", &facets.engine, plain));
    }
    splits.push(split("Precision", "quantization", &facets.quantization, plain));
    splits.push(split("Speculative decoding", "speculative", &facets.speculative, plain));
    splits.push(split("Contexts", "context", &facets.context, words::context));
    splits.retain(|split| !split.values.is_empty());
    splits
}
