//! Each run failure in words: for the agent's owner what to do, for a teammate who has to do it.
//!
//! The wire names only a class and a step, so no text here claims a cause, a time or a number that the room
//! was not told. A step without an arm in [`known`] does not compile.

use crate::wire::pulse::{FailureClass as Class, FailureStep as Step, RunFailure};

/// What a failure means and what helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hint {
    /// At most 32 characters.
    pub title: &'static str,
    /// One sentence.
    pub meaning: &'static str,
    /// What the owner does next, where it is no command.
    pub advice: &'static str,
    /// The one command to copy, run on the runner's machine.
    pub command: Option<&'static str>,
    /// Other commands: when to use it, and the command.
    pub others: &'static [(&'static str, &'static str)],
    /// What a teammate reads behind the owner's name: `acme` + this.
    pub teammate: &'static str,
}

/// The hint of a failure: by its step, for a step of a newer room by its class.
pub fn of(failure: &RunFailure) -> Hint {
    match (&failure.class, &failure.step) {
        // There is no step for it, so a runner can only say it this way.
        (Class::RateLimit, Step::GrokService) => Hint {
            title: "Grok usage limit reached",
            meaning: "The account's Grok allowance is used up.",
            advice: "Wait until it is there again, or give the work to another agent.",
            command: None,
            others: &[],
            teammate: "'s Grok allowance is used up",
        },
        (class, Step::Other(_)) => by_class(class),
        (_, step) => known(step),
    }
}

/// The failure's short name: the hint's title, and for an unknown step also the step as it came.
/// Not yet made safe for a screen.
pub fn title(failure: &RunFailure) -> String {
    let title = of(failure).title;
    match &failure.step {
        Step::Other(name) => format!("{title} ({name})"),
        _ => title.to_owned(),
    }
}

/// Whether nobody but the owner can do anything about it: a sign-in is theirs alone.
pub fn is_the_owners_alone(failure: &RunFailure) -> bool {
    let signs_in = matches!(failure.step, Step::ClaudeCodeSignIn | Step::CodexSignIn | Step::GrokSignIn);
    signs_in || matches!((&failure.class, &failure.step), (Class::Auth, Step::Other(_)))
}

