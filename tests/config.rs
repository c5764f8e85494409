//! Settings: what counts over what, where keys may go, and how faults are said.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use prickle::cli::Reach;
use prickle::client::Trust;
use prickle::config::{Ambiguous, Config, Folders, How, Surroundings, Token};
use prickle::tui::keys::{Action, Keys};
use tempfile::TempDir;

/// A user's home and a repository, with what the test puts into them.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("repo/src/deep")).unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    fn around(&self, vars: &[(&str, &str)]) -> Surroundings {
        let home = self.path("home");
        let base = [
            ("PRICKLE_HOME", home.to_str().unwrap()),
            ("USER", "Ada Lovelace"),
            ("HOME", home.to_str().unwrap()),
        ];
        Surroundings::new(&self.path("repo/src/deep"), base.into_iter().chain(vars.iter().copied()))
    }

    fn read(&self, reach: &Reach, vars: &[(&str, &str)]) -> Result<Config, String> {
        Config::read(reach, &self.around(vars)).map_err(|e| e.to_string())
    }

    fn config(&self, vars: &[(&str, &str)]) -> Config {
        self.read(&Reach::default(), vars).unwrap()
    }

    fn fault(&self, vars: &[(&str, &str)]) -> String {
        let text = self.read(&Reach::default(), vars).unwrap_err();
        text.replace(self.folder.path().to_str().unwrap(), "")
    }
}

fn at(server: &str) -> Reach {
    Reach { server: Some(server.into()), ..Reach::default() }
}

fn project(config: &Config) -> Option<String> {
    config.project().map(String::from)
}

fn secret(config: &Config) -> String {
    config.access().unwrap().token.secret().to_owned()
}

#[test]
fn without_any_setting_the_room_is_this_machines() {
    let config = Place::new().config(&[]);
    assert_eq!(config.server.to_string(), "http://127.0.0.1:7766");
    assert_eq!(project(&config), None);
    assert_eq!((config.ambiguous, config.stale_minutes, config.theme), (Ambiguous::Narrow, 15, None));
    assert_eq!(config.warnings, [""; 0]);
}

#[test]
fn all_files_are_in_prickle_home_if_it_is_set() {
    let place = Place::new();
    let folders = Folders::find(&place.around(&[])).unwrap();
    let home = place.path("home");
    assert_eq!(folders, Folders { config: home.clone(), data: home.clone(), state: home.clone() });
    assert_eq!(folders.database(), home.join("room.db"));
}

#[test]
fn flags_count_over_the_environment_and_that_over_files() {
    let place = Place::new();
    let file = "server = \"http://127.0.0.1:1\"\nproject = \"filed\"\ntheme = \"filed\"\nstale_minutes = 30\nambiguous = \"wide\"\n";
    place.write("home/config.toml", file);
    let config = place.config(&[]);
    assert_eq!(config.server.to_string(), "http://127.0.0.1:1");
    assert_eq!(project(&config).unwrap(), "filed");
    assert_eq!((config.ambiguous, config.stale_minutes), (Ambiguous::Wide, 30));
    assert_eq!(config.theme.as_deref(), Some("filed"));

    place.write("repo/.prickle.toml", "project = \"repository\"\n");
    assert_eq!(project(&place.config(&[])).unwrap(), "repository");

    let vars =
        [("PRICKLE_SERVER", "http://127.0.0.1:2/"), ("PRICKLE_PROJECT", "env"), ("PRICKLE_THEME", "env")];
    let config = place.config(&vars);
    assert_eq!(config.server.to_string(), "http://127.0.0.1:2");
    assert_eq!(project(&config).unwrap(), "env");
    assert_eq!(config.theme.as_deref(), Some("env"));
    assert_eq!(project(&config.with_project("flag".parse().ok())).unwrap(), "flag");

    let config = place.read(&at("http://127.0.0.1:3"), &vars).unwrap();
    assert_eq!(config.server.to_string(), "http://127.0.0.1:3");

    let config = place.config(&[("PRICKLE_SERVER", ""), ("PRICKLE_PROJECT", ""), ("PRICKLE_THEME", "")]);
    assert_eq!(config.server.to_string(), "http://127.0.0.1:1", "an empty variable is one that is not set");
    assert_eq!(project(&config).unwrap(), "repository");
}

