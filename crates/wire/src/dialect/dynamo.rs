//! The front end of Dynamo. Annotations come as typed events, the message of an error as a comment below
//! `event: error`; usage may share the finish event.

use super::openai::SHARED;
use super::rules::Rules;

pub(super) const RULES: Rules = Rules {
    name: "dynamo",
    annotations: &["formatted_prompt", "llm_metrics", "request_id", "token_ids", "worker_instance_id"],
    ..SHARED
};
