//! A room's news kept in a file, a JSON line each: for bug reports, demos, pictures and tests.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::picture::{Heard, News};
use crate::wire::Time;

/// The version that this prickle writes.
const VERSION: u32 = 1;

/// The first line: what the rest is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The room.
    pub project: String,
    /// Whose eyes watched: the owner of the key, if it was known.
    pub owner: Option<String>,
}

/// The first line as it stands in the file.
#[derive(Serialize, Deserialize)]
struct FirstLine {
    prickle: String,
    version: u32,
    project: String,
    owner: Option<String>,
}

/// Why a recording can't be written or read. `Display` names the file, the line and what to do.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file can't be made, written or read.
    #[error("{}: {why}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why, and what to do.
        why: String,
    },
    /// A line is not what it should be.
    #[error("{}, line {line}: {why}", path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
}

fn broken(path: &Path, error: &io::Error) -> RecordingError {
    let why = match error.kind() {
        io::ErrorKind::AlreadyExists => "is there already; name a new file to record into".into(),
        io::ErrorKind::NotFound => "there is no such file or folder".into(),
        io::ErrorKind::PermissionDenied => "you may not".into(),
        _ => error.to_string(),
    };
    RecordingError::File { path: path.to_owned(), why }
}

/// Writes what is heard.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    file: File,
}

impl Recorder {
    /// Makes `path`, which must not be there yet, readable by its owner alone: a room's words may be private.
    pub fn create(path: &Path, header: &Header) -> Result<Self, RecordingError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(|e| broken(path, &e))?;
        let mut recorder = Self { path: path.to_owned(), file };
        recorder.line(&FirstLine {
            prickle: "recording".into(),
            version: VERSION,
            project: header.project.clone(),
            owner: header.owner.clone(),
        })?;
        Ok(recorder)
    }

    /// Adds one line, at once: what was heard before a crash stays. Run records are left out: recordings are made for
    /// others to look at, and those are for their owner alone.
    pub fn append(&mut self, heard: &Heard) -> Result<(), RecordingError> {
        if matches!(heard.news, News::Run { .. }) {
            return Ok(());
        }
        self.line(heard)
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), RecordingError> {
        let written = serde_json::to_vec(value).map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            self.file.write_all(&line)
        });
        written.map_err(|e| broken(&self.path, &e))
    }
}

/// A recording, read whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// What it is of.
    pub header: Header,
    /// What was heard, in order.
    pub heard: Vec<Heard>,
}

impl Recording {
    /// Leaves out what was heard after `at`.
    pub fn cut(&mut self, at: Time) {
        self.heard.retain(|heard| heard.at <= at);
    }
}

