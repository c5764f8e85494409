-- The third version: what run records come to, kept with them, so that a million of them are summed up at once.

-- Records are found by when they were reported. The first index holds all that they can be put in order by, so that
-- it alone is read for it.
DROP INDEX runs_of_owner;
CREATE INDEX runs_newest ON runs (owner, reported_at, id, project, agent, input_tokens, output_tokens, turns,
    duration_ms, exit_code);
CREATE INDEX runs_of_project ON runs (owner, project, reported_at);
CREATE INDEX runs_of_agent ON runs (owner, agent, project, reported_at);
CREATE INDEX runs_of_task ON runs (owner, task, project, reported_at);

-- Below, each number has a sum and the count of those runs of which it is known. A failed run is one whose exit code
-- is known and not 0; tokens are known where both numbers are.

-- Of an agent's runs in a project.
CREATE TABLE agent_sums (
    owner               INTEGER NOT NULL,
    project             INTEGER NOT NULL,
    agent               INTEGER NOT NULL,
    runs                INTEGER NOT NULL,
    failed_known        INTEGER NOT NULL,
    failed              INTEGER NOT NULL,
    input_known         INTEGER NOT NULL,
    input               INTEGER NOT NULL,
    output_known        INTEGER NOT NULL,
    output              INTEGER NOT NULL,
    turns_known         INTEGER NOT NULL,
    turns               INTEGER NOT NULL,
    duration_known      INTEGER NOT NULL,
    duration            INTEGER NOT NULL,
    failed_tokens_known INTEGER NOT NULL,
    failed_tokens       INTEGER NOT NULL,
    tokens_known        INTEGER NOT NULL,
    tokens              INTEGER NOT NULL,
    first_at            INTEGER NOT NULL,
    last_at             INTEGER NOT NULL,
    PRIMARY KEY (owner, project, agent)
) STRICT, WITHOUT ROWID;

-- Of an agent's runs for a task in a project; agent 0: of all agents, which `agents` names, each between blanks, in
-- the order in which they came.
CREATE TABLE task_sums (
    owner               INTEGER NOT NULL,
    project             INTEGER NOT NULL,
    agent               INTEGER NOT NULL,
    task                TEXT NOT NULL,
    agents              TEXT,
    runs                INTEGER NOT NULL,
    failed_known        INTEGER NOT NULL,
    failed              INTEGER NOT NULL,
    input_known         INTEGER NOT NULL,
    input               INTEGER NOT NULL,
    output_known        INTEGER NOT NULL,
    output              INTEGER NOT NULL,
    turns_known         INTEGER NOT NULL,
    turns               INTEGER NOT NULL,
    duration_known      INTEGER NOT NULL,
    duration            INTEGER NOT NULL,
    failed_tokens_known INTEGER NOT NULL,
    failed_tokens       INTEGER NOT NULL,
    tokens_known        INTEGER NOT NULL,
    tokens              INTEGER NOT NULL,
    first_at            INTEGER NOT NULL,
    last_at             INTEGER NOT NULL,
    PRIMARY KEY (owner, project, agent, task)
) STRICT, WITHOUT ROWID;

-- Of an agent's runs in a project that were reported in one quarter of an hour, the number of quarters since 1970: the
-- hours of every zone begin with one. Agent 0: of all agents; project 0: of all projects.
CREATE TABLE quarter_sums (
    owner               INTEGER NOT NULL,
    project             INTEGER NOT NULL,
    agent               INTEGER NOT NULL,
    quarter             INTEGER NOT NULL,
    runs                INTEGER NOT NULL,
    failed_known        INTEGER NOT NULL,
    failed              INTEGER NOT NULL,
    input_known         INTEGER NOT NULL,
    input               INTEGER NOT NULL,
    output_known        INTEGER NOT NULL,
    output              INTEGER NOT NULL,
    turns_known         INTEGER NOT NULL,
    turns               INTEGER NOT NULL,
    duration_known      INTEGER NOT NULL,
    duration            INTEGER NOT NULL,
    failed_tokens_known INTEGER NOT NULL,
    failed_tokens       INTEGER NOT NULL,
    tokens_known        INTEGER NOT NULL,
    tokens              INTEGER NOT NULL,
    first_at            INTEGER NOT NULL,
    last_at             INTEGER NOT NULL,
    PRIMARY KEY (owner, project, agent, quarter)
) STRICT, WITHOUT ROWID;

