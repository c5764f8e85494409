//! The Room as it is drawn: a recorded room at many sizes, as text and as style, and every size without a panic.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "common/screen.rs"]
mod screen;

use chrono::TimeDelta;
use prickle::tui::model::{Here, Layout, Look, Model, Named, Watch};
use prickle::tui::theme::{BUILT_IN, Depth, Glyphs, Shelf, Theme};
use prickle::tui::{update, view};
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use serde_json::{Value, json};

use screen::pulses::{LIVE, live, pulse, time};
use screen::{
    ACME, OFFLINE, draw, hear, hostile, is_foreign, leave, look, play, press, recorded, report, selected,
    styles, text, unheard,
};

#[test]
fn room_in_every_width() {
    for (columns, rows) in
        [(30, 12), (38, 24), (45, 12), (60, 15), (80, 24), (100, 28), (120, 32), (140, 12), (200, 24)]
    {
        let mut model = recorded(LIVE, look());
        insta::assert_snapshot!(format!("room-{columns}x{rows}"), text(&mut model, columns, rows));
    }
}

#[test]
fn room_in_every_layout_by_request() {
    for (layout, name) in
        [(Layout::Columns, "columns"), (Layout::Stacked, "stacked"), (Layout::Cards, "cards")]
    {
        let mut model = recorded(LIVE, Look { layout: Some(layout), ..look() });
        insta::assert_snapshot!(format!("layout-{name}"), text(&mut model, 90, 20));
    }
}

#[test]
fn room_in_style() {
    let mut model = recorded(LIVE, look());
    for (columns, rows) in [(120, 32), (38, 24)] {
        // These tell red, green and cyan alone; the pictures of the themes have every colour.
        let styles = styles(&draw(&mut model, columns, rows)).replace(['y', 'm', 'Y', 'M'], "?");
        insta::assert_snapshot!(format!("style-{columns}x{rows}"), styles);
    }
}

/// Each cell's style as a letter, and below them what the letters stand for.
fn palette(buffer: &Buffer) -> String {
    let mut known: Vec<String> = Vec::new();
    let mut out = String::new();
    for y in 0..buffer.area.height {
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            let style = format!("{} on {} {:?}", cell.fg, cell.bg, cell.modifier);
            let at = known.iter().position(|other| *other == style).unwrap_or_else(|| {
                known.push(style);
                known.len() - 1
            });
            out.push(char::from(b'a' + u8::try_from(at).unwrap()));
        }
        out.push('\n');
    }
    known.iter().zip('a'..).for_each(|(style, letter)| out.push_str(&format!("{letter} {style}\n")));
    out
}

#[test]
fn each_theme_in_style() {
    let plain = text(&mut recorded(LIVE, look()), 60, 15);
    for (name, _) in BUILT_IN {
        let theme = Shelf::default().theme(name, Depth::True).unwrap();
        let painted = theme.ground().is_some();
        let mut model = recorded(LIVE, Look { theme, ..look() });
        let buffer = draw(&mut model, 60, 15);
        insta::assert_snapshot!(format!("theme-{name}"), palette(&buffer));
        assert_eq!(view::plain(&buffer), plain, "a theme changes no text");
        let bare = |buffer: &Buffer| {
            buffer.content.iter().any(|cell| cell.fg == Color::Reset || cell.bg == Color::Reset)
        };
        assert_eq!(bare(&buffer), !painted, "{name}");
        press(&mut model, "?");
        assert_eq!(bare(&draw(&mut model, 60, 15)), !painted, "{name}, help");
        assert_eq!(bare(&draw(&mut model, 12, 3)), !painted, "{name}, too small");
    }
}

