//! Sign-in by a provider of OpenID Connect: the code flow with PKCE.
//!
//! Nothing of a sign-in under way is kept in a process or in the database: the browser holds one random key in a
//! cookie, and `state`, `nonce` and the PKCE verifier are made of it by hashing. Whoever returns without that key, or
//! with another browser's `state`, is turned away. The provider's description and keys are a cache of each process.

mod claims;
mod http;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod, CoreIdToken, CoreIdTokenVerifier,
    CoreJwsSigningAlgorithm,
};
use openidconnect::{
    AuthType, AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret, CsrfToken, HttpRequest,
    IssuerUrl, Nonce, OAuth2TokenResponse, PkceCodeChallenge, PkceCodeVerifier, ProviderMetadataWithLogout,
    RedirectUrl, Scope, SignatureVerificationError,
};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::clock;
use crate::domain::Subject;
use crate::problem::Problem;
use crate::secret;

pub(crate) use claims::suggested_handle;
pub use settings::OpenIdSettings;

/// How long the provider's description is taken as it is.
const FRESH: Duration = Duration::from_secs(3600);
/// Shortest time between two requests for it because of a key that is not known.
const PAUSE: Duration = Duration::from_secs(5);
/// By how much the provider's clock may differ, milliseconds.
const SKEW_MS: i64 = 60_000;
/// How old an identity may be, milliseconds.
const OLDEST_MS: i64 = 3_600_000;
/// Signatures that are taken: of a key of the provider's own. Not `none`, and none by a shared secret.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// The provider that people sign in with.
#[derive(Debug)]
pub(crate) struct OpenId {
    settings: OpenIdSettings,
    /// Where the provider sends people back to.
    return_url: String,
    found: Mutex<Option<Found>>,
    /// Time for one answer.
    patience: Duration,
}

#[derive(Debug, Clone)]
struct Found {
    at: Instant,
    metadata: Arc<ProviderMetadataWithLogout>,
}

impl OpenId {
    pub(crate) fn new(settings: OpenIdSettings, site_url: &str) -> OpenId {
        let patience = http::patience();
        OpenId {
            settings,
            return_url: format!("{site_url}/sign-in/return"),
            found: Mutex::default(),
            patience,
        }
    }

    pub(crate) fn settings(&self) -> &OpenIdSettings {
        &self.settings
    }

