//! Other people's text on a real terminal: none of it is obeyed, all of it is seen, and no row is bent by it.

use serde_json::json;

use super::{PRICKLE, Stage, quit};
use crate::pty::Terminal;

/// What a terminal would obey, or what would make one text look like another.
const HOSTILE: [&str; 12] = [
    "\u{1b}]52;c;aGVsbG8=\u{7}clip",
    "\u{1b}]0;title\u{1b}\\title",
    "\u{1b}]8;;http://example.com\u{7}link\u{1b}]8;;\u{7}",
    "\u{1b}P+q544e\u{1b}\\dcs \u{1b}_apc\u{1b}\\ \u{1b}^pm\u{1b}\\ \u{1b}Xsos\u{1b}\\",
    "\u{1b}c reset \u{1b}[2J\u{1b}[H\u{1b}[31mred \u{1b}[?1049l\u{1b}[?1000h",
    "\u{9d}52;c;aGk=\u{9c}c1 \u{9b}2J \u{90}q\u{9c} \u{85}next",
    "src/\u{202e}cod.exe",
    "src/a\u{200b}.rs",
    "src/\u{2066}b\u{2069}.rs \u{feff}\u{ad}\u{61c}\u{200d}x",
    "line one\r\nline two\n\u{b}\u{c}\u{8}\u{8}\u{7f}back",
    "修正/表示崩れ ♻️ ⚠️ 👩\u{200d}💻 🇩🇪 e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}",
    "\u{2028}\u{2029}\u{e0041}\u{180e}tags שלום",
];

/// Sequences that the renderer makes: moving, clearing, styling, modes, and the title kept and given back.
const FINALS: &[u8] = b"HmhlJKt";

/// Whether a title is one of ours: it is none, or ends or begins with the room.
fn is_title(title: &str) -> bool {
    title.is_empty() || title.ends_with(" working · website-v2") || title.starts_with("website-v2 ")
}

/// Holds every byte that reached the terminal against what the renderer itself writes.
#[track_caller]
pub fn assert_only_ours(terminal: &Terminal) {
    let text = String::from_utf8(terminal.raw().to_vec()).expect("UTF-8 and nothing else");
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' && chars.next_if_eq(&']').is_some() {
            assert!(chars.next() == Some('0') && chars.next() == Some(';'), "a command that sets no title");
            let title: String = chars.by_ref().take_while(|c| *c != '\u{7}').collect();
            assert!(is_title(&title) && !title.contains(char::is_control), "a title {title:?}");
            continue;
        }
        if c == '\u{1b}' {
            assert_eq!(chars.next(), Some('['), "ESC begins something that is no control sequence");
            while chars.next_if(|c| c.is_ascii_digit() || matches!(c, ';' | '?')).is_some() {}
            let last = chars.next().unwrap();
            assert!(last.is_ascii() && FINALS.contains(&(last as u8)), "a sequence ends with {last:?}");
            continue;
        }
        assert!(!c.is_control(), "{c:?} was written");
        let hidden = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}');
        assert!(!hidden, "{c:?} was written");
    }
}

/// A room in which each field that is free text holds each of the hostile texts, and tame neighbours.
fn hostile_room() -> Stage {
    let stage = Stage::open();
    stage.says(&stage.agent("acme/aa"), json!({"doing": "A tame neighbour above"}));
    let all = HOSTILE.join(" ");
    let short: String = all.chars().take(200).collect();
    let villain = stage.agent("acme/villain");
    let files: Vec<&str> = HOSTILE.into_iter().chain(["src/a.rs", "src/cod.exe"]).collect();
    let report = json!({
        "doing": short, "branch": short, "files": files, "last_decision": all,
        "intent": {"kind": "change", "paths": HOSTILE},
    });
    let stored = stage.says(&villain, report.clone());
    for field in ["doing", "branch", "files", "last_decision"] {
        assert_eq!(stored[field], report[field], "the room keeps {field} byte by byte");
    }
    assert_eq!(stored["intent"]["paths"], report["intent"]["paths"]);
    for (n, text) in HOSTILE.iter().enumerate() {
        let agent = stage.agent(&format!("acme/bad-{n:02}"));
        stage.says(&agent, json!({"doing": text, "branch": text, "files": [text], "last_decision": text}));
    }
    stage.says(&stage.agent("lumen/zz"), json!({"doing": "A tame neighbour below"}));
    stage
}