#[test]
fn a_key_goes_through_the_themes() {
    let mut m = recorded(LIVE, look());
    press(&mut m, "t");
    assert_eq!((m.look.theme.clone(), m.notice.clone()), (Theme::terminal(), None), "there is no other");
    let named = |name: &&str| Named {
        name: (*name).to_owned(),
        theme: Shelf::default().theme(name, Depth::Sixteen).unwrap(),
    };
    // In 16 colours the latter two look the same, and are passed all the same.
    m.themes = ["terminal", "dark", "light"].iter().map(named).collect();
    let themes = m.themes.clone();
    for next in [1, 2, 0, 1] {
        press(&mut m, "t");
        assert_eq!(m.look.theme, themes[next].theme);
        assert_eq!(m.did.as_deref(), Some(format!("theme {}", themes[next].name).as_str()));
    }
}

#[test]
fn without_colour_nothing_is_coloured_and_nothing_is_lost() {
    let mut colourless = recorded(LIVE, Look { theme: Theme::mono(), ..look() });
    let buffer = draw(&mut colourless, 120, 32);
    assert!(!styles(&buffer).contains(['r', 'y', 'g', 'c', 'm', 'R', 'Y', 'G', 'C', 'M', '?']));
    assert_eq!(view::plain(&buffer), text(&mut recorded(LIVE, look()), 120, 32));
    // Who is here stands out by weight alone; who announced silence does not.
    let bold = |row: u16| buffer[(6, row)].modifier.contains(Modifier::BOLD);
    assert!(bold(3) && !(13..=15).any(bold), "{}", view::plain(&buffer));
}

#[test]
fn in_ascii_every_cell_is_ascii() {
    let mut model = recorded(LIVE, Look { glyphs: Glyphs::Ascii, ..look() });
    for (columns, rows) in [(38, 24), (60, 15), (120, 32)] {
        let text = text(&mut model, columns, rows);
        assert!(text.is_ascii(), "{text}");
    }
    press(&mut model, "?");
    assert!(text(&mut model, 80, 24).is_ascii());
    press(&mut model, "?");
    insta::assert_snapshot!("ascii-60x15", text(&mut model, 60, 15));
}

#[test]
fn offline_keeps_the_picture_dated_and_dim() {
    let mut model = recorded(OFFLINE, look());
    let buffer = draw(&mut model, 80, 24);
    insta::assert_snapshot!("offline-80x24", view::plain(&buffer));
    let dim = (1..23).all(|y| (0..80).all(|x| buffer[(x, y)].modifier.contains(Modifier::DIM)));
    assert!(dim, "an old picture must not look like the present");
    insta::assert_snapshot!("offline-38x24", text(&mut model, 38, 24));
}

#[test]
fn refused_says_what_to_do_and_counts_nothing() {
    let mut model = recorded(LIVE, look());
    hear(&mut model, LIVE, json!({"news": "refused", "why": "the room does not take this key"}));
    let text = text(&mut model, 80, 24);
    assert!(text.lines().next().unwrap().contains("refused"), "{text}");
    assert!(text.contains(" the room does not take this key\n"), "{text}");
    assert!(!text.contains("retry in"));
    assert!(text.contains("Removing the old session middleware"), "the picture stays");
}

#[test]
fn a_resumed_feed_says_what_it_caught_up_with_for_ten_seconds() {
    let mut model = recorded(OFFLINE, look());
    let (_, seq) = model.picture.position().unwrap();
    let resumed = live(OFFLINE, seq + 3, true);
    hear(&mut model, OFFLINE, resumed);
    assert!(text(&mut model, 80, 24).lines().next().unwrap().ends_with("live · caught up with 3 changes"));
    model.watch = Watch::Still(time(OFFLINE) + TimeDelta::seconds(11));
    assert!(text(&mut model, 80, 24).lines().next().unwrap().ends_with(" live"));
}

