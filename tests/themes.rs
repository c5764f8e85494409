//! Themes: those that are shipped, what becomes of them in lesser terminals, and how a broken one is said.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "themes/sight.rs"]
mod sight;

use std::fs;

use prickle::tui::theme::{BUILT_IN, Depth, ROLES, Shelf, Theme, colour};
use ratatui::style::{Color, Modifier, Style};
use sight::{Kind, Light};
use tempfile::TempDir;

const DEPTHS: [Depth; 4] = [Depth::None, Depth::Sixteen, Depth::Indexed, Depth::True];

fn built_in(name: &str, depth: Depth) -> Theme {
    Shelf::default().theme(name, depth).unwrap_or_else(|faults| panic!("{name}: {faults:#?}"))
}

/// A user's folder with one theme in it, and what is said of that.
fn said(text: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.toml"), text).unwrap();
    Shelf::new(folder.path().to_owned()).theme("x", Depth::True).err().unwrap_or_default()
}

fn colours(theme: &Theme) -> Vec<Color> {
    let both = |(_, style): (&str, Style)| [style.fg, style.bg];
    theme.roles().into_iter().flat_map(both).flatten().collect()
}

fn is_painted(theme: &Theme) -> bool {
    theme.ground().is_some()
}

#[test]
fn every_shipped_theme_loads_at_every_depth() {
    let files: Vec<String> = fs::read_dir("themes")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap().replace(".toml", ""))
        .collect();
    assert_eq!(files.len(), BUILT_IN.len(), "{files:?}");
    for (name, text) in BUILT_IN {
        assert_eq!(fs::read_to_string(format!("themes/{name}.toml")).unwrap(), text);
        for depth in DEPTHS {
            let theme = built_in(name, depth);
            assert_eq!(theme.roles().len(), ROLES.len());
            let marks = [theme.error, theme.clash, theme.risk];
            let stands_out =
                |style: &Style| style.add_modifier.contains(Modifier::BOLD) || style.fg != theme.text.fg;
            assert!(depth == Depth::None || marks.iter().all(stands_out), "{name} at {depth:?}: {marks:?}");
        }
    }
    assert_eq!(Theme::terminal(), built_in("terminal", Depth::Sixteen), "it uses what every terminal has");
    assert!(Theme::mono().is_colourless() && !Theme::terminal().is_colourless());
}

#[test]
fn the_painted_themes_are_those_that_say_so() {
    let painted = |depth| -> Vec<&str> {
        BUILT_IN.iter().map(|(name, _)| *name).filter(|name| is_painted(&built_in(name, depth))).collect()
    };
    assert_eq!(painted(Depth::True), ["dark", "light", "high-contrast", "colorblind"]);
    assert_eq!(painted(Depth::Indexed), painted(Depth::True));
    // The 16 are the user's, and so is the ground they were chosen for; only black and white are told for sure.
    assert_eq!(painted(Depth::Sixteen), ["high-contrast"]);
    assert_eq!(painted(Depth::None), [""; 0]);
}

#[test]
fn case_a25_what_paints_both_sides_can_be_read_and_the_rest_leaves_text_to_the_terminal() {
    for (name, _) in BUILT_IN {
        for depth in [Depth::Indexed, Depth::True] {
            let theme = built_in(name, depth);
            if !is_painted(&theme) {
                assert_eq!((theme.text.fg, theme.text.bg), (None, None), "{name}");
                let white = [Color::Gray, Color::White, Color::Black];
                assert!(!colours(&theme).iter().any(|colour| white.contains(colour)), "{name}");
                continue;
            }
            let least = if name == "high-contrast" { 7.0 } else { 4.5 };
            for (role, style) in theme.roles() {
                let (front, back) = (light(style.fg), light(style.bg));
                let contrast = front.contrast(back);
                assert!(contrast >= least, "{name}, {role} at {depth:?}: {contrast:.2} to 1");
                let faint = style.add_modifier.intersects(Modifier::DIM | Modifier::REVERSED);
                assert!(!faint, "{name}, {role}: nobody can say how light that is");
            }
        }
    }
}

fn light(colour: Option<Color>) -> Light {
    Light::of(colour::rgb(colour.unwrap()).expect("a colour that is known for certain"))
}

