-- The second version: how far an agent has come with its key. Written by the room, behind what it has in memory.

ALTER TABLE credentials ADD COLUMN first_used_at INTEGER;
ALTER TABLE credentials ADD COLUMN tools_listed_at INTEGER;

-- A key that was used before this was noted was so at the latest when it was last used.
UPDATE credentials SET first_used_at = last_used_at;