#[test]
fn keys_move_open_and_go_back() {
    let mut m = recorded(LIVE, look());
    draw(&mut m, 120, 32);
    assert_eq!(selected(&m), "acme/reviewer", "the eye falls first on what needs its owner");
    press(&mut m, "j");
    assert_eq!(selected(&m), "lumen/docs");
    press(&mut m, "kkk");
    assert_eq!(selected(&m), "acme/builder");
    press(&mut m, "k");
    assert_eq!(selected(&m), "acme/builder");
    press(&mut m, "G");
    assert_eq!(selected(&m), "orbit/watcher");
    press(&mut m, "n");
    assert_eq!(selected(&m), "acme/builder", "round, and its clash is acme's too");
    press(&mut m, "n");
    assert_eq!(selected(&m), "acme/reviewer");
    press(&mut m, "\r");
    insta::assert_snapshot!("open-120x32", text(&mut m, 120, 32));
    insta::assert_snapshot!("open-38x24", text(&mut m, 38, 24));
    press(&mut m, "h");
    assert!(text(&mut m, 120, 32).contains("─ Agents ─"));
    press(&mut m, "\t");
    assert_eq!(selected(&m), "acme/reviewer");
    press(&mut m, "j\u{1b}gG");
    assert_eq!(selected(&m), "orbit/watcher");
}

#[test]
fn a_side_pane_shows_no_selection_before_the_first_key() {
    let mut m = recorded(LIVE, look());
    assert!(!text(&mut m, 38, 24).contains('▌'));
    press(&mut m, "j");
    let shown = text(&mut m, 38, 24);
    assert!(
        shown.contains("!▌● acme/reviewer"),
        "the first key only brings the selection to light:\n{shown}"
    );
}

#[test]
fn help_names_the_keys_at_every_size() {
    let mut m = recorded(LIVE, look());
    draw(&mut m, 80, 24);
    press(&mut m, "?");
    insta::assert_snapshot!("help-80x24", text(&mut m, 80, 24));
    insta::assert_snapshot!("help-38x20", text(&mut m, 38, 20));
    assert!(text(&mut m, 38, 20).contains("! failed"), "the signs come first");
    assert!(text(&mut m, 38, 20).contains("j k scroll"));
    press(&mut m, "G");
    assert!(text(&mut m, 38, 20).contains("suspend"));
    press(&mut m, "\u{1b}");
    assert!(!text(&mut m, 80, 24).contains("Keys in the Room"));
}

#[test]
fn someone_elses_failure_is_told_in_the_teammates_voice() {
    let mut m = recorded(LIVE, look());
    draw(&mut m, 120, 32);
    press(&mut m, "Gk");
    let theirs = text(&mut m, 120, 32);
    assert!(theirs.contains("orbit's Codex allowance is used up."), "{theirs}");
    assert!(!theirs.contains("chatgpt.com"), "nothing here is theirs to run");
    m.owner = Some("orbit".into());
    assert!(text(&mut m, 120, 32).contains("chatgpt.com"));
}

#[test]
fn case_a01_a05_no_view_lets_anything_foreign_through() {
    let mut m = hostile();
    for keys in ["", "\r", "\u{1b}?", "?"] {
        press(&mut m, keys);
        for (columns, rows) in [(30, 12), (38, 20), (80, 24), (120, 40), (200, 60)] {
            let buffer = draw(&mut m, columns, rows);
            for cell in buffer.content() {
                for c in cell.symbol().chars() {
                    assert!(!is_foreign(c), "{c:?} at {columns}x{rows}");
                }
            }
            assert!(view::plain(&buffer).lines().all(|line| !line.contains("52;c")));
        }
    }
}

#[test]
fn case_a11_a_newline_or_wide_letters_break_no_border() {
    let mut m = hostile();
    for columns in 100..=160 {
        let buffer = draw(&mut m, columns, 40);
        let edge = (0..columns).find(|x| buffer[(*x, 2)].symbol() == "│").unwrap();
        for y in 2..32 {
            assert_eq!(buffer[(edge, y)].symbol(), "│", "row {y} at {columns} columns");
        }
    }
}

#[test]
fn case_a14_no_size_panics() {
    for mut m in [recorded(LIVE, look()), recorded(OFFLINE, look()), hostile()] {
        for keys in ["", "\r", "\u{1b}?"] {
            press(&mut m, keys);
            for columns in (0..=24).chain((25..300).step_by(31)) {
                for rows in (0..=9).chain((10..100).step_by(17)) {
                    draw(&mut m, columns, rows);
                }
            }
            press(&mut m, "\u{1b}");
        }
        assert!(text(&mut m, 80, 24).contains("Agents"));
    }
}

