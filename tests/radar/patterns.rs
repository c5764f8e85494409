//! Path patterns: reported cases by name, and random ones beside a matcher that tries every way.

use std::time::{Duration, Instant};

use prickle::pattern::{Overlap, Pattern};
use proptest::prelude::*;

fn overlap(a: &str, b: &str) -> Overlap {
    let (a, b) = (Pattern::new(a), Pattern::new(b));
    let found = a.overlap(&b);
    assert_eq!(b.overlap(&a), found, "{a:?} and {b:?} the other way round");
    assert_eq!(a.ground(&b).is_some(), found != Overlap::No, "{a:?} and {b:?} share what they share");
    found
}

#[track_caller]
fn meet(a: &str, b: &str) {
    assert_eq!(overlap(a, b), Overlap::Yes, "{a} and {b}");
}

#[track_caller]
fn apart(a: &str, b: &str) {
    assert_eq!(overlap(a, b), Overlap::No, "{a} and {b}");
}

#[test]
fn case_g01_backslashes_separate_folders() {
    meet(r"src\auth\login.rs", "src/auth/**");
    meet(r"src\*\login.rs", "src/auth/login.rs");
    apart(r"src\auth\login.rs", "src/lib/**");
    assert_eq!(Pattern::new(r"src\auth\login.rs").text(), r"src\auth\login.rs");
}

#[test]
fn case_g03_a_folder_with_a_slash_behind_it_is_all_below_it() {
    meet("src/", "src/a.rs");
    meet("src/", "src");
    meet("src/", "src/**");
    apart("src/", "src2/a.rs");
    meet("src/*/", "src/a/b/c.rs");
    apart("src/*", "src/a/b/c.rs");
}

#[test]
fn case_g04_spellings_of_one_path_are_one() {
    for spelling in ["./src/a.rs", "/src/a.rs", "src//a.rs", "src/./a.rs", "src/x/../a.rs"] {
        meet(spelling, "src/a.rs");
    }
    apart("../src/a.rs", "src/a.rs");
    apart("src/../../src/a.rs", "src/a.rs");
    apart("../a", "../a");
    meet("src/..", "README.md");
    // A path of somebody's machine is taken from the repository's root like every other.
    apart("/home/u/repo/src/a.rs", "src/a.rs");
    meet("/home/u/repo/src/a.rs", "home/u/repo/src/a.rs");
}

#[test]
fn case_g06_two_stars_may_be_no_folder_at_all() {
    meet("src/**/*.rs", "src/a.rs");
    meet("**/Cargo.toml", "Cargo.toml");
    meet("src/**", "src");
    meet("a/**/**/b", "a/b");
}

#[test]
fn case_g09_folders_named_like_patterns_are_themselves() {
    meet("app/[id]/page.tsx", "app/[id]/page.tsx");
    meet("app/[id]/page.tsx", "app/[id]/*.tsx");
    meet("app/[id]", "app/[id]/page.tsx");
    meet("docs/[[...slug]]/**", "docs/[[...slug]]/page.tsx");
    meet("app/[id]/page.tsx", r"app/\[id\]/page.tsx");
    meet("api/{slug}.ts", "api/{slug}.ts");
    meet("api/{slug}/get.ts", "api/{slug}");
    meet("app/[id]/page.tsx", "app/i/page.tsx");
    apart("app/[id]/page.tsx", "app/x/page.tsx");
    assert_eq!(Pattern::new("app/[id]/page.tsx").path().as_deref(), Some("app/[id]/page.tsx"));
}

/// Patterns as long as the schema lets them be, of the kinds that cost such programs most.
fn hostile() -> Vec<String> {
    let mut found = vec![
        "*".repeat(300),
        "*a".repeat(150),
        format!("{}b", "*a".repeat(149)),
        "{".repeat(150),
        "}".repeat(150),
        "{a,b}".repeat(60),
        "{a,".repeat(75) + &"}".repeat(75),
        "{a/,b}".repeat(50),
        "a/".repeat(150),
        "**/".repeat(100),
        "**/a/".repeat(60),
        format!("{}b", "**/a/".repeat(59)),
        "*/".repeat(150),
        "?*".repeat(150),
        "[a-z]*".repeat(50),
        "[!a]*[a".repeat(42),
        "[".repeat(300),
        r"\*".repeat(150),
        r"\{a,b}".repeat(42),
        "a\u{301}*".repeat(100),
        "../".repeat(100),
        "**/../".repeat(50),
        "{a,b}*/".repeat(42),
    ];
    found.extend((b'a'..=b'h').map(|c| format!("{}{}", "*a*/".repeat(74), c as char)));
    assert!(found.iter().all(|text| text.chars().count() <= 300));
    found
}

