//! What the screen needs to know of the run records, asked of the room beside it: the screen itself never waits.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::room;
use crate::client::CallError;
use crate::tui::Signal;
use crate::tui::runs::ask::{Answer, Ask, Question, Told};

/// Least time between two askings of the same, where its answer is there and only may have changed.
const AGAIN: Duration = Duration::from_secs(1);
/// The same, where no answer is there: so long it may take until the screen has one that is on its way.
const AT_ONCE: Duration = Duration::from_millis(100);
/// The same, where the last answer was that there is none.
const AFTER_FAILURE: Duration = Duration::from_secs(2);

/// Asks what the screen wants to know, one question after the other, until the screen is closed. What it no longer
/// wants to know meanwhile is given up.
pub(super) async fn runs(
    mut room: room::Asker,
    mut questions: watch::Receiver<Vec<Question>>,
    answers: mpsc::Sender<Signal>,
) {
    // When what may be asked again: first where it is lacking, then where it is old.
    let mut asked: Vec<(Ask, [Instant; 2])> = Vec::new();
    while questions.has_changed().is_ok() {
        let wanted = questions.borrow_and_update().clone();
        let now = Instant::now();
        asked.retain(|(_, [_, later])| *later > now);
        let due = |question: &Question| {
            let known = asked.iter().find(|(ask, _)| *ask == question.ask);
            known.map(|(_, due)| due[usize::from(question.again)]).filter(|due| *due > now)
        };
        let Some(question) = wanted.iter().find(|question| due(question).is_none()).cloned() else {
            let next = wanted.iter().filter_map(due).min();
            tokio::select! {
                changed = questions.changed() => if changed.is_err() { return },
                () = until(next) => {}
            }
            continue;
        };
        let told = tokio::select! {
            told = tell(&mut room, &question.ask) => told,
            () = unwanted(&mut questions, &question) => continue,
        };
        let now = Instant::now();
        let due = match &told {
            Ok(_) => [now + AT_ONCE, now + AGAIN],
            Err(CallError::Busy { wait: Some(wait), .. }) => [now + AFTER_FAILURE.max(*wait); 2],
            Err(_) => [now + AFTER_FAILURE; 2],
        };
        asked.retain(|(ask, _)| *ask != question.ask);
        asked.push((question.ask.clone(), due));
        let told = told.map_err(|error| error.to_string());
        if answers.send(Signal::Runs(Box::new(Answer { question, told }))).await.is_err() {
            return;
        }
    }
}

/// Until then; for ever where there is no then.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Until the screen no longer wants to know this.
async fn unwanted(questions: &mut watch::Receiver<Vec<Question>>, question: &Question) {
    let same = |other: &Question| other.slot == question.slot && other.ask == question.ask;
    let _ = questions.wait_for(|wanted| !wanted.iter().any(same)).await;
}

/// Asks the room.
async fn tell(room: &mut room::Asker, ask: &Ask) -> Result<Told, CallError> {
    let (_, http) = room.room().await?;
    Ok(match ask {
        Ask::Sums { by, tz, query } => Told::Sums(http.run_summary(*by, tz, query).await?),
        Ask::Page(query) => Told::Page(http.runs(query).await?),
    })
}
