//! Who is in whose way, as a watcher knows it: by the room's time, and only as long as something is heard.

use std::sync::Arc;

use super::{Connection, Happening, Picture};
use crate::conflict::{Conflict, Ended, Level, Turn};
use crate::wire::Time;
use crate::wire::id::AgentId;

impl Picture {
    /// Who is in whose way at `now`, the room's time: the worst first, then the newest. While nothing is heard, as
    /// it was when the last was heard.
    pub fn conflicts(&self, now: Time) -> Vec<&Arc<Conflict>> {
        self.radar.conflicts(self.judged(now))
    }

    /// The same of one agent, in no order.
    pub fn conflicts_of(&self, id: &AgentId, now: Time) -> impl Iterator<Item = &Arc<Conflict>> {
        self.radar.of_agent(id, self.judged(now))
    }

    /// How many conflicts of a level there are, as of the last news or [`Picture::pass`]; costs nothing.
    pub fn count_of(&self, level: Level) -> usize {
        self.radar.count(level)
    }

    /// Another number whenever a conflict may be another, for who keeps the list: to make it costs milliseconds
    /// where there are thousands.
    pub fn conflicts_version(&self) -> u64 {
        self.radar.version()
    }

    /// How much an agent is in others' way, for its mark.
    pub fn in_the_way(&self, id: &AgentId, now: Time) -> Option<Level> {
        self.radar.worst(id, self.judged(now))
    }

    /// The conflicts that ended within the last hour, the newest first.
    pub fn ended(&self, now: Time) -> impl Iterator<Item = &Arc<Ended>> {
        self.radar.ended(self.judged(now))
    }

    /// Whether there are more conflicts than are looked at, so that counts are lower bounds.
    pub fn crowded(&self) -> bool {
        self.radar.crowded()
    }

    /// When an intent runs out next, or files no longer count: [`Picture::pass`] has something to do then, by the
    /// room's clock. `None` while nothing is heard.
    pub fn next_end(&self) -> Option<Time> {
        self.radar.next_end().filter(|_| self.is_up_to_date())
    }

    /// Lets what has run out by `now`, the room's time, run out, and tells of it in the log. While nothing is
    /// heard, nothing does: it may have been said again.
    pub fn pass(&mut self, now: Time) {
        self.agents.pass(now, self.stale_after);
        if self.is_up_to_date() {
            let turns = self.radar.pass(now);
            self.tell(turns, None);
        }
    }

    /// Whether all is known that has happened in the room.
    fn is_up_to_date(&self) -> bool {
        self.connection == Connection::Live && self.whole && !self.is_behind()
    }

    /// Begins the log with the first look: what is so did not happen now, but when the later of the two said so.
    pub(super) fn open_log(&mut self, now: Time) {
        self.log.open(now);
        for clash in self.radar.conflicts(now).into_iter().rev().filter(|c| c.level == Level::Clash) {
            self.log.remember(Happening::Clash { at: clash.since, clash: Arc::clone(clash) });
        }
    }

    fn judged(&self, now: Time) -> Time {
        self.heard_until().map_or(now, |heard| heard.min(now))
    }

    /// Tells of clashes, not of what is less; those that begin do so `at` that time, or since their second said so.
    pub(super) fn tell(&mut self, turns: Vec<Turn>, at: Option<Time>) {
        for turn in turns {
            let conflict = match &turn {
                Turn::Began(conflict) => conflict,
                Turn::Ended(ended) => &ended.conflict,
            };
            conflict.parties().into_iter().for_each(|party| self.touched.add(party.id()));
            match turn {
                Turn::Began(clash) if clash.level == Level::Clash => {
                    let at = at.unwrap_or(clash.since);
                    self.log.note(Happening::Clash { at, clash });
                }
                Turn::Ended(ended) if ended.conflict.level == Level::Clash => {
                    self.log.note(Happening::ClashOver(ended));
                }
                _ => {}
            }
        }
    }
}
