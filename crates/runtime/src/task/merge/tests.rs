//! Tests of a task with several inputs: watermarks, lateness, idleness, barriers, and the choice of the input
//! that is read next.

use thalweg_model::ProcessingTime;

use super::*;

/// Checks the marks that result from marks of several inputs. Words are `<input><event>`: `a5` is a
/// watermark, `a!` idle, `a.` the end, `ar` records, `a|` a barrier, `ai7` an `InputWatermark`, `al3` a
/// latency marker of 3 ns, and `al3/2003` one that was taken in at 2003 ns. The output shows the marks passed
/// on: `W5`, `I7`, `idle`, `end`, `barrier`, `L3` or `L3/2003`, and `r` for records.
fn check(inputs: usize, words: &str, expected: &str) {
    check_families(&(0..inputs).collect::<Vec<_>>(), words, expected);
}

/// Reads the instants of a latency marker in ns. Without the second one, it was taken in when it should have
/// been sent.
fn marker(instants: &str) -> LatencyMarker {
    let (intended, taken_in) = instants.split_once('/').unwrap_or((instants, instants));
    let [intended, taken_in] =
        [intended, taken_in].map(|nanos| ProcessingTime::from_nanos(nanos.parse().unwrap()));
    LatencyMarker::new(intended, taken_in)
}

/// Checks the marks that result from marks of several inputs. `families` tells which inputs get their records
/// from the same sources.
fn check_families(families: &[usize], words: &str, expected: &str) {
    let mut merge = Merge::new(families);
    let mut shown: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        let place = usize::from(word.as_bytes()[0] - b'a');
        let mark = match &word[1..] {
            "r" => {
                if let Some(late_by) = merge.announce(place) {
                    shown.push(format!("I{}", late_by.as_micros()));
                }
                shown.push("r".to_owned());
                continue;
            }
            "!" => Mark::Idle,
            "." => Mark::End,
            "|" => Mark::Barrier(1),
            "max" => Mark::Watermark(EventTime::MAX),
            stamp => match stamp.split_at(1) {
                ("i", stamp) => Mark::InputWatermark(EventTime::from_micros(stamp.parse().unwrap())),
                ("l", instants) => Mark::Latency(marker(instants)),
                _ => Mark::Watermark(EventTime::from_micros(stamp.parse().unwrap())),
            },
        };
        merge.note_mark(place, mark, &mut |mark| {
            shown.push(match mark {
                Mark::Watermark(EventTime::MAX) => "Wmax".to_owned(),
                Mark::Watermark(watermark) => format!("W{}", watermark.as_micros()),
                Mark::InputWatermark(watermark) => format!("I{}", watermark.as_micros()),
                Mark::Idle => "idle".to_owned(),
                Mark::Barrier(_) => "barrier".to_owned(),
                Mark::Latency(marker) => {
                    let [intended, taken_in] = [marker.intended(), marker.taken_in()];
                    let when = if taken_in == intended {
                        String::new()
                    } else {
                        format!("/{}", taken_in.as_nanos())
                    };
                    format!("L{}{when}", intended.as_nanos())
                }
                Mark::End => "end".to_owned(),
            });
        });
    }
    assert_eq!(shown.join(" "), expected, "{words}");
}

#[test]
fn the_watermark_is_the_least_and_advances_only() {
    check(1, "a5 ar a7 ar", "W5 r W7 r");
    check(2, "a5 b3 b9 a6", "W3 W5 W6");
    check(3, "a5 b5 c5 b6 c7", "W5");
    check(2, "amax a. b4 bmax b.", "W4 Wmax end");
    // An input that ends below the end of time was stopped, so the watermark of the task stays behind it.
    check(2, "a3 a. b4 b9 bmax b.", "W3 end");
    check(2, "a3 b4 a. b.", "W3 end");
}

/// Inputs with the same sources count as idle only together. So when the first of them returns, the records
/// of the others do not become late.
#[test]
fn a_family_is_idle_when_all_of_it_is() {
    let alone = "a5 b5 a! b9 b! a9 a12 b12";
    check(2, alone, "W5 W9 idle W12");
    check_families(&[7, 7], alone, "W5 idle W9 W12");
    // When one idle input has returned, the other inputs with the same sources count in the watermark again.
    check(2, "a5 b5 a! b! b9 a9", "W5 idle W9");
    check_families(&[7, 7], "a5 b5 a! b! b9 a9", "W5 idle W9");
    check_families(&[7, 7], "a5 b5 a! b! b9 a7 a9", "W5 idle W7 W9");
    check(2, "a5 b5 a! b! b9 a7 a9", "W5 idle W9");
    // An input has returned and fallen silent again. It is not ahead of the other inputs with the same
    // sources, which still have to receive its watermark.
    check(2, "a5 b5 a! b! a9 a! b9", "W5 idle W9 idle");
    check_families(&[7, 7], "a5 b5 a! b! a9 a! b9", "W5 idle idle W9");
    // An idle input holds back no input that has other sources.
    check_families(&[7, 7, 8], "a5 b5 c5 a! c9 b! c12", "W5 W9 W12");
    check_families(&[7, 7, 8], "a5 b5 c5 a! c9 bmax b. c12", "W5 W9 W12");
}

