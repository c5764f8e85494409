//! What the screen needs to know of the run records now, and what becomes of the answers. Who asks is elsewhere: here
//! it is only said, so that nothing waits.

use super::chain::{Chain, PAGE};
use super::listed::Listed;
use super::{GroupKey, Reader, Runs, within};
use crate::picture::Connection;
use crate::tui::model::{Model, Pane, View};
use crate::wire::Time;
use crate::wire::query::{By, Order, RunQuery, Sort};
use crate::wire::run::RunPage;
use crate::wire::sums::RunSummary;
use crate::words::Zone;

/// Most groups that are held.
pub const GROUPS: u32 = 1000;
/// Most days that are held.
const DAYS: u32 = 400;

/// What for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// The groups.
    Sums,
    /// The days.
    Days,
    /// What the opened group comes to.
    Total,
    /// What the task of the agent in front comes to.
    Task,
    /// Records of the opened group.
    Page,
}

/// A question to the room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// What records come to.
    Sums {
        /// Summed by.
        by: By,
        /// The zone that cuts days.
        tz: &'static str,
        /// Which.
        query: RunQuery,
    },
    /// A page of records.
    Page(RunQuery),
}

/// A question, what for, and what was known to have changed when it came up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What for.
    pub slot: Slot,
    /// The question itself.
    pub ask: Ask,
    /// What was known to have changed, counted.
    pub version: u64,
    /// Whether an answer is there, from before something may have changed.
    pub again: bool,
}

/// What the room says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// What records come to.
    Sums(Box<RunSummary>),
    /// Some records.
    Page(RunPage),
}

/// An answer with its question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What was asked.
    pub question: Question,
    /// What came of it, or why nothing did, in words.
    pub told: Result<Told, String>,
}

/// A summary that is held, and what it answers.
#[derive(Debug, Clone)]
pub struct Held {
    /// What was asked.
    pub ask: Ask,
    /// What was known to have changed by then.
    pub version: u64,
    /// The room's time when it came.
    pub at: Time,
    /// The answer.
    pub summary: RunSummary,
}

/// What is written into a file: the groups or the records that are listed, all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// What is asked for.
    pub ask: Ask,
    /// What restricts it.
    pub filter: super::filter::RunFilter,
    /// The project whose tasks are called by their name alone.
    pub here: String,
    /// The zone that the filter sees days in.
    pub zone: Zone,
    /// The room's time.
    pub now: Time,
    /// What the file is called, without its ending: safe for any file system.
    pub name: String,
}

/// The questions whose answers the screen lacks, or has only from before something changed.
pub fn wanted(model: &Model) -> Vec<Question> {
    let runs = &model.runs;
    let lost = matches!(model.present().connection, Connection::Offline { .. } | Connection::Refused { .. });
    if runs.reader != Reader::Person || lost {
        return Vec::new(); // what can't be answered is asked once there is somebody to answer
    }
    let mut questions: Vec<Question> = Vec::new();
    for (slot, held) in [
        (Slot::Total, &runs.total),
        (Slot::Sums, &runs.sums),
        (Slot::Days, &runs.days),
        (Slot::Task, &runs.task),
    ] {
        let Some(ask) = current(model, slot) else { continue };
        let held = held.as_ref().filter(|held| held.ask == ask);
        // A picture that stands still is not made newer.
        if held.is_none_or(|held| is_old(model, held.version)) {
            questions.push(Question { slot, ask, version: runs.version, again: held.is_some() });
        }
    }
    questions.extend(page(model));
    questions
}

fn is_old(model: &Model, version: u64) -> bool {
    model.behind.is_none() && version != model.runs.version
}

