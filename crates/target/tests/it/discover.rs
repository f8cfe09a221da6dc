use serde_json::json;
use tokio::net::TcpListener;
use tokometer_target::{Found, discover};

use crate::support::{Reply, Server};

#[tokio::test]
async fn servers_are_found_in_the_order_of_their_ports() {
    let models = |owner: &str, ids: &[&str]| {
        let data: Vec<_> = ids.iter().map(|id| json!({"id": id, "owned_by": owner})).collect();
        [("GET /v1/models", Reply::json(&json!({"data": data})))]
    };
    let vllm = Server::of(&models("vllm", &["qwen"])).await;
    let unknown = Server::of(&models("library", &["a", "b"])).await;
    let locked = Server::of(&[("GET /v1/models", Reply::status(401, "{}"))]).await;
    let page = Server::of(&[("GET /v1/models", Reply::text("<html>"))]).await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();

    let ports = [locked.port, closed, unknown.port, page.port, vllm.port];
    let found = |server: &Server, what: &str| Found { url: server.url(), what: what.to_owned() };
    assert_eq!(
        discover(&ports).await,
        [
            found(&locked, "a server that asks for an API key"),
            found(&unknown, "a server with a, b"),
            found(&vllm, "vllm with qwen"),
        ]
    );
    assert_eq!(discover(&[]).await, []);
}
