//! Bodies of requests: JSON with borrowed text, and the tokenized prompt.

use std::borrow::Cow;
use std::fmt;

use axum::body::Body;
use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::answer::Refusal;
use crate::tokenizer::{self, Prompt};

/// Largest body that is read.
const MAX_BODY_BYTES: usize = 64 << 20;

/// A body from this size on is parsed beside the event loop, so that running streams do not wait for it.
const LARGE_BODY_BYTES: usize = 16 << 10;

/// Reads a whole body.
pub(super) async fn read(body: Body) -> Result<Bytes, Refusal> {
    axum::body::to_bytes(body, MAX_BODY_BYTES).await.map_err(|_| Refusal::too_large())
}

/// Does work on a body, beside the event loop if the body is large.
pub(super) async fn work<T: Send + 'static>(
    body: Bytes,
    work: impl FnOnce(&[u8]) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    if body.len() < LARGE_BODY_BYTES {
        return work(&body);
    }
    let done = tokio::task::spawn_blocking(move || work(&body)).await;
    done.unwrap_or_else(|_| Err(Refusal::bad_request("the request could not be read")))
}

/// The fields of a request that matter here; others are ignored.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Fields<'a> {
    pub(super) model: Option<String>,
    #[serde(borrow)]
    pub(super) messages: Option<Vec<Message<'a>>>,
    #[serde(borrow)]
    pub(super) prompt: Option<PromptField<'a>>,
    pub(super) max_tokens: Option<u64>,
    pub(super) max_completion_tokens: Option<u64>,
    pub(super) min_tokens: Option<u64>,
    pub(super) ignore_eos: Option<bool>,
    pub(super) n: Option<u64>,
    pub(super) seed: Option<i64>,
    /// What the client calls itself; the truth names requests by it.
    pub(super) user: Option<String>,
    pub(super) stream: Option<bool>,
    pub(super) stream_options: Option<StreamOptions>,
    pub(super) return_token_ids: Option<bool>,
    pub(super) add_generation_prompt: Option<bool>,
    /// llama.cpp: tell how far the prefill is.
    pub(super) return_progress: Option<bool>,
}

/// What a stream tells beside its text.
#[derive(Debug, Clone, Copy, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct StreamOptions {
    pub(super) include_usage: Option<bool>,
    pub(super) continuous_usage_stats: Option<bool>,
}

/// One message of a chat.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Message<'a> {
    role: String,
    #[serde(borrow, default)]
    content: Content<'a>,
}

impl<'a> Fields<'a> {
    /// Reads a body.
    pub(super) fn parse(body: &'a [u8]) -> Result<Fields<'a>, Refusal> {
        parse(body)
    }

    /// Refuses fields that are not in the list.
    pub(super) fn check_names(body: &[u8], known: &[&str]) -> Result<(), Refusal> {
        let Names(names) = parse(body)?;
        match names.iter().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(Refusal::bad_request(format!(
                "Extra inputs are not permitted: `{name}` is no field of this request"
            ))),
            None => Ok(()),
        }
    }

    /// Tokenizes `messages` by the chat template, each token to `sink`.
    pub(super) fn tokenize_messages(&self, sink: impl FnMut(u32)) -> Result<(), Refusal> {
        let messages = self.messages.as_deref().unwrap_or_default();
        tokenize_messages(messages, self.add_generation_prompt.unwrap_or(true), sink)
    }

    /// The tokens of `messages`, or else of `prompt`.
    pub(super) fn token_ids(&self) -> Result<Vec<u32>, Refusal> {
        let mut ids = Vec::new();
        if self.messages.is_some() {
            self.tokenize_messages(|id| ids.push(id))?;
        } else {
            self.tokenize_prompt(|id| ids.push(id))?;
        }
        Ok(ids)
    }

    /// True if `prompt` is a list of token ids.
    pub(super) fn has_prompt_ids(&self) -> bool {
        matches!(self.prompt, Some(PromptField::Ids(_)))
    }

