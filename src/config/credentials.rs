//! Keys in files: read when they are needed, and saved so that nobody else can read them, not for a moment.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::Environment;
use crate::client::{Server, Token};
use crate::shown;

fn name(path: &Path) -> String {
    shown::line(&path.display().to_string())
}

/// The key that a file of its own holds. `named` says how the user named the file.
pub(super) fn token_file(path: &Path, named: &str) -> Result<Token, String> {
    let file = name(path);
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("{named}: there is no file {file}"),
        ErrorKind::PermissionDenied => format!("{named}: this user may not read {file}"),
        ErrorKind::InvalidData => format!("{named}: {file} holds no key"),
        kind => format!("{named}: {file} can't be read ({kind})"),
    })?;
    text.parse().map_err(|error| format!("{named}: the key in {file} {error}"))
}

/// The key that is saved for `server`, if one is.
pub(super) fn saved(path: &Path, server: &Server) -> Result<Option<Token>, String> {
    let table = read(path)?;
    let Some(token) = table.get(&server.to_string()).and_then(|entry| entry.get("token")) else {
        return Ok(None);
    };
    let token = token.as_str().and_then(|text| text.parse().ok());
    token.map(Some).ok_or_else(|| {
        format!(
            "{}: the token under [\"{server}\"] is no key; replace it with one that prickle key create made",
            name(path)
        )
    })
}

/// What the file holds; nothing where there is none. The text of a fault shows nothing of the file's.
fn read(path: &Path) -> Result<Table, String> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Table::new()),
        Err(error) => return Err(format!("{} can't be read ({})", name(path), error.kind())),
    };
    text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        format!("{}, line {line} is no TOML; mend it or move the file away", name(path))
    })
}

/// Saves `token` as the key for `server` and keeps all others. The file is replaced in one step.
pub(super) fn save(path: &Path, server: &Server, token: &Token) -> Result<(), String> {
    // A link leads to the file that is meant; replacing the link would leave the old keys behind it.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let _turn = turn(path)?;
    replace(path, server, token)
}

/// Under which address a key was saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The one that is asked for.
    Here,
    /// Another one.
    Elsewhere,
}

/// Makes sure that a key is saved for `server` that is `good`: the one that is, else one of another address, else
/// what `make` makes.
pub(super) fn save_unless(
    path: &Path,
    server: &Server,
    good: impl Fn(&Token, Place) -> anyhow::Result<bool>,
    make: impl FnOnce() -> anyhow::Result<Token>,
) -> anyhow::Result<()> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let _turn = turn(path).map_err(Environment)?;
    if let Some(token) = saved(path, server).map_err(Environment)?
        && good(&token, Place::Here)?
    {
        return Ok(());
    }
    let table = read(path).map_err(Environment)?;
    let tokens = table.values().filter_map(|entry| entry.get("token")?.as_str()?.parse().ok());
    for token in tokens {
        if good(&token, Place::Elsewhere)? {
            return Ok(replace(path, server, &token).map_err(Environment)?);
        }
    }
    Ok(replace(path, server, &make()?).map_err(Environment)?)
}

/// Writes what `make` makes into a file of its own, unless a key is in it that is `good`.
pub(super) fn key_file(
    path: &Path,
    good: impl FnOnce(&Token) -> anyhow::Result<bool>,
    make: impl FnOnce() -> anyhow::Result<Token>,
) -> anyhow::Result<()> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let _turn = turn(path).map_err(Environment)?;
    let there: Option<Token> = match fs::read_to_string(path) {
        Ok(text) => text.parse().ok(),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => None,
        Err(error) => {
            return Err(Environment(format!("{} can't be read ({})", name(path), error.kind())).into());
        }
    };
    if there.map_or(Ok(false), |token| good(&token))? {
        return Ok(());
    }
    put(path, &format!("{}\n", make()?.secret())).map_err(Environment)?;
    Ok(())
}

/// Whoever holds this may change the keys in the folder of `path`, which is made where it is missing: two
/// commands that save at once take turns, so that neither loses the other's key.
fn turn(path: &Path) -> Result<Option<File>, String> {
    let folder = path.parent().unwrap_or(Path::new("."));
    private_folder(folder).map_err(|e| failed(&format!("{} can't be made", name(folder)), &e))?;
    Ok(File::open(folder).and_then(|dir| dir.lock().map(|()| dir)).ok())
}

fn failed(what: &str, error: &std::io::Error) -> String {
    format!("the key can't be saved: {what} ({})", error.kind())
}

/// Saves the token for the server. The one before is kept beside it: it may be of another room that was, or will
/// be, at the same address, and nobody else has it.
fn replace(path: &Path, server: &Server, token: &Token) -> Result<(), String> {
    const KEPT: usize = 5;
    let mut table = read(path)?;
    let entry = table.entry(server.to_string()).or_insert_with(|| Value::Table(Table::new()));
    if !entry.is_table() {
        *entry = Value::Table(Table::new());
    }
    if let Some(entry) = entry.as_table_mut() {
        let before = entry.insert("token".into(), Value::String(token.secret().into()));
        let old = before.filter(|before| before.as_str().is_some_and(|before| before != token.secret()));
        if let Some(old) = old {
            let mut kept = vec![old];
            kept.extend(entry.get("before").and_then(Value::as_array).into_iter().flatten().cloned());
            kept.truncate(KEPT);
            entry.insert("before".into(), Value::Array(kept));
        }
    }
    put(path, &table.to_string())
}

/// Replaces the file in one step.
fn put(path: &Path, text: &str) -> Result<(), String> {
    let fresh = fresh_name(path);
    let written = write(&fresh, text, mode(path)).and_then(|()| fs::rename(&fresh, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&fresh);
        failed(&format!("{} can't be written", name(path)), &error)
    })
}

/// A folder that only this user can enter; one that is there already is left as it is.
fn private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The mode that the new file gets: the old one's, if the user made it narrower, and never wider than 0600.
#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).map_or(0o600, |m| (m.permissions().mode() & 0o600) | 0o400)
}

#[cfg(not(unix))]
fn mode(_: &Path) -> u32 {
    0o600
}

fn fresh_name(path: &Path) -> PathBuf {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}.new", std::process::id()));
    fresh.into()
}

fn write(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    // One that a killed command left behind.
    let _ = fs::remove_file(path);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
