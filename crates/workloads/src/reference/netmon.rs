//! Reference results of netmon: the mean round-trip time of each pair of machines in each window.
//!
//! The rules: every probe counts; pairs are directed; windows start at multiples of their slide. A window or
//! pair without a probe has no row. The first and the last windows count even if the input begins or ends
//! within them. No record is late. Sums are kept to about twice the digits of a double, so their order does not
//! matter.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::Rc;

use super::{Row, Windows, is_near};

/// One measurement of a round-trip time between two machines.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NetmonInput {
    /// Event time of the probe, in microseconds since the Unix epoch.
    pub event_time_us: i64,
    /// The machine that sent the probe: an IPv4 address as a number.
    pub source: u32,
    /// The machine that answered: an IPv4 address as a number.
    pub destination: u32,
    /// The measured round-trip time.
    pub rtt: f64,
}

/// One row of the results of netmon; the fields are the columns of `netmon.csv`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NetmonRow {
    /// Start of the window: milliseconds since the Unix epoch.
    pub window_start_ms: i64,
    /// The machine that sent the probes: an IPv4 address as a number.
    pub source: u32,
    /// The machine that answered: an IPv4 address as a number.
    pub destination: u32,
    /// Mean of the round-trip times of the pair in the window.
    pub mean_rtt: f64,
}

impl Row for NetmonRow {
    type Key = (i64, u32, u32);

    fn key(&self) -> (i64, u32, u32) {
        (self.window_start_ms, self.source, self.destination)
    }

    fn agrees(&self, found: &Self) -> bool {
        self.key() == found.key() && is_near(self.mean_rtt, found.mean_rtt)
    }
}

/// A digest of the result rows of one window, for runs with more rows than can be kept. The digest detects a
/// mean that is wrong by more than a hundred-thousandth, and a row that is missing, doubled, or of another
/// pair.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NetmonWindow {
    /// Start of the window: milliseconds since the Unix epoch.
    pub window_start_ms: i64,
    /// Number of result rows of the window.
    pub rows: u64,
    /// Sum of the means of all rows of the window.
    pub means: f64,
    /// Sum of the means of all rows, each multiplied by a number from 1 to 2 that depends on the pair of
    /// machines.
    pub weighted_means: f64,
}

impl NetmonWindow {
    /// Creates the digest of a window without rows.
    pub fn new(window_start_ms: i64) -> Self {
        NetmonWindow { window_start_ms, rows: 0, means: 0.0, weighted_means: 0.0 }
    }

    /// Adds a result row to the digest of its window.
    #[inline]
    pub fn add(&mut self, NetmonRow { source, destination, mean_rtt, .. }: &NetmonRow) {
        let pair = u64::from(*source) << 32 | u64::from(*destination);
        let mixed = (pair ^ (pair >> 29)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let weight = 1.0 + (mixed >> 12) as f64 / (1u64 << 52) as f64;
        self.rows += 1;
        self.means += mean_rtt;
        self.weighted_means += weight * mean_rtt;
    }
}

impl Row for NetmonWindow {
    type Key = i64;

    fn key(&self) -> i64 {
        self.window_start_ms
    }

    fn agrees(&self, found: &Self) -> bool {
        let is_as_many = self.key() == found.key() && self.rows == found.rows;
        is_as_many && is_near(self.means, found.means) && is_near(self.weighted_means, found.weighted_means)
    }
}

/// A benchmark run over a generator's probes, which repeat and are stamped at a steady rate.
#[derive(Clone, Debug)]
pub struct NetmonDrain<'a> {
    /// Source, destination and round-trip time of the probes of one period, which repeats.
    pub period: &'a [(u32, u32, f64)],
    /// The indexes of the probes that count: probe `index` is the period's `index % period.len()`.
    pub indexes: Range<u64>,
    /// Event rate: probe `index` is stamped `start_us + floor(index * 1,000,000 / rate_per_s)`. Above zero.
    pub rate_per_s: u64,
    /// Event time of the probe with index 0, in microseconds since the Unix epoch.
    pub start_us: i64,
}

