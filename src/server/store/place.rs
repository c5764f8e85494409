//! Whether the files that a room holds open still stand where their names say. What is written to a database that was
//! taken away goes nowhere, and a lock that nobody finds keeps no second room out.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tokio::sync::watch;

/// One file: where it was opened, and which one it is.
#[derive(Debug, Clone)]
pub(super) struct Place {
    what: &'static str,
    path: PathBuf,
    id: Id,
}

/// Device and inode.
type Id = (u64, u64);

fn id(found: &Metadata) -> Id {
    (found.dev(), found.ino())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Now {
    There,
    Gone,
    Another,
}

impl Place {
    /// Of a file that was opened at `path`, which is no link.
    pub(super) fn of(what: &'static str, path: &Path, file: &File) -> io::Result<Self> {
        Ok(Self { what, path: path.to_owned(), id: id(&file.metadata()?) })
    }

    /// Of a file that another library has opened at `path` just now.
    pub(super) fn found(what: &'static str, path: PathBuf) -> io::Result<Self> {
        let id = id(&fs::symlink_metadata(&path)?);
        Ok(Self { what, path, id })
    }

    /// What is at the path now. One that can't be looked at says nothing.
    fn now(&self) -> Now {
        match fs::symlink_metadata(&self.path) {
            Ok(found) if id(&found) != self.id => Now::Another,
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Now::Gone,
            _ => Now::There,
        }
    }

    /// What has become of the file, unless it is where it was.
    fn lost(&self) -> Option<String> {
        let became = match self.now() {
            Now::There => return None,
            Now::Gone => "is gone",
            Now::Another => "is another file now",
        };
        Some(format!("{} {} {became}", self.what, self.path.display()))
    }
}

/// All the files of one room. Once one of them was taken away, nothing is written any more.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) database: Place,
    pub(super) lock: Place,
    /// What SQLite keeps beside the database.
    pub(super) beside: [Place; 2],
    /// What was taken away, once something was.
    pub(super) lost: watch::Sender<Option<String>>,
}

impl Ground {
    /// Looks whether everything is where it was; the first time that it is not, the log and whoever runs the room
    /// hear of it.
    pub(super) fn stands(&self) -> bool {
        if self.is_lost() {
            return false;
        }
        let mut all = [&self.database, &self.lock].into_iter().chain(&self.beside);
        let Some(lost) = all.find_map(Place::lost) else { return true };
        let lost = format!(
            "{lost}, while a room is open on it; the room takes no more calls and closes: start it again on what should be there"
        );
        tracing::error!("{lost}");
        self.lost.send_replace(Some(lost));
        false
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.borrow().is_some()
    }

    /// Whether the log beside the database is still its own, or nobody's.
    pub(super) fn has_its_log(&self) -> bool {
        self.beside.iter().all(|place| place.now() != Now::Another)
    }

    /// Whether what the log is beside is still the database.
    pub(super) fn has_its_database(&self) -> bool {
        self.database.now() == Now::There
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_is_lost_once_its_name_leads_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let (within, path) = (folder.path().join("within"), folder.path().join("within/file"));
        fs::create_dir(&within).unwrap();
        let file = File::create(&path).unwrap();
        let opened = Place::of("the file", &path, &file).unwrap();
        let looked_at = Place::found("the file", path.clone()).unwrap();
        let lost = |what: &str| {
            let said = (!what.is_empty()).then(|| format!("the file {} {what}", path.display()));
            assert_eq!((opened.lost(), looked_at.lost()), (said.clone(), said));
        };
        lost("");
        fs::write(&path, "longer than before").unwrap();
        lost("");
        let aside = folder.path().join("aside");
        fs::rename(&path, &aside).unwrap();
        lost("is gone");
        File::create(&path).unwrap();
        lost("is another file now");
        // Another room on the moved file has another lock, whatever leads to it.
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&aside, &path).unwrap();
        lost("is another file now");
        fs::rename(&aside, &path).unwrap();
        lost("");
        fs::rename(&within, &aside).unwrap();
        lost("is gone");
        fs::write(&within, "no folder any more").unwrap();
        lost("is gone");
    }
}
