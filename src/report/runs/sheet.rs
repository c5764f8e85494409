//! Run records as CSV: RFC 4180, a first line of names, whole numbers, and an empty cell for what is not known.

use std::borrow::Cow;
use std::io;

use csv::{Terminator, Writer, WriterBuilder};

use crate::shown;
use crate::wire::Time;
use crate::wire::id::AgentId;
use crate::wire::query::By;
use crate::wire::run::AgentRun;
use crate::wire::sums::{Group, Sum, Totals};

/// The names of a record's cells, as JSON has them.
const RECORD: [&str; 11] = [
    "agent_id",
    "run_id",
    "project",
    "task_id",
    "input_tokens",
    "output_tokens",
    "turns",
    "duration_ms",
    "exit_code",
    "source",
    "reported_at",
];

/// The names of the sums in their order, each of them two cells.
const SUMS: [&str; 7] =
    ["failed", "input_tokens", "output_tokens", "turns", "duration_ms", "failed_tokens", "tokens"];

/// These records as lines, below a line of their names where `names`; with texts made safe where they are `shown`.
pub fn records(runs: &[AgentRun], names: bool, shown: bool) -> io::Result<Vec<u8>> {
    let mut sheet = sheet();
    if names {
        sheet.write_record(RECORD)?;
    }
    for AgentRun { agent_id, run } in runs {
        let cells = [
            text(agent_id.as_str(), shown),
            text(&run.run_id, shown),
            text(&run.project, shown),
            text(&run.task_id, shown),
            number(run.input_tokens),
            number(run.output_tokens),
            number(run.turns),
            number(run.duration_ms),
            number(run.exit_code),
            text(&run.source, shown),
            moment(Some(run.reported_at)),
        ];
        sheet.write_record(cells.iter().map(|cell| cell.as_bytes()))?;
    }
    finish(sheet)
}

/// These groups as lines below a line of their names: `…_sum` and `…_known` for each number; with
/// texts made safe where they are `shown`.
pub fn groups(groups: &[Group], by: By, shown: bool) -> io::Result<Vec<u8>> {
    let mut sheet = sheet();
    let keys: &[&str] = match by {
        By::Task => &["project", "task_id", "agents"],
        By::Agent => &["agent_id"],
        By::Project => &["project"],
        By::Day => &["day"],
    };
    let mut names: Vec<String> = keys.iter().map(ToString::to_string).collect();
    names.push("runs".into());
    names.extend(SUMS.iter().flat_map(|name| [format!("{name}_sum"), format!("{name}_known")]));
    names.extend(["first_reported_at".into(), "last_reported_at".into()]);
    sheet.write_record(&names)?;
    for group in groups {
        let agents: Vec<&str> = group.agents.iter().map(AgentId::as_str).collect();
        let agents = agents.join(" ");
        let key = |name: &str| match name {
            "project" => group.project.as_deref(),
            "task_id" => group.task_id.as_deref(),
            "agent_id" => group.agent_id.as_ref().map(AgentId::as_str),
            "day" => group.day.as_deref(),
            _ => Some(agents.as_str()),
        };
        let mut cells: Vec<Cow<'_, str>> =
            keys.iter().map(|name| text(key(name).unwrap_or_default(), shown)).collect();
        let totals = &group.totals;
        cells.push(number(Some(totals.runs)));
        for Sum { sum, known } in sums(totals) {
            cells.extend([number(sum), number(Some(known))]);
        }
        cells.extend([moment(totals.first_reported_at), moment(totals.last_reported_at)]);
        sheet.write_record(cells.iter().map(|cell| cell.as_bytes()))?;
    }
    finish(sheet)
}

fn sums(totals: &Totals) -> [Sum; SUMS.len()] {
    let Totals { failed, input_tokens, output_tokens, turns, duration_ms, failed_tokens, tokens, .. } =
        *totals;
    [failed, input_tokens, output_tokens, turns, duration_ms, failed_tokens, tokens]
}

fn sheet() -> Writer<Vec<u8>> {
    WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new())
}

fn finish(sheet: Writer<Vec<u8>>) -> io::Result<Vec<u8>> {
    sheet.into_inner().map_err(csv::IntoInnerError::into_error)
}

/// Other people's text. A program that opens the sheet would take what begins like this for a formula to work out.
fn text(text: &str, shown: bool) -> Cow<'_, str> {
    let text: Cow<'_, str> = if shown { shown::line(text).into() } else { text.into() };
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}").into() } else { text }
}

fn number(number: Option<i64>) -> Cow<'static, str> {
    number.map_or(Cow::Borrowed(""), |number| number.to_string().into())
}

