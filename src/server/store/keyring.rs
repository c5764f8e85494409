//! The keys as the room holds them in memory, kept in step with the database that other processes write to.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::watch;

use super::agents::Keyed;
use super::keys::{self, Hash, Live, Noted};
use super::trouble::Trouble;
use crate::rules::{Caller, Scope};
use crate::server::clock::Clock;
use crate::wire::id::{AgentId, Slug};

/// All live keys and all projects.
#[derive(Debug)]
pub(super) struct Keyring {
    /// Reads only. Whoever changes `known` from what it read holds it until that is done, so that an older
    /// reading never replaces a newer one. `None` once the store is closed.
    connection: Mutex<Option<Connection>>,
    known: RwLock<Known>,
    reread: watch::Sender<u64>,
    clock: Clock,
    trouble: Arc<Trouble>,
}

#[derive(Debug, Default)]
struct Known {
    by_hash: HashMap<Hash, Arc<Entry>>,
    by_key: HashMap<i64, Arc<Entry>>,
    projects: BTreeSet<Slug>,
}

#[derive(Debug)]
struct Entry {
    caller: Arc<Caller>,
    made_at: i64,
    /// When it was let into each of its projects; empty where it may go everywhere.
    let_in: BTreeMap<Slug, i64>,
    /// Milliseconds, here and below; 0: never.
    first_used: AtomicI64,
    last_used: AtomicI64,
    tools_listed: AtomicI64,
    /// What the database says of it.
    noted: Mutex<Noted>,
}

impl Entry {
    fn new(live: Live) -> Self {
        Self {
            caller: Arc::new(live.caller),
            made_at: live.made_at,
            let_in: live.let_in,
            first_used: AtomicI64::new(live.noted.first_used),
            last_used: AtomicI64::new(live.noted.last_used),
            tools_listed: AtomicI64::new(live.noted.tools_listed),
            noted: Mutex::new(live.noted),
        }
    }

    /// The same key, let into one more room: how it was used stays known, also where the database does not know yet.
    fn after(self, old: &Self) -> Self {
        let uses = old.now();
        self.first_used.store(uses.first_used, Ordering::Relaxed);
        self.last_used.store(uses.last_used, Ordering::Relaxed);
        self.tools_listed.store(uses.tools_listed, Ordering::Relaxed);
        self
    }

    fn used(&self, at: i64) {
        // Unless there was one.
        let _ = self.first_used.compare_exchange(0, at, Ordering::Relaxed, Ordering::Relaxed);
        self.last_used.fetch_max(at, Ordering::Relaxed);
    }

    fn now(&self) -> Noted {
        Noted {
            first_used: self.first_used.load(Ordering::Relaxed),
            last_used: self.last_used.load(Ordering::Relaxed),
            tools_listed: self.tools_listed.load(Ordering::Relaxed),
        }
    }

