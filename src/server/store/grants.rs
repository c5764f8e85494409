//! What the first start and `prickle connect` need of the keys: which rooms there are, whose key a token is, and
//! letting a key into one more room.

use rusqlite::{TransactionBehavior, params};

use super::keys::{self, KeyError, KeyRow, KeyStore};
use crate::wire::Time;
use crate::wire::id::Slug;

impl KeyStore {
    /// The key of a token, also a revoked one; `None` for a token that this database never knew.
    pub fn find(&self, token: &str) -> Result<Option<KeyRow>, KeyError> {
        let Some(hash) = keys::hash(token) else { return Ok(None) };
        let id: Option<i64> = {
            let mut select = self.connection.prepare_cached("SELECT id FROM credentials WHERE hash = ?1")?;
            let mut rows = select.query([hash])?;
            rows.next()?.map(|row| row.get(0)).transpose()?
        };
        Ok(self.list()?.into_iter().find(|key| Some(key.id) == id))
    }

    /// Every room of the database, in order.
    pub fn projects(&self) -> Result<Vec<Slug>, KeyError> {
        let mut slugs = keys::projects(&self.connection)?;
        slugs.sort();
        Ok(slugs)
    }

    /// Makes a room, unless there is one of this name.
    pub fn add_project(&mut self, project: &Slug, now: Time) -> Result<(), KeyError> {
        let sql = "INSERT OR IGNORE INTO projects (slug, made_at) VALUES (?1, ?2)";
        self.connection.execute(sql, params![project.as_str(), now.timestamp_millis()])?;
        Ok(())
    }

    /// Lets a key into one more room, which is made if it is missing. A running room knows within a second.
    pub fn allow(&mut self, key: i64, project: &Slug, now: Time) -> Result<(), KeyError> {
        let step = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let sql = "INSERT OR IGNORE INTO projects (slug, made_at) VALUES (?1, ?2)";
        step.execute(sql, params![project.as_str(), now.timestamp_millis()])?;
        step.execute(
            "INSERT OR IGNORE INTO credential_projects (credential, project, made_at)
             SELECT ?1, id, ?3 FROM projects WHERE slug = ?2",
            params![key, project.as_str(), now.timestamp_millis()],
        )?;
        Ok(step.commit()?)
    }
}
