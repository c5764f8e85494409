//! What is said of a failure whose step this version does not know.

use super::{Hint, PLAIN, Teammate};
use crate::wire::pulse::FailureClass as Class;

/// The hint of a class.
pub fn of(class: &Class) -> Hint {
    match class {
        Class::Auth => Hint {
            title: "Sign-in needed",
            meaning: "The agent app could not prove who it is.",
            advice: "Sign in to it on the runner's machine.",
            teammate: Teammate::signs_in(" must sign in to the agent app"),
            ..PLAIN
        },
        Class::RateLimit => Hint {
            title: "Usage limit reached",
            meaning: "The account's allowance is used up for now.",
            advice: "Wait for its reset, or give the work to another agent.",
            teammate: Teammate::used_up("'s allowance is used up"),
            ..PLAIN
        },
        Class::Timeout => Hint {
            title: "Ran out of time",
            meaning: "The runner stopped it at a time limit.",
            advice: "Look for half-done work on its branch; then split the task, or extend the limit.",
            teammate: Teammate::half_done("'s agent ran out of time"),
            ..PLAIN
        },
        Class::Provider => Hint {
            title: "Service trouble",
            meaning: "The model's provider failed or could not be reached.",
            advice: "Wait a little, then retry. The provider's status page may say more.",
            teammate: Teammate::provider(
                "'s agent met trouble at its provider",
                "Other agents of that app may meet it too.",
            ),
            ..PLAIN
        },
        Class::Runtime => Hint {
            title: "Machine needs attention",
            meaning: "Something on the runner's machine stopped the run.",
            advice: "Look at the app, Git and the project's folder there.",
            teammate: Teammate::elsewhere("'s machine needs attention", "Something there stopped the run."),
            ..PLAIN
        },
        Class::Agent => Hint {
            title: "The agent stopped",
            meaning: "The app ran, but did not finish the work.",
            advice: "Read the runner's log, then retry with a smaller task.",
            teammate: Teammate::new("'s agent stopped before it was done", "Its owner can see why."),
            ..PLAIN
        },
        Class::Unclear | Class::Other(_) => Hint {
            title: "Not started or unclear",
            meaning: "The runner declined, or could not tell why.",
            advice: "Read the runner's log, and look at its settings.",
            teammate: Teammate::new(
                "'s runner declined, or could not tell why",
                "Its owner may find the reason in its log.",
            ),
            ..PLAIN
        },
    }
}
