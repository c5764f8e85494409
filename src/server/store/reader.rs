//! A connection that only reads, asked by one at a time, on a thread that may wait.

use std::sync::{Arc, Mutex};

use rusqlite::{Connection, ErrorCode, InterruptHandle};
use tokio::task::AbortHandle;

use super::file::{Database, words};
use super::trouble::Trouble;
use super::{CallError, OpenError, lock, stopping};

pub(super) struct Reader {
    /// `None` once closed.
    connection: Arc<Mutex<Option<Connection>>>,
    interrupt: InterruptHandle,
    /// Those who wait for the connection wait here, in order, and not on a thread each.
    turn: tokio::sync::Mutex<()>,
    trouble: Arc<Trouble>,
}

/// Ends a question whose asker has gone: it would hold up the next one for nothing.
struct Asking<'a> {
    question: AbortHandle,
    interrupt: &'a InterruptHandle,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if !self.question.is_finished() {
            self.question.abort(); // where it has not begun
            self.interrupt.interrupt();
        }
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl Reader {
    pub(super) fn open(database: &Database, trouble: &Arc<Trouble>) -> Result<Self, OpenError> {
        let connection = database.open_to_read()?;
        connection.set_prepared_statement_cache_capacity(64);
        let interrupt = connection.get_interrupt_handle();
        Ok(Self {
            connection: Arc::new(Mutex::new(Some(connection))),
            interrupt,
            turn: tokio::sync::Mutex::default(),
            trouble: Arc::clone(trouble),
        })
    }

    /// Asks the database as it is at one moment.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, CallError> {
        let (connection, trouble) = (Arc::clone(&self.connection), Arc::clone(&self.trouble));
        let _turn = self.turn.lock().await;
        let asked = tokio::task::spawn_blocking(move || match lock(&connection).as_ref() {
            Some(connection) => at_one_moment(connection, question).map_err(|error| {
                if error.sqlite_error_code() != Some(ErrorCode::OperationInterrupted) {
                    trouble.say(&error, "the database could not be read");
                }
                CallError::Storage(words(&error))
            }),
            None => Err(stopping()),
        });
        // Gone before the turn is.
        let _asking = Asking { question: asked.abort_handle(), interrupt: &self.interrupt };
        asked.await.unwrap_or_else(|_| Err(stopping()))
    }

    /// Ends the connection, once nobody asks any more.
    pub(super) async fn close(&self) {
        let connection = Arc::clone(&self.connection);
        // A question may still be answered; waiting for it is not for this thread.
        let _ = tokio::task::spawn_blocking(move || lock(&connection).take()).await;
    }
}

fn at_one_moment<T>(
    connection: &Connection,
    question: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    // An interrupt may hit the end of a question, which then has no end: the next one would not begin, and would see
    // the database as it was.
    if !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    let whole = connection.unchecked_transaction()?;
    question(&whole)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_question_ends_with_its_asker() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::prepare(&folder.path().join("room.db")).unwrap();
        drop(database.open_whole().unwrap());
        let reader = Reader::open(&database, &Arc::default()).unwrap();
        let (begin, begun) = tokio::sync::oneshot::channel();
        let endless = reader.ask(move |connection| {
            let mut select = connection.prepare(
                "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n",
            )?;
            let mut rows = select.query([])?;
            rows.next()?;
            let _ = begin.send(());
            while rows.next()?.is_some() {}
            Ok(())
        });
        tokio::select! {
            _ = endless => panic!("it has no end"),
            begun = begun => begun.unwrap(),
        }
        let one = reader.ask(|connection| connection.query_row("SELECT 1", [], |row| row.get::<_, i64>(0)));
        let answer = tokio::time::timeout(Duration::from_secs(10), one).await.unwrap();
        assert_eq!(answer.unwrap(), 1);
    }

    #[test]
    fn a_question_that_was_cut_off_at_its_end_leaves_nothing_to_the_next() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("BEGIN").unwrap();
        let one = at_one_moment(&connection, |connection| {
            connection.query_row("SELECT 1", [], |row| row.get::<_, i64>(0))
        });
        assert_eq!(one.unwrap(), 1);
        assert!(connection.is_autocommit());
    }
}