#[test]
fn the_colorblind_theme_keeps_its_marks_apart_for_every_eye() {
    // About 2 is the least that can be seen with both side by side; on two rows that one looks past, 20 is plain.
    const PLAIN: f64 = 20.0;
    for depth in [Depth::Indexed, Depth::True] {
        let theme = built_in("colorblind", depth);
        let marks =
            [("error", theme.error), ("clash", theme.clash), ("risk", theme.risk), ("note", theme.note)];
        let signs = [("working", theme.working), ("online", theme.online), ("asleep", theme.asleep)];
        for kind in Kind::ALL {
            for group in [&marks[..], &signs[..]] {
                for (i, (one, a)) in group.iter().enumerate() {
                    for (other, b) in &group[i + 1..] {
                        let apart = light(a.fg).seen_by(kind).difference(light(b.fg).seen_by(kind));
                        assert!(apart >= PLAIN, "{one} and {other} for {kind:?} at {depth:?}: {apart:.1}");
                    }
                }
            }
        }
    }
    // Red and green of the same lightness, as other themes have them, are what this measure is to find.
    let (red, green) = (Light::of((0xd0, 0x60, 0x40)), Light::of((0x80, 0x8a, 0x30)));
    let apart = |kind| red.seen_by(kind).difference(green.seen_by(kind));
    assert!(apart(Kind::Full) > 2.0 * apart(Kind::NoGreen), "{} {}", apart(Kind::Full), apart(Kind::NoGreen));
}

#[test]
fn case_a24_the_depth_is_what_the_terminal_shows_evidence_of() {
    for (term, without, with) in [
        ("tmux-256color", Depth::Indexed, Depth::True),
        ("screen-256color", Depth::Indexed, Depth::True),
        ("xterm-256color", Depth::Indexed, Depth::True),
        ("xterm", Depth::Sixteen, Depth::True),
        ("linux", Depth::Sixteen, Depth::True),
        ("", Depth::Sixteen, Depth::True),
        ("xterm-kitty", Depth::True, Depth::True),
        ("xterm-direct", Depth::True, Depth::True),
        ("foot-extra", Depth::True, Depth::True),
        ("footle", Depth::Sixteen, Depth::True),
    ] {
        assert_eq!(Depth::guess(None, Some(term)), without, "{term}");
        assert_eq!(Depth::guess(Some("truecolor"), Some(term)), with, "{term}");
        assert_eq!(Depth::guess(Some("24bit"), Some(term)), with, "{term}");
        assert_eq!(Depth::guess(Some("yes"), Some(term)), without, "{term}");
    }
    assert_eq!(Depth::guess(None, None), Depth::Sixteen);
}

#[test]
fn case_a24_no_theme_has_more_colours_than_its_terminal() {
    for (name, _) in BUILT_IN {
        for colour in colours(&built_in(name, Depth::Indexed)) {
            assert!(!matches!(colour, Color::Rgb(..)), "{name}: {colour}");
        }
        for colour in colours(&built_in(name, Depth::Sixteen)) {
            assert!(!matches!(colour, Color::Rgb(..) | Color::Indexed(_)), "{name}: {colour}");
        }
        assert!(built_in(name, Depth::None).is_colourless(), "{name}");
    }
    // What a file's palette says for fewer colours counts; else it is the one most alike.
    let folder = tempfile::tempdir().unwrap();
    let text = "inherits = \"terminal\"\nerror = \"own\"\nclash = \"#ff0000\"\nrisk = 200\n\
                [palette]\nown = [\"#ff0000\", 33, \"green\"]\n";
    fs::write(folder.path().join("x.toml"), text).unwrap();
    let shelf = Shelf::new(folder.path().to_owned());
    let at = |depth| {
        let theme = shelf.theme("x", depth).unwrap();
        [theme.error.fg, theme.clash.fg, theme.risk.fg].map(Option::unwrap_or_default)
    };
    let red = Color::Rgb(255, 0, 0);
    assert_eq!(at(Depth::True), [red, red, Color::Indexed(200)]);
    assert_eq!(at(Depth::Indexed), [Color::Indexed(33), Color::Indexed(196), Color::Indexed(200)]);
    assert_eq!(at(Depth::Sixteen), [Color::Green, Color::LightRed, Color::LightMagenta]);
    assert_eq!(at(Depth::None), [Color::Reset; 3]);
}

fn folder(files: &[(&str, &str)]) -> (TempDir, Shelf) {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
    let shelf = Shelf::new(folder.path().to_owned());
    (folder, shelf)
}