    /// How far its agent has come since the key was let into the room.
    fn in_room(&self, agent: &AgentId, project: &Slug) -> Keyed {
        let let_in = self.let_in.get(project).copied().unwrap_or(self.made_at);
        let since = |moment: i64| Some(moment).filter(|at| *at > 0 && *at >= let_in);
        let Noted { first_used, last_used, tools_listed } = self.now();
        Keyed {
            key: self.caller.key,
            agent: agent.clone(),
            let_in,
            first_used: since(first_used).or(since(last_used)),
            tools_listed: since(tools_listed),
        }
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keyring {
    /// Reads all keys over a connection of its own.
    pub(super) fn read(
        connection: Connection,
        clock: Clock,
        trouble: Arc<Trouble>,
    ) -> rusqlite::Result<Self> {
        let known = RwLock::new(Known::read(&connection, None)?);
        let (reread, _) = watch::channel(0);
        Ok(Self { connection: Mutex::new(Some(connection)), known, reread, clock, trouble })
    }

    /// Whose token this is, as far as memory knows.
    pub(super) fn known(&self, hash: &Hash) -> Option<Arc<Caller>> {
        let entry = self.with_known(|known| known.by_hash.get(hash).cloned())?;
        entry.used(self.clock.now().timestamp_millis());
        Some(Arc::clone(&entry.caller))
    }

    /// Whose token this is. What memory does not know is looked up in the database, which the thread waits for.
    pub(super) fn authenticate(&self, hash: &Hash) -> rusqlite::Result<Option<Arc<Caller>>> {
        if let Some(known) = self.known(hash) {
            return Ok(Some(known));
        }
        self.look_up(hash)
            .inspect_err(|error| self.trouble.say(error, "an unknown key could not be looked up"))?;
        Ok(self.known(hash))
    }

    fn look_up(&self, hash: &Hash) -> rusqlite::Result<()> {
        let connection = self.connection();
        let Some(connection) = connection.as_ref() else { return Ok(()) };
        let Some(live) = keys::live(connection, Some(hash))?.into_iter().next() else { return Ok(()) };
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // Another look-up of the same key may have been first.
        let entry = known.by_hash.entry(*hash).or_insert_with(|| Arc::new(Entry::new(live)));
        let entry = Arc::clone(entry);
        known.by_key.insert(entry.caller.key, Arc::clone(&entry));
        if let Scope::Some(projects) = &entry.caller.scope {
            known.projects.extend(projects.iter().cloned());
        }
        Ok(())
    }

    /// Whether the key is not revoked, as far as is known.
    pub(super) fn alive(&self, key: i64) -> bool {
        self.with_known(|known| known.by_key.contains_key(&key))
    }

    /// Changes whenever keys were read anew.
    pub(super) fn revoked(&self) -> watch::Receiver<u64> {
        self.reread.subscribe()
    }

    /// The projects that the caller may enter.
    pub(super) fn projects(&self, caller: &Caller) -> Vec<Slug> {
        match &caller.scope {
            Scope::All => self.with_known(|known| known.projects.iter().cloned().collect()),
            Scope::Some(projects) => projects.iter().cloned().collect(), // a key's projects are made before it may enter them
        }
    }

    /// Whether the project exists, as far as memory knows.
    pub(super) fn is_known(&self, project: &Slug) -> bool {
        self.with_known(|known| known.projects.contains(project))
    }

    /// Whether the project exists. What memory does not know is looked up, which the thread waits for.
    pub(super) fn exists(&self, project: &Slug) -> rusqlite::Result<bool> {
        if self.is_known(project) {
            return Ok(true);
        }
        let connection = self.connection();
        let Some(connection) = connection.as_ref() else { return Ok(false) };
        let found = keys::is_project(connection, project)
            .inspect_err(|error| self.trouble.say(error, "an unknown project could not be looked up"))?;
        if found {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            known.projects.insert(project.clone());
        }
        Ok(found)
    }

    /// Whether the key has been let into the project since it was read. Asks the database, which the thread waits for.
    pub(super) fn lets_in(&self, key: i64, project: &Slug) -> rusqlite::Result<bool> {
        let connection = self.connection();
        let Some(connection) = connection.as_ref() else { return Ok(false) };
        keys::is_let_in(connection, key, project)
            .inspect_err(|error| self.trouble.say(error, "what a key opens could not be looked up"))
    }

    /// Reads everything anew, because another process has written.
    pub(super) fn reread(&self) -> rusqlite::Result<()> {
        let connection = self.connection();
        let Some(connection) = connection.as_ref() else { return Ok(()) };
        let old = self.with_known(|known| known.by_hash.clone());
        let new = Known::read(connection, Some(&old))?;
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = new;
        self.reread.send_modify(|times| *times += 1);
        Ok(())
    }

    /// The app behind this key has asked which tools there are.
    pub(super) fn tools_listed(&self, key: i64) {
        let now = self.clock.now().timestamp_millis();
        self.with_known(|known| {
            if let Some(entry) = known.by_key.get(&key) {
                entry.tools_listed.fetch_max(now, Ordering::Relaxed);
            }
        });
    }

    /// The owner's agents that have a live key for the room, in the order of their ids, each with the one that was
    /// let in last.
    pub(super) fn agents(&self, owner: &Slug, project: &Slug) -> Vec<Keyed> {
        let mut newest: BTreeMap<AgentId, Keyed> = BTreeMap::new();
        self.with_known(|known| {
            for entry in known.by_key.values() {
                let caller = &entry.caller;
                let Some(agent) = &caller.agent else { continue };
                if caller.owner != *owner || !caller.scope.holds(project) {
                    continue;
                }
                let keyed = entry.in_room(agent, project);
                let older = |other: &Keyed| (other.let_in, other.key) > (keyed.let_in, keyed.key);
                if !newest.get(agent).is_some_and(older) {
                    newest.insert(agent.clone(), keyed);
                }
            }
        });
        newest.into_values().collect()
    }

    /// The keys of whose use the database does not know: anything that was the first of its kind, and the last of it
    /// once that is `behind` by this much.
    pub(super) fn unnoted(&self, behind: Duration) -> Vec<(i64, Noted)> {
        let behind = i64::try_from(behind.as_millis()).unwrap_or(i64::MAX).max(1);
        let due = |entry: &Arc<Entry>| {
            let (now, noted) = (entry.now(), *entry.noted());
            let late = |now: i64, noted: i64| now - noted >= if noted == 0 { 1 } else { behind };
            let due = (now.first_used != 0 && noted.first_used == 0)
                || late(now.last_used, noted.last_used)
                || late(now.tools_listed, noted.tools_listed);
            due.then_some((entry.caller.key, now))
        };
        self.with_known(|known| known.by_key.values().filter_map(due).collect())
    }

    /// The database knows of these uses now.
    pub(super) fn noted(&self, uses: &[(i64, Noted)]) {
        self.with_known(|known| {
            for (key, noted) in uses {
                if let Some(entry) = known.by_key.get(key) {
                    *entry.noted() = *noted;
                }
            }
        });
    }

    /// Ends the connection; from now on memory alone answers.
    pub(super) fn close(&self) {
        self.connection().take();
    }

    fn connection(&self) -> MutexGuard<'_, Option<Connection>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_known<T>(&self, ask: impl FnOnce(&Known) -> T) -> T {
        ask(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Known {
    /// Reads all; a key that did not change keeps its entry of `old`, with the uses that are not noted yet.
    fn read(connection: &Connection, old: Option<&HashMap<Hash, Arc<Entry>>>) -> rusqlite::Result<Self> {
        let mut known =
            Self { projects: keys::projects(connection)?.into_iter().collect(), ..Self::default() };
        for live in keys::live(connection, None)? {
            let (hash, old) = (live.hash, old.and_then(|old| old.get(&live.hash)));
            let entry = match old {
                Some(old) if *old.caller == live.caller => Arc::clone(old),
                Some(old) => Arc::new(Entry::new(live).after(old)),
                None => Arc::new(Entry::new(live)),
            };
            known.by_key.insert(entry.caller.key, Arc::clone(&entry));
            known.by_hash.insert(hash, entry);
        }
        Ok(known)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Instant;

    use super::*;
    use crate::rules::Kind;
    use crate::server::store::keys::{Holder, KeyStore, NewKey};
    use crate::server::store::{Options, Store};

    #[tokio::test]
    async fn a_look_up_that_takes_long_holds_up_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("room.db");
        let store = Store::open(&path, Options::default()).unwrap();
        let key = NewKey {
            kind: Kind::Person,
            holder: Holder::Owner("acme".parse().unwrap()),
            scope: Scope::All,
            task: None,
            label: None,
        };
        let token = KeyStore::open(&path).unwrap().create(&key, chrono::Utc::now()).unwrap();
        let caller = store.authenticate(token.as_str()).unwrap();
        // Another thread is at the database until it is told to leave it.
        let (leave, left) = std::sync::mpsc::channel();
        let (there, is_there) = std::sync::mpsc::channel();
        let keyring = Arc::clone(&store.0.keyring);
        let busy = std::thread::spawn(move || {
            let _connection = keyring.connection();
            there.send(()).unwrap();
            left.recv_timeout(Duration::from_secs(10)).is_ok()
        });
        is_there.recv().unwrap();
        let unknown = |n: u32| format!("prk_{n:043}");
        let mut asked = tokio::task::JoinSet::new();
        for n in 0..50 {
            let (looks, enters, caller) = (store.clone(), store.clone(), Arc::clone(&caller));
            asked.spawn(async move { looks.look_up(&unknown(n)).await.unwrap().is_none() });
            asked.spawn(async move { !enters.enters(&caller, &"absent".parse().unwrap()).await.unwrap() });
        }
        // This runtime has one thread, and it still runs.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(asked.len(), 100);
        assert!(asked.try_join_next().is_none(), "nobody has an answer yet");
        assert!(
            store.look_up(token.as_str()).await.unwrap().is_some(),
            "what memory knows needs no database"
        );
        leave.send(()).unwrap();
        assert!(busy.join().unwrap(), "the runtime's thread was held up");
        assert!(asked.join_all().await.into_iter().all(|unknown| unknown));
    }

    #[test]
    fn a_key_that_is_revoked_while_the_room_opens_is_not_missed() {
        let options = Options { keys_reread: Duration::from_millis(10), ..Options::default() };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("room.db");
        let key = NewKey {
            kind: Kind::Person,
            holder: Holder::Owner("acme".parse().unwrap()),
            scope: Scope::All,
            task: None,
            label: None,
        };
        let began = Instant::now();
        drop(Store::open(&path, options.clone()).unwrap());
        let opening = began.elapsed();
        for n in 0..40 {
            let mut keys = KeyStore::open(&path).unwrap();
            let token = keys.create(&key, chrono::Utc::now()).unwrap();
            let id = token.key();
            let revoking = std::thread::spawn(move || {
                std::thread::sleep(opening * n / 40); // another moment of the opening each time
                keys.revoke(id, chrono::Utc::now()).unwrap();
            });
            let store = loop {
                match Store::open(&path, options.clone()) {
                    Ok(store) => break store,
                    Err(_) => std::thread::yield_now(), // the room before is still closing
                }
            };
            revoking.join().unwrap();
            let until = Instant::now() + Duration::from_secs(10);
            while store.authenticate(token.as_str()).is_some() {
                assert!(Instant::now() < until, "the key still works in room {n}");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}