#[test]
fn the_key_is_looked_for_in_the_same_order() {
    let place = Place::new();
    let named =
        |name: &str, token: &str| place.write(name, &format!("{token}\n")).to_str().unwrap().to_owned();
    let (flag, variable) = (named("flag", "prk_flag"), named("variable", "prk_variable"));
    named("home/filed", "prk_filed");
    place.config(&[]).save(&"prk_saved".parse().unwrap()).unwrap();
    assert_eq!(secret(&place.config(&[])), "prk_saved");
    place.write("home/config.toml", "token_file = \"filed\"\n");
    assert_eq!(secret(&place.config(&[])), "prk_filed");
    place.write("home/config.toml", "token_file = \"~/filed\"\n");
    assert_eq!(secret(&place.config(&[])), "prk_filed");
    let mut vars = vec![("PRICKLE_TOKEN_FILE", variable.as_str())];
    assert_eq!(secret(&place.config(&vars)), "prk_variable");
    vars.push(("PRICKLE_TOKEN", "prk_text"));
    assert_eq!(secret(&place.config(&vars)), "prk_text");
    let reach = Reach { token_file: Some(flag.into()), ..Reach::default() };
    assert_eq!(secret(&place.read(&reach, &vars).unwrap()), "prk_flag");
}

#[test]
fn a_key_goes_only_to_the_server_that_it_was_given_for() {
    let place = Place::new();
    place.write("home/filed", "prk_filed");
    place.config(&[]).save(&"prk_local".parse().unwrap()).unwrap();
    place.read(&at("https://room.example.org"), &[]).unwrap().save(&"prk_hosted".parse().unwrap()).unwrap();
    assert_eq!(secret(&place.read(&at("https://ROOM.example.org:443/"), &[]).unwrap()), "prk_hosted");
    place.write("home/config.toml", "server = \"http://127.0.0.1:1\"\ntoken_file = \"filed\"\n");
    assert_eq!(secret(&place.config(&[])), "prk_filed");
    assert_eq!(secret(&place.config(&[("PRICKLE_SERVER", "http://127.0.0.1:7766")])), "prk_local");
    let elsewhere = place.read(&at("http://127.0.0.1:2"), &[]).unwrap();
    assert!(elsewhere.access().unwrap_err().starts_with("there is no key for http://127.0.0.1:2"));
}

/// A root's certificate of one's own, as a PEM file's text.
fn root() -> String {
    let mut root = rcgen::CertificateParams::new([]).unwrap();
    root.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    root.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem()
}

#[test]
fn a_ca_is_looked_for_in_the_same_order_and_counts_for_https_alone() {
    let place = Place::new();
    place.write("home/key", "prk_a");
    let key = [("PRICKLE_TOKEN", "prk_a")];
    let trust = |config: &Config| config.access().unwrap().trust;
    let (flag, variable, filed) = (root(), root(), root());
    let of = |text: &str| Trust::and(text.as_bytes()).unwrap();
    let flag_at = place.write("flag.pem", &flag);
    let variable_at = place.write("variable.pem", &variable).to_str().unwrap().to_owned();
    place.write("home/filed.pem", &filed);
    place.write("home/config.toml", "server = \"https://room.example.org\"\nca = \"filed.pem\"\n");
    assert_eq!(trust(&place.config(&key)), of(&filed));
    place.write("home/config.toml", "server = \"https://room.example.org\"\nca = \"~/filed.pem\"\n");
    assert_eq!(trust(&place.config(&key)), of(&filed));
    // The file's CA is for the file's server: another's word on it was not asked for.
    assert_eq!(trust(&place.read(&at("https://other.example.org"), &key).unwrap()), Trust::default());
    let vars = [key[0], ("PRICKLE_CA", &variable_at)];
    assert_eq!(trust(&place.config(&vars)), of(&variable));
    let reach = Reach { ca: Some(flag_at.clone()), ..at("https://other.example.org") };
    assert_eq!(trust(&place.read(&reach, &vars).unwrap()), of(&flag));
    let plain = Reach { ca: Some("none.pem".into()), ..at("http://127.0.0.1:1") };
    assert_eq!(trust(&place.read(&plain, &vars).unwrap()), Trust::default(), "not even looked for");
}

