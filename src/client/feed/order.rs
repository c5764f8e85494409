//! What a frame means after those before it: a picture is told when it is whole, each event once and in order.

use crate::picture::News;
use crate::wire::feed::Frame;
use crate::wire::pulse::Pulse;

/// What is known of the room's sequence, across connections.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The event up to which everything was told, and the database that it belongs to.
    told: Option<(String, u64)>,
    /// This connection's database; `None` before its hello.
    epoch: Option<String>,
    /// Whether events follow on `told`: the room resumes there, or a whole picture has come.
    follows: bool,
    parts: Option<Parts>,
}

/// A picture that is still coming in.
#[derive(Debug)]
struct Parts {
    seq: u64,
    next: u32,
    pulses: Vec<Pulse>,
    /// Events after the picture that came before it was whole.
    held: Vec<Frame>,
}

/// The room broke its own rules.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The first frame was no hello.
    NoHello,
    /// Something is missing: only a new picture helps.
    Gap,
}

impl Order {
    /// What to ask the room to resume after: `EPOCH.SEQ`.
    pub(super) fn after(&self) -> Option<String> {
        self.told.as_ref().map(|(epoch, seq)| format!("{epoch}.{seq}"))
    }

    /// Asks for a new picture next time.
    pub(super) fn forget(&mut self) {
        self.told = None;
    }

    /// A new connection begins.
    pub(super) fn begin(&mut self) {
        self.epoch = None;
        self.follows = false;
        self.parts = None;
    }

    /// Takes the next frame; what it tells is added to `news`.
    pub(super) fn hear(&mut self, frame: Frame, news: &mut Vec<News>) -> Result<(), Broken> {
        let Some(epoch) = &self.epoch else {
            return self.greet(frame, news);
        };
        if frame.seq().is_some() {
            return self.event(frame, news);
        }
        match frame {
            Frame::Snapshot { seq, pulses, part, last } => {
                let parts = match self.parts.take() {
                    Some(parts) if part > 0 && parts.next == part && parts.seq == seq => parts,
                    _ if part == 0 => Parts { seq, next: 0, pulses: Vec::new(), held: Vec::new() },
                    _ => return Err(Broken::Gap),
                };
                let parts =
                    Parts { next: part.saturating_add(1), pulses: joined(parts.pulses, pulses), ..parts };
                if !last {
                    self.parts = Some(parts);
                    return Ok(());
                }
                self.told = Some((epoch.clone(), seq));
                self.follows = true;
                news.push(News::Snapshot { seq, pulses: parts.pulses });
                parts.held.into_iter().try_for_each(|frame| self.event(frame, news))
            }
            Frame::Recent { events } => {
                news.push(News::Recent { events });
                Ok(())
            }
            Frame::Run { agent_id, run } => {
                news.push(News::Run { agent_id, run });
                Ok(())
            }
            Frame::Hello { .. } => Err(Broken::Gap),
            // A newer room's frame outside of the sequence says nothing to us.
            Frame::Pulse { .. } | Frame::Gone { .. } | Frame::Other(_) => Ok(()),
        }
    }

    fn greet(&mut self, frame: Frame, news: &mut Vec<News>) -> Result<(), Broken> {
        let Frame::Hello { epoch, seq, server_time, resumed } = frame else {
            return Err(Broken::NoHello);
        };
        if resumed && !self.told.as_ref().is_some_and(|(known, told)| *known == epoch && *told <= seq) {
            return Err(Broken::Gap); // it resumes where we never were
        }
        self.follows = resumed;
        self.epoch = Some(epoch.clone());
        news.push(News::Live { epoch, seq, server_time, resumed });
        Ok(())
    }

    fn event(&mut self, frame: Frame, news: &mut Vec<News>) -> Result<(), Broken> {
        let seq = frame.seq().unwrap_or_default();
        if let Some(parts) = &mut self.parts {
            if seq > parts.seq {
                parts.held.push(frame);
            }
            return Ok(());
        }
        let Some((_, told)) = self.told.as_mut().filter(|_| self.follows) else {
            return Err(Broken::Gap); // an event before any picture
        };
        if seq <= *told {
            return Ok(()); // told already
        }
        if Some(seq) != told.checked_add(1) {
            return Err(Broken::Gap);
        }
        *told = seq;
        news.push(News::Event { frame });
        Ok(())
    }
}

fn joined(mut all: Vec<Pulse>, more: Vec<Pulse>) -> Vec<Pulse> {
    all.extend(more);
    all
}