    /// Tokenizes `prompt`, each token to `sink`.
    pub(super) fn tokenize_prompt(&self, mut sink: impl FnMut(u32)) -> Result<(), Refusal> {
        match &self.prompt {
            Some(PromptField::Text(text)) => tokenizer::tokenize(text, sink),
            Some(PromptField::Ids(ids)) => ids.iter().copied().for_each(&mut sink),
            None => return Err(Refusal::bad_request("`prompt` must be a text or a list of token ids")),
        }
        Ok(())
    }
}

/// The names of an object's fields.
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some((name, IgnoredAny)) = fields.next_entry()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

/// Reads a body.
pub(super) fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body)
        .map_err(|error| Refusal::bad_request(format!("the body is not what is asked for here: {error}")))
}

/// Tokenizes messages by the chat template, each token to `sink`.
pub(super) fn tokenize_messages(
    messages: &[Message<'_>],
    opens_reply: bool,
    mut sink: impl FnMut(u32),
) -> Result<(), Refusal> {
    if messages.is_empty() {
        return Err(Refusal::bad_request("`messages` must hold a message"));
    }
    for message in messages {
        tokenizer::open_message(&message.role, &mut sink);
        for text in &message.content.0 {
            tokenizer::tokenize(text, &mut sink);
        }
        tokenizer::close_message(&mut sink);
    }
    if opens_reply {
        tokenizer::open_reply(&mut sink);
    }
    Ok(())
}

/// Collects tokens: the prompt, and its ids where they are wanted.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) prompt: Prompt,
    pub(super) ids: Option<Vec<u32>>,
}

impl Collected {
    pub(super) fn push(&mut self, id: u32) {
        self.prompt.push(id);
        if let Some(ids) = &mut self.ids {
            ids.push(id);
        }
    }
}

/// The content of a message: its texts, in order.
#[derive(Debug, Default)]
struct Content<'a>(Vec<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        struct Part<'a> {
            #[serde(borrow)]
            text: Option<Text<'a>>,
        }

        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Content<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a list of parts with texts")
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Content::default())
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content(vec![Cow::Borrowed(text)]))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content(vec![Cow::Owned(text.to_owned())]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
                let mut texts = Vec::new();
                while let Some(part) = parts.next_element::<Part<'de>>()? {
                    texts.extend(part.text.map(|text| text.0));
                }
                Ok(Content(texts))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

/// A text, borrowed from the body where it holds no escapes.
#[derive(Debug, serde::Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The prompt of a completion.
#[derive(Debug)]
pub(super) enum PromptField<'a> {
    Text(Cow<'a, str>),
    Ids(Vec<u32>),
}

impl<'de: 'a, 'a> Deserialize<'de> for PromptField<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = PromptField<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one text or one list of token ids")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(PromptField::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(PromptField::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let first = match items.next_element::<Item<'de>>()? {
                    None => return Err(A::Error::custom("the prompt is empty")),
                    Some(Item::Prompt(prompt)) => {
                        return match items.next_element::<IgnoredAny>()? {
                            None => Ok(prompt),
                            Some(_) => Err(A::Error::custom("only one prompt per request is served")),
                        };
                    }
                    Some(Item::Id(id)) => id,
                };
                let mut ids = vec![first];
                while let Some(id) = items.next_element()? {
                    ids.push(id);
                }
                Ok(PromptField::Ids(ids))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

/// What a list in `prompt` may begin with.
enum Item<'a> {
    Id(u32),
    Prompt(PromptField<'a>),
}

impl<'de: 'a, 'a> Deserialize<'de> for Item<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Item<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a token id, a text or a list of token ids")
            }

            fn visit_u64<E: serde::de::Error>(self, id: u64) -> Result<Self::Value, E> {
                u32::try_from(id).map(Item::Id).map_err(|_| E::custom("a token id is too large"))
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Item::Prompt(PromptField::Text(Cow::Borrowed(text))))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Item::Prompt(PromptField::Text(Cow::Owned(text.to_owned()))))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut ids: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(id) = ids.next_element()? {
                    list.push(id);
                }
                Ok(Item::Prompt(PromptField::Ids(list)))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}