-- The same from the records: what they begin with here, and what they are checked against.

CREATE VIEW agent_sums_anew AS SELECT owner, project, agent, count(*),
    count(exit_code), coalesce(sum(exit_code <> 0), 0),
    count(input_tokens), coalesce(sum(input_tokens), 0),
    count(output_tokens), coalesce(sum(output_tokens), 0),
    count(turns), coalesce(sum(turns), 0),
    count(duration_ms), coalesce(sum(duration_ms), 0),
    count(iif(exit_code <> 0, input_tokens + output_tokens, NULL)), coalesce(sum(iif(exit_code <> 0, input_tokens + output_tokens, NULL)), 0),
    count(input_tokens + output_tokens), coalesce(sum(input_tokens + output_tokens), 0),
    min(reported_at), max(reported_at)
FROM runs GROUP BY owner, project, agent;

CREATE VIEW task_sums_anew AS SELECT owner, project, agent, task, NULL, count(*),
    count(exit_code), coalesce(sum(exit_code <> 0), 0),
    count(input_tokens), coalesce(sum(input_tokens), 0),
    count(output_tokens), coalesce(sum(output_tokens), 0),
    count(turns), coalesce(sum(turns), 0),
    count(duration_ms), coalesce(sum(duration_ms), 0),
    count(iif(exit_code <> 0, input_tokens + output_tokens, NULL)), coalesce(sum(iif(exit_code <> 0, input_tokens + output_tokens, NULL)), 0),
    count(input_tokens + output_tokens), coalesce(sum(input_tokens + output_tokens), 0),
    min(reported_at), max(reported_at)
FROM runs GROUP BY owner, project, agent, task
UNION ALL SELECT owner, project, 0, task, min(agents), count(*),
    count(exit_code), coalesce(sum(exit_code <> 0), 0),
    count(input_tokens), coalesce(sum(input_tokens), 0),
    count(output_tokens), coalesce(sum(output_tokens), 0),
    count(turns), coalesce(sum(turns), 0),
    count(duration_ms), coalesce(sum(duration_ms), 0),
    count(iif(exit_code <> 0, input_tokens + output_tokens, NULL)), coalesce(sum(iif(exit_code <> 0, input_tokens + output_tokens, NULL)), 0),
    count(input_tokens + output_tokens), coalesce(sum(input_tokens + output_tokens), 0),
    min(reported_at), max(reported_at)
FROM runs JOIN (
    SELECT owner, project, task, ' ' || group_concat(agent, ' ' ORDER BY first) || ' ' AS agents
    FROM (SELECT owner, project, task, agent, min(id) AS first FROM runs GROUP BY owner, project, task, agent)
    GROUP BY owner, project, task
) USING (owner, project, task) GROUP BY owner, project, task;

CREATE VIEW quarter_sums_anew AS SELECT owner, project, agent, reported_at / 900000 AS quarter, count(*),
    count(exit_code), coalesce(sum(exit_code <> 0), 0),
    count(input_tokens), coalesce(sum(input_tokens), 0),
    count(output_tokens), coalesce(sum(output_tokens), 0),
    count(turns), coalesce(sum(turns), 0),
    count(duration_ms), coalesce(sum(duration_ms), 0),
    count(iif(exit_code <> 0, input_tokens + output_tokens, NULL)), coalesce(sum(iif(exit_code <> 0, input_tokens + output_tokens, NULL)), 0),
    count(input_tokens + output_tokens), coalesce(sum(input_tokens + output_tokens), 0),
    min(reported_at), max(reported_at)
