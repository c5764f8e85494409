//! Which room a folder is about: what its repository says, and what it is called.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::file;
use crate::shown;
use crate::wire::id::Slug;

/// What the repository around `folder` is called, by its folder's name; a worktree is of the repository that it was
/// made from.
pub(super) fn of_folder(folder: &Path) -> Slug {
    let root = folder.ancestors().find(|dir| dir.join(".git").exists());
    let root = root.map(|root| main_worktree(root).unwrap_or_else(|| root.to_owned()));
    let name = root.as_deref().and_then(Path::file_name).and_then(|name| Slug::near(&name.to_string_lossy()));
    name.unwrap_or_else(Slug::fallback)
}

/// The main worktree of the repository that `root` is a linked one of, by what git writes into its `.git` file:
/// `gitdir: /path/to/main/.git/worktrees/NAME`.
fn main_worktree(root: &Path) -> Option<PathBuf> {
    const LONGEST: u64 = 8 * 1024;
    let mut text = String::new();
    let file =
        fs::File::open(root.join(".git")).ok().filter(|file| file.metadata().is_ok_and(|m| m.is_file()))?;
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    let git = root.join(text.strip_prefix("gitdir:")?.trim());
    let worktrees = git.parent().filter(|dir| dir.ends_with(".git/worktrees"))?;
    Some(worktrees.parent()?.parent()?.to_owned())
}

/// The project that the nearest `.prickle.toml` names. The file comes with a repository, from anyone: it may
/// say nothing else, least of all where a key should go, and a fault in it stops nothing.
pub(super) fn of_repository(folder: &Path, warnings: &mut Vec<String>) -> Option<Slug> {
    const LARGEST: u64 = 64 * 1024;
    let path = folder.ancestors().map(|dir| dir.join(".prickle.toml")).find(|path| path.is_file())?;
    let mut text = String::new();
    let read = fs::File::open(&path).and_then(|file| file.take(LARGEST).read_to_string(&mut text));
    if let Err(error) = read {
        let path = shown::line(&path.display().to_string());
        warnings.push(format!("{path} can't be read ({}) and is ignored", error.kind()));
        return None;
    }
    file::repository(&path, &text, warnings)
}