#[test]
fn a_users_theme_counts_first_and_inherits_roles_and_palette() {
    let (_folder, shelf) = folder(&[
        (
            "dark.toml",
            "inherits = \"dark\"\nerror = \"ink on red italic underline\"\n[palette]\nred = \"#010203\"\n",
        ),
        ("mine.toml", "inherits = \"dark\"\nhint = \"rose\"\n[palette]\nrose = \"#040506\"\n"),
        ("note.txt", "no theme"),
        ("no name.toml", ""),
    ]);
    assert_eq!(shelf.names(), ["terminal", "dark", "light", "high-contrast", "colorblind", "mono", "mine"]);
    let dark = shelf.theme("dark", Depth::True).unwrap();
    let inside = built_in("dark", Depth::True);
    assert_eq!(dark.error.fg, inside.text.fg);
    assert_eq!(
        dark.error.bg,
        Some(Color::Rgb(1, 2, 3)),
        "the palette of the heir counts for all it inherits"
    );
    assert_eq!(dark.error.add_modifier, Modifier::ITALIC | Modifier::UNDERLINED);
    assert_eq!(dark.hint, inside.hint);
    let mine = shelf.theme("mine", Depth::True).unwrap();
    assert_eq!(mine.error, dark.error, "it inherits from the user's own, not from the one inside");
    assert_eq!((mine.hint.fg, mine.hint.bg), (Some(Color::Rgb(4, 5, 6)), inside.text.bg));
}

#[test]
fn case_a45_each_fault_of_a_theme_names_file_line_value_and_what_is_allowed() {
    let all = ROLES.join(", ");
    let first = |role: &str| format!("themes/x.toml, line 2: {role}");
    let second = |name: &str| format!("themes/x.toml, line 3: {name}");
    let colour = "not a colour: default, black, red, green, yellow, blue, magenta, cyan, white, one of the latter \
                  eight after bright-, 0 to 255, or #rrggbb";
    let table = [
        (
            "",
            format!(
                "themes/x.toml leaves out {all}; write inherits = \"terminal\" at its top to take them from there"
            ),
        ),
        (
            "text = \"default\"\n[palette]\n",
            format!("themes/x.toml leaves out {}; write", &all["text, ".len()..]),
        ),
        ("a\nb", "themes/x.toml, line 1 can't be read: ".to_owned()),
        ("text = \"red\"\ntext = \"red\"", "themes/x.toml, line 2 can't be read: duplicate key".to_owned()),
        (
            "inherits = \"mono\"\neror = \"red\"",
            first(&format!("there is no role eror; there are {all}, beside inherits and [palette]")),
        ),
        (
            "inherits = \"mono\"\nerror = true",
            first("error = true must be words in quotes, like \"red bold\" or \"white on blue\""),
        ),
        ("inherits = \"mono\"\nerror = 0xff", first("error = 0xff must be words in quotes")),
        (
            "inherits = \"mono\"\nerror = \"#12\"",
            first("error = \"#12\": #12 is no modifier (bold, dim, italic, underline, reverse), "),
        ),
        (
            "inherits = \"mono\"\nerror = \"#zzz\"",
            first(&format!(
                "error = \"#zzz\": #zzz is no modifier (bold, dim, italic, underline, reverse), no name of the palette (empty), and {colour}"
            )),
        ),
        (
            "inherits = \"mono\"\nerror = \"rose bold\"\n[palette]\nross = 1\nink = 2",
            first(
                "error = \"rose bold\": rose is no modifier (bold, dim, italic, underline, reverse), no name of the palette (ink, ross), and not",
            ),
        ),
        ("inherits = \"mono\"\nerror = \"red blink\"", first("error = \"red blink\": blink is no modifier")),
        (
            "inherits = \"mono\"\nerror = \"red blue\"",
            first("error = \"red blue\": there are two colours; a background comes after the word on"),
        ),
        (
            "inherits = \"mono\"\nerror = \"on red on blue\"",
            first("error = \"on red on blue\": there are two backgrounds"),
        ),
        ("inherits = \"mono\"\nerror = \"red on\"", first("error = \"red on\": a background must follow on")),
        (
            "inherits = \"mono\"\nerror = \"\"",
            first("error = \"\": it says nothing; default is the terminal's own colour"),
        ),
        ("inherits = \"mono\"\nerror = 256", first("error = \"256\": 256 is no modifier")),
        (
            "inherits = \"mono\"\npalette = 1",
            first("palette = 1 must be a table of names and colours, under [palette]"),
        ),
        (
            "inherits = \"mono\"\n[palette]\nink = \"#12\"",
            second(&format!("ink = \"#12\" must be {}", &colour[4..])),
        ),
        (
            "inherits = \"mono\"\n[palette]\nink = \"other\"\nother = \"red\"",
            second("ink = \"other\" must be a colour"),
        ),
        (
            "inherits = \"mono\"\n[palette]\nbold = \"red\"",
            second("bold can't be a colour's name; take letters, digits and hyphens that mean nothing else"),
        ),
        ("inherits = \"mono\"\n[palette]\n\"a b\" = \"red\"", second("a b can't be a colour's name")),
        (
            "inherits = \"mono\"\n[palette]\nink = []",
            second(
                "ink = [] must be one to three colours: the best, then among 256, then among 16 (a name, or 0 to 15)",
            ),
        ),
        (
            "inherits = \"mono\"\n[palette]\nink = [1, 2, 3, 4]",
            second("ink = [1, 2, 3, 4] must be one to three colours"),
        ),
        (
            "inherits = \"mono\"\n[palette]\nink = [\"#000000\", \"#000000\"]",
            second("ink = [\"#000000\", \"#000000\"] must be one to three colours"),
        ),
        (
            "inherits = \"mono\"\n[palette]\nink = [\"#000000\", 16, 16]",
            second("ink = [\"#000000\", 16, 16] must be one to three colours"),
        ),
        ("\ninherits = 5", first("inherits = 5 must be another theme's name in quotes")),
        (
            "\ninherits = \"drak\"",
            first(
                "inherits = \"drak\" is no theme; there are terminal, dark, light, high-contrast, colorblind, mono, x",
            ),
        ),
        ("\ninherits = \"../x\"", first("inherits = \"../x\" is no theme")),
        ("\ninherits = \"x\"", first("inherits = \"x\" leads back to itself: x → x")),
    ];
    for (text, fault) in table {
        let faults = said(text);
        assert_eq!(faults.len(), 1, "{text}: {faults:#?}");
        assert!(faults[0].starts_with(&fault), "{text}:\n  {}\n  {fault}", faults[0]);
    }
    // All faults of a file at once.
    let faults = said("inherits = \"terminal\"\neror = \"red\"\nerror = \"rd\"\n[palette]\nink = \"#1\"\n");
    assert_eq!(faults.len(), 3, "{faults:#?}");
}