fn known(step: &Step) -> Hint {
    match step {
        Step::ClaudeCodeSignIn => Hint {
            title: "Claude Code is signed out",
            meaning: "It had no valid sign-in, or its key was refused.",
            advice: "On the runner's machine:",
            command: Some("claude auth login"),
            others: &[("no browser", "claude setup-token"), ("check", "claude auth status --text")],
            teammate: " must sign in to Claude Code",
        },
        Step::CodexSignIn => Hint {
            title: "Codex is signed out",
            meaning: "It had neither a ChatGPT sign-in nor a working API key.",
            advice: "On the runner's machine:",
            command: Some("codex login"),
            others: &[("no browser", "codex login --device-auth"), ("check", "codex login status")],
            teammate: " must sign in to Codex",
        },
        Step::GrokSignIn => Hint {
            title: "Grok is signed out",
            meaning: "It had neither a valid session nor a working XAI_API_KEY.",
            advice: "On the runner's machine:",
            command: Some("grok login"),
            others: &[("no browser", "grok login --device-auth")],
            teammate: " must sign in to Grok",
        },
        Step::ClaudeCodeUsageLimit => Hint {
            title: "Claude plan limit reached",
            meaning: "The plan's allowance is used up. That is no outage: it comes back at the plan's reset.",
            advice: "In claude, /usage shows the limits and when they reset. Give the work to another agent.",
            command: None,
            others: &[],
            teammate: "'s Claude allowance is used up",
        },
        Step::CodexUsageLimit => Hint {
            title: "Codex usage limit reached",
            meaning: "The plan's Codex allowance is used up. It comes back by itself.",
            advice: "In codex, /status shows the limits. Look in the runner's log for the time that Codex printed.",
            command: None,
            others: &[("in a browser", "https://chatgpt.com/settings/usage")],
            teammate: "'s Codex allowance is used up",
        },
        Step::TaskTimeLimit => Hint {
            title: "Task ran out of time",
            meaning: "The runner stopped it at the task's time limit; work may be half done on its branch.",
            advice: "Go on from there, split the task, or raise the limit. First see what is there:",
            command: Some("git status"),
            others: &[
                ("go on", "claude --continue"),
                ("go on", "codex exec resume --last"),
                ("go on", "grok -c"),
            ],
            teammate: "'s task ran out of time: look at its branch before asking again",
        },
        Step::ReplyTimeLimit => Hint {
            title: "Reply ran out of time",
            meaning: "A reply took longer than the runner allows.",
            advice: "Ask for less at once, or make a task of it.",
            command: None,
            others: &[],
            teammate: "'s agent took too long to reply",
        },
        Step::ClaudeCodeService => Hint {
            title: "Claude service trouble",
            meaning: "Anthropic's service failed or was overloaded. It is not your allowance.",
            advice: "Wait a little, then retry.",
            command: None,
            others: &[("status", "https://status.claude.com")],
            teammate: "'s agent met trouble at Claude's service",
        },
        Step::CodexService => Hint {
            title: "Codex service trouble",
            meaning: "OpenAI's service failed or could not be reached.",
            advice: "Wait a little, then retry. To see what is in the way:",
            command: Some("codex doctor --summary"),
            others: &[],
            teammate: "'s agent met trouble at Codex's service",
        },
        Step::GrokService => Hint {
            title: "Grok service trouble",
            meaning: "xAI's service failed, was full, or could not be reached.",
            advice: "Wait a minute, then retry. To see whether it answers:",
            command: Some("grok models"),
            others: &[],
            teammate: "'s agent met trouble at Grok's service",
        },
        Step::ClaudeCodeNotFound => Hint {
            title: "Claude Code not installed",
            meaning: "The runner found no claude on its PATH.",
            advice: "Install it on the runner's machine, or put its folder (often ~/.local/bin) on the runner's PATH. \
                     To see whether it is found:",
            command: Some("command -v claude"),
            others: &[],
            teammate: "'s machine needs attention: Claude Code was not found",
        },
        Step::CodexNotFound => Hint {
            title: "Codex not installed",
            meaning: "The runner found no codex on its PATH.",
            advice: "On the runner's machine:",
            command: Some("npm install -g @openai/codex"),
            others: &[("check", "command -v codex")],
            teammate: "'s machine needs attention: Codex was not found",
        },
        Step::CliNotFound => Hint {
            title: "Agent app not found",
            meaning: "The agent's app is not on the runner's PATH.",
            advice: "Install it on the runner's machine, or put its folder on the runner's PATH.",
            command: None,
            others: &[],
            teammate: "'s machine needs attention: the agent app was not found",
        },
        Step::CliDidNotStart => Hint {
            title: "Agent app did not start",
            meaning: "It was found, but ended before it did anything; often a flag, build or folder is wrong.",
            advice: "On the runner's machine, see whether the app runs at all:",
            command: None,
            others: &[("Claude Code", "claude doctor"), ("Codex", "codex doctor")],
            teammate: "'s machine needs attention: the agent app did not start",
        },
        Step::CliCrashed => Hint {
            title: "Agent app crashed",
            meaning: "It started and died without a result. Exit code 137 often means that memory ran out.",
            advice: "Read the runner's log, free memory, update the app.",
            command: None,
            others: &[("update", "claude update"), ("update", "codex update"), ("update", "grok update")],
            teammate: "'s machine needs attention: the agent app crashed",
        },
        Step::WorktreeFailed => Hint {
            title: "Could not make a worktree",
            meaning: "Git refused a separate checkout; often the branch is in use, a folder is left over, or the base is missing.",
            advice: "In the project's folder on the runner's machine:",
            command: Some("git worktree list"),
            others: &[("left over", "git worktree prune")],
            teammate: "'s machine needs attention: Git made no worktree",
        },
        Step::CrossOwnerOff => Hint {
            title: "Not open to others' tasks",
            meaning: "This runner takes tasks only from its owner, and this one came from someone else.",
            advice: "Allow others' tasks in the runner's settings, or leave it so.",
            command: None,
            others: &[],
            teammate: "'s runner takes no tasks from others: ask them, or use an agent of your own",
        },
        Step::RoomNotLinked => Hint {
            title: "Project not linked here",
            meaning: "The runner knows no folder for this project.",
            advice: "Link the project to a folder on the runner's machine, then send the task again.",
            command: None,
            others: &[],
            teammate: "'s runner knows no folder for this project",
        },
        Step::CliRepliesOnly => Hint {
            title: "Set to replies only",
            meaning: "This agent app may answer here, but not run tasks.",
            advice: "Choose another agent for the task, or let this app run tasks in the runner's settings.",
            command: None,
            others: &[],
            teammate: "'s agent only replies: give the task to another",
        },
        Step::CliTasksUnverified => Hint {
            title: "Tasks not verified yet",
            meaning: "The runner has not checked that this app can run tasks here, so it started none.",
            advice: "Update the app, then run the runner's own check of it.",
            command: None,
            others: &[],
            teammate: "'s runner has yet to check this app for tasks",
        },
        Step::EntryChanged => Hint {
            title: "Changed before it started",
            meaning: "What was about to run is no longer what had been accepted, so nothing was run.",
            advice: "Look at the task again and send it anew; after an update, approve the app again.",
            command: None,
            others: &[],
            teammate: "'s runner found it changed and did not start: send it anew",
        },
        Step::GitTooOld => Hint {
            title: "Git is too old",
            meaning: "The runner needs something that this machine's Git does not have.",
            advice: "Update Git on the runner's machine. To see which one it has:",
            command: Some("git --version"),
            others: &[],
            teammate: "'s machine needs attention: its Git is too old",
        },
        Step::AppBuildUnchecked => Hint {
            title: "App build not checked",
            meaning: "The runner does not know this build of the agent app, so it held back.",
            advice: "Update the app and the runner.",
            command: None,
            others: &[
                ("version", "claude --version"),
                ("version", "codex --version"),
                ("version", "grok --version"),
            ],
            teammate: "'s runner does not know this build of the app",
        },
        Step::ClaudeCodeMaxTurns => Hint {
            title: "Hit the turn limit",
            meaning: "Claude Code used all the turns it was given before it was done; work may be half done.",
            advice: "Go on where it stopped, allow more turns (--max-turns), or split the task:",
            command: Some("claude --continue"),
            others: &[],
            teammate: "'s agent used up its turns",
        },
        Step::StoppedExtraTools => Hint {
            title: "Stopped: unexpected tools",
            meaning: "The run had tools beyond those allowed, so the runner stopped it.",
            advice: "On the runner's machine, find the server or plugin that is too much:",
            command: None,
            others: &[
                ("Claude Code", "claude mcp list"),
                ("Codex", "codex mcp list"),
                ("Grok", "grok mcp list"),
            ],
            teammate: "'s runner stopped it: it had tools it should not have",
        },
        Step::AgentError => Hint {
            title: "The agent reported an error",
            meaning: "The app ran, and ended saying that it failed.",
            advice: "Read the runner's log and retry once; if it fails again, make the task smaller.",
            command: None,
            others: &[],
            teammate: "'s agent ended with an error",
        },
        Step::SeeRunnerLog => Hint {
            title: "See the runner's log",
            meaning: "Something went wrong that has no shorter name.",
            advice: "The log on the runner's machine says what.",
            command: None,
            others: &[],
            teammate: "'s runner has the reason in its log",
        },
        Step::Other(_) => by_class(&Class::Unclear),
    }
}

