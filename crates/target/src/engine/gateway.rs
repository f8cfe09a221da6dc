//! Gateways and proxies. They hide the engine: what stands behind one is unknown unless it shows itself.

use super::{lite_llm, open_router};
use crate::answers::Answers;
use crate::models::ModelEntry;

/// Servers of web pages and load balancers that are known to stand in front of engines.
const WEB_SERVERS: [&str; 8] =
    ["nginx", "cloudflare", "envoy", "istio-envoy", "caddy", "openresty", "traefik", "haproxy"];

/// What stands between us and the engine, as far as it shows itself, and where it does.
pub(crate) fn in_front(model: &ModelEntry, answers: &Answers) -> Option<(String, &'static str)> {
    let web_server = || {
        let server = answers.header("server")?;
        let name = server.to_lowercase();
        WEB_SERVERS.iter().any(|known| name.starts_with(known)).then(|| (server.to_owned(), "header Server"))
    };
    let envoy = || answers.header("x-envoy-upstream-service-time").map(|_| ("envoy".to_owned(), "headers"));
    let via = || answers.header("via").map(|via| (via.to_owned(), "header Via"));
    lite_llm::in_front(answers)
        .or_else(|| open_router::in_front(model))
        .or_else(web_server)
        .or_else(envoy)
        .or_else(via)
}
