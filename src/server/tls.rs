//! A room's certificate: read from two PEM files, checked before the room opens, read anew when asked.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn;
use chrono::DateTime;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{CertificateError, InconsistentKeys, RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::log;
use super::problem::Problem;
use crate::shown;

/// More than any chain of certificates; a device or a mistaken file is not read to its end.
const LARGEST: u64 = 1024 * 1024;

/// Why a room has no certificate to show: the file, the cause and the remedy, in one line that is safe to show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadTls(String);

/// A certificate and its key. Clones share them: all see what [`Tls::reload`] reads.
#[derive(Clone)]
pub struct Tls(Arc<Pair>);

struct Pair {
    cert: PathBuf,
    key: PathBuf,
    acceptor: RwLock<TlsAcceptor>,
}

impl Tls {
    /// Reads both PEM files: `cert` holds the room's certificate and after it those that lead to a root, `key` its
    /// private key. What a client would stumble over later, an expired certificate above all, goes to the log.
    pub fn open(cert: &Path, key: &Path) -> Result<Self, BadTls> {
        let acceptor = RwLock::new(read(cert, key)?);
        Ok(Self(Arc::new(Pair { cert: cert.to_owned(), key: key.to_owned(), acceptor })))
    }

    /// Reads both files anew, for the connections that begin from now on. After a fault the old certificate stays.
    pub fn reload(&self) -> Result<(), BadTls> {
        let renewed = read(&self.0.cert, &self.0.key)?;
        *self.0.acceptor.write().unwrap_or_else(PoisonError::into_inner) = renewed;
        Ok(())
    }

    /// What takes a connection's handshake, with the certificate as it is now.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.0.acceptor.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tls({})", self.0.cert.display())
    }
}

/// Whether the peer begins as HTTP does in the clear: with a letter, where TLS has a record's number. Waits
/// for its first byte and leaves it where it is.
pub(super) async fn in_the_clear(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0];
    Ok(stream.peek(&mut first).await? == 1 && first[0].is_ascii_uppercase())
}

/// What a room with a certificate answers in the clear, whatever was asked.
pub(super) fn says_https() -> Router {
    let why = "This room speaks https: put https:// in place of http:// in its address.";
    Router::new()
        .fallback(async move || Problem::new(StatusCode::BAD_REQUEST, why).plain())
        .layer(from_fn(log::each_request))
}

fn read(cert: &Path, key: &Path) -> Result<TlsAcceptor, BadTls> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let chain = chain(cert)?;
    if let Some(doubt) = doubt(&chain, &provider) {
        tracing::warn!("--tls-cert: the certificate in {} {doubt}", name(cert));
    }
    let private = private_key(key)?;
    warn_of_open_key(key);
    let unfit = || {
        BadTls(format!(
            "--tls-key: the key in {} is of no kind that this room can use; make an ECDSA (P-256), Ed25519 or RSA \
             (2048 bits or more) key and a certificate for it",
            name(key)
        ))
    };
    let signer = provider.key_provider.load_private_key(private).map_err(|_| unfit())?;
    let certified = CertifiedKey::new(chain, signer);
    match certified.keys_match() {
        Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => {}
        Err(rustls::Error::InconsistentKeys(_)) => {
            return Err(BadTls(format!(
                "--tls-key: the key in {} does not belong to the certificate in {}; name the two that were made \
                 together, and in the certificate's file put the room's own before those of its issuers",
                name(key),
                name(cert)
            )));
        }
        Err(_) => return Err(unreadable_certificate(cert)),
    }
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| unfit())?
        .with_no_client_auth();
    let mut config = config.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, BadTls> {
    let text = contents("--tls-cert", path)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match chain {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        Ok(_) => {
            Err(BadTls(format!("--tls-cert: {} holds no certificate; {}", name(path), remedy(&text, "x509"))))
        }
        Err(_) => Err(unreadable_certificate(path)),
    }
}

fn unreadable_certificate(path: &Path) -> BadTls {
    BadTls(format!(
        "--tls-cert: a certificate in {} is damaged; copy the file anew from where it was made",
        name(path)
    ))
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, BadTls> {
    let text = contents("--tls-key", path)?;
    let file = name(path);
    // Both ways to write a locked key say so; one of them would else be taken for damaged.
    if find(&text, "ENCRYPTED") {
        return Err(BadTls(format!(
            "--tls-key: the key in {file} is locked with a password; unlock it with: openssl pkey -in {file} -out NEW"
        )));
    }
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
        BadTls(match error {
            pem::Error::NoItemsFound => {
                format!("--tls-key: {file} holds no private key; {}", remedy(&text, "pkey"))
            }
            _ => {
                format!("--tls-key: the key in {file} is damaged; copy the file anew from where it was made")
            }
        })
    })
}