/// Reads a recording. A last line that was cut off while it was written is left out.
pub fn read(path: &Path) -> Result<Recording, RecordingError> {
    let bad = |line: usize, why: String| RecordingError::Line { path: path.to_owned(), line, why };
    let mut reader = BufReader::new(File::open(path).map_err(|e| broken(path, &e))?);
    let mut text = String::new();
    let mut next = |number: usize| -> Result<Option<String>, RecordingError> {
        text.clear();
        match reader.read_line(&mut text) {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(text.clone())),
            Err(e) if e.kind() == io::ErrorKind::InvalidData => Err(bad(number, "is not UTF-8".into())),
            Err(e) => Err(broken(path, &e)),
        }
    };
    let first = next(1)?.unwrap_or_default();
    let first: FirstLine = serde_json::from_str(&first)
        .ok()
        .filter(|first: &FirstLine| first.prickle == "recording")
        .ok_or_else(|| {
            bad(1, "is not the first line of a recording; make one with: prickle watch --record FILE".into())
        })?;
    if first.version != VERSION {
        let why =
            format!("the recording has version {}, and this prickle reads version {VERSION}", first.version);
        return Err(bad(1, why));
    }
    let mut heard = Vec::new();
    let mut number = 2;
    while let Some(line) = next(number)? {
        match serde_json::from_str(&line) {
            Ok(one) => heard.push(one),
            Err(_) if !line.ends_with('\n') => break,
            Err(error) => {
                return Err(bad(
                    number,
                    format!("is not what a recording holds (column {})", error.column()),
                ));
            }
        }
        number += 1;
    }
    Ok(Recording { header: Header { project: first.project, owner: first.owner }, heard })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::*;
    use crate::wire::feed::Frame;

    fn heard(second: u32, news: News) -> Heard {
        Heard { at: format!("2026-11-30T14:32:{second:02}Z").parse().unwrap(), news }
    }

    fn story() -> Vec<Heard> {
        let gone = r#"{"type":"gone","seq":4,"at":"2026-11-30T14:32:03Z","agent_id":"acme/builder"}"#;
        let other = r#"{"type":"weather","seq":5,"sky":"clear"}"#;
        let at = "2026-11-30T14:32:01.5Z".parse().unwrap();
        vec![
            heard(0, News::Connecting),
            heard(1, News::Live { epoch: "e".into(), seq: 3, server_time: at, resumed: false }),
            heard(2, News::Snapshot { seq: 3, pulses: Vec::new() }),
            heard(3, News::Event { frame: Frame::parse(gone).unwrap() }),
            heard(4, News::Recent { events: vec![Frame::parse(other).unwrap()] }),
            heard(
                5,
                News::Lost { why: "no answer".into(), retry_in: Duration::from_millis(480), heard_at: None },
            ),
        ]
    }

    #[test]
    fn a_run_record_is_not_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let path = recorded(folder.path());
        let before = std::fs::read(&path).unwrap();
        let run = serde_json::json!({
            "run_id": "4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f", "project": "website-v2", "task_id": "nav",
            "input_tokens": 7, "output_tokens": 7, "turns": null, "duration_ms": 7, "exit_code": 0,
            "source": "client_reported", "reported_at": "2026-11-30T14:32:06Z",
        });
        let mut options = OpenOptions::new();
        let file = options.append(true).open(&path).unwrap();
        let mut recorder = Recorder { path: path.clone(), file };
        let run = Box::new(serde_json::from_value(run).unwrap());
        let heard = heard(6, News::Run { agent_id: "acme/builder".parse().unwrap(), run });
        recorder.append(&heard).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    fn header() -> Header {
        Header { project: "website-v2".into(), owner: Some("acme".into()) }
    }

    fn recorded(folder: &Path) -> PathBuf {
        let path = folder.join("room.jsonl");
        let mut recorder = Recorder::create(&path, &header()).unwrap();
        for heard in story() {
            recorder.append(&heard).unwrap();
        }
        path
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut recording = read(&recorded(folder.path())).unwrap();
        assert_eq!(recording, Recording { header: header(), heard: story() });
        recording.cut("2026-11-30T14:32:02Z".parse().unwrap());
        assert_eq!(recording.heard, story()[..3]);
    }

    #[test]
    fn the_first_line_says_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let text = std::fs::read_to_string(recorded(folder.path())).unwrap();
        let first = r#"{"prickle":"recording","version":1,"project":"website-v2","owner":"acme"}"#;
        assert_eq!(text.lines().next(), Some(first));
        assert_eq!(text.lines().count(), 1 + story().len());
    }

    #[cfg(unix)]
    #[test]
    fn a_recording_is_private_and_replaces_no_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = recorded(folder.path());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let error = Recorder::create(&path, &header()).unwrap_err().to_string();
        assert_eq!(error, format!("{}: is there already; name a new file to record into", path.display()));
        assert_eq!(read(&path).unwrap().heard, story());
    }

    #[test]
    fn a_line_that_was_cut_off_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = recorded(folder.path());
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 9]).unwrap();
        assert_eq!(read(&path).unwrap().heard, story()[..5]);
    }

    #[test]
    fn a_fault_names_the_file_and_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let good = r#"{"prickle":"recording","version":1,"project":"p","owner":null}"#;
        for (text, fault) in [
            (String::new(), ", line 1: is not the first line of a recording"),
            ("{\"at\":1}\n".into(), ", line 1: is not the first line of a recording"),
            (
                good.replace(":1", ":2"),
                ", line 1: the recording has version 2, and this prickle reads version 1",
            ),
            (format!("{good}\n{{\"news\":\"connecting\"}}\n"), ", line 2: is not what a recording holds"),
            (format!("{good}\nrubbish\nmore\n"), ", line 2: is not what a recording holds"),
        ] {
            std::fs::write(&path, &text).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{}{fault}", path.display())), "{error}");
        }
        let error = read(&folder.path().join("none")).unwrap_err().to_string();
        assert!(error.ends_with("none: there is no such file or folder"), "{error}");
    }
}
