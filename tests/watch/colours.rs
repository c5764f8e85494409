//! Themes in a real terminal: how many colours are written, whose theme counts, and what is said of a broken one.

use std::fs;
use std::process::{Command, Stdio};

use super::foreign::{sgr_parameters, tour};
use super::pty::Terminal;
use super::{PRICKLE, Stage, quit, quit_told};

/// The codes that a picture was written with, as `38;2`, `48;5` and the like, each once.
fn kinds(watch: &Terminal) -> Vec<String> {
    let used = sgr_parameters(&watch.raw_text());
    let pairs = used.windows(2).filter(|pair| matches!(pair[0], 38 | 48));
    let mut kinds: Vec<String> = pairs.map(|pair| format!("{};{}", pair[0], pair[1])).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

/// The greatest number of one of the 256 colours that was written.
fn highest(watch: &Terminal) -> u32 {
    let used = sgr_parameters(&watch.raw_text());
    let numbered = used.windows(3).filter(|three| matches!(three[0], 38 | 48) && three[1] == 5);
    numbered.map(|three| three[2]).max().unwrap_or(0)
}

#[test]
fn case_a24_no_colour_is_written_that_the_terminal_gave_no_evidence_of() {
    let (stage, _) = Stage::with_claude();
    for (term, colorterm, expected, most) in [
        ("tmux-256color", "", &["38;5", "48;5"][..], 255),
        ("screen-256color", "", &["38;5", "48;5"], 255),
        ("xterm", "", &[], 0),
        ("linux", "", &[], 0),
        ("xterm", "truecolor", &["38;2", "48;2"], 0),
    ] {
        let changes = [("TERM", term), ("COLORTERM", colorterm), ("PRICKLE_THEME", "dark")];
        let mut watch = tour(&stage, &changes, 80, 24);
        quit(&mut watch);
        assert_eq!(kinds(&watch), expected, "{term} {colorterm}");
        assert!(highest(&watch) <= most, "{term} {colorterm}: {}", highest(&watch));
        // Where a terminal knows but 16, their numbers are its own: a 5 would make it blink.
        let used = sgr_parameters(&watch.raw_text());
        assert_eq!(watch.raw_text().contains("\x1b[31;49m"), expected.is_empty(), "{term} {colorterm}");
        assert!(!expected.is_empty() || !used.contains(&5), "{term} {colorterm}");
    }
}

#[test]
fn case_a24_a_flag_and_a_setting_override_the_guess() {
    let (stage, _) = Stage::with_claude();
    let home = stage.folder.path().join("watcher");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("config.toml"), "colors = \"16\"\ntheme = \"light\"\n").unwrap();
    let look = |flags: &[&str], changes: &[(&str, &str)]| {
        let argv = [&[PRICKLE, "watch"], flags].concat();
        let mut watch = stage.terminal(&argv, &[&[("COLORTERM", "truecolor")], changes].concat(), 80, 24);
        watch.wait_for("Writing the hero copy");
        quit(&mut watch);
        watch
    };
    assert_eq!(kinds(&look(&[], &[])), [""; 0], "the setting");
    let flagged = look(&["--colors", "truecolor"], &[]);
    assert_eq!(kinds(&flagged), ["38;2", "48;2"], "the flag over the setting");
    assert!(flagged.raw_text().contains("48;2;252;251;248"), "the theme of the settings");
    let dark = look(&["--colors", "truecolor", "--theme", "dark"], &[("PRICKLE_THEME", "colorblind")]);
    assert!(dark.raw_text().contains("48;2;22;25;31"), "the flag over the variable over the file");
    let variable = look(&["--colors", "truecolor"], &[("PRICKLE_THEME", "colorblind")]);
    assert!(variable.raw_text().contains("38;2;185;242;255"));
    let typed = look(&["--colors", "256"], &[("NO_COLOR", "1")]);
    assert_eq!(kinds(&typed), ["38;5", "48;5"], "what was typed counts over what was set for all programs");
    for (flags, changes) in [(&["--colors", "none"][..], &[][..]), (&[], &[("NO_COLOR", "1")])] {
        let none = look(flags, changes);
        let used = sgr_parameters(&none.raw_text());
        assert!(!used.iter().any(|n| matches!(n, 30..=49 | 90..=107)), "{flags:?}: {used:?}");
    }
}

#[test]
fn case_a45_a_broken_theme_costs_only_a_sentence() {
    let (stage, _) = Stage::with_claude();
    let themes = stage.folder.path().join("watcher/themes");
    fs::create_dir_all(&themes).unwrap();
    fs::write(themes.join("x.toml"), "inherits = \"dark\"\nerror = \"#zzz\"\n").unwrap();
    let mut watch =
        stage.terminal(&[PRICKLE, "watch", "--theme", "x"], &[("COLORTERM", "truecolor")], 100, 24);
    watch.wait_for_all(&[
        "Writing the hero copy",
        "themes/x.toml, line 2: error = \"#zzz\": #zzz is no modifier",
    ]);
    // The next of those that can be worn; none of them is the broken one.
    for name in ["dark", "light", "high-contrast", "colorblind", "mono", "terminal"] {
        watch.send("t");
        watch.wait_for(&format!("theme {name}"));
    }
    quit_told(&mut watch, "themes/x.toml, line 2: error = \"#zzz\": #zzz is no modifier");
}

