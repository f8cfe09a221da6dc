//! The body of a request, as the engine takes it.

use bytes::Bytes;
use serde_json::{Map, Value, json};
use tokometer_record::Endpoint;

use crate::engine::{LengthField, UsageOption};
use crate::target::Target;

/// One request to be built.
#[derive(Debug, Clone, Copy)]
pub struct RequestSpec<'a> {
    /// Route.
    pub endpoint: Endpoint,
    /// Prompt, the user's message on the chat route.
    pub prompt: &'a str,
    /// Output tokens asked for.
    pub max_output_tokens: u64,
    /// True: the model may end by itself. False: the exact length is asked for where the engine knows how.
    pub respect_eos: bool,
    /// Sampling temperature; none: the server's own.
    pub temperature: Option<f64>,
    /// Top-p; none: the server's own.
    pub top_p: Option<f64>,
    /// Sampling seed; none: not sent.
    pub seed: Option<u64>,
    /// The user's own fields, which win over all others.
    pub request_json: Option<&'a Map<String, Value>>,
}

impl Target {
    /// The body of a streamed request.
    pub fn request(&self, spec: &RequestSpec<'_>) -> Bytes {
        body(self.addressed(spec.endpoint, spec.prompt), self.fields(spec))
    }

    /// What the body holds beside model and prompt, for the record.
    pub fn request_fields(&self, spec: &RequestSpec<'_>) -> Value {
        Value::Object(self.fields(spec))
    }

    /// The body of a request of one token that is not streamed, to learn the prompt's size.
    pub(crate) fn sizing_request(
        &self,
        endpoint: Endpoint,
        prompt: &str,
        request_json: Option<&Map<String, Value>>,
    ) -> Value {
        let mut body = self.addressed(endpoint, prompt);
        body.extend(request_json.cloned().unwrap_or_default());
        body.insert("max_tokens".to_owned(), json!(1));
        body.insert("stream".to_owned(), json!(false));
        for unfit in ["stream_options", "min_tokens", "min_new_tokens"] {
            body.remove(unfit);
        }
        Value::Object(body)
    }

    fn addressed(&self, endpoint: Endpoint, prompt: &str) -> Map<String, Value> {
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(self.served_name()));
        match endpoint {
            Endpoint::Chat => body.insert("messages".to_owned(), user_message(prompt)),
            Endpoint::Completions => body.insert("prompt".to_owned(), json!(prompt)),
        };
        body
    }

    fn fields(&self, spec: &RequestSpec<'_>) -> Map<String, Value> {
        let manner = &self.manner;
        let mut fields = Map::new();
        let mut set = |name: &str, value: Value| {
            fields.insert(name.to_owned(), value);
        };
        set("max_tokens", json!(spec.max_output_tokens));
        set("stream", json!(true));
        match manner.usage {
            UsageOption::None => {}
            UsageOption::Final => set("stream_options", json!({"include_usage": true})),
            UsageOption::Continuous => {
                set("stream_options", json!({"include_usage": true, "continuous_usage_stats": true}));
            }
        }
        for field in manner.length.iter().filter(|_| !spec.respect_eos) {
            match *field {
                LengthField::IgnoreEos => set("ignore_eos", json!(true)),
                LengthField::IgnoreEosIn(outer) => set(outer, json!({"ignore_eos": true})),
                LengthField::Least(name) => set(name, json!(spec.max_output_tokens)),
            }
        }
        for flag in manner.flags {
            set(flag, json!(true));
        }
        for (name, value) in [("temperature", spec.temperature), ("top_p", spec.top_p)] {
            if let Some(value) = value {
                set(name, json!(value));
            }
        }
        if let Some(seed) = spec.seed {
            set("seed", json!(seed));
        }
        fields.extend(spec.request_json.cloned().unwrap_or_default());
        fields
    }
}

fn user_message(prompt: &str) -> Value {
    json!([{"role": "user", "content": prompt}])
}

fn body(mut addressed: Map<String, Value>, fields: Map<String, Value>) -> Bytes {
    addressed.extend(fields);
    Value::Object(addressed).to_string().into()
}
