//! From when until when: `7d`, `yesterday`, `2026-11-01`, as a person says it.

use chrono::{Datelike, Days, NaiveDate, TimeDelta};

use crate::wire::Time;
use crate::words::Zone;

/// What a bound may be, for whoever gave another.
const MUST: &str = "must be today, yesterday, all, a number of days, weeks or hours like 7d, 2w or 12h, a day like \
                    2026-11-01, or a moment like 2026-11-01T14:30:00Z";

/// The largest number of days, weeks or hours.
const MOST: u64 = 9999;

/// One end of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    /// No bound.
    All,
    /// So many days, with today; a week is seven.
    Days(u64),
    /// So many hours ago.
    Hours(u64),
    /// The day before today.
    Yesterday,
    /// A day.
    Day(NaiveDate),
    /// A moment.
    Moment(Time),
}

/// Reads a bound. The error says what it may be.
pub(super) fn bound(text: &str) -> Result<Bound, String> {
    let number = |digits: &str| digits.parse().ok().filter(|n| (1..=MOST).contains(n));
    let counted = |unit| text.strip_suffix(unit).and_then(number);
    let read = match text {
        "all" => Some(Bound::All),
        "today" => Some(Bound::Days(1)),
        "yesterday" => Some(Bound::Yesterday),
        _ => None,
    };
    read.or_else(|| counted('d').map(Bound::Days))
        .or_else(|| counted('w').map(|weeks| Bound::Days(weeks * 7)))
        .or_else(|| counted('h').map(Bound::Hours))
        .or_else(|| day(text).map(Bound::Day))
        .or_else(|| text.parse().ok().filter(|at: &Time| (1..=9999).contains(&at.year())).map(Bound::Moment))
        .ok_or_else(|| MUST.to_owned())
}

/// A day of this era, written in full.
fn day(text: &str) -> Option<NaiveDate> {
    text.parse().ok().filter(|_| text.len() == "2026-11-01".len() && text.starts_with(['1', '2']))
}

impl Bound {
    /// When a period begins that begins with this: with a day's first moment, or then.
    pub(super) fn begin(self, zone: Zone, now: Time) -> Option<Time> {
        let zone = zone.of_days();
        let back = |days: u64| zone.date(now).checked_sub_days(Days::new(days)).map(|day| zone.begin(day));
        match self {
            Self::All => None,
            Self::Days(days) => back(days.saturating_sub(1)),
            Self::Hours(hours) => Some(now - TimeDelta::hours(i64::try_from(hours).unwrap_or(0))),
            Self::Yesterday => back(1),
            Self::Day(day) => Some(zone.begin(day)),
            Self::Moment(moment) => Some(moment),
        }
    }

    /// When a period ends that lasts until this: with the last moment of a day that is named, else where one that
    /// begins with it would begin. The end itself is outside.
    pub(super) fn end(self, zone: Zone, now: Time) -> Option<Time> {
        let after = |day: NaiveDate| day.succ_opt().map(|next| zone.of_days().begin(next));
        match self {
            Self::Day(day) => after(day),
            Self::Days(1) => after(zone.of_days().date(now)),
            Self::Yesterday => Self::Days(1).begin(zone, now),
            _ => self.begin(zone, now),
        }
    }

    /// The bound as the start of a period, in words: `last 7 days`, `since yesterday`.
    pub(super) fn since(self) -> String {
        match self {
            Self::All => "all that there are".into(),
            Self::Days(1) => "today".into(),
            Self::Days(days) => format!("last {days} days"),
            Self::Hours(1) => "last hour".into(),
            Self::Hours(hours) => format!("last {hours} hours"),
            Self::Yesterday | Self::Day(_) | Self::Moment(_) => format!("since {}", self.named()),
        }
    }

