//! How much one caller may take: calls a second, failed sign-ins a minute, feeds at once.
//!
//! Own code, not the crate `governor`: the arithmetic is ten lines, and what matters here is what it leaves to
//! its user, a bound on a table that strangers fill.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::Options;
use super::metrics::Metrics;
use super::problem::Problem;
use crate::wire::id::Slug;

/// How many seconds' worth of calls a key may make at once.
const BURST: u32 = 4;
/// Addresses whose failed sign-ins are remembered; about 2 MB. From any beyond them, unknown keys must wait.
const ADDRESSES: usize = 32 * 1024;
/// Keys whose calls are counted at once.
const KEYS: usize = 1024 * 1024;
/// Requests at a time that wait for the keys to be read anew, where their address may look up none.
const PATIENT: usize = 8;
/// When an owner with too many feeds may ask again.
const FEED_LATER: Duration = Duration::from_secs(15);

/// Where a request comes from: the other end of its connection, which behind a reverse proxy is the proxy. No
/// header is asked, since anyone can write one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub IpAddr);

/// The limits of one room, and who has used up how much of them.
#[derive(Debug)]
pub(super) struct Limits {
    rate: u32,
    calls: Option<Buckets<i64>>,
    sign_ins: Buckets<IpAddr>,
    /// Who may wait until the keys are read anew.
    patient: Semaphore,
    feeds: Arc<Feeds>,
    metrics: Arc<Metrics>,
}

impl Limits {
    pub fn new(options: &Options, metrics: Arc<Metrics>) -> Self {
        let rate = options.rate.unwrap_or_default().max(1);
        let calls = Pace::of(rate, Duration::from_secs(1), rate.saturating_mul(BURST));
        let failed = options.sign_ins.max(1);
        Self {
            rate,
            calls: options.rate.map(|_| Buckets::new(calls, KEYS)),
            sign_ins: Buckets::new(Pace::of(failed, Duration::from_mins(1), failed), ADDRESSES),
            patient: Semaphore::new(PATIENT),
            feeds: Arc::new(Feeds { most: options.feeds, open: Mutex::default() }),
            metrics,
        }
    }

    /// Feeds that are open, of all owners.
    pub fn open_feeds(&self) -> usize {
        self.feeds.open.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }

    fn refuse(&self, limit: &'static str, why: String, wait: Duration) -> Problem {
        self.metrics.refused(limit);
        Problem::too_many(why, wait)
    }

    /// One more call with this key, or one more question that only the database can answer.
    pub fn call(&self, key: i64) -> Result<(), Problem> {
        let Some(calls) = &self.calls else { return Ok(()) };
        calls.take(key, Instant::now()).map_err(|wait| {
            let why = format!(
                "This key makes more than {} calls a second: send this one again in {}.",
                self.rate,
                seconds(wait)
            );
            self.refuse("calls", why, wait)
        })
    }

    /// One more sign-in with a key that is not known, before it is looked up; or how long until there may be one.
    pub fn sign_in(&self, peer: Option<Peer>) -> Result<(), Duration> {
        self.sign_ins.take(network(peer), Instant::now())
    }

    /// What to answer where there may be none.
    pub fn too_many_keys(&self, wait: Duration) -> Problem {
        let why = format!(
            "Too many keys that this room does not know came from this address: check the key, and try again in {}.",
            seconds(wait)
        );
        self.refuse("sign_ins", why, wait)
    }

    /// A place among the few whose key is not looked up and may yet turn out to be new.
    pub fn patience(&self) -> Option<SemaphorePermit<'_>> {
        self.patient.try_acquire().ok()
    }

    /// The key was good after all.
    pub fn signed_in(&self, peer: Option<Peer>) {
        self.sign_ins.give_back(&network(peer));
    }

    /// One more feed of this owner, until the place is dropped.
    pub fn feed(&self, owner: &Slug) -> Result<FeedPlace, Problem> {
        Feeds::enter(&self.feeds, owner).ok_or_else(|| {
            let why = format!(
                "{owner} watches with {} feeds already, as many as this room holds open for one owner: \
                 end some, and try again.",
                self.feeds.most
            );
            self.refuse("feeds", why, FEED_LATER)
        })
    }
}

