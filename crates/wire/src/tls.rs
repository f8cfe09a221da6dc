//! TLS: who is trusted, and what a failed handshake means.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
};

use crate::connector::{HttpVersion, TlsOptions};
use crate::error::WireError;

/// The one place that chooses who does the cryptography.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// A client configuration for TLS 1.2 or 1.3, without the protocols that are offered.
pub(crate) fn client_config(options: &TlsOptions) -> Result<Arc<ClientConfig>, WireError> {
    let provider = provider();
    let verifier: Arc<dyn ServerCertVerifier> = if options.insecure {
        Arc::new(TrustAny { provider: Arc::clone(&provider) })
    } else {
        let extra = match &options.ca_certificate {
            Some(path) => read_certificates(path)?,
            None => Vec::new(),
        };
        let verifier = rustls_platform_verifier::Verifier::new_with_extra_roots(extra, Arc::clone(&provider))
            .map_err(|error| certificate_problem(options, &error))?;
        Arc::new(verifier)
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| WireError::Tls(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// The configuration that offers the server these versions of HTTP.
pub(crate) fn with_protocols(config: &Arc<ClientConfig>, http: HttpVersion) -> Arc<ClientConfig> {
    let mut config = ClientConfig::clone(config);
    let offered: &[&[u8]] = match http {
        HttpVersion::One => &[b"http/1.1"],
        HttpVersion::Two => &[b"h2"],
        HttpVersion::Auto => &[b"h2", b"http/1.1"],
    };
    config.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
    Arc::new(config)
}

fn certificate_problem(options: &TlsOptions, error: &Error) -> WireError {
    match (&options.ca_certificate, error) {
        (Some(path), Error::InvalidCertificate(_)) => {
            WireError::CaCertificate { path: path.clone(), problem: error.to_string() }
        }
        _ => WireError::Tls(error.to_string()),
    }
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, WireError> {
    let fail = |problem: String| WireError::CaCertificate { path: path.to_owned(), problem };
    let pem = fs::read(path).map_err(|error| fail(error.to_string()))?;
    let certificates = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| fail(format!("it is no PEM file ({error})")))?;
    if certificates.is_empty() {
        return Err(fail("it holds no certificate; a PEM file with BEGIN CERTIFICATE is needed".into()));
    }
    Ok(certificates)
}

/// What to say, and to try, when the handshake failed.
pub(crate) fn handshake_message(place: &str, error: &io::Error) -> String {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match tls {
        Some(Error::InvalidMessage(_)) => {
            format!("{place} does not speak TLS: try http:// instead of https://")
        }
        Some(Error::InvalidCertificate(problem)) => match problem {
            CertificateError::UnknownIssuer => format!(
                "the certificate of {place} comes from an unknown issuer: \
                 give its CA file with --cacert, or use --insecure"
            ),
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => format!(
                "the certificate of {place} is not valid for that name: use the name it was made for, or --insecure"
            ),
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                format!("the certificate of {place} has expired: renew it, or use --insecure")
            }
            other => format!(
                "the certificate of {place} is not accepted ({other}): give its CA file with --cacert, or use --insecure"
            ),
        },
        Some(Error::AlertReceived(AlertDescription::NoApplicationProtocol)) => {
            format!("{place} does not speak the version of HTTP that was asked for: leave --http at auto")
        }
        Some(Error::AlertReceived(AlertDescription::ProtocolVersion)) => {
            format!("{place} speaks only TLS versions below 1.2")
        }
        Some(other) => format!("the TLS handshake with {place} failed: {other}"),
        None if error.kind() == io::ErrorKind::UnexpectedEof => format!(
            "{place} closed the connection during the TLS handshake: does it speak TLS at all? try http://"
        ),
        None => format!("the TLS handshake with {place} failed: {error}"),
    }
}

/// Trusts every certificate (`--insecure`); signatures are still checked.
#[derive(Debug)]
struct TrustAny {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for TrustAny {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
