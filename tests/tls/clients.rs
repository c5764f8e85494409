//! All that goes over a room's connections goes over TLS too: with the real binary, and with clients of others.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use prickle::client::feed::{Feed, Options};
use prickle::client::http::Http;
use prickle::client::mcp;
use prickle::picture::News;
use prickle::wire::query::RunQuery;
use serde_json::{Value, json};

use super::common::PATIENCE;
use super::common::caller::run_report;
use super::paper::{Authority, Encrypted, Files, NAMES, PROJECT, fault, ran, self_signed};

/// The lines that a command goes on to write; it ends with the test.
struct Running(std::process::Child, Receiver<String>);

impl Running {
    fn start(command: &mut std::process::Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let out = child.stdout.take().unwrap();
        let (said, hear) = channel();
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let _ = said.send(line);
            }
        });
        Self(child, hear)
    }

    fn frame(&self) -> Value {
        serde_json::from_str(&self.1.recv_timeout(PATIENCE).expect("it writes nothing")).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn pulse(room: &Encrypted<'_>, doing: &str, ca: &str) -> Value {
    let args = ["pulse", "--project", PROJECT, "--doing", doing, "--json", "--ca", ca];
    let (code, out, err) = ran(&mut room.command(&room.agent, &args));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    serde_json::from_str(&out).unwrap()
}

#[test]
fn pulses_pictures_and_the_feed_of_the_real_binary_are_encrypted() {
    let authority = Authority::new("team");
    let files = Files::new(&authority.issue(&NAMES), &authority.pem());
    let room = files.serve(&[]);
    let ca = files.text("ca.pem");
    assert_eq!(pulse(&room, "first", &ca)["pulse"]["doing"], "first");

    let once = ["watch", PROJECT, "--once", "--json", "--ca", &ca];
    let (code, out, _) = ran(&mut room.command(&room.person, &once));
    assert_eq!(code, Some(0));
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["pulses"][0]["doing"], "first");

    let feed = Running::start(&mut room.command(&room.person, &["watch", PROJECT, "--json", "--ca", &ca]));
    assert_eq!(feed.frame()["type"], "hello");
    assert_eq!(feed.frame()["pulses"][0]["doing"], "first");
    assert_eq!(feed.frame()["type"], "recent");
    pulse(&room, "second", &ca);
    let frame = feed.frame();
    assert_eq!((frame["seq"].as_u64(), frame["pulse"]["doing"].as_str()), (Some(2), Some("second")));

    // The other ways to name the CA, and no way: the machine's roots alone don't know this room.
    let look = ["watch", PROJECT, "--once"];
    assert_eq!(ran(room.command(&room.person, &look).env("PRICKLE_CA", "ca.pem")).0, Some(0));
    fs::create_dir_all(files.path("prickle")).unwrap();
    files.write("prickle/config.toml", format!("server = \"{}\"\nca = \"../ca.pem\"\n", room.url()));
    assert_eq!(ran(room.command(&room.person, &look).env_remove("PRICKLE_SERVER")).0, Some(0));
    files.write("prickle/config.toml", "server = \"https://other.example\"\nca = \"../ca.pem\"\n");
    assert!(fault(&mut room.command(&room.person, &look), 2).contains("--ca FILE"));
}

#[tokio::test]
async fn runs_calls_and_the_feed_of_the_library_are_encrypted() {
    let authority = Authority::new("team");
    let files = Files::new(&authority.issue(&NAMES), &authority.pem());
    let mut room = files.serve(&[]);
    let trust = authority.trust();
    let agent = room.access(&room.agent, &trust);
    let mut feed = Feed::spawn(room.source(&trust), PROJECT.parse().unwrap(), Options::default());
    while !matches!(next(&mut feed).await, News::Recent { .. }) {}

    let report = run_report("0f9f8a52-6d6a-4a65-9b53-1f6f0c8b7a11").as_object().unwrap().clone();
    mcp::call(&agent, "report_run", report, PATIENCE).await.unwrap();
    let News::Run { run, .. } = next(&mut feed).await else { panic!("the run's record is told") };
    let runs = Http::new(&room.access(&room.person, &trust), PATIENCE)
        .unwrap()
        .runs(&RunQuery::default())
        .await
        .unwrap();
    assert_eq!(runs.runs.len(), 1);
    assert_eq!(run.run_id, "0f9f8a52-6d6a-4a65-9b53-1f6f0c8b7a11");

    let args = json!({"project": PROJECT, "doing": "x".repeat(200), "files": vec!["f".repeat(300); 50]});
    mcp::call(&agent, "update_pulse", args.as_object().unwrap().clone(), PATIENCE).await.unwrap();
    assert!(matches!(next(&mut feed).await, News::Event { .. }));

    // In order, and in time, with connections open.
    assert_eq!(room.served.stop(rustix::process::Signal::TERM), Some(0));
    let News::Lost { why, .. } = next(&mut feed).await else { panic!("the end is told") };
    assert_eq!(why, "the room is restarting");
}