    /// Where the browser goes to sign in; `key` is in its cookie.
    pub(crate) async fn begin(&self, key: &str) -> Result<String, Problem> {
        let metadata = self.metadata(false).await?;
        let settings = &self.settings;
        let client = CoreClient::new(
            ClientId::new(settings.client_id.clone()),
            metadata.issuer().clone(),
            metadata.jwks().clone(),
        )
        .set_auth_uri(metadata.authorization_endpoint().clone())
        .set_redirect_uri(self.return_url()?);
        let (state, nonce) = (CsrfToken::new(state(key)), Nonce::new(of(key, "nonce")));
        let mut request =
            client.authorize_url(CoreAuthenticationFlow::AuthorizationCode, move || state, move || nonce);
        for scope in &settings.scopes {
            request = request.add_scope(Scope::new(scope.clone()));
        }
        let verifier = PkceCodeVerifier::new(of(key, "pkce"));
        let (url, _, _) =
            request.set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier)).url();
        Ok(url.to_string())
    }

    /// Who came back with `code`; `key` is in the browser's cookie.
    pub(crate) async fn finish(&self, code: &str, key: &str) -> Result<Subject, Problem> {
        let metadata = self.metadata(false).await?;
        let settings = &self.settings;
        let mut client = CoreClient::from_provider_metadata(
            ProviderMetadataWithLogout::clone(&metadata),
            ClientId::new(settings.client_id.clone()),
            settings.client_secret.as_ref().map(|secret| ClientSecret::new(secret.expose().to_owned())),
        )
        .set_redirect_uri(self.return_url()?);
        if metadata.token_endpoint_auth_methods_supported().is_some_and(|methods| {
            !methods.contains(&CoreClientAuthMethod::ClientSecretBasic)
                && methods.contains(&CoreClientAuthMethod::ClientSecretPost)
        }) {
            client = client.set_auth_type(AuthType::RequestBody);
        }
        let exchange = client
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .map_err(|error| self.unusable(&error))?
            .set_pkce_verifier(PkceCodeVerifier::new(of(key, "pkce")));
        let ask = self.asker();
        let tokens = exchange.request_async(&ask).await.map_err(|error| match error {
            openidconnect::RequestTokenError::Request(error) => self.away(&error),
            openidconnect::RequestTokenError::ServerResponse(answer) => {
                tracing::warn!(error = %answer.error(), "the provider took no code");
                turned_away("the provider did not take the code that the browser brought")
            }
            error => self.unusable(&error),
        })?;
        let id_token: &CoreIdToken = openidconnect::TokenResponse::id_token(&tokens)
            .ok_or_else(|| self.unusable(&"it gave no identity"))?;
        let nonce = Nonce::new(of(key, "nonce"));
        let verified = self.verify(id_token, &metadata, &nonce);
        let subject = match verified {
            // The provider may have changed its keys.
            Err(ClaimsVerificationError::SignatureVerification(
                SignatureVerificationError::NoMatchingKey,
            )) => {
                let newer = self.metadata(true).await?;
                self.verify(id_token, &newer, &nonce)
            }
            verified => verified,
        }
        .map_err(|error| {
            tracing::warn!(%error, "an identity of the provider does not hold");
            self.unusable_identity()
        })?;
        // Its signature was checked.
        let mut claims = payload(&id_token.to_string()).ok_or_else(|| self.unusable_identity())?;
        // The library looks at it only where a token is for several.
        if claims.0.get("azp").is_some_and(|party| party != settings.client_id.as_str()) {
            return Err(self.unusable(&"its identity was made for another party"));
        }
        if claims.lack(settings)
            && let Some(endpoint) = metadata.userinfo_endpoint()
        {
            self.ask_more(endpoint.url().as_str(), tokens.access_token().secret(), &subject, &mut claims)
                .await?;
        }
        if !claims.may_enter(settings) {
            return Err(Problem::forbidden(
                format!("{} knows you, but not as somebody who may come in here", settings.name),
                "ask the operator of this site",
            ));
        }
        Ok(claims.person(metadata.issuer().as_str(), &subject, settings))
    }

    /// Where one signs out at the provider too, if that is known and there is such a place.
    pub(crate) async fn sign_out_url(&self, site_url: &str) -> Option<String> {
        let found = self.found.lock().await.clone()?;
        let end = found.metadata.additional_metadata().end_session_endpoint.as_ref()?;
        let mut url = end.url().clone();
        url.query_pairs_mut()
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("post_logout_redirect_uri", &format!("{site_url}/"));
        Some(url.to_string())
    }

    fn verify(
        &self,
        token: &CoreIdToken,
        metadata: &ProviderMetadataWithLogout,
        nonce: &Nonce,
    ) -> Result<String, ClaimsVerificationError> {
        let now = clock::now();
        let at = |ms: i64| chrono::DateTime::from_timestamp_millis(ms).unwrap_or_default();
        let verifier = CoreIdTokenVerifier::new_public_client(
            ClientId::new(self.settings.client_id.clone()),
            metadata.issuer().clone(),
            metadata.jwks().clone(),
        )
        .set_allowed_algs(ALGORITHMS)
        .set_time_fn(move || at(now - SKEW_MS))
        .set_issue_time_verifier_fn(move |issued| {
            let issued = issued.timestamp_millis();
            if issued > now + SKEW_MS {
                Err("it was issued in the future".to_owned())
            } else if issued < now - OLDEST_MS {
                Err("it was issued too long ago".to_owned())
            } else {
                Ok(())
            }
        });
        Ok(token.claims(&verifier, nonce)?.subject().to_string())
    }

    /// Adds what the provider tells of the person when asked.
    async fn ask_more(
        &self,
        url: &str,
        access: &str,
        subject: &str,
        claims: &mut claims::Claims,
    ) -> Result<(), Problem> {
        let request = ::http::Request::get(url)
            .header(::http::header::AUTHORIZATION, format!("Bearer {access}"))
            .header(::http::header::ACCEPT, "application/json")
            .body(Vec::new())
            .map_err(|error| self.unusable(&error))?;
        let ask = self.asker();
        let answer = ask(request).await.map_err(|error| self.away(&error))?;
        let told: Value = serde_json::from_slice(answer.body()).unwrap_or(Value::Null);
        if !answer.status().is_success() || told["sub"].as_str() != Some(subject) {
            return Err(self.unusable(&"what it tells of the person is of somebody else, or nothing"));
        }
        let Value::Object(told) = told else { return Ok(()) };
        for (name, value) in told {
            claims.0.entry(name).or_insert(value);
        }
        Ok(())
    }

    async fn metadata(&self, again: bool) -> Result<Arc<ProviderMetadataWithLogout>, Problem> {
        let mut found = self.found.lock().await;
        let limit = if again { PAUSE } else { FRESH };
        if let Some(found) = &*found
            && found.at.elapsed() < limit
        {
            return Ok(Arc::clone(&found.metadata));
        }
        let issuer = IssuerUrl::new(self.settings.issuer.clone()).map_err(|error| self.unusable(&error))?;
        let ask = self.asker();
        match ProviderMetadataWithLogout::discover_async(issuer, &ask).await {
            Ok(metadata) => {
                let metadata = Arc::new(metadata);
                *found = Some(Found { at: Instant::now(), metadata: Arc::clone(&metadata) });
                Ok(metadata)
            }
            Err(error) => match &*found {
                // An old description is better than none.
                Some(old) => Ok(Arc::clone(&old.metadata)),
                None => Err(match &error {
                    openidconnect::DiscoveryError::Request(error) => self.away(error),
                    error => self.unusable(error),
                }),
            },
        }
    }

    fn asker(
        &self,
    ) -> impl Fn(
        HttpRequest,
    ) -> std::pin::Pin<
        Box<dyn Future<Output = Result<openidconnect::HttpResponse, http::Away>> + Send>,
    > + use<> {
        let (ca, patience) = (self.settings.ca_certificate.clone(), self.patience);
        move |request| Box::pin(http::ask(request, ca.clone(), patience))
    }

    fn return_url(&self) -> Result<RedirectUrl, Problem> {
        RedirectUrl::new(self.return_url.clone()).map_err(|error| self.unusable(&error))
    }

    /// The provider can't be reached.
    fn away(&self, error: &dyn std::fmt::Display) -> Problem {
        tracing::warn!(%error, "the provider of identities does not answer");
        let problem = Problem::new(
            ::http::StatusCode::SERVICE_UNAVAILABLE,
            "provider_away",
            format!("{} does not answer, so nobody can sign in with it at the moment", self.settings.name),
            "try again in a minute; who has a token can sign in with it",
        );
        Problem { retry_after: Some(Duration::from_secs(60)), ..problem }
    }

    /// The provider says what can't be used.
    fn unusable(&self, error: &dyn std::fmt::Display) -> Problem {
        tracing::warn!(%error, "the answer of the provider of identities can't be used");
        Problem::new(
            ::http::StatusCode::BAD_GATEWAY,
            "bad_provider",
            format!("{} answered in a way that can't be used", self.settings.name),
            "try again; if it stays so, tell the operator of this site",
        )
    }

    fn unusable_identity(&self) -> Problem {
        self.unusable(&"its identity does not hold")
    }
}

/// Somebody who comes back and can't come in.
pub(crate) fn turned_away(why: &str) -> Problem {
    Problem::bad("sign_in_failed", why, "begin again at /sign-in")
}

/// What the provider sends back with the browser that holds `key`.
pub(crate) fn state(key: &str) -> String {
    of(key, "state")
}

/// A value that only who knows `key` can make, and that tells nothing of it.
fn of(key: &str, what: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(secret::hash(&format!("tokometer {what} {key}")))
}

fn payload(token: &str) -> Option<claims::Claims> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    serde_json::from_slice(&bytes).ok().map(claims::Claims)
}