#[test]
fn a_bad_ca_is_said_with_file_cause_and_remedy_and_read_once_it_is_mended() {
    let place = Place::new();
    let key = [("PRICKLE_TOKEN", "prk_a")];
    let path = place.path("ca.pem");
    let reach = Reach { ca: Some(path.clone()), ..at("https://room.example.org") };
    let config = place.read(&reach, &key).unwrap();
    let fault = || config.access().unwrap_err().replace(path.to_str().unwrap(), "FILE");
    assert!(fault().starts_with("--ca: there is no file FILE; name the PEM file"), "{}", fault());
    let good = root();
    for (text, said) in [
        ("", "FILE holds no certificate; it must be PEM"),
        (
            rcgen::KeyPair::generate().unwrap().serialize_pem().as_str(),
            "FILE holds no certificate; it must be PEM",
        ),
        ("-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n", "certificate 1 in it is damaged"),
        (
            format!("{good}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").as_str(),
            "certificate 2",
        ),
        (good.lines().next().unwrap(), "damaged; copy the file anew"),
    ] {
        fs::write(&path, text).unwrap();
        assert!(fault().starts_with("--ca: FILE ") && fault().contains(said), "{text}: {}", fault());
    }
    fs::write(&path, &good).unwrap();
    assert_eq!(config.access().unwrap().trust, Trust::and(good.as_bytes()).unwrap());
    let folder = Reach { ca: Some(place.path("home")), ..reach };
    let fault = place.read(&folder, &key).unwrap().access().unwrap_err();
    assert!(fault.contains("is a directory"), "{fault}");
}

#[test]
fn a_repository_can_name_its_project_and_nothing_else() {
    let place = Place::new();
    place.write("home/filed", "prk_filed");
    place.write("home/config.toml", "token_file = \"filed\"\n");
    let file = "project = \"site\"\nserver = \"https://evil.example.org\"\ntoken_file = \"/etc/x\"\nca = \"/etc/y\"\n\"\\u001b[2J\" = 1\n";
    let path = place.write("repo/.prickle.toml", file);
    let config = place.config(&[]);
    assert_eq!(config.server.to_string(), "http://127.0.0.1:7766");
    assert_eq!(secret(&config), "prk_filed");
    assert_eq!(project(&config).unwrap(), "site");
    let [warning] = config.warnings.as_slice() else { panic!("{:?}", config.warnings) };
    assert!(warning.starts_with(&format!("{} may hold only project; ", path.display())), "{warning}");
    assert!(["server", "token_file", "ca"].iter().all(|name| warning.contains(name)));
    assert!(!warning.contains('\u{1b}'));
}

#[test]
fn the_nearest_repository_file_counts_and_a_broken_one_stops_nothing() {
    let place = Place::new();
    place.write(".prickle.toml", "project = \"outer\"\n");
    assert_eq!(project(&place.config(&[])).unwrap(), "outer");
    place.write("repo/src/.prickle.toml", "project = \"inner\"\n");
    assert_eq!(project(&place.config(&[])).unwrap(), "inner");
    for (text, said) in [
        ("project = \"Not A Slug\"\n", "line 1: project = \"Not A Slug\" must be a room's name"),
        ("\nproject = 5\n", "line 2: project = 5 must be a room's name"),
        ("project = \"a\"\nproject =", "line 2 can't be read"),
    ] {
        place.write("repo/src/.prickle.toml", text);
        let config = place.config(&[]);
        assert_eq!(project(&config), None, "{text}");
        assert!(
            config.warnings[0].contains(said) && config.warnings[0].contains("ignored"),
            "{:?}",
            config.warnings
        );
        assert!(config.no_project(&[]).to_string().contains(said));
    }
    fs::remove_file(place.path("repo/src/.prickle.toml")).unwrap();
    fs::create_dir(place.path("repo/src/.prickle.toml")).unwrap();
    assert_eq!(project(&place.config(&[])).unwrap(), "outer", "a folder of that name is no file");
}

