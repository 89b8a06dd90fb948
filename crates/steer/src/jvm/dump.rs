//! Thread dumps of HotSpot: the full names of Java threads, and the numbers that the operating system gives them.
//!
//! ```text
//!   "Source: a (1/2)#0" #67 prio=5 os_prio=0 cpu=30.58ms elapsed=26.27s tid=0x00005622073aaa60 nid=0x22d runnable
//!   "Source: a (1/2)#0" #67 [557] prio=5 os_prio=0 cpu=30.58ms elapsed=26.27s tid=0x00005622073aaa60 nid=557 runnable
//! ```
//!
//! The number `nid` is hexadecimal until JDK 18 and decimal from JDK 19 on. It is that of the thread in the innermost
//! namespace of its process. A thread whose name contains a line break is left out. The process may lie about its own
//! threads, so the numbers are to be used within that process only.

/// A thread of a dump.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// Number of the thread in the innermost namespace of its process.
    pub number: u32,
    /// Full name of the thread.
    pub name: String,
}

/// Returns the threads of a dump with their names and numbers, in the order of the dump.
pub fn threads(dump: &[u8]) -> Vec<Named> {
    dump.split(|byte| *byte == b'\n').filter_map(thread).collect()
}

/// Reads the first line of a thread. Its name may contain quotes; what follows the name has none.
fn thread(line: &[u8]) -> Option<Named> {
    let rest = line.strip_prefix(b"\"")?;
    let end = rest.iter().rposition(|byte| *byte == b'"')?;
    let (name, fields) = rest.split_at(end);
    let fields = std::str::from_utf8(fields).ok()?;
    let number = fields.split_ascii_whitespace().find_map(|field| field.strip_prefix("nid="))?;
    let number = match number.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    Some(Named { number: number.ok()?, name: text(name) })
}

/// Returns a text that HotSpot wrote. It writes characters beyond U+FFFF as two surrogates of three bytes each (Java
/// Virtual Machine Specification, section 4.4.7). Bytes that are no text become U+FFFD.
fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut begin = 0;
    let mut place = 0;
    while let Some(pair) = bytes.get(place..place + 6) {
        match supplementary(pair) {
            Some(character) => {
                text += &String::from_utf8_lossy(&bytes[begin..place]);
                text.push(character);
                place += 6;
                begin = place;
            }
            None => place += 1,
        }
    }
    text += &String::from_utf8_lossy(&bytes[begin..]);
    text
}

/// Returns the character that six bytes stand for, if they are two surrogates.
fn supplementary(pair: &[u8]) -> Option<char> {
    let &[0xED, high @ 0xA0..=0xAF, high_end @ 0x80..=0xBF, 0xED, low @ 0xB0..=0xBF, low_end @ 0x80..=0xBF] =
        pair
    else {
        return None;
    };
    let ten_bits = |byte: u8, end: u8| (u32::from(byte & 0x0F) << 6) | u32::from(end & 0x3F);
    char::from_u32(0x1_0000 + (ten_bits(high, high_end) << 10) + ten_bits(low, low_end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the number and the name in the first line of a thread.
    #[track_caller]
    fn check(line: &str, expected: Option<(u32, &str)>) {
        let found = threads(line.as_bytes());
        let found: Vec<(u32, &str)> = found.iter().map(|thread| (thread.number, &*thread.name)).collect();
        assert_eq!(found, Vec::from_iter(expected), "{line}");
    }

    #[test]
    fn numbers_are_decimal_or_hexadecimal() {
        let fields = "prio=5 os_prio=0 cpu=30.58ms elapsed=26.27s tid=0x00005622073aaa60";
        check(
            &format!("\"a\" #67 {fields} nid=0x22d waiting on condition  [0x00007f91c11fe000]"),
            Some((557, "a")),
        );
        check(
            &format!("\"a\" #67 [557] daemon {fields} nid=557 runnable  [0x00007f91c11fe000]"),
            Some((557, "a")),
        );
        check(
            "\"VM Thread\" os_prio=0 cpu=2.1ms elapsed=71.68s tid=0x00007f91d804d880 nid=0x7f5a runnable  ",
            Some((32_602, "VM Thread")),
        );
    }

    #[test]
    fn names_may_contain_anything() {
        for name in
            ["", "a \"b\" [1] #2", "\" nid=7 \"", "x (1/2)#0", "\"", "наме", "tab\tand \\ <&>", "nid=0x9"]
        {
            check(&format!("\"{name}\" #1 prio=5 nid=0x10 runnable"), Some((16, name)));
        }
    }

    #[test]
    fn lines_that_are_no_thread_are_left_out() {
        let lines = [
            "",
            "\"",
            "\"\"",
            "\"a\"",
            "\"a\" #1 prio=5",
            "\"a\" nid=",
            "\"a\" nid=0x",
            "\"a\" nid=-1",
            "a nid=1",
            "\"a\" nid=99999999999",
            "\"a\" nid=0x1ffffffff",
            "\tat java.lang.Thread.run(\"x\" nid=1)",
            "\"a\" anid=1",
        ];
        for line in lines {
            check(line, None);
        }
        assert_eq!(threads(b"\"a\" nid=1 \xff"), []);
    }

    /// Characters beyond U+FFFF come as surrogates, as OpenJDK 17 was seen to write them.
    #[test]
    fn surrogates_are_joined() {
        let lines = [
            (&b"\"a \xed\xa0\xbd\xed\xb8\x80[9]\" #1 nid=1"[..], "a 😀[9]"),
            (b"\"\xed\xa0\xbd\xed\xb8\x80\xed\xa0\xbd\xed\xb8\x80\" nid=1", "😀😀"),
            (b"\"\xed\xa0\xbd x\" nid=1", "\u{FFFD}\u{FFFD}\u{FFFD} x"),
            (b"\"\xed\xb8\x80\xed\xa0\xbd\" nid=1", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"),
            (b"\"\xff\" nid=1", "\u{FFFD}"),
        ];
        for (line, expected) in lines {
            assert_eq!(threads(line), [Named { number: 1, name: expected.to_owned() }]);
        }
    }

    /// A dump of Flink 2.3 on OpenJDK 17 has all threads of its subtasks.
    #[test]
    fn a_recorded_dump_is_read() {
        let threads = threads(include_bytes!("../flink/recorded/threads.txt"));
        let numbers = |name: &str| -> Vec<u32> {
            threads.iter().filter(|thread| thread.name == name).map(|thread| thread.number).collect()
        };
        assert_eq!(numbers("Source: numbers[1] -> Calc[2] (1/2)#0"), [557]);
        assert_eq!(numbers("OutputFlusher for Source: numbers[1] -> Calc[2] (1/2)#0"), [564]);
        assert_eq!(numbers("Legacy Source Thread - Source: numbers[1] -> Calc[2] (1/2)#0"), [569]);
        assert_eq!(numbers("GroupAggregate[8] -> o \"x\" [1] <&> наме😀[9]: Writer (1/1)#0").len(), 1);
        assert_eq!(numbers("VM Thread").len(), 1);
    }
}
