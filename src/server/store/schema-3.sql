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

-- What each record adds to its sums.
CREATE VIEW run_numbers AS SELECT id, owner, project, agent, task, reported_at / 900000 AS quarter, reported_at,
    1 AS runs,
    exit_code IS NOT NULL AS failed_known, coalesce(exit_code <> 0, 0) AS failed,
    input_tokens IS NOT NULL AS input_known, coalesce(input_tokens, 0) AS input,
    output_tokens IS NOT NULL AS output_known, coalesce(output_tokens, 0) AS output,
    turns IS NOT NULL AS turns_known, coalesce(turns, 0) AS turns,
    duration_ms IS NOT NULL AS duration_known, coalesce(duration_ms, 0) AS duration,
    coalesce(exit_code <> 0, 0) AND input_tokens + output_tokens IS NOT NULL AS failed_tokens_known,
    iif(exit_code <> 0, coalesce(input_tokens + output_tokens, 0), 0) AS failed_tokens,
    input_tokens + output_tokens IS NOT NULL AS tokens_known, coalesce(input_tokens + output_tokens, 0) AS tokens
FROM runs;

-- Which sums are kept beside those of one agent in one project: 0 instead of 1 stands for all of them together.
CREATE VIEW kept_of_tasks (of_agent) AS VALUES (1), (0);
CREATE VIEW kept_of_quarters (of_project, of_agent) AS VALUES (1, 1), (1, 0), (0, 1), (0, 0);

-- The sums as the records have them: what they begin with here, and what they are checked against.

CREATE VIEW agent_sums_anew AS SELECT owner, project, agent,
    sum(runs), sum(failed_known), sum(failed), sum(input_known), sum(input), sum(output_known), sum(output),
    sum(turns_known), sum(turns), sum(duration_known), sum(duration), sum(failed_tokens_known),
    sum(failed_tokens), sum(tokens_known), sum(tokens), min(reported_at), max(reported_at)
FROM run_numbers GROUP BY owner, project, agent;

CREATE VIEW task_sums_anew AS SELECT owner, project, agent * of_agent AS of, task, iif(of_agent, NULL, min(agents)),
    sum(runs), sum(failed_known), sum(failed), sum(input_known), sum(input), sum(output_known), sum(output),
    sum(turns_known), sum(turns), sum(duration_known), sum(duration), sum(failed_tokens_known),
    sum(failed_tokens), sum(tokens_known), sum(tokens), min(reported_at), max(reported_at)
FROM run_numbers JOIN (
    SELECT owner, project, task, ' ' || group_concat(agent, ' ' ORDER BY first) || ' ' AS agents
    FROM (SELECT owner, project, task, agent, min(id) AS first FROM runs GROUP BY owner, project, task, agent)
    GROUP BY owner, project, task
) USING (owner, project, task), kept_of_tasks GROUP BY owner, project, of, task;

CREATE VIEW quarter_sums_anew AS SELECT owner, project * of_project AS at, agent * of_agent AS of, quarter,
    sum(runs), sum(failed_known), sum(failed), sum(input_known), sum(input), sum(output_known), sum(output),
    sum(turns_known), sum(turns), sum(duration_known), sum(duration), sum(failed_tokens_known),
    sum(failed_tokens), sum(tokens_known), sum(tokens), min(reported_at), max(reported_at)
FROM run_numbers, kept_of_quarters GROUP BY owner, at, of, quarter;

INSERT INTO agent_sums SELECT * FROM agent_sums_anew;
INSERT INTO task_sums SELECT * FROM task_sums_anew;
INSERT INTO quarter_sums SELECT * FROM quarter_sums_anew;

-- A record is summed in the transaction that stores it, whoever stores it.
CREATE TRIGGER run_is_summed AFTER INSERT ON runs BEGIN
    INSERT INTO agent_sums SELECT owner, project, agent,
        runs, failed_known, failed, input_known, input, output_known, output, turns_known, turns,
        duration_known, duration, failed_tokens_known, failed_tokens, tokens_known, tokens, reported_at,
        reported_at
    FROM run_numbers WHERE id = new.id
    ON CONFLICT DO UPDATE SET
        runs = runs + excluded.runs, failed_known = failed_known + excluded.failed_known, failed = failed +
        excluded.failed, input_known = input_known + excluded.input_known, input = input + excluded.input,
        output_known = output_known + excluded.output_known, output = output + excluded.output, turns_known =
        turns_known + excluded.turns_known, turns = turns + excluded.turns, duration_known = duration_known +
        excluded.duration_known, duration = duration + excluded.duration, failed_tokens_known =
        failed_tokens_known + excluded.failed_tokens_known, failed_tokens = failed_tokens +
        excluded.failed_tokens, tokens_known = tokens_known + excluded.tokens_known, tokens = tokens +
        excluded.tokens, first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at);
    INSERT INTO task_sums SELECT owner, project, agent * of_agent, task, iif(of_agent, NULL, ' ' || agent || ' '),
        runs, failed_known, failed, input_known, input, output_known, output, turns_known, turns,
        duration_known, duration, failed_tokens_known, failed_tokens, tokens_known, tokens, reported_at,
        reported_at
    FROM run_numbers, kept_of_tasks WHERE id = new.id
    ON CONFLICT DO UPDATE SET
        runs = runs + excluded.runs, failed_known = failed_known + excluded.failed_known, failed = failed +
        excluded.failed, input_known = input_known + excluded.input_known, input = input + excluded.input,
        output_known = output_known + excluded.output_known, output = output + excluded.output, turns_known =
        turns_known + excluded.turns_known, turns = turns + excluded.turns, duration_known = duration_known +
        excluded.duration_known, duration = duration + excluded.duration, failed_tokens_known =
        failed_tokens_known + excluded.failed_tokens_known, failed_tokens = failed_tokens +
        excluded.failed_tokens, tokens_known = tokens_known + excluded.tokens_known, tokens = tokens +
        excluded.tokens, first_at = min(first_at, excluded.first_at), last_at = max(last_at,
        excluded.last_at),
        agents = iif(instr(task_sums.agents, excluded.agents), task_sums.agents,
            task_sums.agents || ltrim(excluded.agents));
    INSERT INTO quarter_sums SELECT owner, project * of_project, agent * of_agent, quarter,
        runs, failed_known, failed, input_known, input, output_known, output, turns_known, turns,
        duration_known, duration, failed_tokens_known, failed_tokens, tokens_known, tokens, reported_at,
        reported_at
    FROM run_numbers, kept_of_quarters WHERE id = new.id
    ON CONFLICT DO UPDATE SET
        runs = runs + excluded.runs, failed_known = failed_known + excluded.failed_known, failed = failed +
        excluded.failed, input_known = input_known + excluded.input_known, input = input + excluded.input,
        output_known = output_known + excluded.output_known, output = output + excluded.output, turns_known =
        turns_known + excluded.turns_known, turns = turns + excluded.turns, duration_known = duration_known +
        excluded.duration_known, duration = duration + excluded.duration, failed_tokens_known =
        failed_tokens_known + excluded.failed_tokens_known, failed_tokens = failed_tokens +
        excluded.failed_tokens, tokens_known = tokens_known + excluded.tokens_known, tokens = tokens +
        excluded.tokens, first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at);
END;
