//! How prickle says times, ages, claims, intents and changes: the same words on the screen and in plain text.

use chrono::{FixedOffset, Local, NaiveDate, TimeDelta, TimeZone};
use chrono_tz::Tz;

use crate::change::Change;
use crate::picture::{Claim, Since};
use crate::wire::Time;
use crate::wire::pulse::{Availability, Intent};
use crate::{hint, shown};

/// In which zone clock times are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// The machine's (`TZ`), where nobody knows what it is called.
    Local,
    /// One that is called by its name, like `Europe/Berlin`.
    Named(Tz),
    /// A fixed one.
    Fixed(FixedOffset),
}

impl Zone {
    /// The zone that days are cut in: this one where a room can be told it by its name, else UTC.
    #[must_use]
    pub fn of_days(self) -> Self {
        Self::Named(self.days())
    }

    /// The zone that days are cut in, by a name that every room knows.
    pub fn name(self) -> &'static str {
        self.days().name()
    }

    /// When a day begins: its first moment, which is not midnight everywhere.
    pub fn begin(self, day: NaiveDate) -> Time {
        first_moment(self.days(), day)
    }

    fn days(self) -> Tz {
        match self {
            Self::Named(zone) => zone,
            Self::Local | Self::Fixed(_) => Tz::UTC,
        }
    }

    fn format(self, time: Time, format: &str) -> String {
        match self {
            Self::Local => time.with_timezone(&Local).format(format).to_string(),
            Self::Named(zone) => time.with_timezone(&zone).format(format).to_string(),
            Self::Fixed(zone) => time.with_timezone(&zone).format(format).to_string(),
        }
    }

    /// `14:32`.
    pub fn minute(self, time: Time) -> String {
        self.format(time, "%H:%M")
    }

    /// `14:32:07`.
    pub fn second(self, time: Time) -> String {
        self.format(time, "%H:%M:%S")
    }

    /// `14:32:07` on the same day as `now`, else as [`Zone::near`] has it.
    pub fn moment(self, time: Time, now: Time) -> String {
        if self.format(time, "%F") == self.format(now, "%F") {
            self.second(time)
        } else {
            self.near(time, now)
        }
    }

    /// `Sun 29 Nov`.
    pub fn day(self, time: Time) -> String {
        self.format(time, "%a %-d %b")
    }

    /// The day that a moment is in.
    pub fn date(self, time: Time) -> NaiveDate {
        match self {
            Self::Local => time.with_timezone(&Local).date_naive(),
            Self::Named(zone) => time.with_timezone(&zone).date_naive(),
            Self::Fixed(zone) => time.with_timezone(&zone).date_naive(),
        }
    }

    /// `14:32` on the same day as `now`, `Sun 21:40` within a week, `24 Nov` before.
    pub fn near(self, time: Time, now: Time) -> String {
        if self.format(time, "%F") == self.format(now, "%F") {
            self.minute(time)
        } else if now - time < TimeDelta::days(6) && now >= time {
            self.format(time, "%a %H:%M")
        } else {
            self.format(time, "%-d %b")
        }
    }
}

/// A day's first moment in a zone. Where clocks are put forward over midnight, that is later than 0:00.
fn first_moment(zone: Tz, day: NaiveDate) -> Time {
    let midnight = day.and_time(chrono::NaiveTime::MIN);
    let mut quarters = (0..=96).map(|quarter| midnight + TimeDelta::minutes(15 * quarter));
    let first = quarters.find_map(|local| zone.from_local_datetime(&local).earliest());
    first.map_or_else(|| midnight.and_utc(), |moment| moment.to_utc())
}

/// An age or a time left in its largest unit: `now` under a minute, `47m`, `3h`, `12d`.
pub fn age(age: TimeDelta) -> String {
    match age.num_minutes() {
        ..1 => "now".into(),
        minutes @ 1..60 => format!("{minutes}m"),
        minutes @ 60..1440 => format!("{}h", minutes / 60),
        minutes => format!("{}d", minutes / 1440),
    }
}

/// Minutes down to which a number of minutes is told in the same words.
fn told_down_to(minutes: i64) -> i64 {
    match minutes {
        ..60 => minutes,
        60..1440 => minutes / 60 * 60,
        _ => minutes / 1440 * 1440,
    }
}

/// How long an age will be told as it is now.
pub fn age_lasts(age: TimeDelta) -> TimeDelta {
    let minutes = age.num_minutes().max(0);
    let unit = match minutes {
        ..60 => 1,
        60..1440 => 60,
        _ => 1440,
    };
    TimeDelta::minutes(told_down_to(minutes) + unit) - age
}

/// How long what is left will be told as it is now.
pub fn left_lasts(left: TimeDelta) -> TimeDelta {
    let seconds = left.num_seconds().max(0);
    let last = match (seconds + 59) / 60 {
        _ if seconds < 60 => seconds,
        1 => 60,
        minutes => (told_down_to(minutes) - 1) * 60 + 1,
    };
    left - TimeDelta::seconds(last) + TimeDelta::milliseconds(1)
}

/// What is left of something, rounded up: `29m`, under a minute `40s`.
pub fn left(left: TimeDelta) -> String {
    let seconds = left.num_seconds().max(0);
    if seconds < 60 { format!("{seconds}s") } else { age(TimeDelta::seconds(seconds + 59)) }
}

