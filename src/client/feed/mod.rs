//! The feed of one room as data: a task owns the connection, waits out what is lost, and closes every gap.
//!
//! [`order`] decides what a frame means (pure), [`socket`] moves bytes, [`backoff`] waits.

mod backoff;
mod order;
mod socket;

use std::sync::Arc;
use std::time::Duration;

use chrono::{TimeDelta, Utc};
use tokio::sync::{Notify, mpsc};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use self::backoff::Backoff;
use self::order::Order;
use self::socket::{End, Life};
use super::Access;
use super::recording::Recorder;
use super::words::Trouble;
use crate::picture::{Heard, News};
use crate::wire::Time;
use crate::wire::id::Slug;

/// Where a feed gets its address and key from, anew for each connection: a key that was made or replaced
/// meanwhile is used, and a room that moved is found. It may read files and wait. Its trouble is a sentence that
/// says what to do.
pub type Source = Arc<dyn Fn() -> Result<Access, Trouble> + Send + Sync>;

/// The feed's times and sizes.
#[derive(Debug, Clone)]
pub struct Options {
    /// The first wait after a loss; it doubles with each that follows.
    pub backoff_first: Duration,
    /// The longest wait, before the spread.
    pub backoff_max: Duration,
    /// By which part of itself a wait may be longer or shorter, so that a room that comes back isn't met
    /// by all its watchers at once.
    pub backoff_spread: f64,
    /// How long a connection must have stood to count as one, so that the next wait is the first again.
    pub lived: Duration,
    /// How often to ask for a sign of life.
    pub ping: Duration,
    /// How long without one until the connection counts as lost.
    pub dead: Duration,
    /// How long finding, connecting and greeting may take together.
    pub connect: Duration,
    /// News that wait for the reader; then the connection waits, and the room behind it.
    pub queue: usize,
    /// Bytes that a whole picture of the room may have: ten thousand agents take about 6 MB.
    pub picture_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            backoff_first: Duration::from_millis(500),
            backoff_max: Duration::from_secs(15),
            backoff_spread: 0.2,
            lived: Duration::from_secs(5),
            ping: Duration::from_secs(10),
            dead: Duration::from_secs(25),
            connect: Duration::from_secs(10),
            queue: 1024,
            picture_max: 256 << 20,
        }
    }
}

/// One room's news. Dropping it ends the task behind it.
#[derive(Debug)]
pub struct Feed {
    news: mpsc::Receiver<Heard>,
    retry: Arc<Notify>,
    recorder: Option<Recorder>,
    trouble: Option<String>,
}

impl Feed {
    /// Starts to follow `project`. Needs a running tokio runtime.
    pub fn spawn(source: Source, project: Slug, options: Options) -> Self {
        Self::start(source, project, options, None)
    }

    /// Plays a recording: each of its news when it is due by the machine's clock plus `shift`. Stays open at
    /// its end, as a quiet room does.
    pub fn replay(heard: Vec<Heard>, shift: TimeDelta) -> Self {
        let (sender, news) = mpsc::channel(Options::default().queue);
        tokio::spawn(async move {
            for heard in heard {
                let wait = (heard.at - (Utc::now() + shift)).to_std().unwrap_or_default();
                tokio::time::sleep(wait).await;
                if sender.send(heard).await.is_err() {
                    return;
                }
            }
            sender.closed().await;
        });
        Self { news, retry: Arc::new(Notify::new()), recorder: None, trouble: None }
    }

    /// As [`Self::spawn`]; also gives every frame of the room as it was sent, repetitions included.
    /// Both have to be read: each waits for its reader.
    pub fn spawn_with_frames(
        source: Source,
        project: Slug,
        options: Options,
    ) -> (Self, mpsc::Receiver<Utf8Bytes>) {
        let (sender, frames) = mpsc::channel(options.queue);
        (Self::start(source, project, options, Some(sender)), frames)
    }

    fn start(
        source: Source,
        project: Slug,
        options: Options,
        frames: Option<mpsc::Sender<Utf8Bytes>>,
    ) -> Self {
        let (sender, news) = mpsc::channel(options.queue);
        let retry = Arc::new(Notify::new());
        let task = Task {
            source,
            project,
            backoff: Backoff::new(&options),
            order: Order::new(options.picture_max),
            options,
            out: Out { news: sender, frames },
            retry: Arc::clone(&retry),
        };
        tokio::spawn(task.run());
        Self { news, retry, recorder: None, trouble: None }
    }

    /// Writes down from now on what is taken from the feed.
    pub fn record(&mut self, recorder: Recorder) {
        self.recorder = Some(recorder);
    }

