//! What records come to: by task, agent, project and day, whatever is unknown, filtered or cut off.

use chrono::TimeDelta;
use prickle::rules::Kind;
use prickle::wire::query::{By, Order, RunQuery, Sort};
use prickle::wire::sums::Sum;
use proptest::prelude::*;
use serde_json::json;
use tokio::runtime::Runtime;

use super::database::{Database, run, run_id};
use super::model::{
    Made, PROJECTS, ZONES, filters, in_order, made, meant, millis, person, room, sorted, store_all, summed,
};

fn sorts(of: &'static [Order]) -> impl Strategy<Value = Sort> {
    (prop::sample::select(of), any::<bool>()).prop_map(|(order, descending)| Sort { order, descending })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Sums are the sums of the rows: whatever is unknown, in every zone, on the days on which clocks change, with
    /// every filter and with bounds that cut a quarter of an hour in two.
    #[test]
    fn sums_are_those_of_the_rows(
        records in prop::collection::vec(made(), 0..60),
        questions in prop::collection::vec(
            (prop::sample::select(&By::ALL[..]), prop::sample::select(&ZONES[..]), filters(), sorts(&Order::OF_GROUPS),
                prop::option::of(1..5u32), any::<bool>()),
            12,
        ),
    ) {
        let runtime = Runtime::new().unwrap();
        let (database, store) = room();
        let records = store_all(&database, &records, 1);
        let all = person(&database, &store, &[]);
        let some = person(&database, &store, &PROJECTS[1..]);
        for (by, zone, mut query, sort, limit, everything) in questions {
            let caller = if everything { &all } else { &some };
            (query.sort, query.limit) = (sort, limit);
            let mut right = in_order(summed(&meant(&records, caller, &query), by, zone), sort);
            right.rows.truncate(limit.map_or(usize::MAX, |limit| limit as usize));
            let told = runtime.block_on(store.run_summary(caller, by, zone, &query)).unwrap();
            prop_assert_eq!(told, right, "{:?} {:?}", by, query);
        }
    }

    /// Bounds next to a record, to the nanosecond: the first is inclusive, the last is not.
    #[test]
    fn bounds_are_exact(records in prop::collection::vec(made(), 1..20), at in 0..20usize, off in -1_000_001..1_000_001i64) {
        let runtime = Runtime::new().unwrap();
        let (database, store) = room();
        let records = store_all(&database, &records, 1);
        let caller = person(&database, &store, &[]);
        let bound = records[at % records.len()].run.reported_at + TimeDelta::nanoseconds(off);
        for (since, until) in [(Some(bound), None), (None, Some(bound))] {
            let query = RunQuery { since, until, ..RunQuery::default() };
            let of = meant(&records, &caller, &query);
            for by in By::ALL {
                let told = runtime.block_on(store.run_summary(&caller, by, ZONES[1], &query)).unwrap();
                prop_assert_eq!(told, in_order(summed(&of, by, ZONES[1]), query.sort));
            }
            let page = runtime.block_on(store.runs(&caller, &query)).unwrap();
            let right: Vec<_> = sorted(&records, query.sort).into_iter().filter(|one| of.contains(one)).cloned().collect();
            prop_assert_eq!(page.runs, right);
        }
    }
}

/// One agent's record, everything known, at a moment.
fn at(text: &str) -> Made {
    Made {
        agent: 0,
        project: 0,
        task: 0,
        numbers: [Some(1), Some(1), Some(1), Some(1), Some(0)],
        at: text.parse().unwrap(),
    }
}

#[tokio::test]
async fn case_d15_days_are_cut_in_the_zone_that_is_asked_for() {
    let (database, store) = room();
    let caller = person(&database, &store, &[]);
    store_all(&database, &[at("2026-01-25T04:08:00Z"), at("2026-01-25T18:00:00Z")], 1);
    for (zone, days) in [
        ("America/Los_Angeles", vec!["2026-01-25", "2026-01-24"]),
        ("UTC", vec!["2026-01-25"]),
        ("Asia/Kathmandu", vec!["2026-01-25"]),
        ("Pacific/Kiritimati", vec!["2026-01-26", "2026-01-25"]),
    ] {
        let told =
            store.run_summary(&caller, By::Day, zone.parse().unwrap(), &RunQuery::default()).await.unwrap();
        let said: Vec<&str> = told.rows.iter().filter_map(|row| row.day.as_deref()).collect();
        assert_eq!((said, told.tz.as_deref()), (days, Some(zone)));
    }
}

