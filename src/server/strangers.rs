//! Connections that have not shown a good key yet: of one address there are only so many at a time, and for one more
//! the oldest of them goes. Behind a reverse proxy, all have one address; who has shown a key is not counted.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::complaint::Complaint;
use super::limits::{Peer, network};
use super::metrics::Metrics;

/// Who is there, by where they come from.
#[derive(Debug)]
pub(super) struct Strangers {
    most: usize,
    table: Mutex<Table>,
    many: Complaint,
    metrics: Arc<Metrics>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    /// In the order of their coming.
    by_network: HashMap<IpAddr, BTreeMap<u64, CancellationToken>>,
}

/// One connection's word, as its requests carry it.
#[derive(Debug, Clone)]
pub(super) struct Stranger(Arc<Place>);

#[derive(Debug)]
struct Place {
    strangers: Arc<Strangers>,
    network: IpAddr,
    number: u64,
    known: AtomicBool,
    leave: CancellationToken,
}

impl Strangers {
    /// At most so many of one address, and at least one.
    pub fn new(most: usize, metrics: Arc<Metrics>) -> Self {
        Self { most: most.max(1), table: Mutex::default(), many: Complaint::default(), metrics }
    }

    /// One more. Where there are too many of its address, the oldest is asked to leave.
    pub fn enter(strangers: &Arc<Self>, peer: Peer) -> Stranger {
        let network = network(Some(peer));
        let leave = CancellationToken::new();
        let mut table = strangers.table();
        table.next += 1;
        let number = table.next;
        let there = table.by_network.entry(network).or_default();
        let oldest = if there.len() < strangers.most { None } else { there.pop_first() };
        there.insert(number, leave.clone());
        drop(table);
        if let Some((_, oldest)) = oldest {
            oldest.cancel();
            strangers.metrics.refused("connections");
            if let Some(unsaid) = strangers.many.raise() {
                let most = strangers.most;
                tracing::warn!(%network, most, unsaid, "too many connections without a key: the oldest is closed");
            }
        }
        let strangers = Arc::clone(strangers);
        Stranger(Arc::new(Place { strangers, network, number, known: AtomicBool::new(false), leave }))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stranger {
    /// It has shown a good key.
    pub fn shows_a_key(&self) {
        if !self.0.known.swap(true, Ordering::Relaxed) {
            self.0.leave_the_table();
        }
    }

    /// Whether it has ever shown a good key.
    pub fn is_known(&self) -> bool {
        self.0.known.load(Ordering::Relaxed)
    }

    /// Waits until it has to make room for others.
    pub async fn asked_to_leave(&self) {
        self.0.leave.cancelled().await;
    }
}

impl Place {
    fn leave_the_table(&self) {
        let mut table = self.strangers.table();
        if let Some(there) = table.by_network.get_mut(&self.network) {
            there.remove(&self.number);
            if there.is_empty() {
                table.by_network.remove(&self.network);
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave_the_table();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn from(address: &str) -> Peer {
        Peer(address.parse().unwrap())
    }

    #[test]
    fn the_oldest_stranger_of_an_address_makes_room_for_the_next() {
        let strangers = Arc::new(Strangers::new(2, Arc::default()));
        let enter = |address| Strangers::enter(&strangers, from(address));
        let has_to_leave = |stranger: &Stranger| stranger.0.leave.is_cancelled();
        let elsewhere = enter("192.0.2.9");
        let here = [enter("192.0.2.7"), enter("::ffff:192.0.2.7"), enter("192.0.2.7")];
        assert_eq!(here.each_ref().map(has_to_leave), [true, false, false]);
        // Who shows a key is nobody's oldest any more, and makes room besides.
        here[1].shows_a_key();
        let fourth = enter("192.0.2.7");
        assert_eq!(here.each_ref().map(has_to_leave), [true, false, false]);
        let fifth = enter("192.0.2.7");
        assert_eq!(here.each_ref().map(has_to_leave), [true, false, true]);
        assert!(here[1].is_known() && !here[2].is_known() && !has_to_leave(&elsewhere));
        // A machine under IPv6 has a network of addresses.
        let network: Vec<_> = ["2001:db8::1", "2001:db8::2", "2001:db8::3"].map(enter).into();
        assert!(has_to_leave(&network[0]) && !has_to_leave(&network[2]));
        drop((here, fourth, fifth, network, elsewhere));
        assert!(strangers.table().by_network.is_empty(), "nothing is kept of who is gone");
    }
}