#[test]
fn a_fault_in_the_config_names_file_line_value_and_what_is_allowed() {
    let place = Place::new();
    for (text, said) in [
        ("theme = 42\n", "/home/config.toml, line 1: theme = 42 must be a theme's name in quotes"),
        (
            "\n\nambiguous = \"both\"",
            "/home/config.toml, line 3: ambiguous = \"both\" must be \"narrow\" or \"wide\"",
        ),
        ("stale_minutes = 0", "line 1: stale_minutes = 0 must be a whole number of minutes from 1 to 1440"),
        ("stale_minutes = \"9\"", "line 1: stale_minutes = \"9\" must be"),
        ("stale_minutes = 99999999999999999999", "line 1: stale_minutes = 99999999999999999999 must be"),
        (
            "project = \"Web\"",
            "line 1: project = \"Web\" must be a room's name in quotes, like \"website-v2\"",
        ),
        ("server = \"room\"", "line 1: server = \"room\" must be a room's address in quotes"),
        ("token_file = \"\"", "line 1: token_file = \"\" must be a file's path"),
        ("local_port = 65536", "line 1: local_port = 65536 must be a free port"),
        ("ca = \"\"", "line 1: ca = \"\" must be a file's path"),
        (
            "project = \"a\"\nserve = 1",
            "line 2: there is no setting serve; there are server, token_file, project, theme, ambiguous, stale_minutes, local_port, ca, colors, title, notify, keys",
        ),
        ("title = \"off\"", "line 1: title = \"off\" must be true or false"),
        (
            "notify = \"mail\"",
            "line 1: notify = \"mail\" must be \"off\", \"bell\", \"osc9\", or a command as a list",
        ),
        ("notify = true", "line 1: notify = true must be \"off\", \"bell\""),
        ("notify = []", "line 1: notify = [] must be \"off\", \"bell\""),
        ("notify = [\"\"]", "line 1: notify = [\"\"] must be \"off\", \"bell\""),
        ("notify = [\"sh\", 1]", "line 1: notify = [\"sh\", 1] must be \"off\", \"bell\""),
        ("keys = \"vi\"", "line 1: keys = \"vi\" must be a table: [keys] on a line of its own"),
        (
            "[keys]\n\ndown = 1",
            "line 3: down = 1 must be a key's name, or a list of them, like [\"j\", \"down\"]",
        ),
        ("[keys]\ndown = [\"j\",\n2]", "line 2: down = [\"j\",·2] must be a key's name, or a list of them"),
        ("project = \"a\"\nproject", "line 2 can't be read: "),
        ("project = \"a\nb\"", "line 1 can't be read: "),
        ("theme = 1\nambiguous = 2", "config.toml, line 2: ambiguous = 2"),
    ] {
        place.write("home/config.toml", text);
        let fault = place.fault(&[]);
        assert!(fault.contains(said), "{text}: {fault}");
        let lenient = Config::read_leniently(&Reach::default(), &place.around(&[])).unwrap();
        let warnings = lenient.warnings.join("; ").replace(place.folder.path().to_str().unwrap(), "");
        assert_eq!(warnings, fault, "watch starts, and says the same");
        assert_eq!(lenient.server.to_string(), "http://127.0.0.1:7766");
    }
    fs::write(place.path("home/config.toml"), [0xff, 0xfe]).unwrap();
    assert!(place.fault(&[]).ends_with("/home/config.toml is not UTF-8"));
}

#[test]
fn a_fault_beside_good_settings_costs_only_itself() {
    let place = Place::new();
    place.write("home/config.toml", "project = \"site\"\nambiguous = 1\nstale_minutes = 5\n");
    let config = Config::read_leniently(&Reach::default(), &place.around(&[])).unwrap();
    assert_eq!((project(&config).unwrap().as_str(), config.stale_minutes), ("site", 5));
    assert_eq!(config.warnings.len(), 1);
}

