//! What is said of each step that a run can fail at.

use super::{Hint, PLAIN, Teammate, classes};
use crate::wire::pulse::{FailureClass as Class, FailureStep as Step};

/// There is no step for it, so a runner can only say it as trouble with an allowance.
pub const GROK_LIMIT: Hint = Hint {
    title: "Grok usage limit reached",
    meaning: "The account's Grok allowance is used up.",
    advice: "Give the work to another agent until it is there again, or add credits.",
    teammate: Teammate::elsewhere(
        "'s Grok allowance is used up",
        "It may return by itself; prickle is not told when.",
    ),
    ..PLAIN
};

/// The hint of a step.
pub fn of(step: &Step) -> Hint {
    match step {
        Step::ClaudeCodeSignIn => Hint {
            title: "Claude Code is signed out",
            meaning: "It had no valid sign-in, or its key was refused.",
            advice: "On the runner's machine:",
            command: Some("claude auth login"),
            others: &[("no browser", "claude setup-token"), ("check", "claude auth status --text")],
            note: "The token of claude setup-token goes into the runner's CLAUDE_CODE_OAUTH_TOKEN. An ANTHROPIC_API_KEY \
                   there wins over any login.",
            teammate: Teammate::signs_in(" must sign in to Claude Code"),
        },
        Step::CodexSignIn => Hint {
            title: "Codex is signed out",
            meaning: "It had no valid ChatGPT sign-in and no API key that works.",
            advice: "On the runner's machine:",
            command: Some("codex login"),
            others: &[
                ("no browser", "codex login --device-auth"),
                ("with a key", "printenv OPENAI_API_KEY | codex login --with-api-key"),
                ("check", "codex login status"),
            ],
            teammate: Teammate::signs_in(" must sign in to Codex"),
            ..PLAIN
        },
        Step::GrokSignIn => Hint {
            title: "Grok is signed out",
            meaning: "It had no valid session and no XAI_API_KEY that works.",
            advice: "On the runner's machine:",
            command: Some("grok login"),
            others: &[("no browser", "grok login --device-auth"), ("check", "grok models")],
            note: "An XAI_API_KEY in the runner's environment does it, too.",
            teammate: Teammate::signs_in(" must sign in to Grok"),
        },
        Step::ClaudeCodeUsageLimit => Hint {
            title: "Claude plan limit reached",
            meaning: "The plan's session or weekly allowance is used up until it resets; it is no outage.",
            advice: "Give this agent no tasks until then. In claude, to see when that is:",
            command: Some("/usage"),
            others: &[("Opus only", "/model"), ("buy more", "/usage-credits")],
            note: "Another model helps only where the limit is Opus's own.",
            teammate: Teammate::used_up("'s Claude allowance is used up"),
        },
        Step::CodexUsageLimit => Hint {
            title: "Codex usage limit reached",
            meaning: "The ChatGPT plan's Codex allowance is used up; it returns by itself.",
            advice: "Codex printed the time into the runner's log. In codex, to see what is left:",
            command: Some("/status"),
            others: &[("in a browser", "https://chatgpt.com/settings/usage")],
            note: "/status and that page may disagree: then the time in the log counts.",
            teammate: Teammate::used_up("'s Codex allowance is used up"),
        },
        Step::TaskTimeLimit => Hint {
            title: "Task ran out of time",
            meaning: "The runner stopped it at the task's time limit; work may be half done on its branch.",
            advice: "Go on, split the task, or raise the limit. First, in its worktree:",
            command: Some("git status"),
            others: &[
                ("where it is", "git worktree list"),
                ("go on", "claude --continue"),
                ("", "codex exec resume --last"),
                ("", "grok -c"),
            ],
            teammate: Teammate::half_done("'s agent ran out of time on its task"),
            ..PLAIN
        },
        Step::ReplyTimeLimit => Hint {
            title: "Reply ran out of time",
            meaning: "A reply, not a task, took longer than the runner allows.",
            advice: "Ask for less at once, or make a task of it. To see whether the app answers at all:",
            others: &[
                ("Claude Code", "claude -p \"hi\""),
                ("Codex", "codex exec \"hi\""),
                ("Grok", "grok -p \"hi\""),
            ],
            teammate: Teammate::asks(
                "'s agent took too long to reply",
                "The runner stopped it at its limit for replies.",
                "Ask for less at once, or make a task of it.",
            ),
            ..PLAIN
        },
        Step::ClaudeCodeService => Hint {
            title: "Claude service trouble",
            meaning: "Anthropic's service failed, was overloaded or held it back; that is not the allowance.",
            advice: "Wait a little, then retry.",
            others: &[("status", "https://status.claude.com"), ("other model", "/model")],
            note: "With CLAUDE_CODE_RETRY_WATCHDOG set to 1 for the runner, Claude Code waits out an overload.",
            teammate: Teammate::provider(
                "'s agent met trouble at Claude's service",
                "Other agents that use Claude may meet it too.",
            ),
            ..PLAIN
        },
        Step::CodexService => Hint {
            title: "Codex service trouble",
            meaning: "OpenAI's service failed or could not be reached.",
            advice: "Wait a little, then retry. To see what is in the way:",
            command: Some("codex doctor --network-only"),
            others: &[("everything", "codex doctor --summary")],
            teammate: Teammate::provider(
                "'s agent met trouble at Codex's service",
                "Other agents that use Codex may meet it too.",
            ),
            ..PLAIN
        },
        Step::GrokService => Hint {
            title: "Grok service trouble",
            meaning: "The service of xAI failed, was full, or could not be reached.",
            advice: "Wait a minute, then retry. To see whether it answers:",
            command: Some("grok models"),
            note: "If the trouble stays, the allowance or the credits may be used up: that has no step of its own.",
            teammate: Teammate::provider(
                "'s agent met trouble at Grok's service",
                "Other agents that use Grok may meet it too.",
            ),
            ..PLAIN
        },
        Step::ClaudeCodeNotFound => Hint {
            title: "Claude Code not installed",
            meaning: "The runner found no claude on its PATH.",
            advice: "Install it, or put its folder on the runner's PATH and restart the runner. To see whether it is there:",
            command: Some("command -v claude"),
            others: &[("install", "curl -fsSL https://claude.ai/install.sh | bash")],
            note: "Claude Code is often in ~/.local/bin.",
            teammate: Teammate::machine("'s machine needs attention: Claude Code was not found"),
        },
        Step::CodexNotFound => Hint {
            title: "Codex not installed",
            meaning: "The runner found no codex on its PATH.",
            advice: "Install it, or put its folder on the runner's PATH and restart the runner. To see whether it is there:",
            command: Some("command -v codex"),
            others: &[("install", "npm install -g @openai/codex"), ("", "brew install codex")],
            teammate: Teammate::machine("'s machine needs attention: Codex was not found"),
            ..PLAIN
        },
        Step::CliNotFound => Hint {
            title: "Agent app not found",
            meaning: "The app that this agent uses is not on the runner's PATH.",
            advice: "Install it on the runner's machine, or put its folder on the runner's PATH. For Grok:",
            others: &[
                ("check", "command -v grok"),
                ("install", "curl -fsSL https://x.ai/cli/install.sh | bash"),
                ("then", "grok --version"),
            ],
            teammate: Teammate::machine("'s machine needs attention: the agent app was not found"),
            ..PLAIN
        },
        Step::CliDidNotStart => Hint {
            title: "Agent app did not start",
            meaning: "It was found, but ended before it did anything; a flag, the build or the folder may be wrong.",
            advice: "On the runner's machine, see whether it runs at all:",
            others: &[
                ("Claude Code", "claude doctor"),
                ("Codex", "codex doctor"),
                ("Grok", "grok --version"),
            ],
            note: "Codex wants a Git repository, or --skip-git-repo-check.",
            teammate: Teammate::elsewhere(
                "'s machine needs attention: the agent app did not start",
                "It ended before it did anything.",
            ),
            ..PLAIN
        },
        Step::CliCrashed => Hint {
            title: "Agent app crashed",
            meaning: "It started, then died without a result.",
            advice: "The runner's log has its exit code. Make sure that memory is free, and update the app:",
            others: &[("Claude Code", "claude update"), ("Codex", "codex update"), ("Grok", "grok update")],
            note: "Exit code 137 often means that memory ran out, 139 a crash, 143 that it was stopped.",
            teammate: Teammate::elsewhere(
                "'s machine needs attention: the agent app crashed",
                "The run ended without a result.",
            ),
            ..PLAIN
        },
        Step::WorktreeFailed => Hint {
            title: "Could not make a worktree",
            meaning: "Git refused a separate checkout: its branch may be in use, its folder left over, or its base \
                      missing.",
            advice: "See that the base branch exists. In the project's folder on the runner's machine:",
            command: Some("git worktree list"),
            others: &[("left over", "git worktree prune"), ("in use", "git worktree remove PATH")],
            teammate: Teammate::elsewhere(
                "'s machine needs attention: Git made no worktree",
                "The run did not begin.",
            ),
            ..PLAIN
        },
        Step::CrossOwnerOff => Hint {
            title: "Not open to others' tasks",
            meaning: "This runner takes tasks only from its owner, and this one came from someone else.",
            advice: "Allow others' tasks in the runner's settings, or leave it so.",
            teammate: Teammate::asks(
                "'s runner takes tasks only from its owner",
                "A task of someone else was not run.",
                "Use an agent of your own, or ask the owner to allow it.",
            ),
            ..PLAIN
        },
        Step::RoomNotLinked => Hint {
            title: "Project not linked here",
            meaning: "The runner knows no folder for this project.",
            advice: "Link the project to a folder on the runner's machine, then send the task again.",
            teammate: Teammate::elsewhere(
                "'s runner knows no folder for this project",
                "Until it does, it runs no tasks here.",
            ),
            ..PLAIN
        },
        Step::CliRepliesOnly => Hint {
            title: "Set to replies only",
            meaning: "This agent app may answer messages here, but not run tasks.",
            advice: "Choose another agent for the task, or let this app run tasks in the runner's settings.",
            teammate: Teammate::asks(
                "'s agent only replies here",
                "It answers messages, and runs no tasks.",
                "Give the task to another agent.",
            ),
            ..PLAIN
        },
        Step::CliTasksUnverified => Hint {
            title: "Tasks not verified yet",
            meaning: "The runner has not checked that this app can run tasks safely here, so it started none.",
            advice: "Update the app, then run the runner's own check of it.",
            teammate: Teammate::elsewhere(
                "'s runner has yet to check this app for tasks",
                "Until then it starts none.",
            ),
            ..PLAIN
        },
        Step::EntryChanged => Hint {
            title: "Changed before it started",
            meaning: "What was about to run was no longer what had been accepted, so nothing was run.",
            advice: "Look at the task and send it anew. If the app was just updated, approve it again in the runner.",
            teammate: Teammate::asks(
                "'s runner found a change and started nothing",
                "What was about to run was no longer what had been accepted.",
                "If the task was yours, look at it and send it anew.",
            ),
            ..PLAIN
        },
        Step::GitTooOld => Hint {
            title: "Git is too old",
            meaning: "The runner needs something that the Git on its machine does not have.",
            advice: "Update Git on the runner's machine. To see which one it has:",
            command: Some("git --version"),
            teammate: Teammate::machine("'s machine needs attention: its Git is too old"),
            ..PLAIN
        },
        Step::AppBuildUnchecked => Hint {
            title: "App build not checked",
            meaning: "The runner has not checked this build of the agent app, so it held back.",
            advice: "Update the app and the runner. To see which build it is:",
            others: &[
                ("Claude Code", "claude --version"),
                ("Codex", "codex --version"),
                ("Grok", "grok --version"),
            ],
            teammate: Teammate::elsewhere(
                "'s runner has not checked this build of the app",
                "Until then it holds back.",
            ),
            ..PLAIN
        },
        Step::ClaudeCodeMaxTurns => Hint {
            title: "Hit the turn limit",
            meaning: "Claude Code used all its turns before it was done; the tokens are spent, and work may be half \
                      done.",
            advice: "Split the task or raise --max-turns. To go on where it stopped, in its worktree:",
            command: Some("claude --continue"),
            others: &[("another one", "claude --resume ID")],
            teammate: Teammate::half_done("'s agent used up its turns"),
            ..PLAIN
        },
        Step::StoppedExtraTools => Hint {
            title: "Stopped: unexpected tools",
            meaning: "The run had or used tools beyond those allowed, so the runner stopped it.",
            advice: "Take away the server or plugin that is too much. To find it, on the runner's machine:",
            others: &[
                ("Claude Code", "claude mcp list"),
                ("Codex", "codex mcp list"),
                ("Grok", "grok mcp list"),
            ],
            note: "With --strict-mcp-config Claude Code takes only the servers that it is given.",
            teammate: Teammate::new(
                "'s runner stopped it over unexpected tools",
                "Its owner can see which they were.",
            ),
            ..PLAIN
        },
        Step::AgentError => Hint {
            title: "The agent reported an error",
            meaning: "The app ran, and ended saying that it failed.",
            advice: "Read the runner's log and retry once; if it fails again, make the task smaller.",
            teammate: Teammate::new("'s agent ended with an error", "Its owner can see why."),
            ..PLAIN
        },
        Step::SeeRunnerLog => Hint {
            title: "See the runner's log",
            meaning: "Something went wrong that has no shorter name.",
            advice: "The log on the runner's machine says what.",
            teammate: Teammate::new("'s runner has the reason in its log", "Its owner can read it there."),
            ..PLAIN
        },
        Step::Other(_) => classes::of(&Class::Unclear),
    }
}