#[tokio::test]
async fn days_on_which_clocks_change_have_more_hours_or_fewer() {
    let (database, store) = room();
    let caller = person(&database, &store, &[]);
    // A record each quarter of an hour, around the days on which clocks change.
    let mut made = Vec::new();
    for day in ["2026-03-07", "2026-04-03", "2026-10-02", "2026-10-24", "2026-10-31"] {
        let begin = format!("{day}T00:00:00Z").parse::<prickle::wire::Time>().unwrap().timestamp_millis();
        made.extend(
            (0..4 * 24 * 4)
                .map(|quarter| Made { at: millis(begin + quarter * 900_000), ..at("2026-01-01T00:00:00Z") }),
        );
    }
    store_all(&database, &made, 1);
    for (zone, day, quarters) in [
        ("Europe/Berlin", "2026-10-25", 100),
        ("America/New_York", "2026-03-08", 92),
        ("America/New_York", "2026-11-01", 100),
        ("America/St_Johns", "2026-11-01", 100),
        ("Australia/Lord_Howe", "2026-10-04", 94),
        ("Australia/Lord_Howe", "2026-04-05", 98),
        ("Asia/Kathmandu", "2026-10-25", 96),
        ("UTC", "2026-10-25", 96),
    ] {
        let told =
            store.run_summary(&caller, By::Day, zone.parse().unwrap(), &RunQuery::default()).await.unwrap();
        let row = told.rows.iter().find(|row| row.day.as_deref() == Some(day)).unwrap();
        assert_eq!(row.totals.runs, quarters, "{zone} {day}");
    }
}

/// Three reports as cases of usage have them, through the store.
async fn reported(numbers: [[serde_json::Value; 2]; 3]) -> (Database, prickle::server::store::Store) {
    let database = Database::new();
    let store = database.open();
    let agent = database.agent(&store);
    for (n, [input, output]) in numbers.into_iter().enumerate() {
        let report = json!({"run_id": run_id(n as u64 + 1), "input_tokens": input, "output_tokens": output,
            "duration_ms": 2_147_483_647, "task_id": "nav"});
        run(&store, &agent, report).await.unwrap();
    }
    (database, store)
}

#[tokio::test]
async fn case_d10_sums_say_of_how_many_runs_they_are() {
    let (database, store) =
        reported([[json!(1200), json!(340)], [json!(null), json!(null)], [json!(500), json!(null)]]).await;
    let caller = person(&database, &store, &[]);
    let told = store.run_summary(&caller, By::Task, ZONES[0], &RunQuery::default()).await.unwrap();
    let row = &told.rows[0].totals;
    assert_eq!(row.input_tokens, Sum { sum: Some(1700), known: 2 });
    assert_eq!(row.output_tokens, Sum { sum: Some(340), known: 1 });
    assert_eq!((row.runs, row.turns), (3, Sum { sum: None, known: 0 }));
    assert_eq!(*row, told.total);
}

#[tokio::test]
async fn case_d14_the_largest_numbers_add_up() {
    let most = || json!(2_147_483_647);
    let (database, store) = reported([[most(), most()], [most(), most()], [most(), most()]]).await;
    let caller = person(&database, &store, &[]);
    for by in By::ALL {
        let told = store.run_summary(&caller, by, ZONES[1], &RunQuery::default()).await.unwrap();
        assert_eq!(told.total.input_tokens.sum, Some(6_442_450_941), "{by:?}");
        assert_eq!(told.total.duration_ms.sum, Some(6_442_450_941), "{by:?}");
        assert_eq!(told.rows[0].totals.tokens.sum, Some(12_884_901_882), "{by:?}");
    }
}

#[tokio::test]
async fn a_run_counts_once_however_often_it_is_reported() {
    let database = Database::new();
    let store = database.open();
    let agent = database.agent(&store);
    let sister = database.caller(&store, Kind::Client, "acme/sister", &["website-v2"]);
    let caller = person(&database, &store, &[]);
    for _ in 0..3 {
        run(&store, &agent, json!({})).await.unwrap();
    }
    assert!(run(&store, &agent, json!({"input_tokens": 9})).await.is_err(), "another report of the same run");
    assert!(run(&store, &agent, json!({"input_tokens": null})).await.is_err());
    assert!(run(&store, &sister, json!({})).await.is_err());
    for by in By::ALL {
        for since in [None, Some(millis(0)), Some(millis(1))] {
            let query = RunQuery { since, ..RunQuery::default() };
            let told = store.run_summary(&caller, by, ZONES[0], &query).await.unwrap();
            assert_eq!((told.total.runs, told.total.input_tokens.sum), (1, Some(1200)), "{by:?}");
        }
    }
}
