//! The filter of run records: words, and `a:agent t:task p:project`, all of which must hold in what a row is.

use crate::tui::filter::{Needle, Word, words};
use crate::wire::id::AgentId;
use crate::wire::run::AgentRun;
use crate::wire::sums::Group;

/// What restricts the rows, as it was typed and as it was understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    text: String,
    terms: Vec<Term>,
    fault: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    inverted: bool,
    field: Field,
    needle: Needle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Any,
    Agent,
    Task,
    Project,
}

/// What a row is.
struct Row<'a> {
    project: &'a str,
    task: &'a str,
    agents: Vec<&'a str>,
    other: &'a str,
}

impl RunFilter {
    /// Reads a filter. What is wrong with it restricts nothing.
    pub fn new(text: &str) -> Self {
        let mut filter = Self { text: text.trim().to_owned(), ..Self::default() };
        for Word { inverted, field, text } in words(text) {
            let field = match field.as_deref().map(str::to_lowercase).as_deref() {
                None => Field::Any,
                Some("a" | "agent") => Field::Agent,
                Some("t" | "task") => Field::Task,
                Some("p") => Field::Project,
                Some(other) => {
                    let fault = format!("no filter {other}:  use a t p");
                    filter.fault.get_or_insert(fault);
                    continue;
                }
            };
            if !text.is_empty() {
                filter.terms.push(Term { inverted, field, needle: Needle::new(&text) });
            }
        }
        filter
    }

    /// The filter as it was typed; not made safe to show.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it was left empty.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// What of it means nothing, and what would; not made safe to show.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Whether a group is let through; `name` is what is shown of it.
    pub fn matches_group(&self, group: &Group, name: &str) -> bool {
        let agents = group.agents.iter().chain(&group.agent_id).map(AgentId::as_str).collect();
        let project = group.project.as_deref().unwrap_or_default();
        let task = group.task_id.as_deref().unwrap_or_default();
        self.holds(&Row { project, task, agents, other: name })
    }

    /// Whether a record is let through.
    pub fn matches_run(&self, run: &AgentRun) -> bool {
        let AgentRun { agent_id, run } = run;
        let agents = vec![agent_id.as_str()];
        self.holds(&Row { project: &run.project, task: &run.task_id, agents, other: &run.run_id })
    }

    fn holds(&self, row: &Row<'_>) -> bool {
        self.terms.iter().all(|Term { inverted, field, needle }| {
            let agent = || row.agents.iter().any(|agent| needle.is_in(agent));
            let found = match field {
                Field::Agent => agent(),
                Field::Task => needle.is_in(row.task),
                Field::Project => needle.is_in(row.project),
                Field::Any => [row.project, row.task, row.other].iter().any(|t| needle.is_in(t)) || agent(),
            };
            found != *inverted
        })
    }
}