fn moment(time: Option<Time>) -> Cow<'static, str> {
    time.map_or(Cow::Borrowed(""), |time| time.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true).into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::ledger::Tally;

    fn run(task: &str, input: Option<i64>) -> AgentRun {
        serde_json::from_value(json!({
            "agent_id": "acme/builder", "run_id": "4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f", "project": "website-v2",
            "task_id": task, "input_tokens": input, "output_tokens": 0, "turns": null, "duration_ms": 250_999,
            "exit_code": 1, "source": "client_reported", "reported_at": "2026-11-30T14:32:00.250Z",
        }))
        .unwrap()
    }

    fn read(bytes: &[u8]) -> Vec<Vec<String>> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(bytes);
        reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect()
    }

    #[test]
    fn case_d08_in_a_sheet_the_unknown_is_empty_and_zero_is_zero() {
        let sheet = records(&[run("nav", None), run("nav", Some(0))], true, false).unwrap();
        let line = "acme/builder,4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f,website-v2,nav";
        let rest = "0,,250999,1,client_reported,2026-11-30T14:32:00.250Z";
        let names = RECORD.join(",");
        let text = String::from_utf8(sheet).unwrap();
        assert_eq!(text, format!("{names}\r\n{line},,{rest}\r\n{line},0,{rest}\r\n"));
        assert_eq!(records(&[], false, false).unwrap(), b"");
        // The names are those of JSON, in its order.
        let json = serde_json::to_value(run("nav", None)).unwrap();
        assert_eq!(json.as_object().unwrap().keys().collect::<Vec<_>>(), RECORD);
    }

    #[test]
    fn what_would_be_a_formula_is_a_text_and_everything_else_comes_back_as_it_was() {
        let bad = ["=1+1", "+1", "-1", "@sum", "\tx", "\rx"];
        let good = ["a,b", "say \"x\"", "two\nlines", "two\r\nlines", "1-1", "料金", " =1", "'x"];
        let runs: Vec<AgentRun> = bad.iter().chain(&good).map(|task| run(task, Some(1))).collect();
        let tasks: Vec<String> =
            read(&records(&runs, false, false).unwrap()).into_iter().map(|mut line| line.remove(3)).collect();
        let wanted: Vec<String> =
            bad.iter().map(|task| format!("'{task}")).chain(good.iter().map(ToString::to_string)).collect();
        assert_eq!(tasks, wanted);
        let quoted = String::from_utf8(records(&runs, false, false).unwrap()).unwrap();
        let shown = records(&[run("\u{1b}[2Jx", None)], false, true).unwrap();
        assert!(!shown.contains(&0x1b), "{shown:?}");
        assert!(quoted.contains(",\"a,b\",") && quoted.contains(",\"say \"\"x\"\"\","), "{quoted}");
    }

    #[test]
    fn a_group_has_a_sum_and_how_many_are_known() {
        let mut tally = Tally::of(&run("nav", None).run);
        tally.join(&Tally::of(&run("nav", Some(1200)).run));
        let group = |by: By| Group {
            project: matches!(by, By::Task | By::Project).then(|| "website-v2".into()),
            task_id: (by == By::Task).then(|| "=nav".into()),
            agent_id: (by == By::Agent).then(|| "acme/builder".parse().unwrap()),
            day: (by == By::Day).then(|| "2026-11-30".into()),
            agents: if by == By::Task {
                vec!["acme/a".parse().unwrap(), "acme/b".parse().unwrap()]
            } else {
                Vec::new()
            },
            totals: tally.totals(),
        };
        for (by, keys, cells) in [
            (By::Task, "project,task_id,agents", "website-v2,'=nav,acme/a acme/b"),
            (By::Agent, "agent_id", "acme/builder"),
            (By::Project, "project", "website-v2"),
            (By::Day, "day", "2026-11-30"),
        ] {
            let text = String::from_utf8(groups(&[group(by)], by, false).unwrap()).unwrap();
            let (names, line) = text.strip_suffix("\r\n").unwrap().split_once("\r\n").unwrap();
            assert_eq!(
                names,
                format!(
                    "{keys},runs,failed_sum,failed_known,input_tokens_sum,input_tokens_known,output_tokens_sum,\
                     output_tokens_known,turns_sum,turns_known,duration_ms_sum,duration_ms_known,failed_tokens_sum,\
                     failed_tokens_known,tokens_sum,tokens_known,first_reported_at,last_reported_at"
                )
            );
            let at = "2026-11-30T14:32:00.250Z";
            assert_eq!(line, format!("{cells},2,2,2,1200,1,0,2,,0,501998,2,1200,1,1200,1,{at},{at}"));
            // The names are those of JSON, in its order.
            let json = serde_json::to_value(group(by)).unwrap();
            let flat: Vec<String> = json
                .as_object()
                .unwrap()
                .iter()
                .flat_map(|(name, value)| match value.is_object() {
                    true => vec![format!("{name}_sum"), format!("{name}_known")],
                    false => vec![name.clone()],
                })
                .collect();
            assert_eq!(names.split(',').collect::<Vec<_>>(), flat);
        }
    }
}