#[test]
fn what_looks_like_a_secret_is_not_repeated() {
    let place = Place::new();
    for text in [
        "server = \"http://me:prk_secret@127.0.0.1\"",
        "server = \"http://127.0.0.1?key=prk_secret\"",
        "server = \"me:prk_secret@127.0.0.1\"",
        "token = \"prk_secret\"",
    ] {
        place.write("home/config.toml", text);
        assert!(!place.fault(&[]).contains("prk_"), "{}", place.fault(&[]));
    }
    fs::remove_file(place.path("home/config.toml")).unwrap();
    for server in ["http://me:prk_secret@127.0.0.1", "http://127.0.0.1?prk_secret", "me:prk_secret@host"] {
        assert!(!place.fault(&[("PRICKLE_SERVER", server)]).contains("prk_secret"));
        assert!(!place.read(&at(server), &[]).unwrap_err().contains("prk_secret"));
    }
    assert_eq!(
        place.fault(&[("PRICKLE_TOKEN", "prk_secret two")]),
        "PRICKLE_TOKEN must be one word of letters, digits and signs, as `prickle key create` writes it"
    );
    let token: Token = "prk_secret".parse().unwrap();
    place.config(&[]).save(&token).unwrap();
    assert!(!format!("{:?}", place.config(&[("PRICKLE_TOKEN", "prk_secret")])).contains("prk_secret"));
    place.write("home/credentials.toml", "[\"http://127.0.0.1:7766\"]\ntoken = \"prk_secret\ntoken = 5\n");
    let fault = place.config(&[]).access().unwrap_err();
    assert!(fault.contains("credentials.toml, line 2 is no TOML") && !fault.contains("prk_"), "{fault}");
}

#[test]
fn a_bad_flag_or_variable_names_itself_and_what_is_right() {
    let place = Place::new();
    let right = "must be an address like http://127.0.0.1:7766 or https://room.example.org";
    assert_eq!(place.read(&at("room:1"), &[]).unwrap_err(), format!("--server is room:1, but {right}"));
    assert_eq!(
        place.fault(&[("PRICKLE_SERVER", "room:1")]),
        format!("PRICKLE_SERVER is room:1, but {right}")
    );
    let fault = place.fault(&[("PRICKLE_PROJECT", "My Site")]);
    assert!(
        fault.starts_with("PRICKLE_PROJECT is My Site, but a room's name must be 1 to 39 lower-case"),
        "{fault}"
    );
}

#[test]
fn a_key_does_not_cross_a_network_in_the_clear() {
    let place = Place::new();
    let vars = [("PRICKLE_TOKEN", "prk_x")];
    let fault = place.read(&at("http://10.0.0.5:7766"), &vars).unwrap().access().unwrap_err();
    assert_eq!(
        fault,
        "http://10.0.0.5:7766 is another machine, and plain HTTP would show the key on the way; \
         use https:// or allow it with --insecure"
    );
    for reach in [
        Reach { insecure: true, ..at("http://10.0.0.5:7766") },
        at("https://10.0.0.5:7766"),
        at("http://[::1]:7766"),
        at("http://localhost:7766"),
    ] {
        assert!(place.read(&reach, &vars).unwrap().access().is_ok(), "{reach:?}");
    }
}

#[test]
fn without_a_key_the_next_step_is_named() {
    let place = Place::new();
    assert_eq!(
        place.config(&[("PRICKLE_PROJECT", "site")]).access().unwrap_err(),
        "there is no key for http://127.0.0.1:7766; make one with: \
         prickle key create --kind person --owner ada-lovelace --project site --save"
    );
    assert_eq!(
        place.config(&[]).with_project("shop".parse().ok()).as_agent().access().unwrap_err(),
        "there is no key for http://127.0.0.1:7766; make one with: \
         export PRICKLE_TOKEN=\"$(prickle key create --kind client --agent ada-lovelace/NAME --project shop)\""
    );
    let other = place.read(&at("http://127.0.0.1:1"), &[]).unwrap().access().unwrap_err();
    assert!(
        other.ends_with("--owner ada-lovelace --project PROJECT --save --server http://127.0.0.1:1"),
        "{other}"
    );
    let hosted = place.read(&at("https://room.example.org"), &[]).unwrap().access().unwrap_err();
    assert!(hosted.ends_with("ask whoever runs it for one, and name its file with --token-file"), "{hosted}");
    let reach = Reach { token_file: Some("none".into()), ..Reach::default() };
    let missing = place.read(&reach, &[]).unwrap().access().unwrap_err();
    assert!(missing.starts_with("--token-file: there is no file "), "{missing}");
    let seen = ["site".to_owned(), "shop".to_owned()];
    assert_eq!(
        place.config(&[]).no_project(&seen).to_string(),
        "which room? Name it in the command, in PRICKLE_PROJECT, or as project = \"…\" in .prickle.toml; \
         your key sees site, shop"
    );
}

