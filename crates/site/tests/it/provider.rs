//! A provider of OpenID Connect in this process, which lies as it is told to.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use http::StatusCode;
use openidconnect::core::{CoreEdDsaPrivateSigningKey, CoreJwsSigningAlgorithm};
use openidconnect::{JsonWebKeyId, PrivateSigningKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokometer_site::OpenIdSettings;

/// Keys of tests alone.
const KEYS: [&str; 2] = [
    "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEICBYDEDSukeiOvwPetteCXtgouxGrUa18BE39OjVcCzT\n-----END PRIVATE KEY-----\n",
    "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJzxyv84yYU8thwKII0guPrDBunVoYh5Rt87aNehGbCW\n-----END PRIVATE KEY-----\n",
];

/// What is wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    Nonce,
    Audience,
    TwoAudiences,
    AuthorizedParty,
    Issuer,
    Expired,
    Future,
    AlgNone,
    AlgHmac,
    OtherKey,
    BrokenSignature,
    NoIdToken,
    Huge,
    Slow,
    OtherPerson,
    ServerError,
}

#[derive(Debug)]
pub(crate) struct Lie {
    pub(crate) fault: Fault,
    /// Which key signs, and which is told.
    pub(crate) key: usize,
    pub(crate) told_key: usize,
    /// What is said of the person beside `sub`.
    pub(crate) claims: Value,
    pub(crate) userinfo: Value,
    pub(crate) subject: String,
    pub(crate) discovery_status: u16,
    pub(crate) discovery_redirects: bool,
    /// Codes that were given: code, nonce, challenge.
    codes: Vec<(String, String, String)>,
    /// Requests for the description.
    pub(crate) described: u32,
}

#[derive(Clone)]
pub(crate) struct Provider {
    pub(crate) address: SocketAddr,
    pub(crate) lie: Arc<Mutex<Lie>>,
}

impl Provider {
    pub(crate) async fn start() -> Provider {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let lie = Lie {
            fault: Fault::None,
            key: 0,
            told_key: 0,
            claims: json!({"preferred_username": "Ada.Lovelace", "email": "ada@secret-mail.test"}),
            userinfo: json!({}),
            subject: "person-1".to_owned(),
            discovery_status: 200,
            discovery_redirects: false,
            codes: Vec::new(),
            described: 0,
        };
        let provider = Provider { address, lie: Arc::new(Mutex::new(lie)) };
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/elsewhere", get(description))
            .route("/keys", get(keys))
            .route("/token", post(token))
            .route("/userinfo", get(userinfo))
            .with_state(provider.clone());
        tokio::spawn(async move { axum_serve(listener, router).await });
        provider
    }

    pub(crate) fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn settings(&self) -> OpenIdSettings {
        OpenIdSettings {
            name: "Test Provider".to_owned(),
            issuer: self.issuer(),
            client_id: "the-site".to_owned(),
            client_secret: Some(tokometer_wire::Secret::new("s3cret-of-the-site")),
            ..OpenIdSettings::default()
        }
    }

    pub(crate) fn set(&self, change: impl FnOnce(&mut Lie)) {
        change(&mut self.lie.lock().unwrap());
    }

    /// What a person who agrees comes back with: the code for a request to sign in.
    pub(crate) fn agree(&self, url: &str) -> (String, String) {
        let query = url.split_once('?').unwrap().1;
        let of = |name: &str| {
            form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).unwrap().1.into_owned()
        };
        assert!(url.starts_with(&format!("{}/authorize?", self.issuer())), "{url}");
        assert_eq!((of("response_type"), of("code_challenge_method")), ("code".into(), "S256".into()));
        assert!(of("scope").split(' ').any(|scope| scope == "openid"));
        let code = format!("code-{}", self.lie.lock().unwrap().codes.len());
        self.set(|lie| lie.codes.push((code.clone(), of("nonce"), of("code_challenge"))));
        (code, of("state"))
    }

    fn document(&self) -> Value {
        let issuer = self.issuer();
        json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "userinfo_endpoint": format!("{issuer}/userinfo"),
            "end_session_endpoint": format!("{issuer}/end"),
            "jwks_uri": format!("{issuer}/keys"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["EdDSA", "RS256"],
        })
    }
}

async fn axum_serve(listener: tokio::net::TcpListener, router: Router) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let router = router.clone();
        tokio::spawn(async move {
            let service = hyper::service::service_fn(move |request: http::Request<hyper::body::Incoming>| {
                tower::ServiceExt::oneshot(router.clone(), request.map(axum::body::Body::new))
            });
            let io = hyper_util::rt::TokioIo::new(stream);
            drop(hyper::server::conn::http1::Builder::new().serve_connection(io, service).await);
        });
    }
}

async fn discovery(State(provider): State<Provider>) -> Response {
    let (status, redirects) = {
        let mut lie = provider.lie.lock().unwrap();
        lie.described += 1;
        (lie.discovery_status, lie.discovery_redirects)
    };
    if redirects {
        return Redirect::temporary("/elsewhere").into_response();
    }
    (StatusCode::from_u16(status).unwrap(), Json(provider.document())).into_response()
}

