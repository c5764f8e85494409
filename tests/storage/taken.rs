//! A database that is taken away from under its room: whoever cleans up or moves folders asks nobody.

use std::fs;
use std::path::Path;
use std::time::Instant;

use prickle::server::store::{self, Store};
use serde_json::{Value, json};

use crate::common::PATIENCE;
use crate::common::caller::{Answer, Caller};
use crate::common::child::{How, Served, prickle};
use crate::common::room::make_key;
use crate::common::until;
use crate::told;

const CAUSE: &str = "the room's database was taken away while it was open";

fn doing(what: &str) -> Value {
    json!({"project": "website-v2", "doing": what})
}

fn serve(folder: &Path, data: &Path) -> Served {
    Served::start_how(folder, How { db: Some(data.join("room.db")), ..How::default() })
}

/// What an agent last said, in a database that no room has open.
fn said_last(db: &Path) -> Option<String> {
    let store = Store::open(db, store::Options::default()).unwrap();
    let room = store.snapshot(&"website-v2".parse().unwrap());
    room.pulses.first().map(|pulse| pulse.doing.clone())
}

/// Ends a room by taking something from it: what is left of its data, and what its last words named.
async fn taken(folder: &Path, take: impl Fn(&Path), called: bool) -> String {
    let data = folder.join("data");
    let mut served = serve(folder, &data);
    let key = make_key(&served.db, "client", "acme/builder", &["website-v2"]);
    let room = served.caller();
    room.pulse(&key, doing("kept")).await;
    take(&data);
    if called {
        match room.call(&key, "update_pulse", doing("too late")).await {
            Answer::Broken(_) | Answer::Http(503, _) => {} // it was faster than we
            answer => drop(told(answer, CAUSE)),
        }
    }
    assert_eq!(served.ended(PATIENCE), Some(1));
    let log = fs::read_to_string(&served.log).unwrap();
    let errors: Vec<_> = log.lines().filter(|line| line.contains("ERROR")).collect();
    let last = log.lines().last().unwrap().strip_prefix("prickle: ").unwrap_or_else(|| panic!("{log}"));
    assert!(errors.len() == 1 && errors[0].contains(last), "{log}");
    assert!(last.contains("takes no more calls and closes: start it again"), "{last}");
    last.split_once(", while").unwrap().0.to_owned()
}

#[tokio::test]
async fn a_room_whose_folder_was_removed_takes_nothing_more_and_ends() {
    for called in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let last = taken(folder.path(), |data| fs::remove_dir_all(data).unwrap(), called).await;
        let db = folder.path().canonicalize().unwrap().join("data/room.db");
        assert_eq!(last, format!("the database {} is gone", db.display()));
        assert!(!folder.path().join("data").exists(), "and makes nothing anew");
    }
}

#[tokio::test]
async fn a_room_whose_folder_was_moved_leaves_everything_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let moved = folder.path().join("moved");
    let last = taken(folder.path(), |data| fs::rename(data, &moved).unwrap(), true).await;
    assert!(last.ends_with("room.db is gone"), "{last}");
    assert_eq!(said_last(&moved.join("room.db")).as_deref(), Some("kept"));
}

#[tokio::test]
async fn a_database_in_the_place_of_another_has_nothing_of_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.db");
    make_key(&other, "client", "acme/other", &["website-v2"]);
    let last = taken(folder.path(), |data| fs::rename(&other, data.join("room.db")).unwrap(), true).await;
    assert!(last.starts_with("the database ") && last.ends_with("room.db is another file now"), "{last}");
    let db = folder.path().join("data/room.db");
    assert_eq!(said_last(&db), None);
    let sound: String = rusqlite::Connection::open(&db)
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(sound, "ok");
}