    /// Why the recording has ended, said once: a full disk is no reason to stop watching.
    pub fn trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    /// The next news. `None` only after the task has ended, which it does not by itself.
    pub async fn next(&mut self) -> Option<Heard> {
        let heard = self.news.recv().await?;
        self.write_down(&heard);
        Some(heard)
    }

    /// The next news if some are waiting already.
    pub fn try_next(&mut self) -> Option<Heard> {
        let heard = self.news.try_recv().ok()?;
        self.write_down(&heard);
        Some(heard)
    }

    fn write_down(&mut self, heard: &Heard) {
        let Some(recorder) = &mut self.recorder else { return };
        if let Err(error) = recorder.append(heard) {
            self.trouble = Some(format!("the recording has ended: {error}"));
            self.recorder = None;
        }
    }

    /// Tries to connect now: wakes a feed that waits after a loss, and one that was refused, which then
    /// reads its key anew. Does nothing while it is connected.
    pub fn retry_now(&self) {
        self.retry.notify_waiters();
    }
}

/// Where what was heard goes.
struct Out {
    news: mpsc::Sender<Heard>,
    frames: Option<mpsc::Sender<Utf8Bytes>>,
}

/// Nobody listens any more.
struct Gone;

impl Out {
    async fn tell(&self, news: News) -> Result<(), Gone> {
        let heard = Heard { at: chrono::Utc::now(), news };
        self.news.send(heard).await.map_err(|_| Gone)
    }

    async fn frame(&self, text: &Utf8Bytes) -> Result<(), Gone> {
        match &self.frames {
            Some(frames) => frames.send(text.clone()).await.map_err(|_| Gone),
            None => Ok(()),
        }
    }
}

struct Task {
    source: Source,
    project: Slug,
    options: Options,
    backoff: Backoff,
    order: Order,
    out: Out,
    retry: Arc<Notify>,
}

impl Task {
    async fn run(mut self) {
        let news = self.out.news.clone();
        tokio::select! {
            () = news.closed() => {}
            _ = self.follow() => {}
        }
    }

    async fn follow(&mut self) -> Gone {
        match self.try_follow().await {
            Err(gone) => gone,
            Ok(never) => match never {},
        }
    }

    async fn try_follow(&mut self) -> Result<std::convert::Infallible, Gone> {
        let mut resynced = false;
        loop {
            self.out.tell(News::Connecting).await?;
            let mut life = Life::default();
            let source = Arc::clone(&self.source);
            let end = match tokio::task::spawn_blocking(move || source()).await {
                Err(_) => End::Lost("this program is ending".into()),
                Ok(Err(Trouble::Lost(why))) => End::Lost(why),
                Ok(Err(Trouble::Key(why) | Trouble::Refused(why))) => End::Refused(why),
                Ok(Ok(access)) => {
                    let (options, order) = (&self.options, &mut self.order);
                    let visit = socket::visit(&access, &self.project, options, order, &self.out, &mut life);
                    let (end, stood) = visit.await;
                    if stood.is_some_and(|stood| stood >= self.options.lived) {
                        self.backoff.reset();
                        resynced = false;
                    }
                    end
                }
            };
            // Waits are set up before the news are told: a retry that answers them must not be missed.
            let retry = Arc::clone(&self.retry);
            let wake = retry.notified();
            tokio::pin!(wake);
            wake.as_mut().enable();
            match end {
                End::Gone => return Err(Gone),
                // The first gap is closed at once; a room that goes on leaving gaps is waited for.
                End::Gap if !resynced => {
                    self.order.forget();
                    resynced = true;
                }
                End::Gap => {
                    self.order.forget();
                    self.wait("the room leaves out events".into(), Duration::ZERO, life.heard_at(), wake)
                        .await?;
                }
                End::Lost(why) => self.wait(why, Duration::ZERO, life.heard_at(), wake).await?,
                End::Later(why, asked) => self.wait(why, asked, life.heard_at(), wake).await?,
                End::Refused(why) => {
                    self.out.tell(News::Refused { why }).await?;
                    wake.await;
                    self.backoff.reset();
                }
            }
        }
    }

    /// `asked`: how long the room wants us to wait. `heard_at`: when it was heard last.
    async fn wait(
        &mut self,
        why: String,
        asked: Duration,
        heard_at: Option<Time>,
        wake: impl Future<Output = ()>,
    ) -> Result<(), Gone> {
        let retry_in = self.backoff.next().max(self.backoff.at_least(asked));
        self.out.tell(News::Lost { why, retry_in, heard_at }).await?;
        tokio::select! {
            () = tokio::time::sleep(retry_in) => {}
            // Who asks for it need not wait the longer for having asked.
            () = wake => self.backoff.reset(),
        }
        Ok(())
    }
}
