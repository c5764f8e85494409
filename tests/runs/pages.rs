//! Pages of records: every order, every filter, and records that arrive while somebody turns the pages.

use prickle::rules::Caller;
use prickle::server::store::Store;
use prickle::wire::query::{Order, RunQuery, Sort};
use prickle::wire::run::AgentRun;
use proptest::prelude::*;
use tokio::runtime::Runtime;

use super::database::run_id;
use super::model::{Made, PROJECTS, filters, made, meant, person, room, sorted, store_all};

/// All pages after another; `between` is done after each.
async fn turned(
    store: &Store,
    caller: &Caller,
    query: &RunQuery,
    mut between: impl FnMut(),
) -> Vec<AgentRun> {
    let mut query = query.clone();
    let mut all = Vec::new();
    loop {
        let page = store.runs(caller, &query).await.unwrap();
        assert!(page.runs.len() <= query.limit.unwrap_or(100) as usize);
        all.extend(page.runs);
        between();
        let Some(cursor) = page.next_cursor else { return all };
        query.cursor = Some(cursor);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Pages put together are the records that were there at the first page, each once, in order: whatever is
    /// unknown, whatever is filtered, and whatever arrives between them with whatever time.
    #[test]
    fn pages_are_the_records_in_order(
        records in prop::collection::vec(made(), 0..40),
        late in prop::collection::vec(made(), 30),
        questions in prop::collection::vec(
            (filters(), prop::sample::select(&Order::OF_RECORDS[..]), any::<bool>(), 1..9u32, any::<bool>()),
            8,
        ),
    ) {
        let runtime = Runtime::new().unwrap();
        let (database, store) = room();
        let mut records = store_all(&database, &records, 1);
        let all = person(&database, &store, &[]);
        let some = person(&database, &store, &PROJECTS[1..]);
        let mut late = late.into_iter();
        for (mut query, order, descending, limit, everything) in questions {
            let caller = if everything { &all } else { &some };
            (query.sort, query.limit) = (Sort { order, descending }, Some(limit));
            let before = records.clone();
            let told = runtime.block_on(turned(&store, caller, &query, || {
                let next: Vec<Made> = late.next().into_iter().collect();
                records.extend(store_all(&database, &next, records.len() + 1));
            }));
            let of = meant(&before, caller, &query);
            let right: Vec<AgentRun> =
                sorted(&before, query.sort).into_iter().filter(|one| of.contains(one)).cloned().collect();
            prop_assert_eq!(told, right, "{:?}", query);
        }
    }
}

fn plain(n: usize) -> Made {
    let number = Some(i64::try_from(n).unwrap());
    Made {
        agent: n % 3,
        project: n % 2,
        task: n % 3,
        numbers: [number; 5],
        at: super::model::millis(1_790_000_000_000),
    }
}

#[tokio::test]
async fn a_cursor_is_of_its_question_alone() {
    let (database, store) = room();
    let made: Vec<Made> = (0..20).map(plain).collect();
    store_all(&database, &made, 1);
    let caller = person(&database, &store, &[]);
    let query = RunQuery { limit: Some(3), ..RunQuery::default() };
    let cursor = store.runs(&caller, &query).await.unwrap().next_cursor.unwrap();
    let ask = async |query: RunQuery, caller: &Caller| {
        store.runs(caller, &RunQuery { cursor: Some(cursor.clone()), ..query }).await
    };
    // Pages may be of another size.
    let page = ask(RunQuery { limit: Some(5), ..query.clone() }, &caller).await.unwrap();
    assert_eq!((page.runs.len(), &*page.runs[0].run.run_id), (5, "4f7c2a9e-3b1d-4c8e-9a6f-000000000017"));
    let others = [
        RunQuery { sort: Sort { order: Order::Reported, descending: false }, ..query.clone() },
        RunQuery { sort: Sort { order: Order::Tokens, descending: true }, ..query.clone() },
        RunQuery { task: Some("nav".into()), ..query.clone() },
        RunQuery { project: Some("api".parse().unwrap()), ..query.clone() },
        RunQuery { agent: Some("acme/writer".parse().unwrap()), ..query.clone() },
        RunQuery { since: Some(super::model::millis(0)), ..query.clone() },
    ];
    for other in others {
        let text = ask(other.clone(), &caller).await.unwrap_err().to_string();
        assert!(text.starts_with("cursor must be the next_cursor of the page before"), "{other:?}: {text}");
    }
    let stranger = database.caller(&store, prickle::rules::Kind::Person, "globex", &[]);
    assert!(ask(query.clone(), &stranger).await.is_err(), "another owner's");
    for made_up in
        ["x", "AAAA", &cursor[1..], &format!("{cursor}A"), &cursor.replace(&cursor[20..], "AAAAAAAAAAAA")]
    {
        let query = RunQuery { cursor: Some(made_up.to_owned()), ..query.clone() };
        let text = store.runs(&caller, &query).await.unwrap_err().to_string();
        assert!(text.starts_with("cursor must be"), "{made_up}: {text}");
    }
}

#[tokio::test]
async fn case_d08_unknown_is_stored_null_and_read_null_and_a_zero_is_a_zero() {
    let database = super::database::Database::new();
    let store = database.open();
    let agent = database.agent(&store);
    let numbers = ["input_tokens", "output_tokens", "turns", "duration_ms", "exit_code"];
    for (n, value) in [(1, serde_json::json!(null)), (2, serde_json::json!(0))] {
        let mut report: serde_json::Map<_, _> =
            numbers.iter().map(|name| ((*name).to_owned(), value.clone())).collect();
        report.insert("run_id".to_owned(), run_id(n).into());
        super::database::run(&store, &agent, report.into()).await.unwrap();
    }
    let kept = |column: &str| -> Vec<Option<i64>> {
        let sql = database.sql();
        let mut select = sql.prepare(&format!("SELECT {column} FROM runs ORDER BY id")).unwrap();
        select.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let caller = person(&database, &store, &[]);
    for (order, name) in
        [Order::Input, Order::Output, Order::Turns, Order::Duration, Order::Exit].into_iter().zip(numbers)
    {
        assert_eq!(kept(name), [None, Some(0)], "{name}");
        for descending in [true, false] {
            let query = RunQuery { sort: Sort { order, descending }, ..RunQuery::default() };
            let page = serde_json::to_value(store.runs(&caller, &query).await.unwrap()).unwrap();
            let read: Vec<_> = page["runs"].as_array().unwrap().iter().map(|run| &run[name]).collect();
            assert_eq!(read, [&serde_json::json!(0), &serde_json::json!(null)], "{name}: unknown last");
        }
    }
}

#[tokio::test]
async fn case_d18_pages_and_sums_of_many_records() {
    let (database, store) = room();
    let made: Vec<Made> = (0..50_000).map(plain).collect();
    store_all(&database, &made, 1);
    let caller = person(&database, &store, &[]);
    let filter = |task: Option<&str>, agent: Option<&str>, project: Option<&str>| RunQuery {
        task: task.map(str::to_owned),
        agent: agent.map(|text| text.parse().unwrap()),
        project: project.map(|text| text.parse().unwrap()),
        ..RunQuery::default()
    };
    for (query, some) in [
        (filter(None, None, None), true),
        (filter(Some("nav"), None, None), true),
        (filter(None, Some("acme/writer"), None), true),
        (filter(None, None, Some("api")), true),
        (filter(None, None, Some("docs")), false),
        (filter(Some("absent"), None, None), false),
        (filter(None, Some("acme/absent"), None), false),
        (filter(None, Some("acme/writer"), Some("docs")), false),
    ] {
        let page = store.runs(&caller, &query).await.unwrap();
        assert_eq!(
            (page.runs.len(), page.next_cursor.is_some()),
            if some { (100, true) } else { (0, false) }
        );
    }
    let all = RunQuery::default();
    let summary = store.run_summary(&caller, prickle::wire::query::By::Task, chrono_tz::UTC, &all).await;
    assert_eq!(summary.unwrap().total.runs, 50_000);
}
