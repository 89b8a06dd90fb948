//! Reading of days and times from text, by patterns such as `yyyy-MM-dd`, and in SQL's form without a
//! pattern.

use super::{DAYS, Item, MONTHS, Pattern, Style};
use crate::functions::time::calendar::{days, iso_weekday, month_length};
use crate::functions::time::moments::Moment;
use crate::functions::time::zone::{Overlap, Zone};

/// Fields of a date and time that were read from a text by a pattern.
#[derive(Default)]
struct Fields {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    weekday: Option<i64>,
    /// Hour of the day that was read, from 0 to 23.
    hour: Option<i64>,
    /// Hour of the half day (a.m. or p.m.), from 0 to 11.
    hour_of_half: Option<i64>,
    is_afternoon: Option<bool>,
    minute: Option<i64>,
    second: Option<i64>,
    nanos: Option<i64>,
    zone: Option<Zone>,
}

impl Pattern {
    /// Reads a local date and time from a text by a strict pattern; missing fields are those of 1970-01-01 00:00:00.
    /// `None` if the text does not fit. Days 29 to 31 of a month which is too short become its last day.
    ///
    /// Source: Flink, `DateTimeUtils.parseTimestampData`, `fromTemporalAccessor`.
    pub(in crate::functions::time) fn reading(&self, text: &str) -> Option<Moment> {
        let mut cursor = Cursor { rest: text, style: Style::Strict, since: 0 };
        let mut fields = Fields::default();
        for (place, item) in self.items.iter().enumerate() {
            cursor.item(item, self.items.get(place + 1..).unwrap_or_default(), &mut fields)?;
        }
        if !cursor.rest.is_empty() {
            return None;
        }
        strict(&fields)
    }

    /// Reads an instant from a text by a lenient pattern, in milliseconds since 1970. Missing fields are
    /// those of 1970-01-01 00:00:00 in `zone`. A year of two digits is the one within the hundred years from
    /// the year `since` on.
    pub(in crate::functions::time) fn instant(&self, text: &str, zone: Zone, since: i64) -> Option<i64> {
        let mut cursor = Cursor { rest: text, style: Style::Lenient, since };
        let mut fields = Fields::default();
        for (place, item) in self.items.iter().enumerate() {
            cursor.item(item, self.items.get(place + 1..).unwrap_or_default(), &mut fields)?;
        }
        let day = match fields.day_of_year {
            Some(day) => days(fields.year.unwrap_or(1970), 1, day),
            None => days(fields.year.unwrap_or(1970), fields.month.unwrap_or(1), fields.day.unwrap_or(1)),
        };
        let half = if fields.is_afternoon == Some(true) { 12 } else { 0 };
        let hour = fields.hour.or_else(|| Some(fields.hour_of_half? + half)).unwrap_or(half);
        let of_day = hour.checked_mul(3_600)?.checked_add(fields.minute.unwrap_or(0).checked_mul(60)?)?;
        let seconds = of_day.checked_add(fields.second.unwrap_or(0))?;
        let millis = fields.nanos.unwrap_or(0);
        let seconds = day.checked_mul(86_400)?.checked_add(seconds)?.checked_add(millis.div_euclid(1_000))?;
        let instant = fields.zone.unwrap_or(zone).instant_of(seconds, Overlap::Later);
        instant.checked_mul(1_000)?.checked_add(millis.rem_euclid(1_000))
    }
}

