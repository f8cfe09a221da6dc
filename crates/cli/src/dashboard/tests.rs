//! The picture at three widths, as text.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tokometer_load::{LiveCell, LivePhase, LiveStreams, TappedText};
use tokometer_record::{Cell, DeviceSample, HostSample, Phase, SampleRow, Status, import, published};
use tokometer_wire::Channel;
use tokometer_wire::clock::Clock;

use super::history::SoFar;
use super::keys::{Over, Ui};
use super::view::{Snapshot, draw};
use super::{Board, Doing};

/// A run of which half is measured.
fn snapshot() -> Snapshot {
    let mut run = import::published(published::H200_X4, "h200-x4.json").unwrap();
    for cell in run.cells.iter_mut().skip(20) {
        if !cell.status.not_run_by_plan() {
            *cell = Cell::planned(cell.phase, cell.context_nominal, cell.concurrency);
        }
    }
    let running = run.cells.iter().find(|cell| cell.status == Status::Planned).unwrap();
    let place = (running.phase, running.context_nominal, running.concurrency);
    let board = Board::new(&run, Clock::start());
    board.begin(Doing {
        label: "16K × 8".to_owned(),
        place: Some(place),
        repeat: Some(2),
        done: 20,
        of: 48,
        step_seconds: 40.0,
        after_seconds: 1200.0,
    });
    board.event("[20/48] 16K × 4: 812.0 tok/s ± 0.8 %");
    board.event("a warning of two\nlines");
    let streams = LiveStreams { count: 8, running: 8, with_token: 7, ended: 3, events: 900, lag_ns: 120_000 };
    let server =
        SampleRow { running: Some(8.0), waiting: Some(1.0), kv_used: Some(0.34), ..SampleRow::default() };
    let live = LiveCell {
        phase: LivePhase::Window,
        seconds: 12.0,
        of_seconds: 30.0,
        missing: Vec::new(),
        streams: Some(streams),
        server: Some(server),
    };
    let device = DeviceSample {
        full: true,
        busy: Some(0.97),
        power_watts: Some(612.0),
        core_clock_mhz: Some(1980.0),
        ..DeviceSample::default()
    };
    let host = HostSample { cpu_busy: Some(0.12), ..HostSample::default() };
    Snapshot {
        state: board.get(),
        live,
        machine: Some((vec![device], Some(host))),
        rates: vec![100, 120, 110, 118, 119, 121],
        so_far: Some(SoFar { per_second: 118.2, half_width: Some(0.012) }),
        text: None,
    }
}

fn picture(seen: &Snapshot, ui: &mut Ui, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, seen, ui)).unwrap();
    let buffer = terminal.backend().buffer();
    (0..height)
        .map(|y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned())
        .collect()
}

fn holds(picture: &[String], words: &[&str]) {
    for word in words {
        assert!(picture.iter().any(|line| line.contains(word)), "{word:?} in\n{}", picture.join("\n"));
    }
}

#[test]
fn all_that_matters_is_there_at_three_widths() {
    let seen = snapshot();
    for (width, height) in [(80, 40), (110, 40), (160, 45)] {
        let shown = picture(&seen, &mut Ui::new(true), width, height);
        holds(&shown, &["20/48", "left", "prefill", "total tok/s", "▶", "∅", "·", "16K × 8, repeat 2"]);
        holds(&shown, &["window 12 of 30 s", "8 of 8 streams active, 7 with output", "client lag 0.12 ms"]);
        holds(&shown, &["118 events/s ± 1.2 % so far", "8 running, 1 waiting", "KV cache 34 % used"]);
        holds(
            &shown,
            &[
                "97 %  1980 MHz  612 W",
                "CPU 12 %",
                "[20/48] 16K × 4",
                "a warning of two",
                "lines",
                "q finish",
            ],
        );
    }
}