    /// The bound by itself: `yesterday`, `2026-11-01`, `7d`.
    pub(super) fn named(self) -> String {
        match self {
            Self::All => "all".into(),
            Self::Days(1) => "today".into(),
            Self::Days(days) => format!("{days}d"),
            Self::Hours(hours) => format!("{hours}h"),
            Self::Yesterday => "yesterday".into(),
            Self::Day(day) => day.to_string(),
            Self::Moment(moment) => moment.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const ANGELES: Zone = Zone::Named(chrono_tz::Tz::America__Los_Angeles);

    /// Late on Monday 30 November in Los Angeles, the next day in Greenwich.
    fn now() -> Time {
        "2026-12-01T04:32:00Z".parse().unwrap()
    }

    fn said(time: Option<Time>) -> String {
        time.map_or("none".into(), |time| time.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true))
    }

    #[test]
    fn a_period_begins_with_a_days_first_moment_where_its_reader_lives() {
        for (text, begins) in [
            ("7d", "2026-11-24T08:00:00Z"),
            ("1d", "2026-11-30T08:00:00Z"),
            ("today", "2026-11-30T08:00:00Z"),
            ("yesterday", "2026-11-29T08:00:00Z"),
            ("1w", "2026-11-24T08:00:00Z"),
            ("12h", "2026-11-30T16:32:00Z"),
            ("all", "none"),
            // Summer time: an hour earlier.
            ("2026-11-01", "2026-11-01T07:00:00Z"),
            ("2026-11-02", "2026-11-02T08:00:00Z"),
            ("2026-11-01T14:30:00+01:00", "2026-11-01T13:30:00Z"),
        ] {
            assert_eq!(said(bound(text).unwrap().begin(ANGELES, now())), begins, "{text}");
        }
        let utc = Zone::Named(chrono_tz::Tz::UTC);
        assert_eq!(said(bound("today").unwrap().begin(utc, now())), "2026-12-01T00:00:00Z");
        // A zone without a name cuts days in UTC, today's too.
        let fixed = Zone::Fixed(chrono::FixedOffset::west_opt(8 * 3600).unwrap());
        assert_eq!(said(bound("today").unwrap().begin(fixed, now())), "2026-12-01T00:00:00Z");
    }

    #[test]
    fn a_period_lasts_through_the_day_that_is_named() {
        for (text, ends) in [
            ("2026-11-01", "2026-11-02T08:00:00Z"),
            ("today", "2026-12-01T08:00:00Z"),
            ("yesterday", "2026-11-30T08:00:00Z"),
            ("2d", "2026-11-29T08:00:00Z"),
            ("1w", "2026-11-24T08:00:00Z"),
            ("3h", "2026-12-01T01:32:00Z"),
            ("2026-11-01T00:00:00Z", "2026-11-01T00:00:00Z"),
            ("all", "none"),
        ] {
            assert_eq!(said(bound(text).unwrap().end(ANGELES, now())), ends, "{text}");
        }
    }

    #[test]
    fn what_is_no_bound_is_told_what_one_is() {
        for wrong in [
            "",
            "d",
            "0d",
            "-1d",
            "10000d",
            "7",
            "7 d",
            "7m",
            "week",
            "2026-13-01",
            "2026-11-31",
            "2026-1-1",
            "+12026-11-01",
            "0000-01-01",
            "2026-11-01T14:30:00",
            "99999999999999999999d",
            "Today",
        ] {
            assert_eq!(bound(wrong).unwrap_err(), MUST, "{wrong}");
        }
        let words = ["7d", "1d", "1w", "2w", "1h", "all", "yesterday", "2026-11-01", "2026-11-01T14:30:00Z"];
        assert_eq!(
            words.map(|text| bound(text).unwrap().since()),
            [
                "last 7 days",
                "today",
                "last 7 days",
                "last 14 days",
                "last hour",
                "all that there are",
                "since yesterday",
                "since 2026-11-01",
                "since 2026-11-01T14:30:00Z",
            ]
        );
        assert_eq!(words.map(|text| bound(text).unwrap().named())[..4], ["7d", "today", "7d", "14d"]);
    }
}