fn seconds(wait: Duration) -> String {
    match whole_seconds(wait) {
        1 => "1 second".to_owned(),
        n => format!("{n} seconds"),
    }
}

/// Seconds after which the wait is over for certain; at least 1.
pub(super) fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

/// Whom an address counts for: one machine under IPv4, one network (/64) under IPv6, where a machine has as many
/// addresses as it likes.
pub(super) fn network(peer: Option<Peer>) -> IpAddr {
    match peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |Peer(ip)| ip.to_canonical()) {
        IpAddr::V6(ip) => {
            let [a, b, c, d, ..] = ip.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// How fast a bucket fills and how much it holds.
#[derive(Debug, Clone, Copy)]
struct Pace {
    /// One more fits in after this.
    each: Duration,
    /// So much comes from a full bucket at once.
    burst: Duration,
}

impl Pace {
    fn of(count: u32, per: Duration, burst: u32) -> Self {
        let each = per / count;
        Self { each, burst: each * burst }
    }
}

/// Token buckets by whom they are for. A bucket is the moment at which it will be full again; one that is full is
/// as good as none, so the table is swept of them when it has grown.
#[derive(Debug)]
struct Buckets<K> {
    pace: Pace,
    most: usize,
    table: Mutex<Table<K>>,
}

#[derive(Debug)]
struct Table<K> {
    full_at: HashMap<K, Instant>,
    /// So many buckets are swept next time,
    sweep_at: usize,
    /// unless that was tried just now: strangers must not make a sweep each.
    swept: Option<Instant>,
}

impl<K: Eq + Hash> Buckets<K> {
    /// Buckets of this pace, at most so many that are not full.
    fn new(pace: Pace, most: usize) -> Self {
        Self {
            pace,
            most,
            table: Mutex::new(Table { full_at: HashMap::new(), sweep_at: SWEEP_FIRST, swept: None }),
        }
    }

    /// Takes one from the bucket, or says how long until there is one.
    fn take(&self, whose: K, now: Instant) -> Result<(), Duration> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if !table.full_at.contains_key(&whose) && !table.has_room(self.most, now, self.pace.each) {
            return Err(self.pace.each);
        }
        let full_at = table.full_at.entry(whose).or_insert(now);
        let then = (*full_at).max(now) + self.pace.each;
        match then.duration_since(now).checked_sub(self.pace.burst) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => {
                *full_at = then;
                Ok(())
            }
        }
    }

    /// Puts one back.
    fn give_back(&self, whose: &K) {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(full_at) = table.full_at.get_mut(whose) {
            *full_at = full_at.checked_sub(self.pace.each).unwrap_or(*full_at);
        }
    }
}

/// Buckets from which on full ones are looked for.
const SWEEP_FIRST: usize = 1024;

impl<K: Eq + Hash> Table<K> {
    /// Whether one more fits, after sweeping if the table has doubled since it last was, or if it is at its end.
    fn has_room(&mut self, most: usize, now: Instant, apart: Duration) -> bool {
        let just_now = self.swept.is_some_and(|swept| now.duration_since(swept) < apart);
        let len = self.full_at.len();
        if len >= self.sweep_at || (len >= most && !just_now) {
            self.swept = Some(now);
            self.full_at.retain(|_, full_at| *full_at > now);
            self.sweep_at = (self.full_at.len() * 2).max(SWEEP_FIRST);
        }
        self.full_at.len() < most
    }
}

/// How many feeds each owner has open.
#[derive(Debug)]
struct Feeds {
    most: usize,
    open: Mutex<HashMap<Slug, usize>>,
}

/// One open feed's place among its owner's.
#[derive(Debug)]
pub(super) struct FeedPlace {
    feeds: Arc<Feeds>,
    owner: Slug,
}

impl Feeds {
    fn enter(feeds: &Arc<Self>, owner: &Slug) -> Option<FeedPlace> {
        let mut open = feeds.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.get(owner).copied().unwrap_or_default();
        if count >= feeds.most {
            return None;
        }
        open.insert(owner.clone(), count + 1);
        Some(FeedPlace { feeds: Arc::clone(feeds), owner: owner.clone() })
    }
}

