//! A picture looks the same for as long as it says that it does, and different afterwards.

use chrono::{FixedOffset, TimeDelta};
use prickle::picture::{Heard, Picture};
use prickle::tui::model::{Look, Model, Watch};
use prickle::tui::theme::{Glyphs, Theme};
use prickle::tui::{update, view};
use prickle::wire::Time;
use prickle::words::Zone;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::{Value, json};

use crate::crowd::{doing, pulse};

const NOW: &str = "2026-11-30T14:32:10.250Z";

fn model(pulses: &[Value], now: Time) -> Model {
    let utc = FixedOffset::east_opt(0).unwrap();
    let look =
        Look { theme: Theme::terminal(), glyphs: Glyphs::Unicode, layout: None, zone: Zone::Fixed(utc) };
    let owner = Some("team-000".to_owned());
    let mut model = Model::new(Picture::new("website-v2"), "http://h".into(), owner, Watch::Still(now), look);
    let live =
        json!({"news": "live", "epoch": "e", "seq": 0, "server_time": now, "resumed": false, "at": now});
    let whole = json!({"news": "snapshot", "seq": 0, "pulses": pulses, "at": now});
    for news in [live, whole] {
        update::heard(&mut model, serde_json::from_value::<Heard>(news).unwrap());
    }
    model
}

fn picture(model: &mut Model, at: Time, (columns, rows): (u16, u16)) -> (Buffer, Option<TimeDelta>) {
    model.watch = Watch::Still(at);
    update::pass(model);
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    let lasts = view::draw(model, &mut buffer);
    (buffer, lasts)
}

#[test]
fn a_picture_lasts_as_long_as_it_says() {
    let start: Time = NOW.parse().unwrap();
    let said =
        |n: usize| start - TimeDelta::milliseconds(i64::try_from(n * 7919 * 1013 % 9_000_000).unwrap());
    for (agents, size) in [(3, (38, 24)), (40, (38, 24)), (40, (80, 24)), (40, (120, 40)), (300, (120, 24))] {
        let mut pulses: Vec<Value> = (0..agents).map(|n| pulse(n, said(n), &doing(n, 0))).collect();
        for (n, pulse) in pulses.iter_mut().enumerate().filter(|(n, _)| n % 3 == 0) {
            let left = TimeDelta::milliseconds(i64::try_from(n * 7919 * 31 % 9_000_000).unwrap());
            pulse["intent"] = json!({"kind": "change", "paths": [format!("src/{n}")], "areas": [], "expires_at": start + left});
            pulse["doing"] = "".into();
            pulse.as_object_mut().unwrap().remove("run_failure");
        }
        let mut model = model(&pulses, start);
        update::resize(&mut model, size.0, size.1);
        let mut at = start;
        let (mut steps, mut changed) = (0, 0);
        while steps < 60 {
            let (before, lasts) = picture(&mut model, at, size);
            let counts = model.picture.next_change(at).map(|next| next - at);
            let Some(lasts) = lasts.into_iter().chain(counts).min() else { break };
            steps += 1;
            assert!(lasts > TimeDelta::zero() && lasts <= TimeDelta::days(1), "{size:?} {at}: {lasts}");
            let (still, _) = picture(&mut model, at + lasts - TimeDelta::milliseconds(2), size);
            assert!(
                lasts < TimeDelta::milliseconds(2) || still == before,
                "{agents} at {size:?} {at}: {lasts}"
            );
            at += lasts;
            let (after, _) = picture(&mut model, at, size);
            changed += usize::from(after != before);
        }
        // Sometimes it is only the files of somebody out of sight that no longer count.
        assert!(steps > 10 && changed * 2 >= steps, "{agents} at {size:?}: {changed} of {steps}");
    }
}
