//! Responses as engines stream them, of any length.

use std::fmt::Write as _;
use std::hint::black_box;

use tokometer_wire::response::{Progress, ResponseReader};
use tokometer_wire::{Dialect, Endpoint, Event, EventSink, Expect, Stamp};

/// The shape of a stream's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// vLLM's chat with cumulative usage on each event: the common case.
    VllmChat,
    /// vLLM's completions with cumulative usage on each event.
    VllmCompletions,
    /// vLLM's chat with token ids on each event.
    VllmTokenIds,
    /// SGLang's chat with cumulative usage on each event.
    SglangChat,
    /// llama.cpp's chat with timings on each event.
    LlamaCppChat,
    /// OpenAI's chat, which counts once at the end.
    OpenAiChat,
    /// Ollama's own chat: NDJSON, counted once at the end.
    OllamaNative,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Shape; 7] = [
        Shape::VllmChat,
        Shape::VllmCompletions,
        Shape::VllmTokenIds,
        Shape::SglangChat,
        Shape::LlamaCppChat,
        Shape::OpenAiChat,
        Shape::OllamaNative,
    ];

    /// A short name: `vllm-chat`.
    pub const fn name(self) -> &'static str {
        match self {
            Shape::VllmChat => "vllm-chat",
            Shape::VllmCompletions => "vllm-completions",
            Shape::VllmTokenIds => "vllm-token-ids",
            Shape::SglangChat => "sglang-chat",
            Shape::LlamaCppChat => "llamacpp-chat",
            Shape::OpenAiChat => "openai-chat",
            Shape::OllamaNative => "ollama-native",
        }
    }

    /// How a client is told to read it.
    pub fn expect(self) -> Expect {
        let (endpoint, dialect) = match self {
            Shape::VllmChat | Shape::VllmTokenIds => (Endpoint::Chat, Dialect::Vllm),
            Shape::VllmCompletions => (Endpoint::Completions, Dialect::Vllm),
            Shape::SglangChat => (Endpoint::Chat, Dialect::Sglang),
            Shape::LlamaCppChat => (Endpoint::Chat, Dialect::LlamaCpp),
            Shape::OpenAiChat => (Endpoint::Chat, Dialect::OpenAi),
            Shape::OllamaNative => (Endpoint::Chat, Dialect::OllamaNative),
        };
        Expect { endpoint, dialect }
    }

    /// The head of the response.
    pub fn head(self) -> &'static str {
        match self {
            Shape::OllamaNative => {
                "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
            }
            _ => {
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
            }
        }
    }

    /// The event of output token `number`, from 1 on, in a chunk of its own.
    pub fn event(self, number: u64) -> String {
        let text = token(number);
        let total = PROMPT_TOKENS + number;
        let data = match self {
            Shape::VllmChat => format!(
                "{{\"id\":\"chatcmpl-8f14e45fceea167a\",\"object\":\"chat.completion.chunk\",\"created\":1767225600,\
                 \"model\":\"qwen3-8b\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"logprobs\":null,\
                 \"finish_reason\":null,\"token_ids\":null}}],\"usage\":{{\"prompt_tokens\":{PROMPT_TOKENS},\
                 \"total_tokens\":{total},\"completion_tokens\":{number}}}}}"
            ),
            Shape::VllmCompletions => format!(
                "{{\"id\":\"cmpl-8f14e45fceea167a\",\"object\":\"text_completion\",\"created\":1767225600,\
                 \"model\":\"qwen3-8b\",\"choices\":[{{\"index\":0,\"text\":\"{text}\",\"logprobs\":null,\"finish_reason\":null,\
                 \"stop_reason\":null,\"prompt_token_ids\":null,\"token_ids\":null}}],\"usage\":{{\"prompt_tokens\":\
                 {PROMPT_TOKENS},\"total_tokens\":{total},\"completion_tokens\":{number}}}}}"
            ),
            Shape::VllmTokenIds => format!(
                "{{\"id\":\"chatcmpl-8f14e45fceea167a\",\"object\":\"chat.completion.chunk\",\"created\":1767225600,\
                 \"model\":\"qwen3-8b\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"logprobs\":null,\
                 \"finish_reason\":null,\"token_ids\":[{}]}}]}}",
                1000 + number % 9000
            ),
            Shape::SglangChat => format!(
                "{{\"id\":\"6a1f0c9e5b7d4c3e8f2a1b0c9d8e7f6a\",\"object\":\"chat.completion.chunk\",\"created\":1767225602,\
                 \"model\":\"default\",\"choices\":[{{\"index\":0,\"delta\":{{\"role\":null,\"content\":\"{text}\",\
                 \"reasoning_content\":null,\"tool_calls\":null}},\"logprobs\":null,\"finish_reason\":null,\
                 \"matched_stop\":null}}],\"usage\":{{\"prompt_tokens\":{PROMPT_TOKENS},\"total_tokens\":{total},\
                 \"completion_tokens\":{number},\"prompt_tokens_details\":{{\"cached_tokens\":12}},\"reasoning_tokens\":0}}}}"
            ),
            Shape::LlamaCppChat => format!(
                "{{\"choices\":[{{\"finish_reason\":null,\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}],\
                 \"created\":{},\"id\":\"chatcmpl-QxW3TnLsD9aYbE2k\",\"model\":\"gguf\",\"system_fingerprint\":\"b7321-0c1e57098\",\
                 \"object\":\"chat.completion.chunk\",\"timings\":{{\"cache_n\":236,\"prompt_n\":20,\"prompt_ms\":113.31,\
                 \"prompt_per_token_ms\":5.6655,\"prompt_per_second\":176.5063983761363,\"predicted_n\":{number},\
                 \"predicted_ms\":{}.527,\"predicted_per_token_ms\":19.{:03}18274,\"predicted_per_second\":51.{:03}92746}}}}",
                1_767_225_603 + number / 50,
                number * 20,
                number % 1000,
                (number * 7) % 1000
            ),
            Shape::OpenAiChat => format!(
                "{{\"id\":\"chatcmpl-CiUQXW3TnLsD9aYbE2k\",\"object\":\"chat.completion.chunk\",\"created\":1767225600,\
                 \"model\":\"gpt-5.1-mini\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_3a7c1f0e2b\",\"choices\":\
                 [{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"logprobs\":null,\"finish_reason\":null}}],\"usage\":null,\
                 \"obfuscation\":\"{}\"}}",
                &"aZ3kQ9mB7xY2"[..=(number % 11) as usize]
            ),
            Shape::OllamaNative => format!(
                "{{\"model\":\"qwen3:8b\",\"created_at\":\"2026-01-01T00:00:{:02}.{:09}Z\",\"message\":{{\"role\":\"assistant\",\
                 \"content\":\"{text}\"}},\"done\":false}}",
                number % 60,
                number * 7919 % 1_000_000_000
            ),
        };
        self.chunk(&data)
    }

    /// The end: finish reason, counts, closing marker, last chunk.
    pub fn end(self, tokens: u64) -> String {
        let usage = format!(
            "\"usage\":{{\"prompt_tokens\":{PROMPT_TOKENS},\"total_tokens\":{},\"completion_tokens\":{tokens}}}",
            PROMPT_TOKENS + tokens
        );
        let finish = match self {
            Shape::OllamaNative => {
                let last = format!(
                    "{{\"model\":\"qwen3:8b\",\"message\":{{\"role\":\"assistant\",\"content\":\"\"}},\"done\":true,\
                     \"done_reason\":\"length\",\"prompt_eval_count\":{PROMPT_TOKENS},\"eval_count\":{tokens}}}"
                );
                return self.chunk(&last) + "0\r\n\r\n";
            }
            Shape::VllmCompletions => {
                format!(
                    "{{\"choices\":[{{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\"}}],{usage}}}"
                )
            }
            _ => format!(
                "{{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"length\"}}],{usage}}}"
            ),
        };
        self.chunk(&finish) + &self.chunk("[DONE]") + "0\r\n\r\n"
    }

    /// One event in a chunk of its own.
    fn chunk(self, data: &str) -> String {
        let mut event = String::new();
        // Writing to a string cannot fail.
        let _ = match self {
            Shape::OllamaNative => writeln!(event, "{data}"),
            _ => write!(event, "data: {data}\n\n"),
        };
        format!("{:x}\r\n{event}\r\n", event.len())
    }
}