/// Records of an input that is ahead are late by the input's own watermark. This watermark is announced once
/// before the records, and again when it changes.
#[test]
fn lateness_goes_by_the_input() {
    check(2, "a5 ar ar br b3 br ar a8 ar b8 br ar", "I5 r r I-9223372036854775808 r W3 r I5 r I8 r W8 r r");
    check(2, "ai7 ar b2 br", "I7 r I2 r");
    check(2, "a5 b2 ai9 ar a9 ar", "W2 I9 r r");
}

#[test]
fn idle_inputs_are_left_out_until_they_come_back() {
    check(2, "a5 b! a7 br b3 b8 a9", "W5 W7 r W8");
    check(2, "a5 b2 a! b!", "W2 W5 idle");
    check(2, "a5 b2 b! a!", "W2 W5 idle");
    check(2, "a! b! a3 b4", "idle W3");
    check(2, "a! amax a. b5 bmax b.", "W5 Wmax end");
    check(2, "a! a. b5 b.", "W5 end");
    // One input ends while the other is idle. The idle input may still return, so the stream does not end.
    check(2, "b! a5 amax a. b7 br bmax b.", "W5 idle W7 r Wmax end");
    // An input that was idle has records again, so the task is no longer idle, even though no watermark has
    // come.
    check(2, "a! b! ar a!", "idle r idle");
}

#[test]
fn a_barrier_passes_when_all_have_seen_it() {
    check(2, "a| b|", "barrier");
    check(2, "a. b| a|", "barrier");
}

/// If copies of one latency marker come by several paths, the last copy is passed on. If two streams have
/// markers, the older marker is passed on.
#[test]
fn a_latency_marker_counts_once() {
    check(1, "al3 al5", "L3 L5");
    check(2, "al3 bl3 al5 al7 bl5 bl7", "L3 L5 L7");
    check(2, "al3 al5 bl4 bl9 al8", "L3 L5 L8");
    check(2, "al3 bl2 amax a. bl4", "L3 L4");
    check(2, "al3 bl3 b! al5", "L3 L5");
    check(2, "al3 al5 bl4 amax a. bl6", "L3 L5 L6");
}

/// A latency marker that is passed on keeps the instant at which it was taken in. Of two markers for the same
/// instant, the one that was taken in first is passed on.
#[test]
fn a_latency_marker_keeps_when_it_was_taken_in() {
    check(1, "al3/4003 al5/7005", "L3/4003 L5/7005");
    check(2, "al1/5001 bl2/9002 al3/3 bl4/4", "L1/5001 L2/9002 L3");
    check(2, "al1 bl1 al3/9003 bl3/5003 al4 bl4", "L1 L3/5003 L4");
}

/// Checks which of three inputs, with the watermarks 5, 3 and 4, is read next. The result is the letter of
/// the input, or `none`; `-a` means that input a was found empty. If `arrived_ns` is given, it has the arrival at each
/// input, by which they are read.
fn check_order(arrived_ns: Option<[u64; 3]>, words: &str, expected: &str) {
    let arrived = arrived_ns.map(|arrived_ns| move |place: usize| arrived_ns[place]);
    let mut merge = Merge::new(&[0, 1, 2]);
    for (place, watermark) in [5, 3, 4].into_iter().enumerate() {
        merge.note_mark(place, Mark::Watermark(EventTime::from_micros(watermark)), &mut |_| ());
    }
    let mut shown = Vec::new();
    for word in words.split_whitespace() {
        match word {
            "next" => {
                let next = merge.next(arrived);
                shown
                    .push(next.map_or("none".to_owned(), |place| char::from(b'a' + place as u8).to_string()));
            }
            "begin" => merge.begin(),
            "b|" => merge.note_mark(1, Mark::Barrier(1), &mut |_| ()),
            "b." => merge.note_mark(1, Mark::End, &mut |_| ()),
            empty => merge.note_empty(usize::from(empty.as_bytes()[1] - b'a')),
        }
    }
    assert_eq!(shown.join(" "), expected, "{words}");
}

#[test]
fn the_lowest_goes_first_and_nobody_waits_for_it() {
    check_order(None, "next next -b next -c next -a next begin next", "b b c a none b");
    check_order(None, "b| next", "c");
    check_order(None, "b. next", "c");
    // After sixteen turns of one input the two other inputs get a turn each, and then the first one
    // continues.
    let turns = "next ".repeat(17);
    check_order(None, &format!("{turns} -c next -a next"), &format!("{}c a b", "b ".repeat(16)));
}

/// By arrival, the first that came is read as long as nothing older waits elsewhere, in spite of its watermark and
/// without turns. An input on which nothing waits comes last.
#[test]
fn by_arrival_the_oldest_goes_first() {
    check_order(Some([7, 9, 8]), "next -a next -c next -b next begin next", "a c b none a");
    check_order(Some([7, u64::MAX, 8]), "next -a next -c next -b next", "a c b none");
    check_order(Some([9, 7, 8]), "b| next", "c");
    check_order(Some([9, 7, 8]), "b. next", "c");
    check_order(Some([9, 7, 8]), &"next ".repeat(40), "b ".repeat(40).trim_end());
}