async fn next(feed: &mut Feed) -> News {
    tokio::time::timeout(PATIENCE, feed.next()).await.expect("no news").unwrap().news
}

#[tokio::test]
async fn both_versions_of_http_go_over_tls() {
    let authority = Authority::new("team");
    let files = Files::new(&authority.issue(&NAMES), &authority.pem());
    let room = files.serve(&[]);
    let root = reqwest::Certificate::from_pem(authority.pem().as_bytes()).unwrap();
    let client = || reqwest::Client::builder().no_proxy().tls_certs_only([root.clone()]);
    for (client, version) in
        [(client(), reqwest::Version::HTTP_2), (client().http1_only(), reqwest::Version::HTTP_11)]
    {
        let client = client.build().unwrap();
        // At once, so that under HTTP/2 they share a connection.
        let asked = (0..20).map(|_| {
            let request =
                client.get(format!("{}/v1/projects/{PROJECT}/pulse", room.url())).bearer_auth(&room.person);
            async { request.send().await.unwrap() }
        });
        for told in futures_util::future::join_all(asked).await {
            assert_eq!((told.version(), told.status().as_u16()), (version, 200));
            assert_eq!(told.json::<Value>().await.unwrap()["project"], PROJECT);
        }
    }
}

#[test]
fn connect_names_the_variable_by_which_the_app_trusts_the_room() {
    let authority = Authority::new("team");
    let files = Files::new(&authority.issue(&NAMES), &authority.pem());
    let room = files.serve(&[]);
    let (ca, key) = (files.text("ca.pem"), files.path("agent.key"));
    fs::write(&key, &room.agent).unwrap();
    let key = key.to_str().unwrap();
    for (app, said) in [
        ("claude-code", Some("NODE_EXTRA_CA_CERTS")),
        ("codex", Some("CODEX_CA_CERTIFICATE")),
        ("grok", None),
    ] {
        let args = ["connect", app, "--token-file", key, "--ca", &ca];
        let (code, out, err) = ran(&mut room.command(&room.agent, &args));
        assert_eq!(code, Some(0), "{err}");
        let export = said.map(|name| format!("\n  export {name}={ca}\n"));
        assert!(export.is_none_or(|line| out.contains(&line)), "{out}");
        assert_eq!(out.matches(&ca).count(), 2 * usize::from(said.is_some()), "{out}");
        assert!(out.contains(&format!("{}/mcp", room.url())), "{out}");
    }
}

#[test]
fn a_certificate_that_signed_itself_is_its_own_ca() {
    let pair = self_signed(&NAMES, |_| {});
    let files = Files::new(&pair, &pair.cert);
    let room = files.serve(&[]);
    assert_eq!(pulse(&room, "alone", &files.text("ca.pem"))["pulse"]["doing"], "alone");
    assert!(!room.log().contains("WARN"), "{}", room.log());
}

#[tokio::test]
async fn the_machines_own_roots_are_enough_to_ask_a_room_in_the_clear() {
    // Nothing of TLS is read for http: not even a machine without any root has trouble with it.
    let folder = tempfile::tempdir().unwrap();
    let served = super::common::child::Served::start(folder.path(), 0);
    let person = super::common::room::make_key(&served.db, "person", "acme", &[PROJECT]);
    let url = format!("http://127.0.0.1:{}", served.port);
    let none = folder.path().join("none");
    let look = |url: &str| {
        let mut command = super::paper::at(folder.path(), url, &person);
        command.args(["watch", PROJECT, "--once"]).env("SSL_CERT_FILE", &none).env("SSL_CERT_DIR", &none);
        ran(&mut command)
    };
    assert_eq!(look(&url).0, Some(0));
    let (code, _, err) = look(&url.replacen("http", "https", 1));
    assert_eq!(code, Some(2));
    assert!(err.contains("no list of certificates to trust") && err.contains("--ca FILE"), "{err}");
}
