//! Certificates made for one test, and the room that shows them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use prickle::client::feed::Source;
use prickle::client::{Access, Trust};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use tempfile::TempDir;

use super::common::PATIENCE;
use super::common::child::{Served, prickle};
use super::common::room::make_key;

pub const PROJECT: &str = "website-v2";

/// Names under which every test's room can be called on this machine, and one more.
pub const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "room.example"];

/// An issuer of certificates that no machine knows.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, as PEM.
pub struct Pair {
    pub cert: String,
    pub key: String,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        Self::with(name, KeyPair::generate().unwrap())
    }

    pub fn with(name: &str, key: KeyPair) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    pub fn pem(&self) -> String {
        self.0.pem()
    }

    pub fn trust(&self) -> Trust {
        Trust::and(self.pem().as_bytes()).unwrap()
    }

    pub fn issue(&self, names: &[&str]) -> Pair {
        self.issue_with(names, |_| {})
    }

    pub fn issue_with(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Pair {
        let params = params(names, change);
        let key = KeyPair::generate().unwrap();
        Pair { cert: params.signed_by(&key, &self.0).unwrap().pem(), key: key.serialize_pem() }
    }
}

fn params(names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, "the room");
    change(&mut params);
    params
}

/// A certificate that nobody else has signed.
pub fn self_signed(names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Pair {
    let key = KeyPair::generate().unwrap();
    Pair { cert: params(names, change).self_signed(&key).unwrap().pem(), key: key.serialize_pem() }
}

pub fn expired(params: &mut CertificateParams) {
    params.not_after = date_time_ymd(2020, 2, 29);
}

pub fn of_tomorrow(params: &mut CertificateParams) {
    params.not_before = date_time_ymd(4000, 1, 1);
}

pub fn an_issuer(params: &mut CertificateParams) {
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
}

/// A folder with a room's files: `cert.pem`, `key.pem`, `ca.pem`, and later its database and log.
pub struct Files(pub TempDir);

impl Files {
    pub fn new(pair: &Pair, ca: &str) -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        files.put(pair);
        files.write("ca.pem", ca);
        files
    }

    pub fn put(&self, pair: &Pair) {
        self.write("cert.pem", &pair.cert);
        self.write("key.pem", &pair.key);
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// The real room with the certificate, on a free port.
    pub fn serve(&self, more: &[&str]) -> Encrypted<'_> {
        let (cert, key) = (self.text("cert.pem"), self.text("key.pem"));
        let flags = [&["--tls-cert", &cert, "--tls-key", &key], more].concat();
        let served = Served::start_as(self.0.path(), 0, None, &flags);
        let agent = make_key(&served.db, "client", "acme/builder", &[PROJECT]);
        let person = make_key(&served.db, "person", "acme", &[PROJECT]);
        Encrypted { files: self, served, agent, person }
    }
}

/// The real room, encrypted, with an agent's key and its owner's.
pub struct Encrypted<'a> {
    files: &'a Files,
    pub served: Served,
    pub agent: String,
    pub person: String,
}

impl Encrypted<'_> {
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.served.port)
    }

    pub fn log(&self) -> String {
        fs::read_to_string(&self.served.log).unwrap()
    }

    pub fn access(&self, token: &str, trust: &Trust) -> Access {
        Access { server: self.url().parse().unwrap(), token: token.parse().unwrap(), trust: trust.clone() }
    }

    pub fn source(&self, trust: &Trust) -> Source {
        let access = self.access(&self.person, trust);
        Arc::new(move || Ok(access.clone()))
    }

    /// A command of the real binary against this room.
    pub fn command(&self, token: &str, args: &[&str]) -> Command {
        let mut command = at(self.files.0.path(), &self.url(), token);
        command.args(args);
        command
    }
}

/// The real binary in `folder`, with a server and a key.
pub fn at(folder: &Path, url: &str, token: &str) -> Command {
    let mut command = prickle(folder);
    command.current_dir(folder).stdin(Stdio::null());
    command.env("PRICKLE_SERVER", url).env("PRICKLE_TOKEN", token);
    command
}

/// Exit code, stdout, stderr. One that does not end fails its test.
#[track_caller]
pub fn ran(command: &mut Command) -> (Option<i32>, String, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let since = Instant::now();
    while child.try_wait().unwrap().is_none() && since.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(5));
    }
    let late = child.try_wait().unwrap().is_none();
    let _ = child.kill();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    assert!(!late, "it does not end; so far: {}", String::from_utf8_lossy(&stderr));
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// What a command that ended with `code` says on stderr.
#[track_caller]
pub fn fault(command: &mut Command, code: i32) -> String {
    let (ended, out, err) = ran(command);
    assert_eq!((ended, out.as_str()), (Some(code), ""), "{err}");
    assert!(!err.contains("prk_"), "{err}");
    err
}