/// Walks through every agent, selected and opened, by the keys alone.
fn visit_all(watch: &mut Terminal, mut at_each: impl FnMut(&Terminal)) {
    watch.send("g");
    let names: Vec<String> = (0..HOSTILE.len()).map(|n| format!("bad-{n:02}")).collect();
    for name in ["aa".to_owned()].into_iter().chain(names).chain(["villain".to_owned()]) {
        watch.wait_until(&name, |watch| {
            watch.rows().iter().any(|row| row.contains('▌') && row.contains(&name))
        });
        at_each(watch);
        watch.send("\r");
        watch.wait_for("Esc back ─");
        for _ in 0..4 {
            watch.send("\x04"); // half a page down: the detail is longer than the screen
        }
        watch.send("\x1b");
        watch.wait_without("Esc back ─");
        watch.send("j");
    }
}

#[test]
fn case_a01_case_a05_hostile_text_in_columns() {
    let stage = hostile_room();
    let mut watch = stage.watch(120, 40);
    watch.wait_for_all(&["A tame neighbour above", "acme/aa", "live"]);
    visit_all(&mut watch, |watch| {
        let rows = watch.rows();
        assert!(rows[0].ends_with("live") && rows[0].chars().count() == 119, "{:?}", rows[0]);
        // The rule between the columns stands in one column, from its head to the strip below.
        let corner = column_of(watch, 1, "┬").expect("a head of the rule");
        let strip = rows.iter().position(|row| row.starts_with("─ Activity ─")).expect("the activity");
        for (row, text) in rows.iter().enumerate().take(strip).skip(2) {
            let bars = columns_of(watch, row, "│");
            assert_eq!(bars, [corner], "row {row}: {text:?}");
        }
        for row in [1, strip] {
            let (_, width) = extent(watch, row);
            assert_eq!(width, 120, "the rule in row {row} is whole: {:?}", rows[row]);
        }
        assert!(rows[39].ends_with("? help"), "{:?}", rows[39]);
    });
    let seen = watch.raw_text();
    for visible in ["<U+202E>", "<U+200B>", "·clip", "src/<U+202E>cod.exe", "src/a<U+200B>.rs"] {
        assert!(seen.contains(visible), "{visible} is to be seen");
    }
    quit(&mut watch);
    assert_only_ours(&watch);
}

#[test]
fn case_a01_case_a05_hostile_text_stacked() {
    let stage = hostile_room();
    let mut watch = stage.watch(80, 24);
    watch.wait_for_all(&["A tame neighbour above", "acme/aa", "live"]);
    visit_all(&mut watch, |watch| {
        let rows = watch.rows();
        assert!(rows[0].ends_with("live") && rows[0].chars().count() == 79, "{:?}", rows[0]);
        assert_eq!(extent(watch, 1).1, 80, "{:?}", rows[1]);
        let title =
            rows.iter().skip(2).position(|row| row.starts_with("─ acme/")).expect("the detail's title") + 2;
        assert_eq!(extent(watch, title).1, 80, "{:?}", rows[title]);
        assert!(rows[title].ends_with(" working · now ─"), "{:?}", rows[title]);
        assert!(rows[23].ends_with("? help"), "{:?}", rows[23]);
    });
    quit(&mut watch);
    assert_only_ours(&watch);
}

#[test]
fn case_a01_case_a05_hostile_text_in_a_side_pane() {
    let stage = hostile_room();
    let mut watch = stage.watch(38, 20);
    watch.wait_for_all(&["A tame neighbour…", "acme/aa", "live"]);
    // The first key that moves brings the cards.
    watch.send("j");
    watch.wait_for("A tame neighbour above");
    visit_all(&mut watch, |watch| {
        let rows = watch.rows();
        assert!(rows[0].ends_with("live") && rows[0].chars().count() == 37, "{:?}", rows[0]);
        assert_eq!(extent(watch, 1).1, 38, "{:?}", rows[1]);
        assert!(rows[1].starts_with("─ website-"), "{:?}", rows[1]);
        // A card's first line ends with claim and age at the edge; the others begin four columns in.
        for row in &rows[2..19] {
            let fine = row.is_empty() || row.starts_with("    ") || row.ends_with("working now");
            assert!(fine, "{row:?} in {rows:#?}");
        }
        assert!(rows[19].ends_with("? help"), "{:?}", rows[19]);
    });
    quit(&mut watch);
    assert_only_ours(&watch);
}

/// The columns in which a cell of the row holds `symbol`.
fn columns_of(terminal: &Terminal, row: usize, symbol: &str) -> Vec<u16> {
    let screen = terminal.screen();
    let columns = screen.size().1.get();
    let cell = |column: u16| screen.cell(u16::try_from(row).unwrap(), column).unwrap().contents();
    (0..columns).filter(|column| cell(*column) == symbol).collect()
}

