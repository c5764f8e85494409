//! Run records that are listed on the screen, written into a CSV file in the folder that the watch was started in.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tokio::sync::mpsc;

use super::room;
use crate::columns;
use crate::report::runs::{self, sheet};
use crate::tui::Signal;
use crate::tui::runs::ask::{Ask, Export};
use crate::wire::query::RunQuery;
use crate::words;

/// Writes what the screen wants written, one file after the other, until the screen is closed.
pub(super) async fn written(
    mut room: room::Asker,
    mut exports: mpsc::Receiver<Export>,
    answers: mpsc::Sender<Signal>,
) {
    while let Some(export) = exports.recv().await {
        let said = match export_to(&mut room, &export, Path::new(".")).await {
            Ok(said) => Signal::Done(said),
            Err(error) => Signal::Notice(format!("nothing exported: {error:#}")),
        };
        if answers.send(said).await.is_err() {
            return;
        }
    }
}

/// Asks for all that is listed, and writes it into a new file of the folder. Returns what was done, in words.
async fn export_to(room: &mut room::Asker, export: &Export, folder: &Path) -> anyhow::Result<String> {
    // What can't be asked leaves no empty file.
    let (_, http) = room.room().await?;
    let (name, count) = match &export.ask {
        Ask::Sums { by, tz, query } => {
            let mut summary = http.run_summary(*by, tz, query).await?;
            let shown = |group: &_| columns::name(*by, group, Some(&export.here), export.zone, export.now);
            summary.rows.retain(|group| export.filter.matches_group(group, &shown(group)));
            let mut file = New::create(folder, &export.name)?;
            file.write(&sheet::groups(&summary.rows, *by, false)?)?;
            (file.keep(), words::count(summary.rows.len() as u64, by.as_str()))
        }
        Ask::Page(query) => {
            let mut page = runs::page(&http, query).await?;
            let mut file = New::create(folder, &export.name)?;
            let (mut count, mut first) = (0, true);
            loop {
                page.runs.retain(|run| export.filter.matches_run(run));
                count += page.runs.len() as u64;
                file.write(&sheet::records(&page.runs, first, false)?)?;
                first = false;
                let Some(cursor) = page.next_cursor else { break };
                page = runs::page(&http, &RunQuery { cursor: Some(cursor), ..query.clone() }).await?;
            }
            (file.keep(), words::count(count, "run"))
        }
    };
    // The name first: it is what is looked for, and the line may be cut.
    Ok(format!("wrote {name}: {count}"))
}

/// A file that is new, and gone again unless it is kept: half of it would be taken for all.
struct New {
    name: String,
    path: PathBuf,
    file: File,
    kept: bool,
}

impl New {
    /// Makes `NAME.csv` that its owner alone can read, or `NAME-2.csv` where that is there already, and so on.
    fn create(folder: &Path, name: &str) -> anyhow::Result<Self> {
        for number in 1..1000 {
            let name = if number == 1 { format!("{name}.csv") } else { format!("{name}-{number}.csv") };
            let path = folder.join(&name);
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => return Ok(Self { name, path, file, kept: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).with_context(|| format!("cannot write {name}")),
            }
        }
        anyhow::bail!("there are a thousand files named {name} already")
    }

    fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.file.write_all(bytes).with_context(|| format!("cannot write {}", self.name))
    }

    fn keep(mut self) -> String {
        self.kept = true;
        self.name.clone()
    }
}

impl Drop for New {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_new_file_is_named_after_those_there_and_gone_unless_it_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let there = || -> Vec<String> {
            let names = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name());
            let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
            names.sort();
            names
        };
        fs::write(folder.path().join("runs-nav.csv"), "mine").unwrap();
        let mut second = New::create(folder.path(), "runs-nav").unwrap();
        second.write(b"a").unwrap();
        assert_eq!(second.keep(), "runs-nav-2.csv");
        let broken = New::create(folder.path(), "runs-nav").unwrap();
        assert_eq!(there(), ["runs-nav-2.csv", "runs-nav-3.csv", "runs-nav.csv"]);
        drop(broken);
        assert_eq!(there(), ["runs-nav-2.csv", "runs-nav.csv"]);
        // A link that leads nowhere is somebody's too.
        std::os::unix::fs::symlink("elsewhere", folder.path().join("runs-nav-3.csv")).unwrap();
        assert_eq!(New::create(folder.path(), "runs-nav").unwrap().keep(), "runs-nav-4.csv");
        assert_eq!(fs::read_to_string(folder.path().join("runs-nav.csv")).unwrap(), "mine");
        let missing = New::create(&folder.path().join("missing"), "runs-nav").err().unwrap();
        assert_eq!(missing.to_string(), "cannot write runs-nav.csv");
    }
}
