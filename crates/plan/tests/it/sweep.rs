//! The file of a sweep: what it stands for, and what it is refused for.

use tokometer_plan::sweep::{Entry, Job, Kind, MOST_ENTRIES, Option as RunOption, Order, Subject, Sweep};

fn known() -> Vec<RunOption> {
    [
        ("contexts", Kind::One),
        ("adaptive", Kind::Switch),
        ("header", Kind::Several),
        ("max-output", Kind::One),
    ]
    .map(|(name, kind)| RunOption { name: name.to_owned(), kind })
    .to_vec()
}

fn parse(text: &str) -> Sweep {
    Sweep::parse(text, &known()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn refusal(text: &str) -> String {
    match Sweep::parse(text, &known()) {
        Ok(sweep) => panic!("{sweep:?}"),
        Err(error) => error.to_string(),
    }
}

fn names(sweep: &Sweep) -> Vec<&str> {
    sweep.entries.iter().map(|entry| entry.name.as_str()).collect()
}

fn command(entry: &Entry) -> &str {
    match &entry.subject {
        Subject::Launched { command, .. } => command,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_grid_stands_for_every_combination() {
    let sweep = parse(
        r#"
        [[entry]]
        launch = "serve --tp {tp} --moe {moe} --json '{\"method\": \"mtp\", \"n\": {tp}}' ${HOME} {{tp}} {}"
        grid = { tp = [1, 2], moe = ["triton", "b12x"] }
        options.contexts = "{tp}k"
        "#,
    );
    assert_eq!(
        names(&sweep),
        ["tp=1-moe=triton", "tp=1-moe=b12x", "tp=2-moe=triton", "tp=2-moe=b12x"],
        "the last variable changes fastest"
    );
    assert_eq!(
        command(&sweep.entries[3]),
        "serve --tp 2 --moe b12x --json '{\"method\": \"mtp\", \"n\": 2}' ${HOME} {tp} {}"
    );
    assert_eq!(sweep.entries[3].slug, "tp2-moeb12x");
    assert_eq!(sweep.entries[3].arguments(), ["--contexts=2k"]);
    let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(sweep.entries[1].variables, [of("tp", "1"), of("moe", "b12x")]);
}

#[test]
fn names_are_made_of_what_they_leave_out() {
    let entry = |name: &str| {
        format!("[[entry]]\n{name}\nlaunch = 'x {{a}} {{b}}'\ngrid = {{ a = [1], b = ['y z/'] }}")
    };
    assert_eq!(names(&parse(&entry("name = 'n'"))), ["n-a=1-b=y z/"]);
    assert_eq!(names(&parse(&entry("name = 'n {b} {a}'"))), ["n y z/ 1"]);
    assert_eq!(parse(&entry("name = 'n {b} {a}'")).entries[0].slug, "n-y-z--1");
    assert_eq!(names(&parse("[[entry]]\nurl = 'h'\n[[entry]]\nurl = 'i'")), ["entry-1", "entry-2"]);
}

#[test]
fn options_of_an_entry_go_before_those_of_all() {
    let sweep = parse(
        r#"
        options = { contexts = ["8k", "16k"], adaptive = true, header = ["A: 1", "B: 2"], max_output = 512 }
        [[entry]]
        url = "h"
        [[entry]]
        url = "i"
        options = { adaptive = false, contexts = "1k" }
        "#,
    );
    assert_eq!(
        sweep.entries[0].arguments(),
        ["--contexts=8k,16k", "--adaptive", "--header=A: 1", "--header=B: 2", "--max-output=512"]
    );
    assert_eq!(
        sweep.entries[1].arguments(),
        ["--header=A: 1", "--header=B: 2", "--max-output=512", "--contexts=1k"]
    );
}

#[test]
fn orders() {
    let of = |order: &str| {
        let entries = "[[entry]]\nurl='a'\n[[entry]]\nurl='b'\n[[entry]]\nurl='c'\n";
        let sweep = parse(&format!("repeats = 20\nseed = 7\n{order}\n{entries}"));
        let jobs = sweep.jobs();
        let mut sorted = jobs.clone();
        sorted.sort_by_key(|job| (job.entry, job.repeat));
        sorted.dedup();
        assert_eq!((jobs.len(), sorted.len()), (60, 60), "each once");
        jobs
    };
    let job = |entry, repeat| Job { entry, repeat };
    assert_eq!(of("order = 'given'")[..3], [job(0, 1), job(0, 2), job(0, 3)]);
    assert_eq!(of("")[..4], [job(0, 1), job(1, 1), job(2, 1), job(0, 2)]);
    let shuffled = of("order = 'shuffled'");
    assert_eq!(shuffled, of("order = 'shuffled'"), "by the seed alone");
    let rounds: Vec<Vec<usize>> =
        shuffled.chunks(3).map(|round| round.iter().map(|job| job.entry).collect()).collect();
    assert!(
        shuffled
            .chunks(3)
            .enumerate()
            .all(|(round, jobs)| jobs.iter().all(|job| job.repeat == round as u32 + 1))
    );
    assert!(rounds.iter().any(|round| *round != rounds[0]), "{rounds:?}");
    assert_eq!(Order::Shuffled.word(), "shuffled");
}

#[test]
fn the_base_is_an_entry() {
    let entries = "[[entry]]\nname='one'\nurl='a'\n[[entry]]\nname='other'\nurl='b'\n";
    assert_eq!(parse(entries).base, 0);
    assert_eq!(parse(&format!("base = 'other'\n{entries}")).base, 1);
    let error = refusal(&format!("base = 'oter'\n{entries}"));
    assert!(error.contains("\"oter\"") && error.contains("\"other\""), "{error}");
}

#[test]
fn what_is_not_known_is_an_error_that_names_what_is_near() {
    for (text, words) in [
        ("repeat = 2\n[[entry]]\nurl='a'", &["the file", "\"repeat\"", "\"repeats\""][..]),
        ("[[entry]]\nlauch='a'", &["entry 1", "\"lauch\"", "\"launch\""]),
        (
            "[[entry]]\nname='n'\nurl='a'\noptions.context='1k'",
            &["entry 1 (n)", "\"context\"", "\"contexts\""],
        ),
        ("options.out='x'\n[[entry]]\nurl='a'", &["\"out\"", "sweep --out"]),
        ("[[entry]]\nurl='a'\noptions.launch='x'", &["\"launch\"", "in its entry"]),
        ("[[entry]]\nlaunch='x {tq}'\ngrid.tp=[1]", &["{tq}", "launch", "has tp;", "{{tq}}"]),
        ("[[entry]]\nlaunch='x'\ngrid.tp=[1]", &["\"tp\"", "stands nowhere"]),
        ("[[entry]]\nname='{tp}'\nlaunch='x'\ngrid.tp=[1, 2]", &["\"tp\"", "stands nowhere"]),
        ("[[entry]]\nlaunch='x'\nprofile='y'", &["entry 1", "one of launch"]),
        ("[[entry]]\nname='n'", &["entry 1 (n)", "one of launch"]),
        ("[[entry]]\nurl='a'\nspeculative='1,0.5'", &["one of launch"]),
        ("[[entry]]\nname='N'\nurl='a'\n[[entry]]\nname='n'\nurl='b'", &["\"n\"", "name of its own"]),
        ("title = 'x'", &["no [[entry]]"]),
        ("entry = 3", &["entry", "list of tables"]),
        ("order = 'random'\n[[entry]]\nurl='a'", &["order", "shuffled"]),
        ("repeats = 0\n[[entry]]\nurl='a'", &["repeats", "from 1 to 100"]),
        ("seed = -1\n[[entry]]\nurl='a'", &["seed", "from 0 on"]),
        ("[[entry]]\nurl='a'\ngrid.x=[]", &["grid.x", "at least one"]),
        ("[[entry]]\nurl='a'\ngrid.x=[[1]]", &["grid.x"]),
        ("[[entry]]\nurl='a'\ngrid.\"a b\"=[1]", &["grid.a b", "letters"]),
        ("[[entry]]\nurl='a'\noptions.adaptive='yes'", &["options.adaptive", "true or false"]),
        ("[[entry]]\nurl=''", &["url", "a text"]),
        ("options = { max-output = 1, max_output = 2 }\n[[entry]]\nurl='a'", &["twice"]),
        ("[[entry]\nurl='a'", &["TOML", "line 1"]),
    ] {
        let error = refusal(text);
        for word in words {
            assert!(error.contains(word), "{word:?} in {error:?} of {text:?}");
        }
    }
    let many = (0..=MOST_ENTRIES).map(|value| value.to_string()).collect::<Vec<_>>().join(",");
    assert!(refusal(&format!("[[entry]]\nurl='{{a}}'\ngrid.a=[{many}]")).contains("1000"));
}

#[test]
fn what_cannot_be_read_does_not_show_its_text() {
    let error = refusal("[[entry]]\nlaunch = 'serve --api-key sk-planted-secret-0123456789\nurl = 'a'");
    assert!(error.contains("line 2") && !error.contains("planted"), "{error}");
}
