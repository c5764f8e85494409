//! Encryption for the feed's connection, with the roots that this machine trusts; built only for https.

use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_rustls::TlsConnector;

/// The one connector of the process, or why there is none.
pub(super) fn connector() -> Result<TlsConnector, String> {
    static CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
    CONFIG.get_or_init(build).clone().map(TlsConnector::from)
}

fn build() -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(|_| "this machine's trusted certificates can't be read".to_owned())?;
    Ok(Arc::new(config.with_no_client_auth()))
}