#[test]
fn an_empty_room_names_its_next_step() {
    let mut m = unheard(LIVE, None);
    play(&mut m, "empty", LIVE);
    insta::assert_snapshot!("empty-80x24", text(&mut m, 80, 24));
    insta::assert_snapshot!("empty-38x20", text(&mut m, 38, 20));
}

/// The page of this machine's own room, with its owner's agents as the room tells of them.
fn own_room(agents: &Value) -> Model {
    let mut m = unheard(LIVE, None);
    m.first.here = Some(Here { open: time(LIVE), ends: true });
    play(&mut m, "empty", LIVE);
    update::owner(&mut m, "acme".into());
    let agents = json!({"project": "website-v2", "agents": agents});
    update::agents(&mut m, serde_json::from_value(agents).unwrap());
    m
}

/// An agent whose key was made at 14:31.
fn standing(used: Option<&str>, listed: Option<&str>, elsewhere: &Value) -> Value {
    json!([{"agent_id": "acme/claude-code", "key_made_at": "2026-11-30T14:31:00Z", "key_first_used_at": used,
        "tools_listed_at": listed, "pulse": null, "elsewhere": elsewhere}])
}

#[test]
fn the_empty_room_tells_how_far_its_first_agent_has_come() {
    let at = Some("2026-11-30T14:32:00Z");
    let nowhere = json!([]);
    let stages = [
        ("nobody", json!([])),
        ("key", standing(None, None, &nowhere)),
        ("called", standing(at, None, &nowhere)),
        ("listed", standing(at, at, &nowhere)),
        ("elsewhere", standing(at, at, &json!([{"project": "website", "updated_at": LIVE}]))),
    ];
    let mut last = String::new();
    for (name, agents) in &stages {
        let mut m = own_room(agents);
        let list = text(&mut m, 80, 24);
        let from = list.find(" ✓ room open").unwrap();
        last.push_str(&format!("{name}\n{}\n", list[from..].trim_end_matches(|c| c != '\n').trim_end()));
    }
    insta::assert_snapshot!("own-stages", last);
    insta::assert_snapshot!("own-80x24", text(&mut own_room(&stages[3].1), 80, 24));
    insta::assert_snapshot!("own-38x20", text(&mut own_room(&stages[0].1), 38, 20));
    insta::assert_snapshot!("own-38x20-key", text(&mut own_room(&stages[1].1), 38, 20));
    insta::assert_snapshot!("own-64x16", text(&mut own_room(&stages[1].1), 64, 16));
}

#[test]
fn the_next_step_of_an_empty_room_is_on_the_smallest_screen() {
    let called = standing(Some(LIVE), Some(LIVE), &json!([]));
    for (columns, rows) in [(20, 6), (20, 10), (30, 8), (38, 6), (60, 6), (80, 5), (120, 8), (300, 100)] {
        for (agents, step) in
            [(&json!([]), "prickle connect claude-code"), (&called, "Report your pulse to prickle.")]
        {
            let shown = text(&mut own_room(agents), columns, rows);
            // As a shell reads it: a backslash at a line's end joins the next.
            let joined = shown.replace("\\\n", " ");
            let words: Vec<&str> = joined.split_whitespace().collect();
            assert!(words.join(" ").contains(step), "{columns}x{rows}:\n{shown}");
        }
    }
}

#[test]
fn a_room_that_does_not_follow_from_the_folder_is_named_in_the_commands() {
    let mut m = own_room(&json!([]));
    m.first.named = true;
    let shown = text(&mut m, 120, 32);
    assert!(shown.contains("prickle connect claude-code --project website-v2\n"), "{shown}");
    assert!(shown.contains("prickle pulse --doing \"trying prickle\" --project website-v2\n"), "{shown}");
}

#[test]
fn a_room_that_was_never_reached_says_so_and_how_to_start_one() {
    let mut m = unheard(LIVE, None);
    hear(&mut m, LIVE, json!({"news": "lost", "why": "connection refused", "retry_in": 3000}));
    insta::assert_snapshot!("never-80x24", text(&mut m, 80, 24));
}