fn strict(fields: &Fields) -> Option<Moment> {
    let within = |number: Option<i64>, least: i64, most: i64| match number {
        Some(number) => (least..=most).contains(&number).then_some(number),
        None => Some(least),
    };
    let year = fields.year.unwrap_or(1970);
    // Years beyond 999,999,999 are refused, because Java's formatters accept none.
    if year.abs() > 999_999_999 {
        return None;
    }
    let month = within(fields.month, 1, 12)?;
    let mut day = match fields.day {
        Some(day) if fields.month.is_some() && fields.year.is_some() => {
            days(year, month, within(Some(day), 1, 31)?.min(month_length(year, month)))
        }
        day => days(year, month, within(day, 1, month_length(year, month))?),
    };
    if let Some(of_year) = fields.day_of_year.filter(|_| fields.year.is_some() && fields.month.is_none()) {
        day = days(year, 1, within(Some(of_year), 1, days(year + 1, 1, 1) - days(year, 1, 1))?);
    }
    if fields.weekday.is_some_and(|weekday| weekday != iso_weekday(day)) {
        return None;
    }
    let (minute, second) = (within(fields.minute, 0, 59)?, within(fields.second, 0, 59)?);
    let half_hour = within(fields.hour_of_half, 0, 11)?;
    // An hour from 0 to 11 is used only if the text says a.m. or p.m.
    let hour = match (fields.hour, fields.is_afternoon) {
        (Some(24), _) if (minute, second, fields.nanos.unwrap_or(0)) == (0, 0, 0) => 24,
        (Some(hour), _) => within(Some(hour), 0, 23)?,
        (None, Some(is_afternoon)) => half_hour + if is_afternoon { 12 } else { 0 },
        (None, None) => 0,
    };
    let seconds = hour * 3_600 + minute * 60 + second;
    Some(Moment::on_day(day, seconds * 1_000_000_000 + fields.nanos.unwrap_or(0)))
}

/// Rest of a text that is being read by a pattern.
struct Cursor<'a> {
    rest: &'a str,
    style: Style,
    /// First year of the hundred years within which a year of two digits lies.
    since: i64,
}

