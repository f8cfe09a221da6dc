//! Values from everywhere laid over each other for one call of one command.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::builder::{BoolishValueParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueEnum};
use tokometer_wire::redact;

use super::catalogue::{Kind, PRESET, Setting, settings_of};
use super::file::File;
use super::near::nearest;
use super::preset::Preset;
use crate::failure::Hinted;

/// A command as it was called.
pub(super) struct Call {
    /// The command's names below the program: `["run"]`.
    pub(super) path: Vec<String>,
    pub(super) settings: Vec<Setting>,
    /// Ids of the options on the command line.
    given: Vec<String>,
    config: Option<PathBuf>,
    preset: Option<Preset>,
    matches: ArgMatches,
}

/// Where a value comes from, in rising order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// What the program does by itself.
    Default,
    /// A preset that the file names.
    PresetOfFile(&'static str),
    /// The file.
    File { path: PathBuf, line: usize },
    /// A preset that the environment names.
    PresetOfEnvironment(&'static str),
    /// The environment.
    Environment(String),
    /// A preset on the command line.
    PresetOfLine(&'static str),
    /// The command line.
    Line,
}

impl Source {
    /// In a few words.
    pub(super) fn words(&self) -> String {
        match self {
            Source::Default => "default".to_owned(),
            Source::PresetOfFile(name) => format!("preset {name}, named in the file"),
            Source::PresetOfEnvironment(name) => format!("preset {name}, named by TOKOMETER_PRESET"),
            Source::PresetOfLine(name) => format!("preset {name}, named by --preset"),
            Source::File { path, line } => format!("{}:{line}", path.display()),
            Source::Environment(variable) => variable.clone(),
            Source::Line => "command line".to_owned(),
        }
    }
}

/// What a setting has.
#[derive(Debug, Clone)]
pub(super) struct Value {
    /// As on the command line; empty: not set.
    pub(super) values: Vec<String>,
    pub(super) source: Source,
}

/// The values of a call, one for each of its settings.
pub(super) struct Resolved {
    pub(super) values: Vec<Value>,
    pub(super) file: Option<PathBuf>,
}

impl Call {
    /// Which command a line calls; none where it asks for help or can't be read.
    pub(super) fn of(program: &Command, line: &[OsString]) -> Option<Call> {
        let mut as_it_is = program.clone();
        as_it_is.build();
        let mut program = switchable(program.clone().ignore_errors(true));
        program.build();
        let top = program.clone().try_get_matches_from(line).ok()?;
        let (mut command, mut matches) = (&program, &top);
        let mut path = Vec::new();
        while let Some((name, below)) = matches.subcommand() {
            command = command.find_subcommand(name)?;
            matches = below;
            path.push(name.to_owned());
        }
        let own = path.iter().try_fold(&as_it_is, |command, name| command.find_subcommand(name))?;
        let settings = settings_of(own, &path);
        let given = command
            .get_arguments()
            .map(|arg| arg.get_id().as_str())
            .filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine))
            .map(str::to_owned)
            .collect();
        let one = |id: &str| matches.try_get_one::<PathBuf>(id).ok().flatten().cloned();
        let preset = matches.try_get_one::<Preset>(PRESET).ok().flatten().copied();
        Some(Call { config: one("config"), preset, given, path, settings, matches: matches.clone() })
    }

    fn is_given(&self, setting: &Setting) -> bool {
        self.given.iter().any(|id| id == setting.id())
    }

    /// What the line itself says of a setting.
    fn on_line(&self, setting: &Setting) -> Vec<String> {
        if setting.kind == Kind::Flag {
            let on = self.matches.try_get_one::<bool>(setting.id()).ok().flatten();
            return vec![on.is_none_or(|on| *on).to_string()];
        }
        let values = self.matches.get_raw(setting.id()).into_iter().flatten();
        values.map(|value| value.to_string_lossy().into_owned()).collect()
    }
}

