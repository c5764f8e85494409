//! Whether the sums that are kept with the records are those of the records, and if not, putting them right.

use std::cmp::Ordering;

use rusqlite::types::Value;
use rusqlite::{Connection, Rows, TransactionBehavior};

use super::{Claim, OpenError};

/// The tables of sums: by how many columns a row is found, which are its first.
const TABLES: [(&str, usize); 3] = [("agent_sums", 3), ("task_sums", 4), ("quarter_sums", 4)];

/// What a check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    /// How many records there are.
    pub records: u64,
    /// For how many tasks; those of two owners or projects are two.
    pub tasks: u64,
    /// How many sums were not those of the records; they are now.
    pub differed: u64,
}

impl Claim {
    /// Compares all sums with what the records come to, and puts these in their place where one differs. Says first
    /// how many records there are.
    pub fn check(self, begins: impl FnOnce(u64)) -> Result<Checked, OpenError> {
        let mut connection = self.database.open_whole()?;
        check(&mut connection, begins).map_err(|error| self.database.explained(&error))
    }
}

fn check(connection: &mut Connection, begins: impl FnOnce(u64)) -> rusqlite::Result<Checked> {
    // What is sorted for it may be larger than memory.
    connection.execute_batch("PRAGMA temp_store = FILE")?;
    let whole = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let count = |sql: &str| whole.query_row(sql, [], |row| row.get::<_, u64>(0));
    let records = count("SELECT count(*) FROM runs")?;
    begins(records);
    let mut differed = 0;
    for (table, keys) in TABLES {
        let differ = differences(&whole, table, keys)?;
        if differ > 0 {
            whole.execute_batch(&format!(
                "DELETE FROM {table}; INSERT INTO {table} SELECT * FROM {table}_anew;"
            ))?;
        }
        differed += differ;
    }
    let tasks = count("SELECT count(*) FROM task_sums WHERE agent = 0")?;
    whole.commit()?;
    Ok(Checked { records, tasks, differed })
}

/// How many rows of a table are not as they would be made anew: other ones, missing ones, and those that should not
/// be there. Both are read side by side, so that it takes no memory.
fn differences(connection: &Connection, table: &str, keys: usize) -> rusqlite::Result<u64> {
    let order = (1..=keys).map(|at| at.to_string()).collect::<Vec<_>>().join(", ");
    let mut kept = connection.prepare(&format!("SELECT * FROM {table} ORDER BY {order}"))?;
    let mut anew = connection.prepare(&format!("SELECT * FROM {table}_anew ORDER BY {order}"))?;
    let columns = kept.column_count();
    let (mut kept, mut anew) = (kept.query([])?, anew.query([])?);
    let (mut here, mut right) = (next(&mut kept, columns)?, next(&mut anew, columns)?);
    let mut differ = 0;
    loop {
        let order = match (&here, &right) {
            (None, None) => return Ok(differ),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(here), Some(right)) => compared(&here[..keys], &right[..keys]),
        };
        differ += u64::from(order.is_ne() || here != right);
        if order.is_le() {
            here = next(&mut kept, columns)?;
        }
        if order.is_ge() {
            right = next(&mut anew, columns)?;
        }
    }
}

fn next(rows: &mut Rows<'_>, columns: usize) -> rusqlite::Result<Option<Vec<Value>>> {
    rows.next()?.map(|row| (0..columns).map(|at| row.get(at)).collect()).transpose()
}

/// The order of keys as SQLite has it: of numbers, and of texts by their bytes.
fn compared(one: &[Value], other: &[Value]) -> Ordering {
    let each = one.iter().zip(other).map(|pair| match pair {
        (Value::Integer(one), Value::Integer(other)) => one.cmp(other),
        (Value::Text(one), Value::Text(other)) => one.cmp(other),
        _ => Ordering::Equal, // a column has one kind
    });
    each.fold(Ordering::Equal, Ordering::then)
}