/// Runs `prickle theme` without a terminal: exit code, stdout, stderr.
fn theme(stage: &Stage, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(PRICKLE);
    command.arg("theme").args(args).env_clear().envs(stage.environment()).stdin(Stdio::null());
    let ran = command.current_dir(stage.folder.path()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (ran.status.code(), text(ran.stdout), text(ran.stderr))
}

#[test]
fn themes_are_listed_and_checked() {
    const NAMES: &str = "terminal\ndark\nlight\nhigh-contrast\ncolorblind\nmono\n";
    let (stage, _) = Stage::with_claude();
    assert_eq!(theme(&stage, &["list"]), (Some(0), NAMES.into(), String::new()));
    let (code, out, _) = theme(&stage, &["check"]);
    assert_eq!((code, out.lines().count()), (Some(0), 6), "{out}");
    let themes = stage.folder.path().join("watcher/themes");
    fs::create_dir_all(&themes).unwrap();
    fs::write(themes.join("good.toml"), "inherits = \"dark\"\n").unwrap();
    assert_eq!(theme(&stage, &["check", "good"]), (Some(0), "good: fine\n".into(), String::new()));
    let bad = "eror = \"red\"\ninherits = \"dark\"\n\nhint = \"#12\"\n";
    fs::write(themes.join("bad.toml"), bad).unwrap();
    let (code, out, err) = theme(&stage, &["check", "bad"]);
    assert_eq!((code, out.lines().count()), (Some(1), 2), "{out}");
    assert!(out.starts_with("themes/bad.toml, line 1: there is no role eror; "), "{out}");
    assert!(out.contains("\nthemes/bad.toml, line 4: hint = \"#12\": "), "{out}");
    assert!(err.starts_with("prickle: 2 faults; your own themes are in /"), "{err}");
    // The same file by its path, and all at once.
    let (code, out, _) = theme(&stage, &["check", "watcher/themes/bad.toml"]);
    assert!(code == Some(1) && out.starts_with("watcher/themes/bad.toml, line 1: "), "{out}");
    let (code, out, _) = theme(&stage, &["check"]);
    assert_eq!((code, out.lines().count()), (Some(1), 7 + 2), "{out}");
    let (code, out, _) = theme(&stage, &["check", "missing.toml"]);
    assert_eq!((code, out.as_str()), (Some(1), "there is no file missing.toml\n"));
    let (code, out, _) = theme(&stage, &["check", "missing"]);
    assert!(code == Some(1) && out.starts_with("there is no theme missing, only terminal, "), "{out}");
    let (code, out, err) = theme(&stage, &["list"]);
    assert_eq!((code, out), (Some(0), format!("{NAMES}bad\ngood\n")));
    assert!(err.starts_with("prickle: themes/bad.toml, line 1: there is no role eror"), "{err}");
}

#[test]
fn a_terminal_shows_each_theme_in_its_own_colours() {
    let (stage, _) = Stage::with_claude();
    let mut list = stage.terminal(&[PRICKLE, "theme", "list"], &[("COLORTERM", "truecolor")], 60, 40);
    assert!(list.wait_exit().success());
    let rows = list.rows();
    let at =
        |name: &str| rows.iter().position(|row| row == name).unwrap_or_else(|| panic!("{name}: {rows:#?}"));
    let cell = |row: usize, column: u16| list.screen().cell(u16::try_from(row).unwrap(), column).unwrap();
    let row = at("dark") + 1;
    assert!(rows[row].starts_with("   text muted border focus"), "{rows:#?}");
    assert_eq!(cell(row, 3).bgcolor(), vt100::Color::Rgb(0x16, 0x19, 0x1f));
    assert_eq!(cell(row, 3).fgcolor(), vt100::Color::Rgb(0xd8, 0xdc, 0xe4));
    let plain = at("terminal") + 1;
    let bar = u16::try_from(rows[plain].find(" bar").unwrap() + 1).unwrap();
    assert_eq!(cell(plain, bar).fgcolor(), vt100::Color::Idx(6));
    assert_eq!(cell(plain, bar).bgcolor(), vt100::Color::Default);
    let mut list = stage.terminal(&[PRICKLE, "theme", "list"], &[("NO_COLOR", "1")], 60, 40);
    assert!(list.wait_exit().success());
    let used = sgr_parameters(&list.raw_text());
    assert!(used.contains(&1) && !used.iter().any(|n| matches!(n, 30..=49 | 90..=107)), "{used:?}");
}