FROM runs GROUP BY owner, project, agent, quarter
UNION ALL SELECT owner, project, 0, reported_at / 900000 AS quarter, count(*),
    count(exit_code), coalesce(sum(exit_code <> 0), 0),
    count(input_tokens), coalesce(sum(input_tokens), 0),
    count(output_tokens), coalesce(sum(output_tokens), 0),
    count(turns), coalesce(sum(turns), 0),
    count(duration_ms), coalesce(sum(duration_ms), 0),
    count(iif(exit_code <> 0, input_tokens + output_tokens, NULL)), coalesce(sum(iif(exit_code <> 0, input_tokens + output_tokens, NULL)), 0),
    count(input_tokens + output_tokens), coalesce(sum(input_tokens + output_tokens), 0),
    min(reported_at), max(reported_at)
FROM runs GROUP BY owner, project, quarter
UNION ALL SELECT owner, 0, agent, reported_at / 900000 AS quarter, count(*),
    count(exit_code), coalesce(sum(exit_code <> 0), 0),
    count(input_tokens), coalesce(sum(input_tokens), 0),
    count(output_tokens), coalesce(sum(output_tokens), 0),
    count(turns), coalesce(sum(turns), 0),
    count(duration_ms), coalesce(sum(duration_ms), 0),
    count(iif(exit_code <> 0, input_tokens + output_tokens, NULL)), coalesce(sum(iif(exit_code <> 0, input_tokens + output_tokens, NULL)), 0),
    count(input_tokens + output_tokens), coalesce(sum(input_tokens + output_tokens), 0),
    min(reported_at), max(reported_at)
FROM runs GROUP BY owner, agent, quarter
UNION ALL SELECT owner, 0, 0, reported_at / 900000 AS quarter, count(*),
    count(exit_code), coalesce(sum(exit_code <> 0), 0),
    count(input_tokens), coalesce(sum(input_tokens), 0),
    count(output_tokens), coalesce(sum(output_tokens), 0),
    count(turns), coalesce(sum(turns), 0),
    count(duration_ms), coalesce(sum(duration_ms), 0),
    count(iif(exit_code <> 0, input_tokens + output_tokens, NULL)), coalesce(sum(iif(exit_code <> 0, input_tokens + output_tokens, NULL)), 0),
    count(input_tokens + output_tokens), coalesce(sum(input_tokens + output_tokens), 0),
    min(reported_at), max(reported_at)
FROM runs GROUP BY owner, quarter;

INSERT INTO agent_sums SELECT * FROM agent_sums_anew;
INSERT INTO task_sums SELECT * FROM task_sums_anew;
INSERT INTO quarter_sums SELECT * FROM quarter_sums_anew;