/// The events of a stream, made beforehand.
pub struct Made {
    shape: Shape,
    events: Vec<String>,
}

impl Made {
    /// The first `events` events.
    pub fn new(shape: Shape, events: u64) -> Made {
        Made { shape, events: (1..=events).map(|number| shape.event(number)).collect() }
    }

    /// Reads a response of the first `events` events, one per read; false if it was not read as it was made.
    pub fn read(&self, events: u64) -> bool {
        let mut tally = Tally::default();
        let mut reader = ResponseReader::new(self.shape.expect());
        reader.feed(self.shape.head().as_bytes(), Stamp::default(), &mut tally);
        for event in &self.events[..events as usize] {
            reader.feed(event.as_bytes(), Stamp::default(), &mut tally);
            reader.end_of_read(&mut tally);
        }
        let progress = reader.feed(self.shape.end(events).as_bytes(), Stamp::default(), &mut tally);
        black_box(&tally.tokens);
        progress == Progress::Complete && tally.events >= events
    }
}

/// Counts what it is given.
#[derive(Default)]
struct Tally {
    events: u64,
    tokens: Option<u32>,
}

impl EventSink for Tally {
    fn event(&mut self, event: &Event) {
        self.events += 1;
        self.tokens = event.tokens.or(self.tokens);
    }
}

/// Prompt tokens that every stream states.
pub const PROMPT_TOKENS: u64 = 8192;

const WORDS: [&str; 32] = [
    " the", " river", " of", " stone", " moved", " under", " light", " and", " seven", " boats", " went",
    " north", " to", " find", " a", " market", " where", " glass", " was", " sold", " by", " weight", " not",
    " colour", ",", " each", " buyer", " kept", " two", " scales", ".", " brass",
];

/// The text of an output token, as it stands in JSON: some 4 characters, now and then an escape or a letter beyond
/// ASCII, never a repetition that is a loop.
pub fn token(number: u64) -> String {
    match number % 50 {
        17 => "\\n\\n".to_owned(),
        33 => " été".to_owned(),
        _ => {
            let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            WORDS[(mixed % WORDS.len() as u64) as usize].to_owned()
        }
    }
}