/// Sums of the round-trip times in each window. Probes are added in any order.
#[derive(Clone, Debug)]
pub struct NetmonSums {
    windows: Windows,
    /// The sums of each window, by its start in microseconds. Windows with the same probes share their sums.
    sums: BTreeMap<i64, Rc<Pairs>>,
}

/// The sums of each pair of machines, by source and destination.
type Pairs = BTreeMap<(u32, u32), Sum>;

impl NetmonSums {
    /// Creates sums without probes for these windows. The windows may be given as a plain number, the size in
    /// microseconds of back-to-back windows.
    ///
    /// # Panics
    /// If size and slide are not positive numbers of whole milliseconds.
    pub fn new(windows: impl Into<Windows>) -> Self {
        let windows = windows.into();
        windows.assert_whole(1_000, "milliseconds");
        NetmonSums { windows, sums: BTreeMap::new() }
    }

    /// Adds probes to the sums of their windows.
    pub fn add(&mut self, probes: impl Iterator<Item = NetmonInput>) {
        for NetmonInput { event_time_us, source, destination, rtt } in probes {
            for start_us in self.windows.starts(event_time_us) {
                let pairs = Rc::make_mut(self.sums.entry(start_us).or_default());
                pairs.entry((source, destination)).or_default().add(1, rtt);
            }
        }
    }

    /// Adds part of a generator's probes, with the same result as [`add`](Self::add) for each of them.
    /// Windows with the same part of the period are counted once. So the work does not grow with the run if
    /// the period is a whole number of windows long.
    ///
    /// # Panics
    /// If a number of [`NetmonDrain`] is out of range, or the period is empty.
    pub fn add_drain(&mut self, drain: NetmonDrain<'_>) {
        let NetmonDrain { period, indexes, rate_per_s, start_us } = drain;
        assert!(rate_per_s > 0 && !period.is_empty(), "a rate and a period must be above zero");
        if indexes.is_empty() {
            return;
        }
        let (rate, length) = (i128::from(rate_per_s), period.len() as u64);
        let stamp = |index: u64| i128::from(start_us) + i128::from(index) * 1_000_000 / rate;
        // Returns the index of the first probe at or after an instant (the start or the end of a window),
        // within the range: the least index with `floor(index * 1e6 / rate) >= border - start`.
        let index_at = |border: i128| {
            let index = ((border - i128::from(start_us)).max(0) * rate + 999_999) / 1_000_000;
            index.clamp(indexes.start.into(), indexes.end.into()) as u64
        };
        let (size, slide) = (i128::from(self.windows.size_us), i128::from(self.windows.slide_us));
        let mut window = ((stamp(indexes.start) - size).div_euclid(slide) + 1) * slide;
        let mut known: HashMap<(u64, u64), Rc<Pairs>> = HashMap::new();
        while window <= stamp(indexes.end - 1) {
            let (first, behind) = (index_at(window), index_at(window + size));
            let window_start_us = i64::try_from(window).expect("the run lies in the range of times");
            window += slide;
            if first == behind {
                continue;
            }
            let of_part = || Rc::new(pairs_of(period, (first % length) as usize, behind - first));
            let pairs = Rc::clone(known.entry((first % length, behind - first)).or_insert_with(of_part));
            match self.sums.entry(window_start_us) {
                std::collections::btree_map::Entry::Vacant(entry) => _ = entry.insert(pairs),
                std::collections::btree_map::Entry::Occupied(mut entry) => {
                    let sums = Rc::make_mut(entry.get_mut());
                    for (pair, sum) in &*pairs {
                        sums.entry(*pair).or_default().merge(*sum);
                    }
                }
            }
        }
    }

    /// Returns the result rows of each non-empty window, ordered by window; within a window they are ordered
    /// by source and destination.
    pub fn windows(&self) -> impl Iterator<Item = Vec<NetmonRow>> + '_ {
        self.sums.iter().map(|(start_us, pairs)| {
            let row = |(&(source, destination), sum): (&(u32, u32), &Sum)| NetmonRow {
                window_start_ms: start_us / 1_000,
                source,
                destination,
                mean_rtt: sum.mean(),
            };
            pairs.iter().map(row).collect()
        })
    }
}