#[test]
fn case_g11_hostile_patterns_cost_next_to_nothing() {
    let texts = hostile();
    let patterns: Vec<Pattern> = texts.iter().map(|text| Pattern::new(text)).collect();
    // An unoptimized build is some thirty times slower than what people run.
    let most = Duration::from_millis(if cfg!(debug_assertions) { 40 } else { 1 });
    for a in &patterns {
        for b in &patterns {
            // The machine may take a breath: the best of a few is what the pair costs.
            let cost = || {
                let began = Instant::now();
                let _ = a.overlap(b);
                began.elapsed()
            };
            let cost = (0..5).map(|_| cost()).find(|cost| *cost < most).unwrap_or_else(cost);
            assert!(cost < most, "{a:?} and {b:?} took {cost:?}");
        }
    }
    meet("**/a/**", &"a/".repeat(150));
    assert_ne!(overlap(&"{a,b}".repeat(60), &"{b,a}".repeat(60)), Overlap::No, "in doubt they overlap");
    assert_eq!(overlap(&"{a,b}".repeat(60), &"ab".repeat(30)), Overlap::May);
    apart(&"{a,b}".repeat(60), "src/a.rs");
}

#[test]
fn case_g12_case_alone_is_told_apart() {
    assert_eq!(overlap("SRC/Auth.rs", "src/auth.rs"), Overlap::CaseOnly);
    assert_eq!(overlap("SRC/**", "src/auth.rs"), Overlap::CaseOnly);
    assert_eq!(overlap("src/[A-C]*.rs", "src/auth.rs"), Overlap::CaseOnly);
    assert_eq!(overlap("docs/ÄRGER.md", "docs/ärger.md"), Overlap::CaseOnly);
    meet("src/[A-C]*.rs", "src/Auth.rs");
    apart("SRC/Auth.rs", "src/author.rs");
}

#[test]
fn case_g13_accents_are_one_however_they_are_written() {
    meet("docs/caf\u{e9}.md", "docs/cafe\u{301}.md");
    meet("docs/caf?.md", "docs/cafe\u{301}.md");
    assert_eq!(Pattern::new("docs/cafe\u{301}.md").text(), "docs/cafe\u{301}.md");
}

#[test]
fn case_g15_two_patterns_may_meet_where_neither_matches_the_others_text() {
    meet("src/*", "src/cmd_*.rs");
    meet("src/*_test.rs", "src/auth_*");
    meet("**/*.rs", "src/auth/**");
    apart("*.rs", "*.md");
    meet("src/{a,b}/*.rs", "src/b/x.*");
    apart("src/{a,b}/*.rs", "src/c/x.rs");
    meet("src/{a/b,c}.rs", "src/a/b.rs");
    meet("src/[a-c]?.rs", "src/[c-f]x.rs");
    assert_eq!(overlap("src/[a-c].rs", "src/[!a-c].rs"), Overlap::CaseOnly, "a.rs and A.rs");
    apart("src/[a-c]/x.rs", "src/d/x.rs");
}

#[test]
fn case_g17_a_folder_is_below_itself_and_not_beside_itself() {
    meet("apps/web/lib", "apps/web/lib/foo.ts");
    apart("src/foo.ts", "src/foobar.ts");
    apart("src/foo", "src/foobar/x");
}

#[test]
fn what_two_patterns_share_is_as_narrow_as_it_is() {
    let shared = |a: &str, b: &str| {
        let (a, b) = (Pattern::new(a), Pattern::new(b));
        let found = a.ground(&b);
        assert_eq!(b.ground(&a), found, "{a:?} and {b:?} the other way round");
        found.unwrap_or_default()
    };
    assert_eq!(shared("src/auth/**", "src/auth/login.rs"), "src/auth/login.rs");
    assert_eq!(shared("crates/cli/**", "crates/cli/tests/**"), "crates/cli/tests/**");
    assert_eq!(shared("crates/cli/**", "**"), "crates/cli/**");
    assert_eq!(shared("src", "src/a.rs"), "src/a.rs");
    assert_eq!(shared("src/a.rs", "./src//a.rs"), "src/a.rs");
    assert_eq!(shared("src", "**/*.rs"), "src/**/*.rs");
    assert_eq!(shared("**/*.rs", "src/auth/**"), "src/auth/**/*.rs");
    assert_eq!(shared("src/*_test.rs", "src/auth_*"), "src/auth_*_test.rs");
    assert_eq!(shared("src/*", "src/cmd_*.rs"), "src/cmd_*.rs");
    assert_eq!(shared("**/a/**", "a/b/**"), "a/b/**");
    assert_eq!(shared("src/{auth,lib}/**", "src/auth/a.rs"), "src/auth/a.rs");
    assert_eq!(shared("src/{auth,lib}/**", "**/*.rs"), "src/{auth,lib}/**/*.rs");
    assert_eq!(shared("src/?b*", "src/a*c"), "src/ab*c");
    assert_eq!(shared("app/[id]/page.tsx", "app/**"), "app/[id]/page.tsx");
    assert_eq!(shared("src/a", "lib/a"), "");
}

