//! `prickle serve` and its certificate: what it refuses, what it warns of, and how a renewed one is taken.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use prickle::client::feed::{Feed, Options};
use prickle::client::http::Http;
use prickle::client::{CallError, Trust};
use prickle::picture::News;
use rcgen::KeyPair;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::common::child::prickle;
use super::common::{PATIENCE, until};
use super::paper::{
    Authority, Encrypted, Files, NAMES, PROJECT, Pair, an_issuer, expired, fault, of_tomorrow,
};

fn serve(folder: &Path, flags: &[&str]) -> std::process::Command {
    let mut command = prickle(folder);
    command.current_dir(folder).stdin(Stdio::null());
    command.args(["serve", "--addr", "127.0.0.1:0", "--db", "room.db"]).args(flags);
    command
}

#[test]
fn a_bad_certificate_or_key_is_one_sentence_with_file_cause_and_remedy() {
    let authority = Authority::new("team");
    let (pair, other) = (authority.issue(&NAMES), authority.issue(&NAMES));
    let files = Files::new(&pair, &authority.pem());
    let folder = files.0.path();
    files.write("other.pem", &other.key);
    files.write("empty.pem", "");
    files.write("chain.pem", format!("{}{}", authority.pem(), pair.cert));
    let der = pair.cert.lines().filter(|line| !line.starts_with("--")).collect::<String>();
    files.write("cert.der", base64::Engine::decode(&base64::engine::general_purpose::STANDARD, der).unwrap());
    files.write("key.der", KeyPair::from_pem(&pair.key).unwrap().serialize_der());
    files.write("damaged.pem", pair.cert.replacen("MII", "!!!", 1));
    files.write("rubbish.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    files.write("torn.pem", pair.key.lines().take(2).collect::<Vec<_>>().join("\n"));
    files.write("odd.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    files.write("public.pem", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n");
    files.write(
        "locked.pem",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
    );
    let old =
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----\n";
    files.write("old.pem", old);
    for (cert, key, said) in [
        ("none.pem", "key.pem", "--tls-cert: there is no file none.pem; name the PEM file by its path"),
        (".", "key.pem", "--tls-cert: . can't be read (is a directory); name"),
        (
            "empty.pem",
            "key.pem",
            "--tls-cert: empty.pem holds no certificate; it must be PEM, with a line -----BEGIN CERT",
        ),
        (
            "key.pem",
            "cert.pem",
            "--tls-cert: key.pem holds no certificate; it holds a private key: are the two files",
        ),
        (
            "cert.der",
            "key.pem",
            "--tls-cert: cert.der holds no certificate; it is binary (DER): turn it into PEM with: openssl x509",
        ),
        ("damaged.pem", "key.pem", "--tls-cert: a certificate in damaged.pem is damaged; copy"),
        ("rubbish.pem", "key.pem", "--tls-cert: a certificate in rubbish.pem is damaged; copy"),
        ("cert.pem", "none.pem", "--tls-key: there is no file none.pem; name"),
        (
            "cert.pem",
            "cert.pem",
            "--tls-key: cert.pem holds no private key; it holds a certificate: are the two files",
        ),
        (
            "cert.pem",
            "public.pem",
            "--tls-key: public.pem holds no private key; it must be PEM, with a line -----BEGIN PRIV",
        ),
        (
            "cert.pem",
            "key.der",
            "--tls-key: key.der holds no private key; it is binary (DER): turn it into PEM with: openssl pkey",
        ),
        ("cert.pem", "torn.pem", "--tls-key: the key in torn.pem is damaged; copy"),
        (
            "cert.pem",
            "odd.pem",
            "--tls-key: the key in odd.pem is of no kind that this room can use; make an ECDSA",
        ),
        (
            "cert.pem",
            "locked.pem",
            "--tls-key: the key in locked.pem is locked with a password; unlock it with: openssl pkey",
        ),
        ("cert.pem", "old.pem", "--tls-key: the key in old.pem is locked with a password"),
        (
            "cert.pem",
            "other.pem",
            "--tls-key: the key in other.pem does not belong to the certificate in cert.pem; name",
        ),
        (
            "chain.pem",
            "key.pem",
            "does not belong to the certificate in chain.pem; name the two that were made together",
        ),
    ] {
        let err = fault(&mut serve(folder, &["--tls-cert", cert, "--tls-key", key]), 2);
        let line = err.lines().last().unwrap();
        assert!(line.starts_with("prickle: ") && line.contains(said), "{cert} {key}: {err}");
        assert!(!pair.key.lines().any(|line| err.contains(line)) || said.contains("-----BEGIN"), "{err}");
        assert!(!err.contains("AAAA"), "{err}");
    }
    for flag in ["--tls-cert", "--tls-key"] {
        let err = fault(&mut serve(folder, &[flag, "cert.pem"]), 2);
        let missing = if flag == "--tls-cert" { "--tls-key" } else { "--tls-cert" };
        assert!(err.contains("required") && err.contains(missing), "{err}");
    }
    assert!(!files.path("room.db").exists(), "a room that can't open leaves no database");
}

#[test]
fn a_key_that_this_user_may_not_read_is_said() {
    let authority = Authority::new("team");
    let files = Files::new(&authority.issue(&NAMES), &authority.pem());
    fs::set_permissions(files.0.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(files.path("cert.pem"), fs::Permissions::from_mode(0o644)).unwrap();
    let mut command = serve(files.0.path(), &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    if rustix::process::geteuid().is_root() {
        std::os::unix::process::CommandExt::uid(&mut command, 65534); // root may read everything
    } else {
        fs::set_permissions(files.path("key.pem"), fs::Permissions::from_mode(0o000)).unwrap();
    }
    let err = fault(&mut command, 2);
    assert!(err.contains("--tls-key: this user may not read key.pem; give the file to the user"), "{err}");
}

#[test]
fn what_clients_will_refuse_is_warned_of() {
    let authority = Authority::new("team");
    for (pair, said) in [
        (
            authority.issue_with(&NAMES, expired),
            "cert.pem expired on 2020-02-29: clients refuse it; put a renewed one",
        ),
        (
            authority.issue_with(&NAMES, of_tomorrow),
            "cert.pem holds only from 4000-01-01 on: until then clients refuse it",
        ),
        (authority.issue_with(&NAMES, an_issuer), "cert.pem is an issuer's own (CA:TRUE): many clients"),
    ] {
        let files = Files::new(&pair, "");
        // With its issuer's behind it, as most are shown.
        files.write("cert.pem", format!("{}{}", pair.cert, authority.pem()));
        let log = files.serve(&[]).log();
        assert!(log.contains("WARN --tls-cert: the certificate in ") && log.contains(said), "{log}");
    }
    let files = Files::new(&authority.issue(&NAMES), "");
    let open = |mode| {
        fs::set_permissions(files.path("key.pem"), fs::Permissions::from_mode(mode)).unwrap();
        let _ = fs::remove_file(files.path("serve.log"));
        files.serve(&[]).log()
    };
    assert!(!open(0o600).contains("WARN"));
    let log = open(0o644);
    assert!(log.contains("WARN --tls-key: others on this machine can read the key in "), "{log}");
    assert!(log.contains("key.pem: chmod 600 ") && log.contains("the room is open"), "{log}");
}

#[tokio::test]
async fn with_tls_a_room_may_be_reached_from_other_machines() {
    let authority = Authority::new("team");
    let files = Files::new(&authority.issue(&NAMES), &authority.pem());
    let mut command = prickle(files.0.path());
    command.current_dir(files.0.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.args([
        "serve",
        "--addr",
        "0.0.0.0:0",
        "--db",
        "room.db",
        "--tls-cert",
        "cert.pem",
        "--tls-key",
        "key.pem",
    ]);
    let mut child = command.spawn().unwrap();
    let mut first = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut first).unwrap();
    let port: u16 = first.trim().strip_prefix("listening on https://0.0.0.0:").unwrap().parse().unwrap();
    let root = reqwest::Certificate::from_pem(authority.pem().as_bytes()).unwrap();
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([root]).build().unwrap();
    let told = client.get(format!("https://127.0.0.1:{port}/healthz")).send().await.unwrap();
    assert_eq!(told.status(), 200);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let ended = child.wait_with_output().unwrap();
    let err = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success() && !err.contains("in the clear"), "{err}");
}

/// Whether a new connection is taken under these roots.
async fn is_trusted(room: &Encrypted<'_>, trust: &Trust) -> bool {
    match Http::new(&room.access(&room.person, trust), PATIENCE).unwrap().me().await {
        Ok(_) => true,
        Err(CallError::Untrusted(_)) => false,
        Err(other) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_renewed_certificate_is_taken_on_sighup_and_a_bad_one_is_not() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let files = Files::new(&old.issue(&NAMES), &old.pem());
    let room = files.serve(&[]);
    let hang_up = || {
        let pid = Pid::from_raw(room.served.id().try_into().unwrap()).unwrap();
        kill_process(pid, Signal::HUP).unwrap();
    };
    let logged = async |words: &str, times: usize| {
        until(words, async || room.log().matches(words).count() == times).await;
    };
    let mut feed = Feed::spawn(room.source(&old.trust()), PROJECT.parse().unwrap(), Options::default());
    let next =
        async |feed: &mut Feed| tokio::time::timeout(PATIENCE, feed.next()).await.unwrap().unwrap().news;
    while !matches!(next(&mut feed).await, News::Recent { .. }) {}

    files.put(&new.issue(&NAMES));
    assert!(is_trusted(&room, &old.trust()).await, "nothing is read before it is said");
    hang_up();
    logged("SIGHUP: the certificate was read anew", 1).await;
    assert!(is_trusted(&room, &new.trust()).await);
    assert!(!is_trusted(&room, &old.trust()).await);

    // What is there goes on.
    let agent = room.access(&room.agent, &new.trust());
    let args = json!({"project": PROJECT, "doing": "renewing"}).as_object().unwrap().clone();
    prickle::client::mcp::call(&agent, "update_pulse", args, PATIENCE).await.unwrap();
    assert!(matches!(next(&mut feed).await, News::Event { .. }));

    let stranger = Pair { key: KeyPair::generate().unwrap().serialize_pem(), ..old.issue(&NAMES) };
    files.put(&stranger);
    hang_up();
    logged("SIGHUP: the room keeps its certificate, as --tls-key: the key in ", 1).await;
    files.write("cert.pem", "");
    hang_up();
    logged("SIGHUP: the room keeps its certificate, as --tls-cert: ", 1).await;
    fs::remove_file(files.path("cert.pem")).unwrap();
    hang_up();
    logged("SIGHUP: the room keeps its certificate, as --tls-cert: ", 2).await;
    assert!(is_trusted(&room, &new.trust()).await && !is_trusted(&room, &old.trust()).await);
    files.put(&old.issue(&NAMES));
    hang_up();
    logged("SIGHUP: the certificate was read anew", 2).await;
    assert!(is_trusted(&room, &old.trust()).await && !is_trusted(&room, &new.trust()).await);
}
