//! What a command came to, and what is expected of it.
#![allow(dead_code, clippy::unwrap_used, missing_docs)]

use std::process::Output;

/// What a command came to.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// One line on stdout, nothing on stderr, exit code 0.
    #[track_caller]
    pub fn line(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{self:?}");
        let line = self.out.strip_suffix('\n').unwrap();
        assert!(!line.contains('\n'), "{line:?}");
        line.to_owned()
    }

    /// What it wrote, exit code 0.
    #[track_caller]
    pub fn fine(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }

    /// One line on stderr, nothing on stdout; never a token.
    #[track_caller]
    pub fn fault(self, code: i32) -> String {
        assert_eq!((self.code, self.out.as_str()), (Some(code), ""), "{self:?}");
        let line = self.err.strip_suffix('\n').unwrap();
        assert!(!line.contains('\n') && !line.contains("prk_"), "{line:?}");
        line.strip_prefix("prickle: ").unwrap().to_owned()
    }
}
