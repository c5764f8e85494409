-- The second version: how far an agent has come with its key. Written by the room, behind what it has in memory.

ALTER TABLE credentials ADD COLUMN first_used_at INTEGER;
ALTER TABLE credentials ADD COLUMN tools_listed_at INTEGER; -- the last time

-- A key that was used before this was noted was so at the latest when it was last used.
UPDATE credentials SET first_used_at = last_used_at;

-- A key that is let into one more room has a story of its own there. Until now all its rooms were its own from the
-- beginning.
ALTER TABLE credential_projects ADD COLUMN made_at INTEGER;
UPDATE credential_projects SET made_at = (SELECT made_at FROM credentials WHERE id = credential);