#[test]
fn the_width_decides_how_many_figures_stand_side_by_side() {
    let seen = snapshot();
    let beside = |width: u16| {
        let shown = picture(&seen, &mut Ui::new(true), width, 45);
        let line = shown.iter().find(|line| line.contains("total tok/s")).unwrap();
        (line.contains("TTFT ms"), line.contains("time between tokens ms"))
    };
    assert_eq!(beside(80), (false, false));
    assert_eq!(beside(150), (true, false));
    assert_eq!(beside(220), (true, true));
    let place = |width: u16, title: &str| {
        let shown = picture(&seen, &mut Ui::new(true), width, 45);
        let row = shown.iter().position(|line| line.contains(title)).unwrap();
        (row, shown[row].split(title).next().unwrap().chars().count())
    };
    // One below the other, two columns, three columns.
    assert!(place(80, " events ").0 > place(80, " server and machine ").0);
    assert_eq!(place(110, " server and machine ").0, place(110, " 16K × 8").0);
    assert!(place(110, " events ").0 > place(110, " server and machine ").0);
    assert_eq!(place(160, " events ").0, place(160, " 16K × 8").0);
}

#[test]
fn no_size_is_too_small() {
    let mut seen = snapshot();
    for (width, height) in [(1, 1), (10, 3), (59, 20), (60, 12), (80, 12), (80, 24), (300, 100)] {
        for over in [Over::Nothing, Over::Help, Over::Text(0)] {
            let mut ui = Ui::new(false);
            ui.over = over;
            picture(&seen, &mut ui, width, height);
        }
    }
    seen.machine = None;
    seen.live = LiveCell::default();
    seen.so_far = None;
    seen.rates.clear();
    picture(&seen, &mut Ui::new(false), 80, 24);
}

#[test]
fn what_keeps_a_window_from_starting_is_told() {
    let mut seen = snapshot();
    seen.live.phase = LivePhase::Ready;
    seen.live.missing = vec!["7 of 8 streams have had a token".to_owned()];
    holds(&picture(&seen, &mut Ui::new(true), 80, 40), &["waits for: 7 of 8 streams"]);
}

#[test]
fn the_selected_cell_is_told_in_words() {
    let seen = snapshot();
    let valid = seen.state.rows.iter().find(|((phase, ..), row)| {
        *phase == Phase::Decode && row.status == Status::Valid && row.ttft_ms.is_some()
    });
    let mut ui = Ui::new(true);
    ui.selected = valid.map(|(place, _)| *place);
    let left_out = seen.state.rows.iter().find(|(_, row)| row.status == Status::OverCapacity);
    holds(&picture(&seen, &mut ui, 110, 40), &["valid · ", "ms between tokens"]);
    ui.selected = left_out.map(|(place, _)| *place);
    holds(&picture(&seen, &mut ui, 110, 40), &["over capacity"]);
}

#[test]
fn help_and_a_streams_text_lie_over_it() {
    let mut seen = snapshot();
    let mut ui = Ui::new(true);
    ui.over = Over::Help;
    holds(&picture(&seen, &mut ui, 80, 24), &["finish: save what is measured", "skip the running cell"]);
    ui.over = Over::Text(2);
    let channels = vec![
        (Channel::Reasoning, b"let me think".to_vec()),
        (Channel::Content, b"one \x1b[2Jtwo\nthree".to_vec()),
    ];
    seen.text = Some(TappedText { request: Some(5), channels });
    let shown = picture(&seen, &mut ui, 80, 24);
    holds(&shown, &["stream 3 of 8, request 5", "[reasoning]", "let me think", "one [2Jtwo", "three"]);
    assert!(!shown.iter().any(|line| line.contains('\u{1b}')));
}

#[test]
fn without_colour_nothing_is_coloured() {
    let seen = snapshot();
    let coloured = |colour: bool| {
        let mut terminal = Terminal::new(TestBackend::new(110, 40)).unwrap();
        terminal.draw(|frame| draw(frame, &seen, &mut Ui::new(colour))).unwrap();
        let buffer = terminal.backend().buffer().clone();
        buffer.content().iter().any(|cell| cell.fg != ratatui::style::Color::Reset)
    };
    assert!(coloured(true));
    assert!(!coloured(false));
}
