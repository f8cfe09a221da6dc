//! Numbers that rise, stand still, jump or fall from event to event: whatever is foretold of them, what is read is
//! what was sent.

use proptest::prelude::*;
use tokometer_wire::response::{Progress, ResponseReader};
use tokometer_wire::{Channel, Event, Exchange, Outcome, Stamp};

use crate::support::{CHAT, HEAD, chunk, finish};

/// One event.
#[derive(Debug, Clone)]
struct Sent {
    text: &'static str,
    /// Output tokens that come with it.
    tokens: u64,
    /// Steps of the time of creation and of a number that nobody knows.
    created: u64,
    other: i64,
    cached: Option<u64>,
    /// A number with a fraction.
    rate: u32,
}

fn sent() -> impl Strategy<Value = Vec<Sent>> {
    let text =
        prop::sample::select(vec![" a", " longer text", "\\n", "\\u00e9", "é", "\\\"}\\n\\ndata: {\\\""]);
    let tokens = prop_oneof![8 => Just(1u64), 2 => 0u64..4, 1 => 90u64..1200];
    let created = prop_oneof![6 => Just(0u64), 1 => 1u64..3];
    let other = prop_oneof![4 => Just(7i64), 1 => -20i64..20];
    let cached = prop_oneof![9 => Just(Some(5u64)), 1 => prop::option::of(0u64..40)];
    let event = (text, tokens, created, other, cached, 0u32..3).prop_map(
        |(text, tokens, created, other, cached, rate)| Sent { text, tokens, created, other, cached, rate },
    );
    prop::collection::vec(event, 1..60)
}

/// The chunks of a stream, and the cumulative count of each event.
fn stream(all: &[Sent], prompt: u64, start: u64) -> (Vec<String>, Vec<u64>) {
    let (mut total, mut created) = (start, 1_767_225_598);
    let mut counts = Vec::new();
    let chunks = all.iter().map(|sent| {
        total += sent.tokens;
        created += sent.created;
        counts.push(total);
        let cached = sent.cached.map_or("null".to_owned(), |cached| format!("{{\"cached_tokens\":{cached}}}"));
        chunk(&format!(
            "data: {{\"id\":\"c\",\"created\":{created},\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{}\"}},\
             \"finish_reason\":null}}],\"rate\":{}.5,\"other\":{},\"usage\":{{\"prompt_tokens\":{prompt},\
             \"total_tokens\":{},\"prompt_tokens_details\":{cached},\"completion_tokens\":{total}}}}}\n\n",
            sent.text, sent.rate, sent.other, prompt + total
        ))
    });
    (chunks.collect(), counts)
}

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Exchange, Vec<Event>) {
    let mut reader = ResponseReader::new(CHAT);
    let mut events = Vec::new();
    let mut progress = Progress::More;
    for piece in pieces {
        progress = reader.feed(piece, Stamp::default(), &mut events);
        reader.end_of_read(&mut events);
    }
    assert_eq!(progress, Progress::Complete);
    (reader.exchange(0, None, 0), events)
}

proptest! {
    #[test]
    fn what_is_foretold_changes_nothing(all in sent(), prompt in 1u64..2000, start in 1u64..2000, width in 1usize..300) {
        let (chunks, counts) = stream(&all, prompt, start);
        let whole: Vec<u8> = [HEAD, &chunks.concat(), &finish()].concat().into_bytes();
        let events = [HEAD].into_iter().chain(chunks.iter().map(String::as_str));
        let end = finish();
        let by_event = read(events.chain([end.as_str()]).map(str::as_bytes));
        for (way, (exchange, events)) in [
            ("by event", &by_event),
            ("in one read", &read(std::iter::once(whole.as_slice()))),
            ("in pieces", &read(whole.chunks(width))),
        ] {
            prop_assert_eq!(exchange.outcome, Outcome::Ended, "{}: {:?}", way, exchange);
            let told: Vec<u64> = events.iter().filter_map(|event| event.tokens).map(u64::from).collect();
            prop_assert_eq!(&told, &counts, "{}", way);
            prop_assert!(events.iter().all(|event| event.payload == Some(Channel::Content)));
            prop_assert_eq!(exchange.completion_tokens, counts.last().copied());
            prop_assert_eq!(exchange.prompt_tokens, Some(prompt));
            prop_assert_eq!(exchange.cached_tokens, all.iter().rev().find_map(|sent| sent.cached));
            prop_assert_eq!(&by_event.1.iter().map(|event| event.bytes).collect::<Vec<_>>(),
                &events.iter().map(|event| event.bytes).collect::<Vec<_>>());
        }
    }
}