/// A span of time to be read aloud: `4 minutes 10 seconds`.
pub fn span(span: TimeDelta) -> String {
    let unit = |n: i64, name: &str| match n {
        0 => String::new(),
        1 => format!("1 {name}"),
        n => format!("{n} {name}s"),
    };
    let seconds = span.num_seconds().max(0);
    let parts = if seconds >= 3600 {
        [unit(seconds / 3600, "hour"), unit(seconds % 3600 / 60, "minute")]
    } else {
        [unit(seconds / 60, "minute"), unit(seconds % 60, "second")]
    };
    let said = parts.join(" ");
    if said.trim().is_empty() { "0 seconds".into() } else { said.trim().into() }
}

/// How far this machine's clock is from the room's, `ahead` of it: `10 hours behind the room's`.
pub fn clocks(ahead: TimeDelta) -> String {
    let which = if ahead > TimeDelta::zero() { "behind" } else { "ahead of" };
    format!("{} {which} the room's", span(ahead.abs()))
}

/// `since 14:02`, or `before 14:02` where it was so already when we came.
pub fn since(since: Since, now: Time, zone: Zone) -> String {
    match since {
        Since::At(at) => format!("since {}", zone.near(at, now)),
        Since::Before(at) => format!("before {}", zone.near(at, now)),
    }
}

/// A claim's words without its age: `working`, or `said working`.
pub fn claim(claim: &Claim<'_>) -> String {
    let word = shown::line(claim.availability.as_str());
    if claim.past { format!("said {word}") } else { word }
}

/// A claim with its age: `said working · 47m ?`.
pub fn claim_and_age(c: &Claim<'_>) -> String {
    format!("{} · {}{}", claim(c), age(c.age), if c.stale { " ?" } else { "" })
}

/// The mark of an availability, one column wide.
pub fn glyph(availability: &Availability) -> &'static str {
    match availability {
        Availability::Working => "●",
        Availability::Online => "◌",
        Availability::Idle => "○",
        Availability::Asleep => "z",
        Availability::Away => "-",
        Availability::Offline => "×",
        Availability::Other(_) => "·",
    }
}

/// What an intent touches: `src/auth/**`, `src/a.rs +2`, `area auth`.
pub fn target(intent: &Intent) -> String {
    let mut names = intent.paths.iter().map(|p| shown::line(p));
    let mut areas = intent.areas.iter().map(|a| format!("area {}", shown::line(a)));
    let Some(first) = names.next().or_else(|| areas.next()) else { return "nothing named".into() };
    match names.count() + areas.count() {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// `remove src/auth/**`.
pub fn intent(intent: &Intent) -> String {
    format!("{} {}", shown::line(intent.kind.as_str()), target(intent))
}

/// A room's own few words; not more than so many letters of them, if it says more. Not made safe.
pub fn brief(said: &str, longest: usize) -> String {
    match said.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &said[..end]),
        None => said.to_owned(),
    }
}

/// A number and its noun: `1 change`, `3 changes`.
pub fn count(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// The changes of one report in one line, the weightiest first; empty where a report repeats the last one.
pub fn changes(changes: &[Change<'_>]) -> String {
    let mut said: Vec<String> = Vec::new();
    for change in changes {
        said.push(match change {
            Change::Failed(failure) => shown::line(&hint::title(failure)),
            Change::Cleared => "runs again · the failure was cleared".into(),
            Change::Intends { intent: new, before: Some(old) } => {
                format!("about to {} · was: {}", intent(new), intent(old))
            }
            Change::Intends { intent: new, before: None } => format!("about to {}", intent(new)),
            Change::IntendsNothing => "its intent is withdrawn".into(),
            Change::Availability { from: Some(from), to } => {
                format!("{} → {}", shown::line(from.as_str()), shown::line(to.as_str()))
            }
            Change::Availability { from: None, to } => shown::line(to.as_str()),
            Change::Doing("") => "no longer says what it is doing".into(),
            Change::Doing(doing) => shown::line(doing),
            Change::Branch(Some(branch)) => format!("branch {}", shown::line(branch)),
            Change::Branch(None) => "on no branch".into(),
            Change::Task(Some(task)) => format!("task {}", shown::line(task)),
            Change::Task(None) => "on no task".into(),
            Change::Files([]) => "no files".into(),
            Change::Files(files) => count(files.len() as u64, "file"),
            Change::Decided(decision) => format!("decided · {}", shown::line(decision)),
        });
    }
    said.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_countdowns_last_as_long_as_they_say() {
        let moment = TimeDelta::milliseconds(1);
        for ms in (-3_000..200_000).step_by(333).chain((0..300_000_000).step_by(299_993)) {
            let is = TimeDelta::milliseconds(ms);
            let lasts = age_lasts(is);
            assert_eq!(age(is + lasts - moment), age(is), "{is}");
            assert_ne!(age(is + lasts), age(is), "{is}");
            if ms >= 1000 {
                let lasts = left_lasts(is);
                assert_eq!(left(is - lasts + moment), left(is), "{is}");
                assert_ne!(left(is - lasts), left(is), "{is}");
            }
        }
    }

    #[test]
    fn ages_and_spans() {
        let of = |s| age(TimeDelta::seconds(s));
        assert_eq!(
            [of(-5), of(59), of(60), of(3599), of(3600), of(86_399), of(86_400)],
            ["now", "now", "1m", "59m", "1h", "23h", "1d"]
        );
        assert_eq!(
            [left(TimeDelta::seconds(59)), left(TimeDelta::seconds(61)), left(TimeDelta::seconds(-3))],
            ["59s", "2m", "0s"]
        );
        assert_eq!(
            [span(TimeDelta::seconds(250)), span(TimeDelta::seconds(0)), span(TimeDelta::seconds(3660))],
            ["4 minutes 10 seconds", "0 seconds", "1 hour 1 minute"]
        );
    }
}