#[test]
fn case_a45_what_is_no_theme_at_all_is_said_too() {
    let (folder, shelf) = folder(&[
        ("a.toml", "inherits = \"b\"\n"),
        ("b.toml", "\ninherits = \"c\"\n"),
        ("c.toml", "inherits = \"a\"\n"),
        ("heir.toml", "inherits = \"broken\"\n"),
        ("broken.toml", "\n\n]"),
    ]);
    let fault = |name: &str| {
        let faults = shelf.theme(name, Depth::True).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:#?}");
        faults[0].clone()
    };
    assert_eq!(fault("a"), "themes/c.toml, line 1: inherits = \"a\" leads back to itself: a → b → c → a");
    assert!(fault("heir").starts_with("themes/broken.toml, line 3 can't be read: "), "{}", fault("heir"));
    fs::write(folder.path().join("binary.toml"), b"\xff\xfe\x00").unwrap();
    assert_eq!(fault("binary"), "themes/binary.toml is not UTF-8");
    fs::write(folder.path().join("huge.toml"), vec![b'#'; 10 << 20]).unwrap();
    assert_eq!(fault("huge"), "themes/huge.toml is longer than 64 KiB: that is no theme");
    fs::create_dir(folder.path().join("folder.toml")).unwrap();
    assert_eq!(fault("folder"), "themes/folder.toml is no file");
    // A pipe that nobody writes into would hold up the start for ever.
    rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join("pipe.toml"), rustix::fs::Mode::RUSR).unwrap();
    assert_eq!(fault("pipe"), "themes/pipe.toml is no file");
    let known = "terminal, dark, light, high-contrast, colorblind, mono";
    assert!(
        fault("../a").starts_with(&format!("there is no theme ../a, only {known}, a, ")),
        "{}",
        fault("../a")
    );
    assert!(fault("a\u{1b}[2Jb").starts_with("there is no theme a·b, only"), "{}", fault("a\u{1b}[2Jb"));
    // A folder that is none: what is built in can be had all the same, but not unknowingly.
    fs::write(folder.path().join("file"), "").unwrap();
    let shelf = Shelf::new(folder.path().join("file"));
    assert_eq!(shelf.names().len(), BUILT_IN.len());
    assert_eq!(shelf.own().1.as_deref(), Some("themes can't be read (not a directory)"));
    assert_eq!(
        shelf.theme("dark", Depth::True),
        Err(vec!["themes/dark.toml can't be read (not a directory)".to_owned()])
    );
}
