//! Each run failure in words: for the agent's owner what to do, for a teammate who has to do it.
//!
//! The wire names only a class and a step, so no text here claims a cause, a time or a number that the room
//! was not told. A step without an arm in `steps` does not compile.

mod classes;
mod steps;
mod teammate;

pub use self::teammate::Teammate;
use crate::wire::pulse::{FailureClass as Class, FailureStep as Step, RunFailure};

/// What a failure means and what helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hint {
    /// At most 32 characters.
    pub title: &'static str,
    /// One sentence.
    pub meaning: &'static str,
    /// What the owner does next; where it leads to commands it ends with a colon.
    pub advice: &'static str,
    /// The one command to copy: of the shell on the runner's machine, or of the app where it begins with `/`.
    pub command: Option<&'static str>,
    /// Other commands and pages: what for, and the command.
    pub others: &'static [(&'static str, &'static str)],
    /// What is to be known besides, wherever it stands; may be empty.
    pub note: &'static str,
    /// The same for somebody else.
    pub teammate: Teammate,
}

/// Where every hint begins.
const PLAIN: Hint = Hint {
    title: "",
    meaning: "",
    advice: "",
    command: None,
    others: &[],
    note: "",
    teammate: Teammate::new("", ""),
};

/// The hint of a failure: of its class and step together, of its step, for a step of a newer room of its class.
pub fn of(failure: &RunFailure) -> Hint {
    match (&failure.class, &failure.step) {
        (Class::RateLimit, Step::GrokService) => steps::GROK_LIMIT,
        (class, Step::Other(_)) => classes::of(class),
        (_, step) => steps::of(step),
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

/// What of a failure this version has no words for: `step gemini_sign_in`. Not yet made safe for a screen.
pub fn unknown(failure: &RunFailure) -> Option<String> {
    match (&failure.class, &failure.step) {
        (Class::Other(class), Step::Other(step)) => Some(format!("class {class}, step {step}")),
        (_, Step::Other(step)) => Some(format!("step {step}")),
        _ => None,
    }
}

/// The service that failed, by its vendor's app, where that is what happened: others may meet it at the same time.
pub fn service(failure: &RunFailure) -> Option<&'static str> {
    match (&failure.class, &failure.step) {
        (_, Step::ClaudeCodeService) => Some("Claude"),
        (_, Step::CodexService) => Some("Codex"),
        // With another class it is said for want of a step of its own.
        (Class::Provider, Step::GrokService) => Some("Grok"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(class: &str, step: &str) -> RunFailure {
        RunFailure { class: class.into(), step: step.into(), more: crate::wire::More::new() }
    }

    /// Every hint there is, with what it is for.
    fn all() -> Vec<(&'static str, Hint)> {
        let steps = Step::KNOWN.iter().map(|step| (*step, of(&failure("other", step))));
        let classes = Class::KNOWN.iter().map(|class| (*class, of(&failure(class, "new_step"))));
        let pair = ("rate_limit/grok_service", of(&failure("rate_limit", "grok_service")));
        steps.chain(classes).chain([pair]).collect()
    }

    fn sentences(text: &str) -> bool {
        let begins = text.chars().next().is_some_and(|c| c.is_ascii_uppercase() || c == '/');
        begins && text.ends_with(['.', ':']) && !text.contains("  ")
    }

    #[test]
    fn every_step_and_class_has_short_words_of_its_own() {
        let mut titles: Vec<&str> = all().iter().map(|(_, hint)| hint.title).collect();
        assert_eq!(titles.len(), 27 + 7 + 1);
        assert!(titles.iter().all(|t| !t.is_empty() && t.chars().count() <= 32), "{titles:?}");
        titles.sort_unstable();
        titles.dedup();
        assert_eq!(titles.len(), 27 + 7 + 1, "no two alike");
    }

    #[test]
    fn both_voices_speak_in_whole_short_sentences() {
        for (name, hint) in all() {
            let Hint { meaning, advice, note, teammate, .. } = hint;
            assert!(sentences(meaning) && !meaning.contains(". "), "{name}: {meaning}");
            assert!(sentences(advice) && advice.len() <= 130, "{name}: {advice}");
            assert!(note.is_empty() || (sentences(note) && note.len() <= 130), "{name}: {note}");
            assert!(teammate.told.starts_with([' ', '\'']) && !teammate.told.ends_with('.'), "{name}");
            assert!(sentences(teammate.meaning) && !teammate.meaning.contains(". "), "{name}");
            let next = teammate.next(None);
            assert!(sentences(&next) && next.ends_with('.'), "{name}: {next}");
            for text in [meaning, advice, note, teammate.told, teammate.meaning, &next] {
                assert!(text.is_ascii(), "{name}: {text}");
            }
        }
    }

    #[test]
    fn what_a_command_is_for_stands_before_it() {
        for (name, hint) in all() {
            let leads = hint.advice.ends_with(':');
            assert!(hint.command.is_none() || leads, "{name}: {}", hint.advice);
            assert!(!leads || hint.command.is_some() || !hint.others.is_empty(), "{name}: leads nowhere");
        }
    }

    #[test]
    fn a_teammate_is_told_nothing_to_run() {
        for (name, hint) in all() {
            let said = format!("{}{}{}", hint.teammate.told, hint.teammate.meaning, hint.teammate.next(None));
            let commands = hint.others.iter().map(|(_, command)| *command).chain(hint.command);
            assert!(commands.into_iter().all(|command| !said.contains(command)), "{name}: {said}");
        }
    }

    #[test]
    fn a_teammate_is_sent_to_the_branch_where_work_may_be_half_done() {
        for (name, hint) in all() {
            let next = hint.teammate.next(Some("fix/login"));
            let half_done = format!("{}{}", hint.meaning, hint.advice).contains("half");
            assert_eq!(next.contains("branch fix/login"), half_done, "{name}: {next}");
            assert_eq!(next.starts_with("Nothing for you"), hint.teammate.nothing, "{name}: {next}");
        }
        let hint = of(&failure("timeout", "task_time_limit"));
        assert_eq!(hint.teammate.next(None), "Look at its branch before you ask again.");
    }

    #[test]
    fn an_unknown_step_keeps_its_name_beside_its_class() {
        let newer = failure("auth", "gemini_sign_in");
        assert_eq!(title(&newer), "Sign-in needed (gemini_sign_in)");
        assert_eq!(unknown(&newer).as_deref(), Some("step gemini_sign_in"));
        let newest = failure("dream", "x");
        assert_eq!(title(&newest), "Not started or unclear (x)");
        assert_eq!(unknown(&newest).as_deref(), Some("class dream, step x"));
        assert_eq!(unknown(&failure("dream", "codex_sign_in")), None, "what it is called is known");
    }

    #[test]
    fn a_used_up_grok_allowance_is_no_service_trouble() {
        let (limit, trouble) = (failure("rate_limit", "grok_service"), failure("provider", "grok_service"));
        assert_eq!((of(&limit).title, service(&limit)), ("Grok usage limit reached", None));
        assert_eq!((of(&trouble).title, service(&trouble)), ("Grok service trouble", Some("Grok")));
    }
}