/// Returns the digest of the result rows of a window; `None` if there are no rows.
pub fn netmon_window(rows: &[NetmonRow]) -> Option<NetmonWindow> {
    let mut window = NetmonWindow::new(rows.first()?.window_start_ms);
    rows.iter().for_each(|row| window.add(row));
    Some(window)
}

/// Returns, for each pair of addresses, the number and the sum of the round-trip times of `count` consecutive probes
/// from the index `first` on. The probes are those of `period`, repeated without end.
fn pairs_of(period: &[(u32, u32, f64)], first: usize, count: u64) -> Pairs {
    let mut pairs = Pairs::new();
    let length = period.len() as u64;
    let (whole, rest) = (count / length, (count % length) as usize);
    if whole > 0 {
        for &(source, destination, rtt) in period {
            pairs.entry((source, destination)).or_default().add(1, rtt);
        }
        pairs.values_mut().for_each(|sum| sum.repeat(whole));
    }
    for &(source, destination, rtt) in period[first..].iter().chain(&period[..first]).take(rest) {
        pairs.entry((source, destination)).or_default().add(1, rtt);
    }
    pairs
}

/// The probes of a pair: their number, the sum of their round-trip times, and the rounding error of the sum.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: u64,
    rtts: f64,
    lost: f64,
}

impl Sum {
    /// Adds `count` probes whose round-trip times have the sum `rtts`, and keeps the rounding error. Source:
    /// Knuth, "The Art of Computer Programming", volume 2, section 4.2.2, theorem B.
    fn add(&mut self, count: u64, rtts: f64) {
        let sum = self.rtts + rtts;
        let added = sum - self.rtts;
        self.lost += (self.rtts - (sum - added)) + (rtts - added);
        self.rtts = sum;
        self.count += count;
    }

    fn merge(&mut self, other: Sum) {
        self.add(other.count, other.rtts);
        self.lost += other.lost;
    }

    /// Multiplies the sums of round-trip times and the counts, as if every probe had been added `times`
    /// times.
    fn repeat(&mut self, times: u64) {
        self.count *= times;
        self.rtts *= times as f64;
        self.lost *= times as f64;
    }

    fn mean(&self) -> f64 {
        (self.rtts + self.lost) / self.count as f64
    }
}

/// Parses one line of a file `slice,src_ip,dst_ip,rtt` to its probe; `None` if the line is bad. Slice `n` is
/// second `n`.
pub fn netmon_input_of_line(line: &str) -> Option<NetmonInput> {
    let fields: Vec<&str> = line.split(',').collect();
    let &[slice, source, destination, rtt] = &fields[..] else { return None };
    let slice = slice.strip_prefix('+').unwrap_or(slice);
    let slice_s: i64 = slice.bytes().all(|byte| byte.is_ascii_digit()).then(|| slice.parse().ok())??;
    let rtt: f64 = rtt.parse().ok()?;
    if slice_s > 4_294_967_295 || !rtt.is_finite() || rtt < 0.0 {
        return None;
    }
    let (source, destination) = (address(source)?, address(destination)?);
    Some(NetmonInput { event_time_us: slice_s * 1_000_000, source, destination, rtt })
}

/// Parses an IPv4 address: four numbers from 0 to 255, without leading zeros, separated by dots.
fn address(text: &str) -> Option<u32> {
    let parts: Vec<&str> = text.split('.').collect();
    let mut number = 0;
    for part in &parts {
        let is_plain =
            part.bytes().all(|byte| byte.is_ascii_digit()) && (*part == "0" || !part.starts_with('0'));
        let part: u32 = part.parse().ok().filter(|part| is_plain && *part <= 255)?;
        number = number << 8 | part;
    }
    (parts.len() == 4).then_some(number)
}

#[cfg(test)]
mod tests;