/// What is asked for a place on the screen, whether it was answered or not; `None`: it is not in sight.
fn current(model: &Model, slot: Slot) -> Option<Ask> {
    let runs = &model.runs;
    let zone = model.look.zone.of_days();
    let since = runs.period.first(zone, model.now()).map(|day| zone.begin(day));
    let tz = zone.name();
    let all = RunQuery { since, ..RunQuery::default() };
    let shown = model.view == View::Runs;
    let sums = |by, query| Some(Ask::Sums { by, tz, query });
    match slot {
        Slot::Sums if shown && runs.opened.is_none() => {
            sums(runs.by, RunQuery { sort: runs.groups.sort, limit: Some(GROUPS), ..all })
        }
        Slot::Days if shown && runs.opened.is_none() => {
            let sort = Sort { order: Order::Name, descending: true };
            sums(By::Day, RunQuery { sort, limit: Some(DAYS), ..all })
        }
        Slot::Total if shown => {
            let query = within(runs.opened.as_ref()?, since, zone);
            sums(By::Task, RunQuery { limit: Some(1), ..query })
        }
        Slot::Page if shown => {
            let query = within(runs.opened.as_ref()?, since, zone);
            Some(Ask::Page(RunQuery { sort: runs.records.sort, limit: Some(PAGE), ..query }))
        }
        Slot::Task if !shown && model.pane == Pane::Open => {
            sums(By::Task, RunQuery { limit: Some(1), ..within(&task_in_front(model)?, None, zone) })
        }
        Slot::Sums | Slot::Days | Slot::Total | Slot::Page | Slot::Task => None,
    }
}

/// The task of the agent that is opened, where it is the watcher's own.
pub fn task_in_front(model: &Model) -> Option<GroupKey> {
    let (_, agent) = model.selection().filter(|_| model.view != View::Runs && model.view != View::Clashes)?;
    let own = model.owner.as_ref() == Some(&agent.pulse.owner);
    let task = agent.pulse.task_id.clone().filter(|task| own && !task.is_empty())?;
    Some(GroupKey { project: Some(model.picture.project.clone()), task: Some(task), ..GroupKey::default() })
}

/// The page of records that is lacking: the first after something has changed, or the one that the selection nears.
fn page(model: &Model) -> Option<Question> {
    let runs = &model.runs;
    let Ask::Page(query) = current(model, Slot::Page)? else { return None };
    let question = |version, again, cursor: Option<String>| {
        let ask = Ask::Page(RunQuery { cursor, ..query.clone() });
        Some(Question { slot: Slot::Page, ask, version, again })
    };
    let same = |chain: &&Chain| chain.query == query;
    let Some(chain) = runs.chain.as_ref().filter(same) else {
        return question(runs.version, false, None);
    };
    if is_old(model, chain.version) && chain.is_at_begin() {
        return match runs.coming.as_ref().filter(same) {
            // What has begun is brought to its end, however much comes meanwhile.
            Some(coming) => question(coming.version, true, coming.next().cloned().flatten()),
            None => question(runs.version, true, None),
        };
    }
    let row = chain.runs().position(|run| Some(&run.run.run_id) == runs.records.id.as_ref()).unwrap_or(0);
    question(chain.version, false, chain.needs(row)?.clone())
}

impl Runs {
    /// What has come, from the room's time `at`. Whether it was still wanted, which `current` tells of its slot.
    fn take(&mut self, answer: Answer, current: Ask, at: Time) {
        let Answer { question: Question { slot, ask, version, .. }, told } = answer;
        match (told, current) {
            (Ok(Told::Sums(summary)), current) if current == ask => {
                let held = Some(Held { ask, version, at, summary: *summary });
                match slot {
                    Slot::Sums => self.sums = held,
                    Slot::Days => self.days = held,
                    Slot::Total => self.total = held,
                    Slot::Task => self.task = held,
                    Slot::Page => {}
                }
                self.trouble = None;
            }
            (Ok(Told::Page(page)), Ask::Page(query)) => {
                let Ask::Page(RunQuery { cursor, .. }) = &ask else { return };
                let (cursor, bare) = (cursor.clone(), bare(&ask));
                if bare.as_ref() == Some(&query) {
                    self.turn(&query, version, cursor.as_deref(), page);
                    self.trouble = None;
                }
            }
            (Err(why), current) if current == ask || bare(&ask).is_some_and(|q| current == Ask::Page(q)) => {
                self.trouble = Some(why);
                // Its cursor may be what is refused, and would be for ever: it begins anew.
                if slot == Slot::Page {
                    self.coming = None;
                }
            }
            _ => {}
        }
    }

