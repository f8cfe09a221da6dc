//! What bad servers and bad names get: one sentence that says what to try.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokometer_target::{ProbeOptions, TargetError, probe};
use tokometer_wire::Control;

use crate::support::{Reply, Server, connector};

async fn message(reply: Reply) -> String {
    Server::of(&[("GET /v1/models", reply)]).await.probe().await.unwrap_err().to_string()
}

fn says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
    assert!(!message.contains('\n'));
}

#[tokio::test]
async fn nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = probe(&Control::new(connector(&url, None)), &ProbeOptions::default()).await.unwrap_err();
    assert!(matches!(error, TargetError::Unreachable { .. }));
    says(&error.to_string(), &["cannot reach", &url, "is the server running"]);
}

#[tokio::test]
async fn something_else_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut asked = [0; 1024];
        let _ = socket.read(&mut asked).await;
        let _ = socket.write_all(b"SSH-2.0-OpenSSH_9.9\r\n\r\n").await;
    });
    let error = probe(&Control::new(connector(&url, None)), &ProbeOptions::default()).await.unwrap_err();
    says(&error.to_string(), &[&url]);
}

#[tokio::test]
async fn a_key_is_missing_or_wrong() {
    for status in [401, 403] {
        let message = message(Reply::status(status, r#"{"error":"Unauthorized"}"#)).await;
        says(&message, &[&status.to_string(), "OPENAI_API_KEY", "--api-key-env", "--api-key-file"]);
    }
    let server = Server::of(&[("GET /v1/models", Reply::status(401, r#"{"error":"Unauthorized"}"#))]).await;
    let control = Control::new(connector(&server.url(), Some("sk-wrong")));
    let error = probe(&control, &ProbeOptions::default()).await.unwrap_err();
    says(&error.to_string(), &["refuses the API key", "--api-key-file"]);
    assert!(!format!("{error:?}").contains("sk-wrong"));
    assert_eq!(server.asked()[0].key.as_deref(), Some("Bearer sk-wrong"));
}

#[tokio::test]
async fn the_base_url_is_wrong() {
    says(&message(Reply::status(404, "{}")).await, &["no OpenAI-compatible API", "/v1", "base URL"]);
    let page = Reply {
        headers: vec![("content-type".to_owned(), "text/html".to_owned())],
        ..Reply::text("<!doctype html><p>hi")
    };
    says(&message(page).await, &["a web page", "address of the API"]);
    says(&message(Reply::text("hello")).await, &["text that is no JSON"]);
    says(&message(Reply::json(&json!({"models": []}))).await, &["other JSON"]);
}

#[tokio::test]
async fn the_server_sends_elsewhere_or_fails() {
    let moved = Reply::status(308, "").with("location", "https://other.example/v1/models");
    says(&message(moved).await, &["redirects to https://other.example/v1/models", "use that address"]);
    let loading = Reply::status(503, r#"{"error":{"message":"Loading model"}}"#);
    says(&message(loading).await, &["HTTP 503", "Loading model", "still loading"]);
}

fn several() -> Reply {
    let entry = |id: &str| json!({"id": id, "owned_by": "vllm", "root": format!("org/{id}")});
    Reply::json(&json!({"data": [entry("qwen-small"), entry("llama-8b"), entry("qwen-large")]}))
}

#[tokio::test]
async fn a_model_that_is_not_served_is_answered_with_the_nearest_first() {
    let server = Server::of(&[("GET /v1/models", several())]).await;
    let error = server.probe_model("Llama8b").await.unwrap_err();
    says(&error.to_string(), &["no model \"Llama8b\"", "llama-8b"]);
    match error {
        TargetError::UnknownModel { served, .. } => {
            assert_eq!(served[0], "llama-8b");
            assert_eq!(served.len(), 3);
        }
        other => panic!("{other}"),
    }
    assert_eq!(server.requests(), ["GET /v1/models"]);
}

#[tokio::test]
async fn several_models_need_a_name() {
    let server = Server::of(&[("GET /v1/models", several())]).await;
    let error = server.probe().await.unwrap_err();
    says(&error.to_string(), &["--model", "qwen-small, llama-8b, qwen-large"]);
    assert_eq!(server.probe_model("llama-8b").await.unwrap().served_name(), "llama-8b");
    let by_full_name = server.probe_model("org/qwen-large").await.unwrap();
    assert_eq!(by_full_name.served_name(), "qwen-large");
    assert_eq!(by_full_name.models.len(), 3);
}

#[tokio::test]
async fn no_model_is_loaded() {
    says(&message(Reply::json(&json!({"data": []}))).await, &["serves no model"]);
}