#[test]
fn a_key_that_was_made_meanwhile_is_found() {
    let place = Place::new();
    let config = place.config(&[]);
    let source = config.source();
    assert!(source().is_err());
    config.save(&"prk_new".parse().unwrap()).unwrap();
    assert_eq!(source().unwrap().token.secret(), "prk_new");
}

#[test]
fn a_key_that_others_can_read_is_said() {
    let place = Place::new();
    let path = place.write("key", "prk_x");
    let vars = [("PRICKLE_TOKEN_FILE", path.to_str().unwrap())];
    assert_eq!(place.config(&vars).warnings, [""; 0]);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let config = place.config(&vars);
    let path = path.display();
    let said = format!("{path} holds a key that others on this machine can read: chmod 600 {path}");
    assert_eq!(config.warnings, [said]);
    assert_eq!(secret(&config), "prk_x", "it is said, not refused");
}

#[test]
fn saving_keeps_the_other_keys_and_replaces_no_link() {
    let place = Place::new();
    let real = place.write("dotfiles", "[\"http://127.0.0.1:9\"]\ntoken = \"prk_nine\"\nnote = \"mine\"\n");
    symlink(&real, place.path("home/credentials.toml")).unwrap();
    place.config(&[]).save(&"prk_new".parse().unwrap()).unwrap();
    assert!(fs::symlink_metadata(place.path("home/credentials.toml")).unwrap().is_symlink());
    assert_eq!(secret(&place.read(&at("http://127.0.0.1:9"), &[]).unwrap()), "prk_nine");
    assert_eq!(secret(&place.config(&[])), "prk_new");
    assert!(fs::read_to_string(&real).unwrap().contains("note = \"mine\""));
    let broken = place.write("dotfiles", "[\"http://127.0.0.1:9\"\n");
    let fault = place.config(&[]).save(&"prk_new".parse().unwrap()).unwrap_err().to_string();
    assert!(fault.contains("is no TOML; mend it or move the file away"), "{fault}");
    assert_eq!(fs::read_to_string(broken).unwrap(), "[\"http://127.0.0.1:9\"\n", "left as it was");
}

#[test]
fn keys_that_are_saved_at_once_are_all_kept() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for port in 1..=16 {
            let place = &place;
            scope.spawn(move || {
                let config = place.read(&at(&format!("http://127.0.0.1:{port}")), &[]).unwrap();
                config.save(&format!("prk_{port}").parse().unwrap()).unwrap();
            });
        }
    });
    for port in 1..=16 {
        let config = place.read(&at(&format!("http://127.0.0.1:{port}")), &[]).unwrap();
        assert_eq!(secret(&config), format!("prk_{port}"));
    }
}

#[test]
fn how_far_the_screen_reaches_is_a_setting() {
    let place = Place::new();
    let config = place.config(&[]);
    assert_eq!((config.title, config.notify, config.keys), (true, How::Off, Vec::new()));
    for (text, how) in [
        ("\"off\"", How::Off),
        ("\"bell\"", How::Bell),
        ("\"osc9\"", How::Osc9),
        ("[\"notify-send\", \"prickle\"]", How::Command(vec!["notify-send".into(), "prickle".into()])),
    ] {
        place.write("home/config.toml", &format!("title = false\nnotify = {text}\n"));
        let config = place.config(&[]);
        assert_eq!((config.title, config.notify), (false, how));
    }
}

/// What is said of a key that there is not.
const KEYS: &str = "there is no such key; there are letters (a capital for Shift) and signs, ctrl- with a \
                    letter, up, down, left, right, home, end, pgup, pgdn, enter, esc, tab, shift-tab, space, \
                    backspace, insert, delete, f1 to f12";