impl Cursor<'_> {
    fn item(&mut self, item: &Item, following: &[Item], fields: &mut Fields) -> Option<()> {
        match item {
            Item::Literal(text) => {
                self.rest = self.rest.strip_prefix(text.as_str())?;
                Some(())
            }
            Item::Field { letter, count } => self.field(*letter, *count, following, fields),
        }
    }

    fn field(&mut self, letter: char, count: usize, following: &[Item], fields: &mut Fields) -> Option<()> {
        let is_strict = self.style == Style::Strict;
        if !is_strict {
            self.rest = self.rest.trim_start_matches([' ', '\t']);
        }
        match letter {
            'M' if count >= 3 => fields.month = Some(self.name(&MONTHS, count)? + 1),
            'E' => fields.weekday = Some(self.name(&DAYS, count.max(3))? + 1),
            'a' => fields.is_afternoon = Some(self.name(&["AM", "PM"], 0)? == 1),
            'z' | 'Z' | 'X' => fields.zone = Some(self.zone()?),
            'S' if is_strict => {
                let digits = self.digits(count, count)?;
                fields.nanos =
                    Some(digits.checked_mul(10_i64.checked_pow(9_u32.checked_sub(count as u32)?)?)?);
            }
            _ => {
                let before = self.rest.len();
                let number = self.number(letter, count, following)?;
                let width = before - self.rest.len();
                match letter {
                    'y' => fields.year = Some(self.year(number, count, width)),
                    'u' if is_strict => fields.year = Some(self.year(number, count, width)),
                    // The day of the week is read but ignored, because it adds nothing to the date.
                    'u' => {}
                    'M' => fields.month = Some(number),
                    'd' => fields.day = Some(number),
                    'D' => fields.day_of_year = Some(number),
                    'H' => fields.hour = Some(number),
                    'k' => fields.hour = Some(if number == 24 { 0 } else { number }),
                    'K' => fields.hour_of_half = Some(number),
                    'h' if is_strict && !(1..=12).contains(&number) => return None,
                    'h' => fields.hour_of_half = Some(if number == 12 { 0 } else { number }),
                    'm' => fields.minute = Some(number),
                    's' => fields.second = Some(number),
                    // The remaining letter is `S` of a lenient pattern. It reads milliseconds, which are
                    // converted afterwards.
                    _ => fields.nanos = Some(number),
                }
            }
        }
        Some(())
    }

    /// Completes a year of two digits; in strict patterns two digits mean a year from 2000 to 2099.
    fn year(&self, number: i64, count: usize, width: usize) -> i64 {
        match self.style {
            Style::Strict if count == 2 => 2_000 + number,
            Style::Lenient if count <= 2 && width == 2 && number >= 0 => {
                let year = self.since - self.since.rem_euclid(100) + number;
                if year < self.since { year + 100 } else { year }
            }
            _ => number,
        }
    }

    fn number(&mut self, letter: char, count: usize, following: &[Item]) -> Option<i64> {
        let is_year = matches!(letter, 'y' | 'u');
        if self.style == Style::Lenient {
            let is_negative = self.rest.starts_with('-');
            self.rest = self.rest.strip_prefix('-').unwrap_or(self.rest);
            // In lenient patterns, the number of pattern letters limits the digits that are read only if
            // another field follows without a literal between.
            let most = if matches!(following.first(), Some(Item::Field { .. })) { count } else { 18 };
            let most = if is_negative { most.checked_sub(1)? } else { most };
            let number = self.digits(1, most)?;
            return Some(if is_negative { -number } else { number });
        }
        let (least, most) = match (letter, count) {
            ('D', 2) => (2, 3),
            (_, 2) => (2, 2),
            ('D', 3) => (3, 3),
            (_, count) => (count, 19),
        };
        let sign = self.rest.chars().next().filter(|sign| is_year && matches!(sign, '-' | '+'));
        if sign.is_some() {
            self.rest = self.rest.get(1..)?;
        }
        if least == most {
            let number = self.digits(least, most)?;
            return sign.is_none().then_some(number);
        }
        // A number of variable width is read up to the digits that belong to the fields of fixed width
        // directly after it.
        let present = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let reserved: usize = following.iter().map_while(fixed_width).sum();
        let taken = if reserved == 0 { present } else { present.saturating_sub(reserved).max(least) };
        let number = self.digits(least, most.min(taken))?;
        let width = most.min(taken);
        // If the pattern has four or more letters for the year, a year of more digits than letters must have
        // a sign. A year of at most as many digits must have no plus sign.
        let is_marked = is_year && count >= 4;
        match sign {
            Some('-') => Some(-number),
            Some(_) => (is_marked && width > count).then_some(number),
            None => (!is_marked || width <= count).then_some(number),
        }
    }

    /// Reads a number of at least `least` and at most `most` digits of a date or time.
    fn digits(&mut self, least: usize, most: usize) -> Option<i64> {
        let present = self.rest.bytes().take_while(u8::is_ascii_digit).count().min(most);
        if present < least || present == 0 {
            return None;
        }
        let (digits, rest) = self.rest.split_at_checked(present)?;
        self.rest = rest;
        digits.parse().ok()
    }

    /// Reads the name of a month or weekday, in full or its first three letters, and returns its index in
    /// `names`, from 0 on. A strict pattern accepts only the form that its `count` of letters asks for.
    fn name(&mut self, names: &[&str], count: usize) -> Option<i64> {
        let is_strict = self.style == Style::Strict;
        let starts = |name: &str| {
            let start = self.rest.get(..name.len());
            start
                .is_some_and(|start| if is_strict { start == name } else { start.eq_ignore_ascii_case(name) })
        };
        let mut best: Option<(i64, usize)> = None;
        for (index, name) in names.iter().enumerate() {
            let forms = [*name, name.get(..3).unwrap_or(name), name.get(..1).unwrap_or(name)];
            let forms = match (is_strict, count) {
                (_, 0) => &forms[..1],
                (true, 3) => &forms[1..2],
                (true, 5) => &forms[2..],
                (true, _) => &forms[..1],
                (false, _) => &forms[..2],
            };
            for form in forms {
                if starts(form) && best.is_none_or(|(_, length)| form.len() > length) {
                    best = Some((index as i64, form.len()));
                }
            }
        }
        let (index, length) = best?;
        self.rest = self.rest.get(length..)?;
        Some(index)
    }

    /// Reads the longest prefix of the text that is an offset from UTC or the name of a time zone.
    fn zone(&mut self) -> Option<Zone> {
        let is_part =
            |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | ':' | '/' | '_');
        let length = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        // The text after a time zone may look like a part of its name, so the longest prefix that is a zone
        // counts.
        for end in (1..=length).rev() {
            let (name, rest) = self.rest.split_at_checked(end)?;
            if let Some(zone) = Zone::read(name) {
                self.rest = rest;
                return Some(zone);
            }
        }
        None
    }
}