/// What to do about a file that holds nothing of what it was named for. `tool`: the command of openssl's that
/// would turn it into PEM.
fn remedy(text: &[u8], tool: &str) -> String {
    const DER: u8 = 0x30; // a sequence: certificates and keys are one
    let wanted = if tool == "pkey" { "PRIVATE KEY" } else { "CERTIFICATE" };
    if tool == "pkey" && find(text, "BEGIN CERTIFICATE-") {
        "it holds a certificate: are the two files exchanged?".into()
    } else if tool == "x509" && find(text, "PRIVATE KEY-") {
        "it holds a private key: are the two files exchanged?".into()
    } else if text.first() == Some(&DER) {
        format!("it is binary (DER): turn it into PEM with: openssl {tool} -inform der -in FILE -out NEW")
    } else {
        format!("it must be PEM, with a line -----BEGIN {wanted}-----")
    }
}

fn find(text: &[u8], part: &str) -> bool {
    text.windows(part.len()).any(|window| window == part.as_bytes())
}

fn contents(flag: &str, path: &Path) -> Result<Vec<u8>, BadTls> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut text));
    let file = name(path);
    read.map(|_| text).map_err(|error| {
        BadTls(match error.kind() {
            ErrorKind::NotFound => format!("{flag}: there is no file {file}; name the PEM file by its path"),
            ErrorKind::PermissionDenied => {
                format!(
                    "{flag}: this user may not read {file}; give the file to the user that the room runs as"
                )
            }
            kind => format!("{flag}: {file} can't be read ({kind}); name the PEM file by its path"),
        })
    })
}

fn name(path: &Path) -> String {
    shown::line(&path.display().to_string())
}

/// What every client will hold against the certificate, whomever it trusts. Other doubts are theirs: only they
/// know their roots, and by which name they call.
fn doubt(chain: &[CertificateDer<'static>], provider: &Arc<CryptoProvider>) -> Option<String> {
    // The last of the chain stands for the root. A verifier looks at the room's own certificate first.
    let mut roots = RootCertStore::empty();
    roots.add(chain.last()?.clone()).ok()?;
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build().ok()?;
    let any = ServerName::try_from("localhost").ok()?;
    let (own, between) = chain.split_first()?;
    let error = verifier.verify_server_cert(own, between, &any, &[], UnixTime::now()).err()?;
    let rustls::Error::InvalidCertificate(error) = error else { return None };
    match error {
        CertificateError::ExpiredContext { not_after, .. } => Some(format!(
            "expired on {}: clients refuse it; put a renewed one in its place and send this room SIGHUP",
            day(not_after)
        )),
        CertificateError::NotValidYetContext { not_before, .. } => Some(format!(
            "holds only from {} on: until then clients refuse it; is this machine's clock right?",
            day(not_before)
        )),
        // As the verifier names it; its own type for it is not public through rustls.
        CertificateError::Other(other) if other.to_string() == "CaUsedAsEndEntity" => Some(
            "is an issuer's own (CA:TRUE): many clients, prickle's too, don't take it for a server's; \
             make one with CA:FALSE"
                .into(),
        ),
        _ => None,
    }
}

fn day(time: UnixTime) -> String {
    let time = i64::try_from(time.as_secs()).ok().and_then(|secs| DateTime::from_timestamp(secs, 0));
    time.map_or_else(|| "an unknown day".into(), |time| time.format("%Y-%m-%d").to_string())
}

#[cfg(unix)]
fn warn_of_open_key(path: &Path) {
    use std::os::unix::fs::MetadataExt;
    let Ok(found) = std::fs::metadata(path) else { return };
    // A group that root lets in was chosen; one of the user's own is mostly everyone.
    let closed = if found.uid() == 0 { 0o037 } else { 0o077 };
    if found.is_file() && found.mode() & closed != 0 {
        let file = name(path);
        tracing::warn!("--tls-key: others on this machine can read the key in {file}: chmod 600 {file}");
    }
}

#[cfg(not(unix))]
fn warn_of_open_key(_: &Path) {}
