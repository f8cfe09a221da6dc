//! One operation of the API: what does it, and what is said of it.
//!
//! The router and the description ([`super::openapi`]) are both made of the same list, so nothing is served that is not
//! described, and nothing is described that is not served.

use axum::Router;
use axum::routing::MethodRouter;
use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use crate::app::App;
use crate::domain::{Deed, Scope};

/// Makes the schema of a type.
type Make = fn(&mut SchemaGenerator) -> Schema;

/// An operation.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(super) method: Method,
    /// Below `/api/v1`, as router and description write it.
    pub(super) path: &'static str,
    handler: MethodRouter<App>,
    /// What it does, in a few words.
    pub(super) summary: &'static str,
    /// More of it.
    pub(super) text: &'static str,
    pub(super) access: Access,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    pub(super) answers: Vec<Answer>,
    /// Status and what it means, beyond those that every operation of its kind has.
    pub(super) refusals: Vec<(u16, &'static str)>,
}

/// Who may call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Anybody,
    /// A token is looked at where one comes along.
    MayTell,
    /// Only with a token of this scope.
    Needs(Scope),
}

/// A parameter of the path, the query, or a header.
#[derive(Debug, Clone)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    /// `path`, `query`, `header`.
    pub(super) place: &'static str,
    pub(super) text: &'static str,
    pub(super) schema: Value,
    /// How a list of values is written.
    pub(super) list: List,
    pub(super) required: bool,
    pub(super) example: Value,
}

/// How a list of values is written in an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    /// There is one value.
    No,
    /// `a=1&a=2`.
    Repeated,
    /// `a=1,2`.
    Commas,
}

/// The body of a request.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) kinds: &'static [&'static str],
    pub(super) content: Content,
    pub(super) text: &'static str,
    pub(super) example: Option<Value>,
}

/// An answer that is no refusal.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) text: &'static str,
    pub(super) contents: Vec<(&'static str, Content)>,
    /// Name and meaning of headers.
    pub(super) headers: Vec<(&'static str, &'static str)>,
}

/// What a body holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content {
    /// JSON of a type.
    Of(Make),
    /// JSON of a document that has a schema of its own, by the name that `tokometer schema` takes.
    Document(&'static str),
    /// Any JSON.
    AnyJson,
    Text,
    Bytes,
}

impl Operation {
    pub(super) fn new(
        method: Method,
        path: &'static str,
        handler: MethodRouter<App>,
        summary: &'static str,
    ) -> Operation {
        Operation {
            method,
            path,
            handler,
            summary,
            text: "",
            access: Access::Anybody,
            parameters: Vec::new(),
            body: None,
            answers: Vec::new(),
            refusals: Vec::new(),
        }
    }

    pub(super) fn text(mut self, text: &'static str) -> Operation {
        self.text = text;
        self
    }

    pub(super) fn may_tell(mut self) -> Operation {
        self.access = Access::MayTell;
        self
    }

    pub(super) fn needs(mut self, deed: Deed) -> Operation {
        self.access = Access::Needs(deed.scope());
        self
    }

    pub(super) fn with(mut self, parameter: Parameter) -> Operation {
        self.parameters.push(parameter);
        self
    }

    pub(super) fn with_all(mut self, parameters: Vec<Parameter>) -> Operation {
        self.parameters.extend(parameters);
        self
    }

    /// Takes JSON of a type.
    pub(super) fn takes<T: JsonSchema>(self, text: &'static str, example: Value) -> Operation {
        let body = Body {
            kinds: &["application/json"],
            content: Content::Of(of::<T>),
            text,
            example: Some(example),
        };
        Operation { body: Some(body), ..self }
    }

