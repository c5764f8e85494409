//! The selected group in sentences: whose runs, from when to when, and what is known of them.

use ratatui::text::{Line, Span};

use crate::columns;
use crate::ledger::Amount;
use crate::shown;
use crate::tui::model::Model;
use crate::tui::view::text;
use crate::wire::sums::{Group, Totals};

/// The lines at a width.
pub fn lines(model: &Model, group: &Group, width: usize) -> Vec<Line<'static>> {
    let style = model.look.theme.text;
    let mut out = vec![Line::default()];
    let parts = [vec![whose(model, group)], vec![known(&group.totals), failed(&group.totals)]];
    for (place, part) in parts.into_iter().enumerate() {
        if place > 0 {
            out.push(Line::default());
        }
        for said in part.iter().filter(|said| !said.is_empty()) {
            // One column of air before the edge.
            let wrapped = shown::wrap(&text(model, said), width.saturating_sub(3).min(76));
            out.extend(wrapped.into_iter().map(|part| Line::from(Span::styled(format!(" {part}"), style))));
        }
    }
    out
}

/// `7 runs of acme/reviewer and acme/builder, Sat 17:22 to Sun 21:40.`
fn whose(model: &Model, group: &Group) -> String {
    const MOST: usize = 4;
    let totals = &group.totals;
    let runs = counted(totals.runs, "run");
    let agents: Vec<String> = group.agents.iter().map(ToString::to_string).collect();
    let of = match agents.as_slice() {
        [] => String::new(),
        [one] => format!(" of {one}"),
        [few @ .., last] if agents.len() <= MOST => format!(" of {} and {last}", few.join(", ")),
        many => format!(" of {} and {} more", many[..MOST - 1].join(", "), many.len() + 1 - MOST),
    };
    let when = |at| columns::when(at, model.look.zone, model.now());
    let span = match (totals.first_reported_at, totals.last_reported_at) {
        (Some(first), Some(last)) if when(first) == when(last) => format!(", {}", when(last)),
        (Some(first), Some(last)) => format!(", {} to {}", when(first), when(last)),
        _ => String::new(),
    };
    format!("{runs}{of}{span}.")
}

/// A number and its noun.
fn counted(number: i64, noun: &str) -> String {
    format!("{} {noun}{}", columns::whole(number), if number == 1 { "" } else { "s" })
}

/// Of how many runs each number is known, in one sentence.
fn known(totals: &Totals) -> String {
    let runs = totals.runs;
    let kinds = [
        ("tokens", totals.tokens.known),
        ("times", totals.duration_ms.known),
        ("exit codes", totals.failed.known),
        ("turns", totals.turns.known),
    ];
    let mut parts: Vec<(Vec<&str>, i64)> = Vec::new();
    for (name, known) in kinds {
        match parts.iter_mut().find(|(_, other)| *other == known) {
            Some((names, _)) => names.push(name),
            None => parts.push((vec![name], known)),
        }
    }
    let told: Vec<String> = parts
        .iter()
        .enumerate()
        .map(|(place, (names, known))| {
            let of = match *known {
                _ if runs == 1 => if *known == 1 { "known" } else { "not known" }.to_owned(),
                0 if place == 0 => "known for none of them".to_owned(),
                0 => "for none".to_owned(),
                known if known >= runs && place == 0 => "known for all of them".to_owned(),
                known if known >= runs => "for all".to_owned(),
                known if place == 0 => format!("known for {} of them", columns::whole(known)),
                known => format!("for {}", columns::whole(known)),
            };
            let are = if place == 0 || runs == 1 { " are" } else { "" };
            format!("{}{are} {of}", listed(names))
        })
        .collect();
    let sums = [totals.tokens, totals.duration_ms, totals.failed, totals.turns];
    let bounds = runs > 1 && sums.iter().any(|sum| sum.known > 0 && sum.known < runs);
    let mut said = told.join(", ");
    if let Some(first) = said.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    format!("{said}{}", if bounds { ": a sum with ≥ is a lower bound." } else { "." })
}

/// `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [few @ .., last] => format!("{} and {last}", few.join(", ")),
    }
}

/// How many failed, and what went into it.
fn failed(totals: &Totals) -> String {
    let failed = Amount::of(totals.failed, totals.runs);
    let count = match failed {
        Amount::Exactly(0) => return "None failed.".to_owned(),
        Amount::AtLeast(0) => return "None is known to have failed.".to_owned(),
        Amount::Unknown => return "Whether any failed is not known.".to_owned(),
        Amount::Exactly(failed) => columns::whole(failed),
        Amount::AtLeast(failed) => format!("At least {}", columns::whole(failed)),
    };
    let it = if failed.number() == Some(1) { "it" } else { "them" };
    let tokens = match Amount::in_failed(totals) {
        Amount::Exactly(tokens) => format!("{} tokens went into {it}", columns::short(tokens)),
        Amount::AtLeast(tokens) => format!("at least {} tokens went into {it}", columns::short(tokens)),
        Amount::Unknown => format!("how many tokens went into {it} is not known"),
    };
    format!("{count} failed; {tokens}.")
}
