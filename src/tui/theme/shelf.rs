//! Where themes are: those inside the program, and the user's own folder, whose names count first.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::read::{self, Draft};
use super::{Depth, Theme};
use crate::written::short;

/// The themes inside the program.
pub const BUILT_IN: [(&str, &str); 6] = [
    ("terminal", include_str!("../../../themes/terminal.toml")),
    ("dark", include_str!("../../../themes/dark.toml")),
    ("light", include_str!("../../../themes/light.toml")),
    ("high-contrast", include_str!("../../../themes/high-contrast.toml")),
    ("colorblind", include_str!("../../../themes/colorblind.toml")),
    ("mono", include_str!("../../../themes/mono.toml")),
];

/// The longest file that is taken for a theme.
const LONGEST: u64 = 64 * 1024;

/// All themes that can be had by name.
#[derive(Debug, Clone, Default)]
pub struct Shelf {
    /// The user's own, as `NAME.toml`.
    folder: Option<PathBuf>,
}

/// A theme's file, of the user's own or inside the program.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Book {
    name: String,
    own: bool,
    /// How faults name it.
    file: String,
    text: String,
}

impl Shelf {
    /// The built-in themes, and those in `folder` if there is such a folder.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder: Some(folder) }
    }

    /// The names of all themes: the built-in ones first.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
        let (own, _) = self.own();
        names.extend(own.into_iter().filter(|name| BUILT_IN.iter().all(|(known, _)| known != name)));
        names
    }

    /// The names of the user's own themes, and why their folder can't be read.
    pub fn own(&self) -> (Vec<String>, Option<String>) {
        let Some(folder) = &self.folder else { return (Vec::new(), None) };
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return (Vec::new(), None),
            Err(error) => return (Vec::new(), Some(format!("themes can't be read ({})", error.kind()))),
        };
        let name = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            name.strip_suffix(".toml").filter(|name| is_name(name)).map(str::to_owned)
        };
        let mut names: Vec<String> = entries.flatten().filter_map(name).collect();
        names.sort();
        (names, None)
    }

    /// The theme of this name, in the colours that the terminal has. The errors are sentences, one a fault.
    pub fn theme(&self, name: &str, depth: Depth) -> Result<Theme, Vec<String>> {
        match self.find(name, None) {
            Ok(Some(book)) => self.open(book, depth),
            Ok(None) => {
                Err(vec![format!("there is no theme {}, only {}", short(name), self.names().join(", "))])
            }
            Err(fault) => Err(vec![fault]),
        }
    }

    /// The theme in this file, wherever it is.
    pub fn file(&self, path: &Path, depth: Depth) -> Result<Theme, Vec<String>> {
        let file = crate::shown::line(&path.display().to_string());
        let text = text(path, &file).map_err(|fault| vec![fault])?;
        let text = text.ok_or_else(|| vec![format!("there is no file {file}")])?;
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.open(Book { name, own: true, file, text }, depth)
    }

    fn open(&self, book: Book, depth: Depth) -> Result<Theme, Vec<String>> {
        let mut faults = Vec::new();
        let file = book.file.clone();
        let draft = self.gather(book, &mut Vec::new(), &mut faults);
        let theme = draft.theme(&file, depth, &mut faults);
        if faults.is_empty() { Ok(theme) } else { Err(faults) }
    }

    /// What a theme says, on top of what those say that it inherits from. `trail` are the themes that led here.
    fn gather(&self, book: Book, trail: &mut Vec<Book>, faults: &mut Vec<String>) -> Draft {
        let (draft, heir) = read::draft(&book.file, &book.text, faults);
        let Some(heir) = heir else { return draft };
        let at = format!("{}, line {}: inherits = \"{}\"", book.file, heir.line, short(&heir.from));
        let from = self.find(&heir.from, Some(&book));
        trail.push(book);
        match from {
            Ok(Some(next)) if trail.contains(&next) => {
                let names: Vec<&str> = trail.iter().chain([&next]).map(|book| book.name.as_str()).collect();
                faults.push(format!("{at} leads back to itself: {}", names.join(" → ")));
                draft.or_all()
            }
            Ok(Some(next)) => draft.on(self.gather(next, trail, faults)),
            Ok(None) => {
                faults.push(format!("{at} is no theme; there are {}", self.names().join(", ")));
                draft.or_all()
            }
            Err(fault) => {
                faults.push(fault);
                draft.or_all()
            }
        }
    }

    /// The file of a theme's name. A theme of the user's own that inherits its own name means the built-in one.
    fn find(&self, name: &str, heir: Option<&Book>) -> Result<Option<Book>, String> {
        let inside = BUILT_IN.iter().find(|(known, _)| *known == name);
        let renews = heir.is_some_and(|heir| heir.own && heir.name == name) && inside.is_some();
        if let Some(folder) = self.folder.as_ref().filter(|_| is_name(name) && !renews) {
            let file = format!("themes/{name}.toml");
            if let Some(text) = text(&folder.join(format!("{name}.toml")), &file)? {
                return Ok(Some(Book { name: name.to_owned(), own: true, file, text }));
            }
        }
        Ok(inside.map(|(name, text)| Book {
            name: (*name).to_owned(),
            own: false,
            file: format!("the built-in {name}.toml"),
            text: (*text).to_owned(),
        }))
    }
}

/// Whether a theme can be called so: its name is also a file's.
fn is_name(name: &str) -> bool {
    let sign = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    !name.is_empty() && name.len() <= 64 && name.bytes().all(sign)
}

/// What is in a theme's file; `None` where there is none.
fn text(path: &Path, file: &str) -> Result<Option<String>, String> {
    let unreadable = |error: std::io::Error| format!("{file} can't be read ({})", error.kind());
    // Nothing says that it is a file, or that it ends: opening a pipe would wait for somebody to write.
    match fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(format!("{file} is no file")),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    }
    let open = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    open.take(LONGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LONGEST {
        return Err(format!("{file} is longer than {} KiB: that is no theme", LONGEST / 1024));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| format!("{file} is not UTF-8"))
}
