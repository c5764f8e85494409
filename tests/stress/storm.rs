//! Watchers that lose their room all at once, and how they come back.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use prickle::client::Access;
use prickle::client::feed::{Feed, Options};
use prickle::picture::News;
use tokio::sync::mpsc;

use super::load::{self, PROJECT};

#[derive(Debug, Clone)]
pub struct Scale {
    pub watchers: usize,
    pub restarts: usize,
    /// How long the room is away.
    pub away: Duration,
    pub options: Options,
}

#[derive(Debug, Default)]
pub struct Figures {
    /// From the room's return until the last watcher was live again, the longest.
    pub back_after: Duration,
    /// Tries of one watcher in one outage, the most.
    pub tries: usize,
    /// The shortest time between two tries of one watcher after its third failure.
    pub shortest_wait: Option<Duration>,
    /// Tries of all watchers together within any one second after the room's return, the most.
    pub busiest_second: usize,
    /// Watchers that came back with what they had missed, not with a new picture.
    pub resumed: usize,
}

pub async fn run(scale: Scale) -> Figures {
    let folder = tempfile::tempdir().unwrap();
    let (mut room, mut keys) = load::room(folder.path());
    let url = room.caller().url;
    let tries: Arc<Mutex<Vec<Vec<Instant>>>> = Arc::new(Mutex::new(vec![Vec::new(); scale.watchers]));
    let (said, mut live) = mpsc::unbounded_channel();
    for (n, key) in keys.watchers(scale.watchers).into_iter().take(scale.watchers).enumerate() {
        let access = Access::new(url.parse().unwrap(), key.parse().unwrap());
        let tries = Arc::clone(&tries);
        let source = move || {
            tries.lock().unwrap()[n].push(Instant::now());
            Ok(access.clone())
        };
        let mut feed = Feed::spawn(Arc::new(source), PROJECT.parse().unwrap(), scale.options.clone());
        let said = said.clone();
        tokio::spawn(async move {
            while let Some(heard) = feed.next().await {
                match heard.news {
                    News::Live { resumed, .. } => drop(said.send(resumed)),
                    News::Refused { why } => panic!("{why}"),
                    _ => {}
                }
            }
        });
    }
    let mut all_live = async || {
        let mut resumed = 0;
        for _ in 0..scale.watchers {
            let one = tokio::time::timeout(Duration::from_mins(2), live.recv()).await;
            resumed += usize::from(one.expect("not every watcher comes back").unwrap());
        }
        resumed
    };
    all_live().await;
    let mut figures = Figures::default();
    for restart in 0..scale.restarts {
        tries.lock().unwrap().iter_mut().for_each(Vec::clear);
        if restart % 2 == 0 {
            room.kill9();
        } else {
            room.stop(rustix::process::Signal::TERM);
        }
        tokio::time::sleep(scale.away).await;
        room.again();
        let back = Instant::now();
        figures.resumed += all_live().await;
        figures.back_after = figures.back_after.max(back.elapsed());
        judge(&tries.lock().unwrap(), back, &mut figures);
    }
    figures
}

fn judge(tries: &[Vec<Instant>], back: Instant, figures: &mut Figures) {
    let most = tries.iter().map(Vec::len).max().unwrap_or_default();
    figures.tries = figures.tries.max(most);
    // The first three tries fail, then it must be patient.
    let later = tries.iter().flat_map(|tries| tries.iter().skip(2).zip(tries.iter().skip(3)));
    let shortest = later.map(|(one, next)| *next - *one).min();
    figures.shortest_wait = figures.shortest_wait.into_iter().chain(shortest).min();
    let mut all: Vec<_> = tries.iter().flatten().filter(|at| **at >= back).collect();
    all.sort();
    let second = Duration::from_secs(1);
    let within = |n: usize| all[n..].iter().take_while(|at| ***at < *all[n] + second).count();
    figures.busiest_second = (0..all.len()).map(within).max().unwrap_or_default().max(figures.busiest_second);
}