/// Lays the values of a call over each other.
pub(super) fn resolve(program: &Command, call: &Call) -> anyhow::Result<Resolved> {
    let mut built = program.clone();
    built.build();
    let file = File::find(call.config.as_deref(), &built)?;
    let presets = presets(call, file.as_ref())?;
    let mut values = Vec::new();
    for setting in &call.settings {
        let mut best = default(setting);
        let mut offer = |values: Vec<String>, source: Source| {
            if source >= best.source {
                best = Value { values, source };
            }
        };
        for (preset, source) in &presets {
            let found = preset
                .values()
                .iter()
                .find(|(section, key, _)| *section == setting.section && *key == setting.key);
            if let Some((_, _, value)) = found {
                offer(vec![(*value).to_owned()], source.clone());
            }
        }
        if let Some(file) = &file
            && let Some(entry) = file.get(setting)
        {
            let source = Source::File { path: file.path.clone(), line: entry.line };
            check(setting, &entry.values, &source)?;
            offer(entry.values.clone(), source);
        }
        if let Some(value) = std::env::var_os(&setting.variable).filter(|value| !value.is_empty()) {
            let source = Source::Environment(setting.variable.clone());
            let values = from_environment(setting, &value)?;
            check(setting, &values, &source)?;
            offer(values, source);
        }
        if call.is_given(setting) {
            offer(call.on_line(setting), Source::Line);
        }
        values.push(best);
    }
    drop_excluded(program, call, &mut values);
    Ok(Resolved { values, file: file.map(|file| file.path) })
}

/// The preset that holds: the one named nearest to the command line.
fn presets(call: &Call, file: Option<&File>) -> anyhow::Result<Vec<(Preset, Source)>> {
    if !call.settings.iter().any(|setting| setting.id() == PRESET) {
        return Ok(Vec::new());
    }
    let named = |word: &str, place: &str| {
        Preset::from_str(word, false).map_err(|_| {
            let names: Vec<&str> = Preset::value_variants().iter().map(|preset| preset.name()).collect();
            let hint = match nearest(word, names.iter().copied()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("there are {}", names.join(", ")),
            };
            Hinted::usage(format!("{place}: there is no preset {word:?}"), hint)
        })
    };
    if let Some(preset) = call.preset.filter(|_| call.given.iter().any(|id| id == PRESET)) {
        return Ok(vec![(preset, Source::PresetOfLine(preset.name()))]);
    }
    if let Ok(word) = std::env::var("TOKOMETER_PRESET")
        && !word.is_empty()
    {
        let preset = named(&word, "TOKOMETER_PRESET")?;
        return Ok(vec![(preset, Source::PresetOfEnvironment(preset.name()))]);
    }
    if let Some((file, entry)) = file.and_then(|file| Some((file, file.preset()?))) {
        let place = format!("{}:{}", file.path.display(), entry.line);
        let preset = named(&entry.values.join(","), &place)?;
        return Ok(vec![(preset, Source::PresetOfFile(preset.name()))]);
    }
    Ok(Vec::new())
}

fn default(setting: &Setting) -> Value {
    let values = match setting.kind {
        Kind::Flag => vec!["false".to_owned()],
        _ => setting
            .arg
            .get_default_values()
            .iter()
            .map(|value| value.to_string_lossy().into_owned())
            .collect(),
    };
    Value { values, source: Source::Default }
}

fn from_environment(setting: &Setting, value: &OsStr) -> anyhow::Result<Vec<String>> {
    let text = value.to_str().ok_or_else(|| {
        Hinted::usage(format!("{} is not UTF-8", setting.variable), "write it anew, or unset it")
    })?;
    Ok(match setting.kind {
        Kind::Flag => {
            let parser = BoolishValueParser::new();
            let read = parser.parse_ref(&Command::new(""), None, value).map_err(|_| {
                let message = format!("{}: expected true or false, found {text:?}", setting.variable);
                Hinted::usage(message, "write 1 or 0, or unset it")
            })?;
            vec![read.to_string()]
        }
        // A header may hold a comma; several are given by the file or the command line.
        Kind::Many if setting.arg.get_value_delimiter().is_some() => {
            text.split(',').map(|part| part.trim().to_owned()).collect()
        }
        Kind::Many | Kind::One => vec![text.to_owned()],
    })
}