#[test]
fn a_fault_in_the_keys_names_file_line_value_and_what_is_right() {
    let place = Place::new();
    for (text, said) in [
        ("dwn = \"j\"", "line 2: there is no action dwn; there are retry, back, next, previous, open, "),
        ("quit-always = \"j\"", "line 2: there is no action quit-always; there are "),
        ("\"\\u001b[2J\" = \"j\"", "line 2: there is no action ·; there are "),
        ("down = \"ctrl-1\"", &format!("line 2: down = ctrl-1: {KEYS}")),
        ("down = \"pagedown\"", &format!("line 2: down = pagedown: {KEYS}")),
        ("down = \"\"", &format!("line 2: down = : {KEYS}")),
        ("down = \"\\u0007\"", &format!("line 2: down = ·: {KEYS}")),
        ("down = \"f13\"", &format!("line 2: down = f13: {KEYS}")),
        ("down = [\n\"j\",\n\"jj\",\n]", &format!("line 4: down = jj: {KEYS}")),
        ("help = \"ctrl-c\"", "line 2: help = ctrl-c: that key always quits; take another"),
        ("help = \"Ctrl-S\"", "line 2: help = Ctrl-S: that key stops many terminals' output; take another"),
        ("help = \"ctrl-q\"", "line 2: help = ctrl-q: that key lets many terminals' output go on"),
        ("help = \"ctrl-b\"", "line 2: help = ctrl-b: that key is tmux's; take another"),
        ("help = \"ctrl-a\"", "line 2: help = ctrl-a: that key is screen's; take another"),
        ("help = \"ctrl-\\\\\"", "line 2: help = ctrl-\\: that key kills the program in many terminals"),
        ("help = \"ctrl-i\"", "line 2: help = ctrl-i: that key is tab to a terminal; take another"),
        ("help = \"alt-h\"", "line 2: help = alt-h: to a terminal, Alt is Esc and then the key; take"),
        ("help = \"j\"", "line 2: help = j: that is the key of down too; give down another"),
        (
            "help = \"h\"\nback = \"esc\"\nquit = \"esc\"",
            "line 3: back = esc: that is the key of quit too; give quit another",
        ),
        ("help = \"H\"\nquit = \"H\"", "line 2: help = H: that is the key of quit too; give quit another"),
    ] {
        place.write("home/config.toml", &format!("[keys]\n{text}\n"));
        let config = place.config(&[]);
        let faults = Keys::with(&config.keys).unwrap_err();
        let file = place.path("home/config.toml");
        let first = faults[0].strip_prefix(file.to_str().unwrap()).expect("the file").to_owned();
        assert!(first.starts_with(&format!(", {said}")), "{text}: {first}");
        assert!(!first.contains(char::is_control), "{first:?}");
    }
    place.write("home/config.toml", "[keys]\ndwn = \"j\"\ndown = \"jj\"\nup = \"?\"\n");
    assert_eq!(Keys::with(&place.config(&[]).keys).unwrap_err().len(), 3, "all of them at once");
}

#[test]
fn keys_are_exchanged_as_the_settings_say() {
    let place = Place::new();
    place.write(
        "home/config.toml",
        "[keys]\ndown = [\"n\", \"down\", \"Ctrl-n\", \"n\"]\nnext = \"j\"\nsuspend = []\nhelp = [\"?\", \"F1\", \"space\"]\n",
    );
    let keys = Keys::with(&place.config(&[]).keys).unwrap();
    let named = |action: &str| -> Vec<String> {
        let mut rows = keys.rows();
        let (_, keys) = rows.find(|(binding, _)| binding.name == action).unwrap();
        keys.iter().map(|key| key.name()).collect()
    };
    assert_eq!(named("down"), ["n", "↓", "Ctrl-n"]);
    assert_eq!(named("next"), ["j"]);
    assert_eq!(named("suspend"), [""; 0]);
    assert_eq!(named("help"), ["?", "F1", "Space"]);
    assert_eq!(named("quit-always"), ["Ctrl-c"]);
    assert_eq!(Keys::with(&[]).unwrap(), Keys::default());
    let press = |code, modifiers| keys.action(KeyEvent::new(code, modifiers), |_| true);
    assert_eq!(press(KeyCode::Char('n'), KeyModifiers::NONE), Some(Action::Down));
    assert_eq!(press(KeyCode::Char('n'), KeyModifiers::CONTROL), Some(Action::Down));
    assert_eq!(press(KeyCode::Char('j'), KeyModifiers::NONE), Some(Action::NextNeedsYou));
    assert_eq!(press(KeyCode::Char('z'), KeyModifiers::CONTROL), None);
    assert_eq!(press(KeyCode::F(1), KeyModifiers::NONE), Some(Action::Help));
}
