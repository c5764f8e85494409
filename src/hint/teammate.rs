//! What somebody reads who cannot mend a failure: what happened, what that means for others, what is left to do.

/// What a teammate reads first where nobody but the owner can do anything about it.
const NOTHING: &str = "Nothing for you to do.";
const ELSEWHERE: &str = "Urgent work: give it to another agent.";

/// The voice for an agent of somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Teammate {
    /// What happened, behind the owner's name and without a full stop: `acme` + this.
    pub told: &'static str,
    /// What it means for others: one sentence.
    pub meaning: &'static str,
    /// Only the owner can mend it.
    pub nothing: bool,
    /// What there is to do: a whole sentence, or nothing.
    to_do: &'static str,
    /// Work may be half done on the agent's branch.
    pub half_done: bool,
}

impl Teammate {
    /// Nobody but the owner can do anything.
    pub(super) const fn new(told: &'static str, meaning: &'static str) -> Self {
        Self { told, meaning, nothing: true, to_do: "", half_done: false }
    }

    /// The owner has to sign in.
    pub(super) const fn signs_in(told: &'static str) -> Self {
        Self::new(told, "Until then this agent's runs are likely to fail.")
    }

    /// An allowance is used up.
    pub(super) const fn used_up(told: &'static str) -> Self {
        Self { to_do: ELSEWHERE, ..Self::new(told, "It returns by itself; prickle is not told when.") }
    }

    /// It was stopped amid its work.
    pub(super) const fn half_done(told: &'static str) -> Self {
        Self { nothing: false, half_done: true, ..Self::new(told, "Work may be half done.") }
    }

    /// A provider failed.
    pub(super) const fn provider(told: &'static str, meaning: &'static str) -> Self {
        Self { to_do: "Urgent work: give it to an agent of another app.", ..Self::new(told, meaning) }
    }

    /// Until the owner has seen to it, another agent may take the work.
    pub(super) const fn elsewhere(told: &'static str, meaning: &'static str) -> Self {
        Self { to_do: ELSEWHERE, ..Self::new(told, meaning) }
    }

    /// The owner's machine lacks something.
    pub(super) const fn machine(told: &'static str) -> Self {
        Self::elsewhere(told, "Until it is mended this agent's runs are likely to fail.")
    }

    /// There is something to do for who gave the work.
    pub(super) const fn asks(told: &'static str, meaning: &'static str, to_do: &'static str) -> Self {
        Self { nothing: false, to_do, ..Self::new(told, meaning) }
    }

    /// What a teammate can do, the agent being on this branch; empty where there is nothing.
    pub fn to_do(&self, branch: Option<&str>) -> String {
        if !self.half_done {
            return self.to_do.to_owned();
        }
        let branch = branch.filter(|branch| !branch.is_empty());
        let place = branch.map_or_else(|| "its branch".to_owned(), |branch| format!("branch {branch}"));
        format!("Look at {place} before you ask again.")
    }

    /// The same, and first that there is nothing where that is so: whole sentences, never empty.
    pub fn next(&self, branch: Option<&str>) -> String {
        let to_do = self.to_do(branch);
        if self.nothing { format!("{NOTHING} {to_do}").trim_end().to_owned() } else { to_do }
    }
}