/// A value that clap would refuse is refused with its place.
fn check(setting: &Setting, values: &[String], source: &Source) -> anyhow::Result<()> {
    if setting.kind == Kind::Flag {
        return Ok(());
    }
    // By itself: what it requires or excludes is no matter of its value.
    let arg = alone(&setting.arg);
    let line = std::iter::once(String::new()).chain(values.iter().map(|value| format!("--value={value}")));
    let read = Command::new("").no_binary_name(false).arg(arg).try_get_matches_from(line);
    read.map(drop).map_err(|error| {
        let mut why = String::new();
        for (kind, value) in error.context() {
            use clap::error::ContextKind as Kind;
            match kind {
                Kind::InvalidValue if why.is_empty() => {}
                Kind::ValidValue => why = format!("expected one of {value}"),
                _ => {}
            }
        }
        if why.is_empty() {
            why = std::error::Error::source(&error).map_or_else(|| "invalid".to_owned(), ToString::to_string);
        }
        let shown = redact::text(&values.join(","));
        let message = format!("{}: {} = {shown:?}: {why}", source.words(), setting.path());
        Hinted::usage(message, "mend it there; tokometer config show tells where values come from").into()
    })
}

fn alone(arg: &Arg) -> Arg {
    let mut single = Arg::new("value").long("value").value_parser(arg.get_value_parser().clone());
    single = single.action(ArgAction::Append).allow_hyphen_values(true);
    if let Some(delimiter) = arg.get_value_delimiter() {
        single = single.value_delimiter(delimiter);
    }
    single
}

/// Of options that exclude each other the one from the higher place stays.
fn drop_excluded(program: &Command, call: &Call, values: &mut [Value]) {
    let Some(command) = call.path.iter().try_fold(program, |command, name| command.find_subcommand(name))
    else {
        return;
    };
    let excluded = |one: &Setting, other: &Setting| {
        let of = |a: &Setting, b: &Setting| {
            command.get_arg_conflicts_with(&a.arg).iter().any(|arg| arg.get_id() == b.arg.get_id())
        };
        of(one, other) || of(other, one)
    };
    let is_set = |value: &Value, setting: &Setting| {
        value.source > Source::Default
            && (setting.kind != Kind::Flag || value.values.first().is_some_and(|value| value == "true"))
    };
    for (index, setting) in call.settings.iter().enumerate() {
        let stronger = call.settings.iter().zip(values.iter()).any(|(other, value)| {
            is_set(value, other) && value.source > values[index].source && excluded(setting, other)
        });
        if stronger && is_set(&values[index], setting) {
            values[index] = default(setting);
        }
    }
}

/// The program whose command has these values as its defaults.
pub(super) fn inject(program: Command, call: &Call, resolved: &Resolved) -> Command {
    let set: Vec<(&Setting, &Value)> = call
        .settings
        .iter()
        .zip(&resolved.values)
        .filter(|(setting, value)| match value.source {
            Source::Default => false,
            Source::Line => setting.kind == Kind::Flag,
            _ => true,
        })
        .collect();
    below(program, &call.path, &|command| {
        set.iter().fold(command, |command, (setting, value)| {
            command.mut_arg(setting.id(), |arg| match setting.kind {
                Kind::Flag if value.source == Source::Line => switch(arg).default_value("false"),
                Kind::Flag => switch(arg).default_value(value.values.join(",")),
                Kind::One | Kind::Many => arg.default_values(value.values.clone()),
            })
        })
    })
}

/// A flag that takes a value, so that it can be switched off on the command line: `--adaptive=false`.
fn switch(arg: Arg) -> Arg {
    arg.action(ArgAction::Set)
        .num_args(0..=1)
        .require_equals(true)
        .value_name("true|false")
        .value_parser(clap::value_parser!(bool))
        .default_missing_value("true")
}

fn switchable(command: Command) -> Command {
    let is_flag = |arg: &Arg| matches!(arg.get_action(), ArgAction::SetTrue);
    command
        .mut_args(|arg| if is_flag(&arg) { switch(arg).default_value("false") } else { arg })
        .mut_subcommands(switchable)
}

fn below(command: Command, path: &[String], change: &dyn Fn(Command) -> Command) -> Command {
    match path {
        [] => change(command),
        [name, rest @ ..] => command.mut_subcommand(name, |sub| below(sub, rest, change)),
    }
}

/// The path as it is shown.
pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}
