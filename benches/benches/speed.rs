//! Time per unit of what runs for each event, and of what is made for each prompt.
//!
//! Time moves with the machine and its load: to be compared by hand, before and after a change on the same machine.
//! What must not grow is held by the `instructions` gates.
//!
//! ```text
//! cargo bench -p tokometer-benches --bench speed [-- NAME]
//! ```

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tokometer_benches::streams::{Made, Shape};
use tokometer_benches::text;
use tokometer_plan::text::Generator;

/// Events of a response.
const EVENTS: u64 = 2000;
/// Characters of a response that is looked through for repetition.
const CHARACTERS: u64 = 1_000_000;
/// Words of a prompt of 65,536 tokens: a word of the generator is about one token.
const PROMPT_WORDS: usize = 65_536;

/// Chunks of a response, one event per read: parser, ledger and the search for repetition.
fn parsing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parsing");
    group.throughput(Throughput::Elements(EVENTS));
    for shape in [Shape::VllmChat, Shape::SglangChat, Shape::LlamaCppChat] {
        let made = Made::new(shape, EVENTS);
        group.bench_function(BenchmarkId::from_parameter(shape.name()), |bencher| {
            bencher.iter(|| assert!(black_box(&made).read(EVENTS)));
        });
    }
    group.finish();
}

/// What counting tokens adds: the same events of little text, by how the server counts them.
fn ledger(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ledger");
    group.throughput(Throughput::Elements(EVENTS));
    for shape in [Shape::VllmCompletions, Shape::VllmTokenIds, Shape::OpenAiChat] {
        let made = Made::new(shape, EVENTS);
        group.bench_function(BenchmarkId::from_parameter(shape.name()), |bencher| {
            bencher.iter(|| assert!(black_box(&made).read(EVENTS)));
        });
    }
    group.finish();
}

fn repetition(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("repetition");
    group.throughput(Throughput::Bytes(CHARACTERS));
    for (name, text) in
        [("varied", text::varied(CHARACTERS)), ("nearly-repeating", text::nearly_repeating(CHARACTERS))]
    {
        group.bench_function(name, |bencher| bencher.iter(|| assert!(text::push(black_box(&text)))));
    }
    group.finish();
}

fn prompts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("prompts");
    group.throughput(Throughput::Elements(PROMPT_WORDS as u64));
    group.bench_function("65536-words", |bencher| {
        bencher.iter_batched_ref(
            || Generator::new(1),
            |generator| black_box(generator.text(PROMPT_WORDS).len()),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group! {
    name = speed;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    targets = parsing, ledger, repetition, prompts
}
criterion_main!(speed);
