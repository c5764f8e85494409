//! A window of pages on a list of records that may be of any length: some pages are held, and where each page begins.

use std::collections::VecDeque;

use crate::wire::query::RunQuery;
use crate::wire::run::{AgentRun, RunPage};

/// Records of a page.
pub const PAGE: u32 = 200;
/// Most pages that are held.
pub const PAGES: usize = 5;
/// Rows before the window's end at which the next page is asked for.
const AHEAD: usize = 60;

/// Pages that follow each other, in one order.
#[derive(Debug, Clone)]
pub struct Chain {
    /// What they were asked with, without a cursor.
    pub query: RunQuery,
    /// What was known to have changed when the first was asked for.
    pub version: u64,
    /// The cursor that each known page begins at, and its first row.
    starts: Vec<(Option<String>, usize)>,
    /// The place among them of the first page that is held.
    first: usize,
    pages: VecDeque<Vec<AgentRun>>,
    /// Whether the last known page is the last there is.
    whole: bool,
}

impl Chain {
    /// A chain that begins with this page.
    pub fn new(query: RunQuery, version: u64, page: RunPage) -> Self {
        let pages = VecDeque::new();
        let mut chain = Self { query, version, starts: vec![(None, 0)], first: 0, pages, whole: false };
        chain.put(None, page);
        chain
    }

    /// Takes in the page that begins at a cursor, if it follows what is held, or stands right before it.
    pub fn put(&mut self, cursor: Option<&str>, page: RunPage) {
        let Some(place) = self.starts.iter().position(|(start, _)| start.as_deref() == cursor) else {
            return;
        };
        let end = self.first + self.pages.len();
        if place == end {
            let next = self.starts[place].1 + page.runs.len();
            self.pages.push_back(page.runs);
            if place + 1 == self.starts.len() {
                match page.next_cursor {
                    // A page without rows would be asked for again and again.
                    Some(cursor) if next > self.starts[place].1 => self.starts.push((Some(cursor), next)),
                    _ => self.whole = true,
                }
            }
            if self.pages.len() > PAGES {
                self.pages.pop_front();
                self.first += 1;
            }
        } else if place + 1 == self.first {
            self.first = place;
            self.pages.push_front(page.runs);
            self.pages.truncate(PAGES);
        }
    }

    /// The records that are held.
    pub fn runs(&self) -> impl Iterator<Item = &AgentRun> {
        self.pages.iter().flatten()
    }

    /// How many are held.
    pub fn len(&self) -> usize {
        self.pages.iter().map(Vec::len).sum()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many stand before those that are held.
    pub fn before(&self) -> usize {
        self.starts[self.first].1
    }

    /// Whether the held ones are all there are.
    pub fn is_all(&self) -> bool {
        self.first == 0 && self.is_at_end()
    }

    fn is_at_end(&self) -> bool {
        self.whole && self.first + self.pages.len() >= self.starts.len()
    }

    /// Whether the first of all is held.
    pub fn is_at_begin(&self) -> bool {
        self.first == 0
    }

    /// How many pages are held.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Where the page after the held ones begins; `None`: there is none.
    pub fn next(&self) -> Option<&Option<String>> {
        let (cursor, _) = self.starts.get(self.first + self.pages.len())?;
        (!self.is_at_end()).then_some(cursor)
    }

    /// Where the page begins that is needed so that there is something to go on to from a row of the held ones.
    pub fn needs(&self, row: usize) -> Option<&Option<String>> {
        if row + AHEAD >= self.len() && self.next().is_some() {
            return self.next();
        }
        let before = self.first.checked_sub(1).filter(|_| row < AHEAD)?;
        Some(&self.starts[before].0)
    }
}