#[tokio::test]
async fn a_room_that_lost_its_log_saves_what_it_acknowledged() {
    for end in ["-wal", "-shm"] {
        let folder = tempfile::tempdir().unwrap();
        let log = format!("room.db{end}");
        let last = taken(folder.path(), |data| fs::remove_file(data.join(&log)).unwrap(), false).await;
        assert!(
            last.starts_with("the database's log ") && last.ends_with(&format!("{log} is gone")),
            "{last}"
        );
        assert_eq!(said_last(&folder.path().join("data/room.db")).as_deref(), Some("kept"));
    }
}

#[tokio::test]
async fn two_rooms_on_one_database_are_not_acknowledged_by_both() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut first = serve(folder.path(), &data);
    let key = make_key(&first.db, "client", "acme/builder", &["website-v2"]);
    first.caller().pulse(&key, doing("kept")).await;
    fs::remove_file(data.join("room.db.lock")).unwrap();
    let removed = Instant::now();
    let second_home = folder.path().join("second");
    fs::create_dir(&second_home).unwrap();
    let mut second = serve(&second_home, &data);
    let mut answers = 0;
    // It says no, then nothing; it never says yes.
    loop {
        match first.caller().call(&key, "update_pulse", doing("to the first")).await {
            Answer::Broken(_) | Answer::Http(503, _) => break,
            answer => drop(told(answer, CAUSE)),
        }
        answers += 1;
        assert!(removed.elapsed() < PATIENCE, "{answers} answers, and still there");
        second.caller().pulse(&key, doing("to the second")).await;
    }
    assert_eq!(first.ended(PATIENCE), Some(1));
    let log = fs::read_to_string(&first.log).unwrap();
    assert!(
        log.contains("room.db.lock is gone") || log.contains("room.db.lock is another file now"),
        "{log}"
    );
    // The end of the first has taken nothing from the second.
    second.caller().pulse(&key, doing("last")).await;
    assert_eq!(second.stop(rustix::process::Signal::TERM), Some(0));
    assert_eq!(said_last(&data.join("room.db")).as_deref(), Some("last"));
}

/// A home whose own room, on this port, is closed at the end.
struct Home(tempfile::TempDir, u16);

impl Home {
    fn run(&self, args: &[&str]) -> std::process::Output {
        let mut command = prickle(self.0.path());
        command.env("PRICKLE_LOCAL_PORT", self.1.to_string()).current_dir(self.0.path());
        command.args(args).output().unwrap()
    }

    /// The key that its user has for its room.
    fn key(&self) -> String {
        let saved = fs::read_to_string(self.0.path().join("prickle/credentials.toml")).unwrap();
        let (_, token) = saved.split_once("prk_").unwrap();
        format!("prk_{}", token.split('"').next().unwrap())
    }

    /// Where its room listens.
    fn address(&self) -> String {
        let notice = fs::read(self.0.path().join("prickle/room.db.lock")).unwrap();
        let notice: Value = serde_json::from_slice(&notice).unwrap();
        notice["address"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.run(&["serve", "--stop"]);
    }
}

#[tokio::test]
async fn the_next_command_opens_another_room_where_this_machine_s_own_was_removed() {
    // On a port of the system's choice, and on the one that the first room still has.
    for again_there in [false, true] {
        let mut home = Home(tempfile::tempdir().unwrap(), 0);
        assert!(home.run(&["watch", "--once"]).status.success());
        let first = home.address();
        let known = home.key();
        if again_there {
            home.1 = first.rsplit_once(':').unwrap().1.parse().unwrap();
        }
        fs::remove_dir_all(home.0.path().join("prickle")).unwrap();
        let again = home.run(&["watch", "--once"]);
        assert!(again.status.success(), "{again:?}");
        assert_eq!(home.address() == first, again_there);
        if !again_there {
            until("the first room ends", async || std::net::TcpStream::connect(&first).is_err()).await;
        }
        // It is the new room, with a database of its own.
        let second = Caller::new(&format!("http://{}", home.address()));
        assert_eq!(second.get(&home.key(), "/v1/me").await.0, 200);
        assert_eq!(second.get(&known, "/v1/me").await.0, 401);
    }
}