    pub(super) fn takes_content(
        self,
        kinds: &'static [&'static str],
        content: Content,
        text: &'static str,
    ) -> Operation {
        Operation { body: Some(Body { kinds, content, text, example: None }), ..self }
    }

    /// Answers with JSON of a type.
    pub(super) fn gives<T: JsonSchema>(self, status: u16, text: &'static str) -> Operation {
        self.gives_content(status, text, vec![("application/json", Content::Of(of::<T>))])
    }

    pub(super) fn gives_content(
        mut self,
        status: u16,
        text: &'static str,
        contents: Vec<(&'static str, Content)>,
    ) -> Operation {
        self.answers.push(Answer { status, text, contents, headers: Vec::new() });
        self
    }

    /// The answer that was told of last has this header.
    pub(super) fn header(mut self, name: &'static str, text: &'static str) -> Operation {
        if let Some(answer) = self.answers.last_mut() {
            answer.headers.push((name, text));
        }
        self
    }

    /// May be refused like this.
    pub(super) fn refuses(mut self, status: u16, text: &'static str) -> Operation {
        self.refusals.push((status, text));
        self
    }

    /// A word for those who make clients: `get_runs_id_cells`. Unique.
    pub(super) fn id(&self) -> String {
        let parts = self.path.split(['/', ':', '.', '{', '}']).filter(|part| !part.is_empty());
        let method = self.method.as_str().to_lowercase();
        std::iter::once(method.as_str()).chain(parts).collect::<Vec<_>>().join("_")
    }
}

impl Content {
    /// JSON, or the fields of a form, of a type.
    pub(super) fn of<T: JsonSchema>() -> Content {
        Content::Of(of::<T>)
    }
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The router of these operations.
pub(super) fn router(operations: Vec<Operation>) -> Router<App> {
    operations
        .into_iter()
        .fold(Router::new(), |router, operation| router.route(operation.path, operation.handler))
}

impl Parameter {
    pub(super) fn query(name: &'static str, text: &'static str, schema: Value, example: Value) -> Parameter {
        Parameter { name, place: "query", text, schema, list: List::No, required: false, example }
    }

    pub(super) fn header(name: &'static str, text: &'static str, schema: Value, example: Value) -> Parameter {
        Parameter { name, place: "header", text, schema, list: List::No, required: false, example }
    }

    /// Id of a run.
    pub(super) fn run() -> Parameter {
        Parameter {
            name: "id",
            place: "path",
            text: "Id of a run: a UUID.",
            schema: json!({"type": "string", "format": "uuid"}),
            list: List::No,
            required: true,
            example: json!("01931d3a-7c00-7000-8000-000000000001"),
        }
    }

    /// SHA-256 of a file.
    pub(super) fn sha256() -> Parameter {
        Parameter {
            name: "sha256",
            place: "path",
            text: "SHA-256 of the file: 64 digits in lower case.",
            schema: json!({"type": "string", "pattern": "^[0-9a-f]{64}$"}),
            list: List::No,
            required: true,
            example: json!("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        }
    }

    /// A number in the path, from 1 on.
    pub(super) fn number(name: &'static str, text: &'static str) -> Parameter {
        let schema = json!({"type": "integer", "minimum": 1, "maximum": i32::MAX});
        Parameter { name, place: "path", text, schema, list: List::No, required: true, example: json!(1) }
    }

    /// One of some words in the path.
    pub(super) fn word(name: &'static str, text: &'static str, words: &[&'static str]) -> Parameter {
        let schema = json!({"type": "string", "enum": words});
        Parameter {
            name,
            place: "path",
            text,
            schema,
            list: List::No,
            required: true,
            example: json!(words[0]),
        }
    }

    /// Has to be there.
    pub(super) fn required(self) -> Parameter {
        Parameter { required: true, ..self }
    }

    /// Several values, as `a=1&a=2`.
    pub(super) fn repeated(self) -> Parameter {
        Parameter { list: List::Repeated, ..self }
    }

    /// Several values, as `a=1,2`.
    pub(super) fn commas(self) -> Parameter {
        Parameter { list: List::Commas, ..self }
    }
}