/// The hint for a step that this version does not know.
fn by_class(class: &Class) -> Hint {
    let (title, meaning, advice, teammate) = match class {
        Class::Auth => (
            "Sign-in needed",
            "The agent app could not prove who it is.",
            "Sign in to it on the runner's machine.",
            " must sign in to the agent app",
        ),
        Class::RateLimit => (
            "Usage limit reached",
            "The account's allowance is used up for now.",
            "Wait for its reset, or use another agent.",
            "'s allowance is used up",
        ),
        Class::Timeout => (
            "Ran out of time",
            "The runner stopped it at a time limit.",
            "Look for half-done work on its branch; split the task or extend the limit.",
            "'s agent ran out of time",
        ),
        Class::Provider => (
            "Service trouble",
            "The model's provider failed or could not be reached.",
            "Wait a little, then retry.",
            "'s agent met trouble at its provider",
        ),
        Class::Runtime => (
            "Machine needs attention",
            "Something on the runner's machine stopped the run.",
            "Check the app, Git and the folder there.",
            "'s machine needs attention",
        ),
        Class::Agent => (
            "The agent stopped",
            "The app ran, but did not finish the work.",
            "Read the runner's log; retry with a smaller task.",
            "'s agent stopped before it was done",
        ),
        Class::Unclear | Class::Other(_) => (
            "Not started, or unclear",
            "The runner declined, or could not tell why.",
            "Read the runner's log and settings.",
            "'s runner declined, or could not tell why",
        ),
    };
    Hint { title, meaning, advice, command: None, others: &[], teammate }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(class: &str, step: &str) -> RunFailure {
        RunFailure { class: class.into(), step: step.into(), more: crate::wire::More::new() }
    }

    #[test]
    fn every_step_and_class_has_short_words_of_its_own() {
        let mut titles: Vec<&str> =
            Step::KNOWN.iter().map(|step| of(&failure("other", step)).title).collect();
        titles.extend(Class::KNOWN.iter().map(|class| of(&failure(class, "new_step")).title));
        assert_eq!(titles.len(), 27 + 7);
        assert!(titles.iter().all(|t| t.chars().count() <= 32), "{titles:?}");
        titles.sort_unstable();
        titles.dedup();
        assert_eq!(titles.len(), 27 + 7, "no two alike");
    }

    #[test]
    fn an_unknown_step_keeps_its_name_beside_its_class() {
        assert_eq!(title(&failure("auth", "gemini_sign_in")), "Sign-in needed (gemini_sign_in)");
        assert_eq!(title(&failure("dream", "x")), "Not started, or unclear (x)");
    }

    #[test]
    fn what_a_command_is_for_stands_before_it() {
        for step in Step::KNOWN {
            let hint = of(&failure("other", step));
            assert!(hint.command.is_none() || hint.advice.ends_with(':'), "{step}: {}", hint.advice);
        }
    }

    #[test]
    fn a_teammate_is_not_told_both_to_do_something_and_nothing() {
        let alone: Vec<&str> =
            Step::KNOWN.iter().copied().filter(|s| is_the_owners_alone(&failure("x", s))).collect();
        assert_eq!(alone, ["claude_code_sign_in", "codex_sign_in", "grok_sign_in"]);
        assert!(is_the_owners_alone(&failure("auth", "gemini_sign_in")));
        assert!(!is_the_owners_alone(&failure("auth", "task_time_limit")));
    }

    #[test]
    fn a_used_up_grok_allowance_is_no_service_trouble() {
        assert_eq!(of(&failure("rate_limit", "grok_service")).title, "Grok usage limit reached");
        assert_eq!(of(&failure("provider", "grok_service")).title, "Grok service trouble");
    }
}
