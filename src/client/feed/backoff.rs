//! How long to wait before the next try.

use std::time::Duration;

use super::Options;

/// Waits that double up to a longest one, each a little longer or shorter by chance.
pub(super) struct Backoff {
    first: Duration,
    max: Duration,
    spread: f64,
    next: Duration,
}

impl Backoff {
    pub(super) fn new(options: &Options) -> Self {
        let first = options.backoff_first.min(options.backoff_max);
        Self { first, max: options.backoff_max, spread: options.backoff_spread.clamp(0.0, 1.0), next: first }
    }

    /// A connection has lived: the next wait is the first again.
    pub(super) fn reset(&mut self) {
        self.next = self.first;
    }

    /// The next wait.
    pub(super) fn next(&mut self) -> Duration {
        self.at(chance())
    }

    /// The shortest wait that heeds a room's wish for `asked`, which counts up to our own longest. A little longer
    /// by chance: the room says the same to everybody.
    pub(super) fn at_least(&self, asked: Duration) -> Duration {
        asked.min(self.max).mul_f64(1.0 + self.spread * chance())
    }

    /// The next wait where chance is `at` (0 the shortest, 1 the longest).
    fn at(&mut self, at: f64) -> Duration {
        let wait = self.next;
        self.next = wait.saturating_mul(2).min(self.max);
        wait.mul_f64(1.0 + self.spread * (2.0 * at - 1.0))
    }
}

/// A number from 0 to 1. Where the machine has no randomness to give, the middle is as good.
fn chance() -> f64 {
    getrandom::u32().map_or(0.5, |n| f64::from(n) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(at: f64, count: usize) -> Vec<u128> {
        let mut backoff = Backoff::new(&Options::default());
        (0..count).map(|_| backoff.at(at).as_millis()).collect()
    }

    #[test]
    fn waits_double_from_half_a_second_to_fifteen() {
        assert_eq!(waits(0.5, 8), [500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
    }

    #[test]
    fn chance_spreads_a_wait_by_a_fifth_and_no_more() {
        assert_eq!(waits(0.0, 7), [400, 800, 1600, 3200, 6400, 12_000, 12_000]);
        assert_eq!(waits(1.0, 7), [600, 1200, 2400, 4800, 9600, 18_000, 18_000]);
    }

    #[test]
    fn waits_differ_between_watchers() {
        let mut firsts: Vec<Duration> = (0..100).map(|_| Backoff::new(&Options::default()).next()).collect();
        assert!(firsts.iter().all(|w| (400..=600).contains(&w.as_millis())), "{firsts:?}");
        firsts.sort();
        firsts.dedup();
        assert!(firsts.len() > 50, "a hundred watchers wait {} different times", firsts.len());
    }

    #[test]
    fn what_a_room_asks_for_is_heeded_within_our_own_bounds() {
        let backoff = Backoff::new(&Options::default());
        for (asked, least, most) in [(0, 0, 0), (3, 3000, 3600), (15, 15_000, 18_000), (3600, 15_000, 18_000)]
        {
            let wait = backoff.at_least(Duration::from_secs(asked)).as_millis();
            assert!((least..=most).contains(&wait), "{asked} s: {wait} ms");
        }
    }

    #[test]
    fn a_connection_that_lived_starts_over() {
        let mut backoff = Backoff::new(&Options::default());
        for _ in 0..5 {
            backoff.at(0.5);
        }
        backoff.reset();
        assert_eq!(backoff.at(0.5).as_millis(), 500);
    }
}
