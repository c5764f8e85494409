//! What the runs of the watching owner's cast have used: some of it not known, some of it truly nothing.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::cast::Call;

/// Not known.
const UNKNOWN: i64 = -1;

/// The record of one run. `numbers`: tokens in and out, turns, milliseconds and the exit code.
pub(super) fn one(at: TimeDelta, agent: &'static str, task: &str, numbers: [i64; 5]) -> Call {
    let [input, output, turns, lasted, exit] =
        numbers.map(|number| if number == UNKNOWN { Value::Null } else { number.into() });
    let says = json!({"task_id": task, "input_tokens": input, "output_tokens": output, "turns": turns,
        "duration_ms": lasted, "exit_code": exit});
    Call { at, agent, tool: "report_run", says, tells: None }
}

/// What ended in the seven days before the demo began, oldest first; `at` is how long ago.
pub fn earlier() -> Vec<Call> {
    const NO: i64 = UNKNOWN;
    const BUILDER: &str = "acme/builder";
    const PLANNER: &str = "acme/planner";
    const REVIEWER: &str = "acme/reviewer";
    let ago = |days: i64, hours: i64, minutes: i64| {
        TimeDelta::days(days) + TimeDelta::hours(hours) + TimeDelta::minutes(minutes)
    };
    vec![
        // Killed before it could count anything.
        one(ago(5, 20, 31), BUILDER, "image-sizes", [NO; 5]),
        one(ago(5, 3, 12), PLANNER, "search-page", [41_380, 3_127, 6, 184_200, 0]),
        one(ago(5, 2, 40), BUILDER, "search-page", [287_904, 12_415, 38, 1_322_750, 0]),
        one(ago(5, 1, 5), REVIEWER, "search-page", [96_022, 2_871, 9, 311_480, 0]),
        one(ago(4, 19, 47), BUILDER, "upgrade-deps", [64_918, 3_302, 12, 402_100, 0]),
        one(ago(4, 19, 20), BUILDER, "upgrade-deps", [38_744, 1_206, 7, 221_060, 1]),
        one(ago(4, 18, 58), BUILDER, "upgrade-deps", [NO, NO, NO, 95_300, 143]),
        one(ago(4, 18, 31), BUILDER, "upgrade-deps", [51_209, 2_488, 10, 337_940, 0]),
        one(ago(3, 22, 8), PLANNER, "nav-plan", [30_116, 2_604, 5, 161_300, 0]),
        one(ago(3, 20, 2), PLANNER, "nav-plan", [27_951, 2_049, 4, 142_870, 0]),
        // Answered from what it had: nothing was written, which is not the same as not known.
        one(ago(3, 1, 33), BUILDER, "favicon", [1_038, 0, 1, 3_910, 0]),
        // An app that counts no tokens.
        one(ago(2, 20, 14), REVIEWER, "link-check", [NO, NO, NO, 31_200, 1]),
        one(ago(2, 20, 3), REVIEWER, "link-check", [NO, NO, NO, 28_750, 1]),
        one(ago(2, 19, 50), REVIEWER, "link-check", [NO, NO, NO, 33_010, 0]),
        one(ago(2, 2, 26), BUILDER, "footer-copy", [17_220, 1_930, NO, 240_300, 0]),
        one(ago(2, 1, 58), BUILDER, "footer-copy", [22_407, 2_215, NO, 295_110, 0]),
        one(ago(2, 1, 15), REVIEWER, "footer-copy", [9_864, 407, NO, 58_420, 1]),
        one(ago(1, 22, 9), REVIEWER, "footer-copy", [NO, NO, NO, NO, NO]),
        one(ago(1, 21, 40), REVIEWER, "footer-copy", [26_813, 2_761, NO, 361_900, 0]),
        one(ago(1, 3, 44), BUILDER, "auth-cleanup", [213_690, 9_824, 27, 842_600, 0]),
        one(ago(1, 2, 2), BUILDER, "auth-cleanup", [338_451, 14_093, 41, 1_204_700, 0]),
        one(ago(0, 20, 37), REVIEWER, "nav-review", [189_733, 8_120, 16, 744_180, 0]),
        one(ago(0, 19, 55), PLANNER, "nav-plan", [NO, 1_422, NO, 118_600, 0]),
        one(ago(0, 5, 18), BUILDER, "auth-cleanup", [402_875, 16_640, 44, 1_390_200, 137]),
        one(ago(0, 3, 6), REVIEWER, "nav-review", [176_508, 7_655, 15, 698_320, 0]),
        // The service was down; what had been used until then was counted.
        one(ago(0, 1, 29), BUILDER, "auth-cleanup", [118_266, 3_977, 13, 290_140, 1]),
        one(ago(0, 0, 49), BUILDER, "auth-cleanup", [74_902, 2_518, 9, 201_730, 0]),
        // Signed out before it began.
        one(ago(0, 0, 30), REVIEWER, "nav-review", [NO, NO, NO, 2_140, 1]),
    ]
}