async fn description(State(provider): State<Provider>) -> Json<Value> {
    Json(provider.document())
}

fn key(number: usize) -> CoreEdDsaPrivateSigningKey {
    let id = JsonWebKeyId::new(format!("key-{number}"));
    CoreEdDsaPrivateSigningKey::from_ed25519_pem(KEYS[number], Some(id)).unwrap()
}

async fn keys(State(provider): State<Provider>) -> Json<Value> {
    let told = provider.lie.lock().unwrap().told_key;
    Json(json!({ "keys": [serde_json::to_value(key(told).as_verification_key()).unwrap()] }))
}

async fn token(State(provider): State<Provider>, headers: http::HeaderMap, body: String) -> Response {
    let fields: Vec<(String, String)> = form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    let of = |name: &str| fields.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.as_str());
    let refused = |word: &str| (StatusCode::BAD_REQUEST, Json(json!({ "error": word }))).into_response();
    let basic = headers.get("authorization").map_or("", |value| value.to_str().unwrap());
    let expected = base64::prelude::BASE64_STANDARD.encode("the-site:s3cret-of-the-site");
    if basic != format!("Basic {expected}") {
        return refused("invalid_client");
    }
    let (fault, answer) = {
        let mut lie = provider.lie.lock().unwrap();
        let Some(place) = lie.codes.iter().position(|(code, _, _)| code == of("code")) else {
            return refused("invalid_grant");
        };
        // A code leads to a token once.
        let (code, nonce, challenge) = lie.codes[place].clone();
        lie.codes[place].0 = format!("used {code}");
        if BASE64.encode(Sha256::digest(of("code_verifier").as_bytes())) != challenge {
            return refused("invalid_grant");
        }
        (lie.fault, answer(&provider, &lie, &nonce))
    };
    match fault {
        Fault::Slow => std::future::pending().await,
        Fault::Huge => "x".repeat(3 << 20).into_response(),
        Fault::ServerError => (StatusCode::INTERNAL_SERVER_ERROR, "oh").into_response(),
        _ => Json(answer).into_response(),
    }
}

fn answer(provider: &Provider, lie: &Lie, nonce: &str) -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64;
    let fault = lie.fault;
    let mut claims = json!({
        "iss": if fault == Fault::Issuer { "https://other.test".to_owned() } else { provider.issuer() },
        "aud": match fault {
            Fault::Audience => json!("another-site"),
            Fault::TwoAudiences => json!(["the-site", "another-site"]),
            _ => json!("the-site"),
        },
        "sub": lie.subject,
        "nonce": if fault == Fault::Nonce { "of another" } else { nonce },
        "iat": if fault == Fault::Future { now + 3600 } else { now - 5 },
        "exp": if fault == Fault::Expired { now - 120 } else { now + 300 },
    });
    if fault == Fault::AuthorizedParty {
        claims["azp"] = json!("another-site");
    }
    for (name, value) in lie.claims.as_object().unwrap() {
        claims[name] = value.clone();
    }
    let signer = key(if fault == Fault::OtherKey { 1 } else { lie.key });
    // A key that is not told, under the name of the one that is.
    let named = if fault == Fault::OtherKey { lie.told_key } else { lie.key };
    let alg = match fault {
        Fault::AlgNone => "none",
        Fault::AlgHmac => "HS256",
        _ => "EdDSA",
    };
    let head = json!({"alg": alg, "typ": "JWT", "kid": format!("key-{named}")});
    let signed = format!("{}.{}", BASE64.encode(head.to_string()), BASE64.encode(claims.to_string()));
    let mut signature = match fault {
        Fault::AlgNone => Vec::new(),
        // As if the public key, or the client's secret, were the secret of both.
        Fault::AlgHmac => Sha256::digest(format!("s3cret-of-the-site{signed}")).to_vec(),
        _ => signer.sign(&CoreJwsSigningAlgorithm::EdDsa, signed.as_bytes()).unwrap(),
    };
    if fault == Fault::BrokenSignature {
        signature[7] ^= 1;
    }
    let mut answer = json!({
        "access_token": "access-of-the-provider",
        "token_type": "Bearer",
        "id_token": format!("{signed}.{}", BASE64.encode(signature)),
    });
    if fault == Fault::NoIdToken {
        answer.as_object_mut().unwrap().remove("id_token");
    }
    answer
}

async fn userinfo(State(provider): State<Provider>, headers: http::HeaderMap) -> Response {
    if headers.get("authorization").is_none_or(|value| value != "Bearer access-of-the-provider") {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let lie = provider.lie.lock().unwrap();
    let mut told = lie.userinfo.clone();
    told["sub"] = json!(if lie.fault == Fault::OtherPerson { "somebody-else" } else { &lie.subject });
    Json(told).into_response()
}