#[test]
fn a_room_that_takes_no_reports_says_why_instead_of_live() {
    let mut m = recorded(LIVE, look());
    let news = |refusing: Value| json!({"news": "room", "refusing": refusing});
    hear(&mut m, LIVE, news(json!("the room's storage is full\u{1b}[2J")));
    let header = |m: &mut Model, columns| text(m, columns, 24).lines().next().unwrap().to_owned();
    let told = header(&mut m, 120);
    assert!(told.ends_with(" the room's storage is full·"), "{told}");
    assert!(header(&mut m, 38).ends_with("no reports"), "{}", header(&mut m, 38));
    hear(&mut m, LIVE, news(json!("x".repeat(5000))));
    assert!(header(&mut m, 80).contains("2 failed"), "the counts are gone: {}", header(&mut m, 80));
    hear(&mut m, LIVE, news(Value::Null));
    assert!(header(&mut m, 120).ends_with("live"));
}

#[test]
fn a_side_pane_with_rows_to_spare_says_why_nothing_is_heard() {
    let mut m = recorded(OFFLINE, look());
    let tall = text(&mut m, 38, 40);
    let lines: Vec<&str> = tall.lines().collect();
    assert_eq!(lines[38].trim(), "connection refused", "{tall}");
    // The cards come first.
    assert!(!text(&mut m, 38, 24).contains("connection refused"));
    // What to do about a clash is not said of what may be over.
    press(&mut m, "g");
    let wide = text(&mut m, 120, 32);
    assert!(wide.contains("was about to remove") && !wide.contains("Tell your agent"), "{wide}");
}

#[test]
fn a_newer_rooms_words_are_shown() {
    let mut m = recorded(LIVE, look());
    let more = json!({"availability": "dreaming", "doing": "x", "mood": "fine",
        "run_failure": {"class": "weather", "step": "rain_in_the_rack"},
        "intent": {"kind": "fold", "paths": ["a"], "areas": [], "expires_at": "2026-11-30T15:00:00Z"}});
    report(&mut m, LIVE, &pulse("acme/builder", LIVE, &more));
    hear(&mut m, LIVE, json!({"news": "event", "frame": {"type": "poke", "seq": 100}}));
    draw(&mut m, 120, 40);
    press(&mut m, "g");
    let text = text(&mut m, 120, 40);
    for word in ["dreaming", "rain_in_the_rack", "fold a", "mood", "fine", "poke"] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
}

#[test]
fn the_selection_follows_the_agent_and_rows_do_not_jump() {
    let mut m = recorded(LIVE, look());
    draw(&mut m, 80, 24);
    press(&mut m, "G");
    let before = text(&mut m, 80, 24);
    let row = |text: &str, name: &str| text.lines().position(|line| line.contains(name)).unwrap();
    // An agent before it reports; nothing moves.
    report(&mut m, LIVE, &pulse("acme/builder", LIVE, &json!({"availability": "idle", "doing": "y"})));
    let after = text(&mut m, 80, 24);
    assert_eq!(row(&before, "watcher"), row(&after, "watcher"));
    assert_eq!(selected(&m), "orbit/watcher");
    // It leaves: its neighbour takes the selection.
    leave(&mut m, LIVE, "orbit/watcher");
    assert_eq!(selected(&m), "orbit/tester");
}

#[test]
fn a_side_pane_that_is_too_small_keeps_failures_in_sight_until_somebody_moves_about() {
    let mut m = recorded(LIVE, look());
    let names = |text: &str| -> Vec<String> {
        let card = |line: &str| line.split_whitespace().find(|w| w.contains('/')).map(str::to_owned);
        text.lines().filter(|l| !l.starts_with("    ")).skip(1).filter_map(card).collect()
    };
    let quiet = text(&mut m, 45, 12);
    assert_eq!(names(&quiet)[..2], ["acme/reviewer", "orbit/tester"], "{quiet}");
    press(&mut m, "jg");
    let moving = text(&mut m, 45, 12);
    assert_eq!(names(&moving)[0], "acme/builder", "{moving}");
    assert!(moving.contains('▌'));
    press(&mut m, "\u{1b}");
    assert_eq!(text(&mut m, 45, 12), quiet, "Esc leaves the pane to the corner of the eye again");
}

