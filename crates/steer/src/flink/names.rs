//! Names of the threads of a subtask.
//!
//! ```text
//!                     Flink 2.3                                         older versions
//!   main thread       T = <vertex> (<index + 1>/<parallelism>)#<attempt>     T = <vertex> (<index + 1>/<parallelism>)
//!   output flusher    OutputFlusher for T                               OutputFlusher for <vertex>
//!   data fetchers     Source Data Fetcher for T, Legacy Source Thread - T
//! ```
//!
//! Names are not cut: one of 2,639 characters was seen in a dump of Flink 2.3. Other threads, such as
//! `System Time Trigger for T`, are left alone.

/// Beginnings of the names of the threads that fetch data for a source: those of the interface `Source`, and that of
/// the interface `SourceFunction`.
const FETCHERS: [&str; 2] = ["Source Data Fetcher for ", "Legacy Source Thread - "];

/// Beginning of the name of the thread that sends what waits in the output buffers of a subtask.
const FLUSHER: &str = "OutputFlusher for ";

/// A subtask by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Task<'a> {
    pub(super) vertex: &'a str,
    /// Number of the subtask, from 0 on.
    pub(super) index: u32,
    pub(super) parallelism: u32,
    pub(super) attempt: u32,
}

impl Task<'_> {
    /// Returns the name of the subtask for people, without its attempt.
    pub(super) fn name(self) -> String {
        let Task { vertex, index, parallelism, .. } = self;
        format!("{vertex} ({}/{parallelism})", u64::from(index) + 1)
    }

    /// Returns the names that the main thread may have, those of newer versions first.
    pub(super) fn main(self) -> Vec<String> {
        let name = self.name();
        vec![format!("{name}#{}", self.attempt), name]
    }

    /// Returns the names that the output flusher may have, those of newer versions first.
    pub(super) fn flusher(self) -> Vec<String> {
        let names = self.main().into_iter().chain([self.vertex.to_owned()]);
        names.map(|name| format!("{FLUSHER}{name}")).collect()
    }

    /// Returns the names that the data fetchers may have. A subtask may have several of one name.
    pub(super) fn fetchers(self) -> Vec<String> {
        let mains = self.main();
        let names = |main: &String| FETCHERS.map(|fetcher| format!("{fetcher}{main}"));
        mains.iter().flat_map(names).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_all_versions() {
        let task = Task { vertex: "Source: a -> b", index: 1, parallelism: 4, attempt: 3 };
        assert_eq!(task.main(), ["Source: a -> b (2/4)#3", "Source: a -> b (2/4)"]);
        let flushers = ["Source: a -> b (2/4)#3", "Source: a -> b (2/4)", "Source: a -> b"];
        assert_eq!(task.flusher(), flushers.map(|name| format!("OutputFlusher for {name}")));
        assert_eq!(task.fetchers()[1], "Legacy Source Thread - Source: a -> b (2/4)#3");
        assert_eq!(task.fetchers().len(), 4);
    }
}
