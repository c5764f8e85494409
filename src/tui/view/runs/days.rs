//! Bars of tokens on one scale, and the pane that has one for each day.

use std::collections::HashMap;

use chrono::NaiveDate;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::table::tokens;
use crate::columns::{self, Cell};
use crate::ledger::Amount;
use crate::shown;
use crate::tui::model::Model;
use crate::tui::runs::ask::{self, Ask, Slot};
use crate::tui::theme::Glyphs;
use crate::tui::view::pad;
use crate::tui::view::paint::Canvas;
use crate::wire::sums::Totals;

/// The part of a bar that nobody knows.
const UNKNOWN: &str = " + ?";

/// A scale that several bars share.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    most: i64,
    width: usize,
}

impl Scale {
    /// The scale on which the longest of these takes so many columns, what is not known of it among them.
    pub fn of(amounts: impl Iterator<Item = Amount>, room: usize) -> Self {
        let (mut most, mut least) = (1, false);
        for amount in amounts {
            most = most.max(amount.number().unwrap_or(0));
            least |= matches!(amount, Amount::AtLeast(_));
        }
        Self { most, width: if least { room.saturating_sub(UNKNOWN.len()) } else { room } }
    }

    /// The bar of an amount: the known part, and a sign for the rest.
    pub fn bar(self, model: &Model, amount: Amount) -> Vec<Span<'static>> {
        let theme = &model.look.theme;
        let known = self.blocks(amount.number().unwrap_or(0), model.look.glyphs);
        match amount {
            // Calmer than the numbers that it stands for.
            Amount::Exactly(_) => vec![Span::styled(known, theme.muted)],
            Amount::AtLeast(_) if known.is_empty() => vec![Span::styled("?", theme.muted)],
            Amount::AtLeast(_) => vec![Span::styled(format!("{known}{UNKNOWN}"), theme.muted)],
            Amount::Unknown => vec![Span::styled("?", theme.muted)],
        }
    }

    /// A number's blocks, the last one in eighths; what is too small for one has the thinnest.
    fn blocks(self, number: i64, glyphs: Glyphs) -> String {
        const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        if number <= 0 {
            return String::new();
        }
        let all = self.width as i128 * 8 * i128::from(number) / i128::from(self.most);
        let all = usize::try_from(all).unwrap_or(0).max(1);
        if glyphs == Glyphs::Ascii {
            return match (all + 4) / 8 {
                0 => "▏".to_owned(),
                blocks => "█".repeat(blocks),
            };
        }
        format!("{}{}", "█".repeat(all / 8), EIGHTHS[all % 8])
    }
}

/// The days that were asked for, the oldest first: all of them, or the newest of those with runs where it had no first.
/// Of others nobody knows whether there were runs.
fn days(model: &Model) -> Vec<NaiveDate> {
    let zone = model.look.zone.of_days();
    let held = model.runs.days.as_ref();
    let since = match held.map(|held| &held.ask) {
        Some(Ask::Sums { query, .. }) => query.since.map(|since| zone.date(since)),
        _ => model.runs.period.first(zone, model.now()),
    };
    let fresh = !model.is_old() && ask::is_told(model, Slot::Days);
    let last = zone.date(held.filter(|_| !fresh).map_or_else(|| model.now(), |held| held.at));
    let first = since.or_else(|| told(model).keys().min().copied()).unwrap_or(last);
    let mut days = Vec::new();
    let mut day = last;
    // More rows than these no screen has.
    while day >= first && days.len() < 400 {
        days.push(day);
        let Some(before) = day.pred_opt() else { break };
        day = before;
    }
    days.reverse();
    days
}

/// What each day with runs comes to.
fn told(model: &Model) -> HashMap<NaiveDate, &Totals> {
    let Some(held) = &model.runs.days else { return HashMap::new() };
    let day = |day: &Option<String>| day.as_deref()?.parse().ok();
    held.summary.rows.iter().filter_map(|group| Some((day(&group.day)?, &group.totals))).collect()
}

/// Rows that all days take.
pub fn rows(model: &Model) -> u16 {
    u16::try_from(days(model).len()).unwrap_or(u16::MAX).min(200)
}

/// Draws the pane right of the selected group: its rule, its edge, a bar each day, the newest where not all fit.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, rule: Rect, area: Rect) {
    let theme = &model.look.theme;
    let zone = model.look.zone.of_days();
    let tee = Line::from(Span::styled("┬", theme.border));
    canvas.line(Rect { width: 1, ..rule }, 0, &tee);
    let title = Line::from(Span::styled("Tokens a day", theme.muted));
    let name = Line::from(Span::styled(zone.name(), theme.muted));
    canvas.rule(Rect { x: rule.x + 1, width: rule.width - 1, ..rule }, 0, &title, &name);
    let edge = Line::from(Span::styled("│", theme.border));
    for row in 0..area.height {
        canvas.line(Rect { x: rule.x, width: 1, ..area }, row, &edge);
    }
    let area = Rect { x: rule.x + 2, width: rule.width.saturating_sub(3), ..area };
    if model.runs.days.is_none() {
        let said = shown::wrap(&super::page::waiting(model), usize::from(area.width));
        for (row, part) in (1..area.height).zip(said) {
            canvas.line(area, row, &Line::from(Span::styled(part, theme.muted)));
        }
        return;
    }
    let days = days(model);
    let of_week = days.len() <= 7;
    let air = u16::from(days.len() < usize::from(area.height));
    let high = usize::from(area.height - air);
    let days = &days[days.len().saturating_sub(high)..];
    let told = told(model);
    let amounts: Vec<Option<Amount>> =
        days.iter().map(|day| told.get(day).map(|totals| tokens(totals))).collect();
    let cell = |amount: &Option<Amount>| match amount {
        Some(amount) => Cell::amount(*amount, columns::short),
        None => Cell::text("no runs"),
    };
    let label = |day: &NaiveDate| {
        let form = if of_week { "%a %-d" } else { "%-d %b" };
        day.format(form).to_string()
    };
    let numbers: Vec<String> = amounts.iter().map(|amount| super::said(model, &cell(amount))).collect();
    let wide = numbers.iter().map(|number| shown::width(number)).max().unwrap_or(0);
    let label_wide = days.iter().map(|day| shown::width(&label(day))).max().unwrap_or(0);
    let room = usize::from(area.width).saturating_sub(label_wide + wide + 4);
    let scale = Scale::of(amounts.iter().flatten().copied(), room.min(40));
    for (row, (day, amount)) in (air..).zip(days.iter().zip(&amounts)) {
        let mut line = vec![Span::styled(pad(&label(day), label_wide + 2), theme.muted)];
        line.extend(amount.iter().flat_map(|amount| scale.bar(model, *amount)));
        canvas.line(area, row, &Line::from(line));
        let cell = cell(amount);
        let said = match cell.amount {
            Some(Amount::AtLeast(number)) => {
                vec![Span::styled("≥ ", theme.muted), Span::styled(columns::short(number), theme.text)]
            }
            Some(Amount::Exactly(_)) => vec![Span::styled(cell.text, theme.text)],
            Some(Amount::Unknown) | None => vec![Span::styled(cell.text, theme.muted)],
        };
        canvas.right(area, row, &Line::from(said));
    }
}