fn column_of(terminal: &Terminal, row: usize, symbol: &str) -> Option<u16> {
    columns_of(terminal, row, symbol).first().copied()
}

/// First column with something in it, and the one after the last.
fn extent(terminal: &Terminal, row: usize) -> (u16, u16) {
    let screen = terminal.screen();
    let columns = screen.size().1.get();
    let filled = |column: &u16| {
        let cell = screen.cell(u16::try_from(row).unwrap(), *column).unwrap();
        !cell.contents().trim().is_empty() || cell.is_wide_continuation()
    };
    let first = (0..columns).find(filled).unwrap_or(0);
    let last = (0..columns).rev().find(filled).map_or(0, |last| last + 1);
    (first, last)
}

/// Every parameter of every SGR sequence.
pub fn sgr_parameters(raw: &str) -> Vec<u32> {
    let sequences = raw.split("\x1b[").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, ';' | '?')))?;
        rest[end..].starts_with('m').then(|| rest[..end].to_owned())
    });
    sequences.flat_map(|s| s.split(';').map(|n| n.parse().unwrap_or(0)).collect::<Vec<u32>>()).collect()
}

/// A tour past everything that has a colour of its own.
pub fn tour(stage: &Stage, changes: &[(&str, &str)], columns: u16, rows: u16) -> Terminal {
    let tester = stage.agent("acme/tester");
    let failure = json!({"run_failure": {"class": "auth", "step": "claude_code_sign_in"}, "task_id": "t-1"});
    stage.says(
        &tester,
        json!({"doing": "Testing the 料金ページ — “quotes” · é", "task_id": "t-1",
        "intent": {"kind": "remove", "paths": ["src/表示/**"]}}),
    );
    stage.says(&tester, failure);
    let mut watch = stage.terminal(&[PRICKLE, "watch"], changes, columns, rows);
    watch.wait_for("1 failed");
    watch.send("j");
    watch.send("k");
    watch.send("\r");
    watch.wait_for("Esc back ");
    // Not Esc: with the next key behind it, it would be Alt and that key.
    watch.send("h");
    watch.wait_for(if columns < 60 { " website-v2 " } else { " Agents " });
    watch.send("?");
    watch.wait_for("Keys in the Room");
    watch.send("?");
    watch.wait_without("Keys in the Room");
    watch
}

#[test]
fn without_colour_there_is_no_colour_code_at_all() {
    for (columns, rows) in [(120, 32), (80, 24), (38, 24)] {
        let (stage, _) = Stage::with_claude();
        let mut watch = tour(&stage, &[("NO_COLOR", "1")], columns, rows);
        let column = columns_of(&watch, 0, "!")[0];
        assert!(
            watch.screen().cell(0, column).unwrap().bold(),
            "what needs a person stands out without colour too"
        );
        quit(&mut watch);
        let used = sgr_parameters(&watch.raw_text());
        let colours: Vec<&u32> = used.iter().filter(|n| matches!(n, 30..=49 | 58 | 59 | 90..=107)).collect();
        assert!(colours.is_empty(), "{columns}x{rows}: {colours:?}");
        // The same room without that wish has colours: the test looks at the right bytes.
        let mut watch = tour(&stage, &[], columns, rows);
        quit(&mut watch);
        assert!(sgr_parameters(&watch.raw_text()).contains(&38));
    }
}

#[test]
fn a_locale_without_utf8_gets_ascii_only() {
    for (columns, rows) in [(120, 32), (80, 24), (38, 24)] {
        let (mut stage, _) = Stage::with_claude();
        let mut watch = tour(&stage, &[("LANG", "C")], columns, rows);
        assert!(watch.text().contains("tester"), "{}", watch.text());
        stage.room.kill9();
        watch.wait_for("offline");
        watch.wait_for("as of");
        quit(&mut watch);
        let odd: Vec<char> = watch.raw_text().chars().filter(|c| !c.is_ascii()).collect();
        assert!(odd.is_empty(), "{columns}x{rows}: {odd:?}");
    }
    // LC_ALL counts before LANG, and UTF-8 is known in both spellings.
    let (stage, _) = Stage::with_claude();
    let mut watch = tour(&stage, &[("LANG", "C"), ("LC_ALL", "en_US.utf8")], 80, 24);
    quit(&mut watch);
    assert!(watch.raw_text().contains('●'));
}