/// A pattern as a tree, so that its meaning needs no parser.
#[derive(Debug, Clone)]
enum Piece {
    Letters(&'static str),
    Star,
    One,
    Of(&'static [char], bool),
    Either(Vec<&'static str>),
}

type Name = Option<Vec<Piece>>; // `None`: `**`

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % sides
    }

    fn piece(&mut self) -> Piece {
        match self.roll(10) {
            0..4 => Piece::Letters(["a", "b", "ab", "ba"][self.roll(4)]),
            4..6 => Piece::Star,
            6 => Piece::One,
            7 => Piece::Of([&['a'][..], &['b'], &['a', 'b']][self.roll(3)], self.roll(2) == 0),
            _ => Piece::Either(vec![["a", "ab", ""][self.roll(3)], ["b", "ba"][self.roll(2)]]),
        }
    }

    fn pattern(&mut self, names: usize, pieces: usize) -> Vec<Name> {
        let names = 1 + self.roll(names);
        (0..names)
            .map(|_| {
                let some = self.roll(5) > 0;
                let mut pieces: Vec<Piece> = (0..=self.roll(pieces)).map(|_| self.piece()).collect();
                // Two stars side by side would be another sign.
                pieces.dedup_by(|a, b| matches!((a, b), (Piece::Star, Piece::Star)));
                some.then_some(pieces)
            })
            .collect()
    }

    fn file(&mut self) -> Vec<String> {
        (0..=self.roll(3)).map(|_| (0..=self.roll(3)).map(|_| ['a', 'b'][self.roll(2)]).collect()).collect()
    }
}

fn text(pattern: &[Name]) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Letters(text) => (*text).to_owned(),
        Piece::Star => "*".into(),
        Piece::One => "?".into(),
        Piece::Of(letters, all_but) => {
            format!("[{}{}]", if *all_but { "!" } else { "" }, String::from_iter(*letters))
        }
        Piece::Either(texts) => format!("{{{}}}", texts.join(",")),
    };
    let name = |name: &Name| {
        name.as_ref().map_or("**".into(), |pieces| pieces.iter().map(piece).collect::<String>())
    };
    pattern.iter().map(name).collect::<Vec<String>>().join("/")
}

fn is_named(name: &str, pieces: &[Piece]) -> bool {
    let Some((first, rest)) = pieces.split_first() else { return name.is_empty() };
    let after = |start: &str| name.strip_prefix(start).is_some_and(|left| is_named(left, rest));
    let letter = name.chars().next();
    match first {
        Piece::Letters(text) => after(text),
        Piece::Either(texts) => texts.iter().any(|text| after(text)),
        Piece::Star => (0..=name.len()).any(|taken| is_named(&name[taken..], rest)),
        Piece::One => letter.is_some() && is_named(&name[1..], rest),
        Piece::Of(letters, all_but) => {
            letter.is_some_and(|c| letters.contains(&c) != *all_but) && is_named(&name[1..], rest)
        }
    }
}

fn matches(file: &[String], pattern: &[Name]) -> bool {
    match (pattern.split_first(), file.split_first()) {
        (None, None) => true,
        (Some((None, rest)), _) => (0..=file.len()).any(|taken| matches(&file[taken..], rest)),
        (Some((Some(pieces), rest)), Some((name, below))) => is_named(name, pieces) && matches(below, rest),
        // That a path without wildcards covers all below it is the caller's business.
        _ => false,
    }
}

fn is_plain(pattern: &[Name]) -> bool {
    let plain = |p: &Piece| matches!(p, Piece::Letters(_) | Piece::Either(_));
    pattern.iter().all(|name| name.as_ref().is_some_and(|pieces| pieces.iter().all(plain)))
}

fn covers(pattern: &[Name], file: &[String]) -> bool {
    matches(file, pattern) || (is_plain(pattern) && (1..file.len()).any(|n| matches(&file[..n], pattern)))
}

#[test]
fn patterns_overlap_whenever_one_file_is_both() {
    let mut dice = Dice(0x5eed_0001);
    let mut met = 0;
    for _ in 0..100_000 {
        let (a, b) = (dice.pattern(3, 3), dice.pattern(3, 3));
        let files: Vec<Vec<String>> = (0..6).map(|_| dice.file()).collect();
        let Some(file) = files.iter().find(|file| covers(&a, file) && covers(&b, file)) else { continue };
        met += 1;
        let (one, two) = (Pattern::new(&text(&a)), Pattern::new(&text(&b)));
        assert_eq!(one.overlap(&two), Overlap::Yes, "{one:?} and {two:?} are both {}", file.join("/"));
        assert_eq!(two.overlap(&one), Overlap::Yes, "{two:?} and {one:?} are both {}", file.join("/"));
    }
    assert!(met > 5_000, "only {met} pairs had a file in common");
}