-- A record is summed in the transaction that stores it, whoever stores it.
CREATE TRIGGER run_is_summed AFTER INSERT ON runs BEGIN
    INSERT INTO agent_sums SELECT new.owner, new.project, new.agent, 1,
        new.exit_code IS NOT NULL, coalesce(new.exit_code <> 0, 0),
        new.input_tokens IS NOT NULL, coalesce(new.input_tokens, 0),
        new.output_tokens IS NOT NULL, coalesce(new.output_tokens, 0),
        new.turns IS NOT NULL, coalesce(new.turns, 0),
        new.duration_ms IS NOT NULL, coalesce(new.duration_ms, 0),
        coalesce(new.exit_code <> 0 AND new.input_tokens + new.output_tokens IS NOT NULL, 0),
        coalesce(iif(new.exit_code <> 0, new.input_tokens + new.output_tokens, 0), 0),
        new.input_tokens + new.output_tokens IS NOT NULL, coalesce(new.input_tokens + new.output_tokens, 0),
        new.reported_at, new.reported_at
    WHERE true
    ON CONFLICT DO UPDATE SET runs = runs + 1,
        failed_known = failed_known + excluded.failed_known, failed = failed + excluded.failed,
        input_known = input_known + excluded.input_known, input = input + excluded.input,
        output_known = output_known + excluded.output_known, output = output + excluded.output,
        turns_known = turns_known + excluded.turns_known, turns = turns + excluded.turns,
        duration_known = duration_known + excluded.duration_known, duration = duration + excluded.duration,
        failed_tokens_known = failed_tokens_known + excluded.failed_tokens_known, failed_tokens = failed_tokens + excluded.failed_tokens,
        tokens_known = tokens_known + excluded.tokens_known, tokens = tokens + excluded.tokens,
        first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at);
    INSERT INTO task_sums SELECT new.owner, new.project, of_agent, new.task, agents, 1,
        new.exit_code IS NOT NULL, coalesce(new.exit_code <> 0, 0),
        new.input_tokens IS NOT NULL, coalesce(new.input_tokens, 0),
        new.output_tokens IS NOT NULL, coalesce(new.output_tokens, 0),
        new.turns IS NOT NULL, coalesce(new.turns, 0),
        new.duration_ms IS NOT NULL, coalesce(new.duration_ms, 0),
        coalesce(new.exit_code <> 0 AND new.input_tokens + new.output_tokens IS NOT NULL, 0),
        coalesce(iif(new.exit_code <> 0, new.input_tokens + new.output_tokens, 0), 0),
        new.input_tokens + new.output_tokens IS NOT NULL, coalesce(new.input_tokens + new.output_tokens, 0),
        new.reported_at, new.reported_at
    FROM (SELECT new.agent AS of_agent, NULL AS agents UNION ALL SELECT 0, ' ' || new.agent || ' ') WHERE true
    ON CONFLICT DO UPDATE SET runs = runs + 1,
        failed_known = failed_known + excluded.failed_known, failed = failed + excluded.failed,
        input_known = input_known + excluded.input_known, input = input + excluded.input,
        output_known = output_known + excluded.output_known, output = output + excluded.output,
        turns_known = turns_known + excluded.turns_known, turns = turns + excluded.turns,
        duration_known = duration_known + excluded.duration_known, duration = duration + excluded.duration,
        failed_tokens_known = failed_tokens_known + excluded.failed_tokens_known, failed_tokens = failed_tokens + excluded.failed_tokens,
        tokens_known = tokens_known + excluded.tokens_known, tokens = tokens + excluded.tokens,
        first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at),
        agents = iif(instr(task_sums.agents, excluded.agents), task_sums.agents,
            task_sums.agents || ltrim(excluded.agents));
    INSERT INTO quarter_sums SELECT new.owner, of_project, of_agent, new.reported_at / 900000, 1,
        new.exit_code IS NOT NULL, coalesce(new.exit_code <> 0, 0),
        new.input_tokens IS NOT NULL, coalesce(new.input_tokens, 0),
        new.output_tokens IS NOT NULL, coalesce(new.output_tokens, 0),
        new.turns IS NOT NULL, coalesce(new.turns, 0),
        new.duration_ms IS NOT NULL, coalesce(new.duration_ms, 0),
        coalesce(new.exit_code <> 0 AND new.input_tokens + new.output_tokens IS NOT NULL, 0),
        coalesce(iif(new.exit_code <> 0, new.input_tokens + new.output_tokens, 0), 0),
        new.input_tokens + new.output_tokens IS NOT NULL, coalesce(new.input_tokens + new.output_tokens, 0),
        new.reported_at, new.reported_at
    FROM (SELECT new.project AS of_project, new.agent AS of_agent UNION ALL SELECT new.project, 0
        UNION ALL SELECT 0, new.agent UNION ALL SELECT 0, 0) WHERE true
    ON CONFLICT DO UPDATE SET runs = runs + 1,
        failed_known = failed_known + excluded.failed_known, failed = failed + excluded.failed,
        input_known = input_known + excluded.input_known, input = input + excluded.input,
        output_known = output_known + excluded.output_known, output = output + excluded.output,
        turns_known = turns_known + excluded.turns_known, turns = turns + excluded.turns,
        duration_known = duration_known + excluded.duration_known, duration = duration + excluded.duration,
        failed_tokens_known = failed_tokens_known + excluded.failed_tokens_known, failed_tokens = failed_tokens + excluded.failed_tokens,
        tokens_known = tokens_known + excluded.tokens_known, tokens = tokens + excluded.tokens,
        first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at);
END;