#[test]
fn what_needs_you_is_only_yours() {
    let mut m = recorded(LIVE, look());
    draw(&mut m, 120, 32);
    press(&mut m, "nnNN");
    assert_eq!(selected(&m), "acme/reviewer");
    // From one's failed agent on to the one in a clash, and round.
    press(&mut m, "n");
    assert_eq!(selected(&m), "acme/builder");
    m.owner = Some("lumen".into());
    press(&mut m, "n");
    assert_eq!(selected(&m), "lumen/fixer", "the clash is lumen's, too");
    m.owner = Some("nobody".into());
    press(&mut m, "n");
    assert_eq!(selected(&m), "lumen/fixer", "nothing of nobody's");
    assert!(!text(&mut m, 120, 32).contains("needs you"), "and the footer doesn't offer it");
    m.owner = None;
    press(&mut m, "n");
    assert_eq!(selected(&m), "orbit/tester", "without an owner every failure counts");
}

#[test]
fn what_was_seen_counts_neither_in_the_header_nor_in_the_title() {
    let mut m = recorded(LIVE, look());
    draw(&mut m, 120, 32);
    let both = |m: &mut Model| {
        let title = m.summary(&m.picture, m.local()).line();
        (text(m, 120, 32).lines().next().unwrap().to_owned(), title)
    };
    let (header, title) = both(&mut m);
    assert!(header.contains("! 2 failed · ≠ 1 clash   3 of 9"), "{header}");
    assert_eq!(title, "! 2 failed · ≠ 1 clash · 3 of 9 working · website-v2");
    press(&mut m, "x");
    assert_eq!(both(&mut m).1, "! 1 failed · ≠ 1 clash · 3 of 9 working · website-v2");
    press(&mut m, "nx");
    let (header, title) = both(&mut m);
    assert!(header.contains("! 1 failed   3 of 9"), "{header}");
    assert_eq!(title, "! 1 failed · 3 of 9 working · website-v2");
    press(&mut m, "x");
    assert!(both(&mut m).0.contains("! 1 failed · ≠ 1 clash"), "and back");
}

#[test]
fn a_recording_that_plays_does_not_pass_for_the_live_room() {
    let mut m = recorded(LIVE, look());
    m.replay = true;
    let shown = text(&mut m, 80, 24);
    assert!(shown.lines().next().unwrap().ends_with("recording · 14:32:10"), "{shown}");
    let mut m = recorded(OFFLINE, look());
    m.replay = true;
    let shown = text(&mut m, 80, 24);
    assert!(!shown.contains("r now") && !shown.contains("retry in"), "{shown}");
}

#[test]
fn the_commands_of_the_empty_room_can_be_pasted() {
    let mut m = unheard(LIVE, ACME);
    m.server = "http://127.0.0.1:7788".into();
    play(&mut m, "empty", LIVE);
    for (columns, rows) in [(38, 30), (80, 24), (120, 32)] {
        let shown = text(&mut m, columns, rows);
        // As a shell reads it: a backslash at a line's end joins the next.
        let mut joined = String::new();
        for line in shown.lines() {
            match line.strip_suffix('\\') {
                Some(part) => joined.push_str(part.trim_start()),
                None => joined.push_str(&format!("{}\n", line.trim_start())),
            }
        }
        for command in [
            "export PRICKLE_TOKEN=\"$(prickle key create --kind client --agent acme/builder --project website-v2)\"\n",
            "prickle pulse --project website-v2 --doing \"trying prickle\" --server http://127.0.0.1:7788\n",
        ] {
            let words: Vec<&str> = command.split_whitespace().collect();
            let said = |line: &str| line.split_whitespace().eq(words.iter().copied());
            assert!(joined.lines().any(said), "{columns} columns:\n{joined}");
        }
    }
}