#[test]
fn patterns_that_share_no_file_do_not_overlap() {
    let names: Vec<String> = (1..=4_u32)
        .flat_map(|length| (0..1_u32 << length).map(move |bits| (length, bits)))
        .map(|(length, bits)| (0..length).map(|at| if bits >> at & 1 == 0 { 'a' } else { 'b' }).collect())
        .collect();
    let mut files: Vec<Vec<String>> = names.iter().map(|name| vec![name.clone()]).collect();
    files.extend(names.iter().flat_map(|a| names.iter().map(|b| vec![a.clone(), b.clone()])));
    let mut dice = Dice(0x5eed_0002);
    let mut apart = 0;
    for _ in 0..6_000 {
        let (a, b) = (dice.pattern(2, 2), dice.pattern(2, 2));
        if files.iter().any(|file| covers(&a, file) && covers(&b, file)) {
            continue;
        }
        // Brackets and braces are read literally too, which no file of these letters shows.
        let (one, two) = (text(&a), text(&b));
        if one.contains(['[', '{']) && two.contains(['[', '{']) || one == two {
            continue;
        }
        // All but both letters are others than in these files.
        if one.contains("[!ab]") || two.contains("[!ab]") {
            continue;
        }
        // Below a plain path there are longer files than these.
        let deep = |pattern: &[Name]| pattern.iter().any(Option::is_none);
        if is_plain(&a) && deep(&b) || is_plain(&b) && deep(&a) {
            continue;
        }
        let found = Pattern::new(&one).overlap(&Pattern::new(&two));
        let literally = |x: &str, y: &str| x.contains(['[', '{']) && y.contains(['*', '?']);
        if literally(&one, &two) || literally(&two, &one) || one.contains("{,") || two.contains("{,") {
            continue;
        }
        assert!(found < Overlap::May, "{one} and {two}: {found:?}"); // [!a] is also A
        apart += 1;
    }
    assert!(apart > 500, "only {apart} pairs had no file in common");
}

#[test]
fn what_is_shared_lies_within_both() {
    let mut dice = Dice(0x5eed_0003);
    let mut looked = 0;
    for _ in 0..20_000 {
        let (a, b) = (text(&dice.pattern(3, 2)), text(&dice.pattern(3, 2)));
        if a.contains(['[', '{']) || b.contains(['[', '{']) {
            continue;
        }
        let (a, b) = (Pattern::new(&a), Pattern::new(&b));
        let Some(ground) = a.ground(&b) else { continue };
        let shared = Pattern::new(&ground);
        assert_eq!(shared.overlap(&a), Overlap::Yes, "{a:?} and {b:?} share {ground}");
        assert_eq!(shared.overlap(&b), Overlap::Yes, "{a:?} and {b:?} share {ground}");
        looked += 1;
    }
    assert!(looked > 2_000, "only {looked}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn overlap_is_symmetric(a in r"[abAB/*?\[\]{},!\\.^\-]{0,12}", b in r"[abAB/*?\[\]{},!\\.^\-]{0,12}") {
        let (a, b) = (Pattern::new(&a), Pattern::new(&b));
        prop_assert_eq!(a.overlap(&b), b.overlap(&a));
        prop_assert_eq!(a.ground(&b).is_some(), a.overlap(&b) != Overlap::No);
    }

    #[test]
    fn a_pattern_overlaps_itself(text in r"[ab/*?\[\]{},!\\.^\-é]{1,40}", more in "\\PC{0,300}") {
        for text in [text, more] {
            let one = Pattern::new(&text);
            // Unless it names nothing in the repository.
            let nothing = text.is_empty() || text.contains("..");
            prop_assert!(nothing || one.overlap(&one) == Overlap::Yes, "{}", text);
            // The same path from the root on, told apart only by its text.
            let spelt = Pattern::new(&format!("./{text}"));
            prop_assert!(nothing || one.overlap(&spelt) >= Overlap::May, "{}", text);
        }
    }

    #[test]
    fn patterns_overlap_only_where_their_stems_do(
        a in r"[abA/*?\[\]{},\\]{0,10}",
        b in r"[abA/*?\[\]{},\\]{0,10}",
    ) {
        let (a, b) = (Pattern::new(&a), Pattern::new(&b));
        if a.overlap(&b) != Overlap::No {
            let stems = b.stems();
            let near = |x: &str| stems.iter().any(|y| x.starts_with(&**y) || y.starts_with(x));
            prop_assert!(a.stems().iter().any(|x| near(x)));
        }
    }
}