    /// A page of the records has come.
    fn turn(&mut self, query: &RunQuery, version: u64, cursor: Option<&str>, page: RunPage) {
        let same = |chain: &&mut Chain| chain.query == *query;
        if let Some(chain) = self.chain.as_mut().filter(same)
            && chain.version == version
        {
            return chain.put(cursor, page);
        }
        match self.coming.as_mut().filter(same) {
            Some(coming) if cursor.is_some() && coming.version == version => coming.put(cursor, page),
            _ if cursor.is_none() => self.coming = Some(Chain::new(query.clone(), version, page)),
            _ => return,
        }
        let there = self.chain.as_ref().filter(|chain| chain.query == *query).map_or(0, Chain::pages);
        if self.coming.as_ref().is_some_and(|coming| coming.pages() >= there || coming.next().is_none()) {
            self.chain = self.coming.take();
        }
    }
}

/// The query of a page without its cursor.
fn bare(ask: &Ask) -> Option<RunQuery> {
    match ask {
        Ask::Page(query) => Some(RunQuery { cursor: None, ..query.clone() }),
        Ask::Sums { .. } => None,
    }
}

/// Takes in an answer, where what it answers is still asked.
pub fn take(runs: &mut Runs, answer: Answer, current: Option<Ask>, at: Time) {
    if let Some(current) = current {
        runs.take(answer, current, at);
    }
}

/// What is asked for the slot of an answer by now; `None`: nobody looks at it any more, or the picture stands still.
pub fn still_asked(model: &Model, answer: &Answer) -> Option<Ask> {
    let Question { slot, ask, version, again } = &answer.question;
    let current = current(model, *slot)?;
    let still = model.behind.is_some();
    let held = held(&model.runs, *slot);
    let newer = held.is_some_and(|held| held.ask == *ask && (held.version > *version || still));
    (!(newer || still && *again)).then_some(current)
}

fn held(runs: &Runs, slot: Slot) -> Option<&Held> {
    match slot {
        Slot::Sums => runs.sums.as_ref(),
        Slot::Days => runs.days.as_ref(),
        Slot::Total => runs.total.as_ref(),
        Slot::Task => runs.task.as_ref(),
        Slot::Page => None,
    }
}

/// Whether what is held for a place on the screen answers what is asked there by now, and not what was before: other
/// days, another order.
pub fn is_told(model: &Model, slot: Slot) -> bool {
    match current(model, slot) {
        None => false,
        Some(Ask::Page(query)) => model.runs.chain.as_ref().is_some_and(|chain| chain.query == query),
        Some(ask) => held(&model.runs, slot).is_some_and(|held| held.ask == ask),
    }
}

/// What an export of the rows in front writes down; `None`: there are none.
pub fn export(model: &Model, rows: &Listed<'_>) -> Option<Export> {
    if rows.is_empty() {
        return None;
    }
    let runs = &model.runs;
    let date = model.look.zone.date(model.now()).format("%Y-%m-%d");
    let (ask, of) = match &runs.opened {
        Some(key) => {
            let name = [&key.task, &key.agent.as_ref().map(ToString::to_string), &key.project, &key.day];
            (current(model, Slot::Page)?, name.into_iter().flatten().next().cloned().unwrap_or_default())
        }
        None => (current(model, Slot::Sums)?, format!("by-{}", runs.by.as_str())),
    };
    let ask = match ask {
        Ask::Sums { by, tz, query } => Ask::Sums { by, tz, query: RunQuery { limit: None, ..query } },
        Ask::Page(query) => Ask::Page(RunQuery { limit: Some(crate::wire::query::PAGE_MAX), ..query }),
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let of: String = of.chars().take(64).map(plain).collect();
    Some(Export {
        ask,
        filter: runs.filter.clone(),
        here: model.picture.project.clone(),
        zone: model.look.zone.of_days(),
        now: model.now(),
        name: format!("runs-{of}-{date}"),
    })
}