/// Returns the number of digits of a field of a strict pattern, if that number is fixed.
fn fixed_width(item: &Item) -> Option<usize> {
    match item {
        Item::Field { letter: 'S', count } => Some(*count),
        Item::Field { letter: 'M' | 'd' | 'H' | 'k' | 'K' | 'h' | 'm' | 's' | 'y' | 'u', count: 2 } => {
            Some(2)
        }
        Item::Field { letter: 'D', count: 3 } => Some(3),
        _ => None,
    }
}

/// Reads a timestamp in the form `yyyy-MM-dd[ HH:mm:ss[.fraction]]`; months, days, hours, minutes and seconds
/// may have one digit. `None` if the text does not fit.
///
/// Source: Flink, `DateTimeUtils.DEFAULT_TIMESTAMP_FORMATTER`.
pub(in crate::functions::time) fn default_timestamp(text: &str) -> Option<Moment> {
    let (date, time) = match text.split_once(' ') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut cursor = Cursor { rest: date, style: Style::Strict, since: 0 };
    let mut fields = Fields { year: Some(cursor.number('y', 4, &[])?), ..Fields::default() };
    cursor.rest = cursor.rest.strip_prefix('-')?;
    fields.month = Some(cursor.digits(1, 2)?);
    cursor.rest = cursor.rest.strip_prefix('-')?;
    fields.day = Some(cursor.digits(1, 2)?);
    if !cursor.rest.is_empty() {
        return None;
    }
    if let Some(time) = time {
        cursor.rest = time;
        fields.hour = Some(cursor.digits(1, 2)?);
        cursor.rest = cursor.rest.strip_prefix(':')?;
        fields.minute = Some(cursor.digits(1, 2)?);
        cursor.rest = cursor.rest.strip_prefix(':')?;
        fields.second = Some(cursor.digits(1, 2)?);
        if let Some(fraction) = cursor.rest.strip_prefix('.') {
            let is_number = fraction.len() <= 9 && fraction.bytes().all(|digit| digit.is_ascii_digit());
            fields.nanos = is_number.then(|| format!("{fraction:0<9}").parse().ok())?;
        } else if !cursor.rest.is_empty() {
            return None;
        }
    }
    strict(&fields)
}

/// Reads a date in the form `yyyy[-MM[-dd]]` as days since 1970; a space and all text after it are ignored.
/// `None` if the text does not fit.
///
/// Source: Flink, `DateTimeUtils.parseDate`.
pub(in crate::functions::time) fn default_date(text: &str) -> Option<i64> {
    let text = match text.find(' ') {
        Some(end) if end > 0 => text.get(..end)?,
        _ => text,
    };
    let mut parts = text.splitn(3, '-').map(|part| {
        let part = part.trim();
        let is_number =
            !part.is_empty() && part.len() <= 9 && part.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then(|| part.parse::<i64>().ok()).flatten()
    });
    let year = parts.next()??;
    let month = parts.next().unwrap_or(Some(1))?;
    let day = parts.next().unwrap_or(Some(1))?;
    let is_real =
        year <= 9_999 && (1..=12).contains(&month) && (1..=month_length(year, month)).contains(&day);
    is_real.then(|| days(year, month, day))
}
