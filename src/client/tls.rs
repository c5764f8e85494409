//! Whose word counts on who a server is: that of the roots that this machine trusts, and of those added with
//! `--ca`. All of a room's connections use one configuration, built when the first https one needs it.

use std::sync::{Arc, LazyLock, OnceLock};

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

/// The machine's roots, and perhaps more. Clones share what has been built from them.
#[derive(Clone)]
pub struct Trust(Arc<Roots>);

struct Roots {
    added: Vec<CertificateDer<'static>>,
    config: OnceLock<Result<Arc<ClientConfig>, String>>,
}

/// Why a file's certificates can't be trusted in. `Display` says what is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadCa {
    /// No certificate in it.
    #[error("holds no certificate; it must be PEM, with a line -----BEGIN CERTIFICATE-----")]
    None,
    /// One that can't be read, by its number from 1.
    #[error("can't be used: certificate {0} in it is damaged; copy the file anew from whoever runs the room")]
    Damaged(usize),
}

impl Trust {
    /// The certificates of the PEM file `text` count as roots beside the machine's.
    pub fn and(text: &[u8]) -> Result<Self, BadCa> {
        let mut added = Vec::new();
        let mut sound = RootCertStore::empty();
        for (n, certificate) in CertificateDer::pem_slice_iter(text).enumerate() {
            let certificate = certificate.map_err(|_| BadCa::Damaged(n + 1))?;
            sound.add(certificate.clone()).map_err(|_| BadCa::Damaged(n + 1))?;
            added.push(certificate);
        }
        if added.is_empty() { Err(BadCa::None) } else { Ok(Self::new(added)) }
    }

    fn new(added: Vec<CertificateDer<'static>>) -> Self {
        Self(Arc::new(Roots { added, config: OnceLock::new() }))
    }

    /// What an encrypted connection is made with, or why there can be none. It names no protocol above TLS:
    /// both our clients then speak HTTP/1.1.
    pub(super) fn config(&self) -> Result<Arc<ClientConfig>, String> {
        self.0.config.get_or_init(|| build(self.0.added.clone())).clone()
    }
}

/// The machine's roots alone: read once for the whole process.
impl Default for Trust {
    fn default() -> Self {
        static MACHINE: LazyLock<Trust> = LazyLock::new(|| Trust::new(Vec::new()));
        MACHINE.clone()
    }
}

impl PartialEq for Trust {
    fn eq(&self, other: &Self) -> bool {
        self.0.added == other.0.added
    }
}

impl Eq for Trust {}

impl std::fmt::Debug for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trust(this machine's roots and {} more)", self.0.added.len())
    }
}

fn build(added: Vec<CertificateDer<'static>>) -> Result<Arc<ClientConfig>, String> {
    let none = |_| {
        "this machine has no list of certificates to trust; install its ca-certificates, \
         or name the room's with --ca FILE"
            .to_owned()
    };
    let provider = Arc::new(default_provider());
    let verifier = Verifier::new_with_extra_roots(added, Arc::clone(&provider)).map_err(none)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(none)?
        .dangerous() // its name for any verifier but its own; this one is the platform's
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// For connections that are not encrypted: trusts nobody, and reads nothing of this machine.
pub(super) fn nobody() -> Result<ClientConfig, rustls::Error> {
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(RootCertStore::empty());
    Ok(config.with_no_client_auth())
}