impl Drop for FeedPlace {
    fn drop(&mut self) {
        let mut open = self.feeds.open.lock().unwrap_or_else(PoisonError::into_inner);
        match open.get_mut(&self.owner) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                open.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn pace() -> Pace {
        Pace::of(50, Duration::from_secs(1), 200)
    }

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let buckets = Buckets::new(pace(), 10);
        let begin = Instant::now();
        for n in 0..200 {
            assert_eq!(buckets.take(1, begin), Ok(()), "{n}");
        }
        assert_eq!(buckets.take(1, begin), Err(Duration::from_millis(20)));
        assert_eq!(buckets.take(2, begin), Ok(()), "another's is another bucket");
        // A refused call takes nothing: whoever waits as told is let in.
        let mut now = begin;
        for n in 0..100 {
            let wait = buckets.take(1, now).unwrap_err();
            now += wait;
            assert_eq!(buckets.take(1, now), Ok(()), "{n}");
        }
        assert_eq!(now - begin, Duration::from_secs(2));
        // After a pause of four seconds it is full, however long the pause.
        now += Duration::from_hours(1);
        assert_eq!((0..1000).filter(|_| buckets.take(1, now).is_ok()).count(), 200);
    }

    #[test]
    fn what_is_given_back_can_be_taken_again() {
        let buckets = Buckets::new(Pace::of(20, Duration::from_mins(1), 20), 10);
        let now = Instant::now();
        for _ in 0..1000 {
            assert_eq!(buckets.take("here", now), Ok(()));
            buckets.give_back(&"here");
        }
        assert_eq!((0..100).filter(|_| buckets.take("here", now).is_ok()).count(), 20);
        assert_eq!(buckets.take("here", now), Err(Duration::from_secs(3)));
    }

    #[test]
    fn strangers_fill_no_more_than_their_table() {
        let buckets = Buckets::new(Pace::of(20, Duration::from_mins(1), 20), ADDRESSES);
        let begin = Instant::now();
        let held = |buckets: &Buckets<u32>| buckets.table.lock().unwrap().full_at.len();
        for address in 0..200_000 {
            let let_in = buckets.take(address, begin).is_ok();
            assert_eq!(let_in, (address as usize) < ADDRESSES, "{address}");
        }
        assert_eq!(held(&buckets), ADDRESSES);
        assert_eq!(buckets.take(7, begin), Ok(()), "who is known is still counted");
        // One failed sign-in is forgotten after three seconds, and its place is another's.
        let later = begin + Duration::from_secs(7);
        assert_eq!(buckets.take(200_000, later), Ok(()));
        assert_eq!(held(&buckets), 1);
    }

    #[test]
    fn a_table_of_few_is_swept_long_before_it_is_full() {
        let buckets = Buckets::new(pace(), KEYS);
        let mut now = Instant::now();
        for key in 0..100_000 {
            now += Duration::from_millis(20); // each is full again when the next comes
            assert_eq!(buckets.take(key, now), Ok(()));
        }
        assert!(buckets.table.lock().unwrap().full_at.len() <= SWEEP_FIRST);
    }

    #[test]
    fn an_address_is_a_machine_or_a_network() {
        let of = |text: &str| network(Some(Peer(text.parse().unwrap()))).to_string();
        assert_eq!(of("192.0.2.7"), "192.0.2.7");
        assert_eq!(of("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
    }

    #[test]
    fn waits_are_told_in_whole_seconds_that_are_enough() {
        for (ms, told) in [(0, 1), (20, 1), (1000, 1), (1001, 2), (3000, 3)] {
            assert_eq!(whole_seconds(Duration::from_millis(ms)), told, "{ms}");
        }
    }

    #[test]
    fn a_feed_that_ends_makes_room_for_another() {
        let limits = Limits::new(&Options { feeds: 2, ..Options::default() }, Arc::default());
        let (acme, other) = ("acme".parse().unwrap(), "other".parse().unwrap());
        let first = limits.feed(&acme).unwrap();
        let second = limits.feed(&acme).unwrap();
        assert!(limits.feed(&acme).is_err());
        assert!(limits.feed(&other).is_ok(), "each owner has its own");
        drop(first);
        let third = limits.feed(&acme).unwrap();
        drop((second, third));
        assert!(limits.feeds.open.lock().unwrap().is_empty(), "nothing is kept of who is gone");
    }
}
