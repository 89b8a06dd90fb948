//! The systems that are compared: the operating system alone, and three forms of Lachesis.

/// Time between two rounds of steering, in seconds: that of the paper.
pub(super) const PERIOD_S: u32 = 1;

/// A way in which the threads of the engine get their CPU time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum System {
    /// The operating system alone.
    Os,
    /// The earlier Lachesis: nice values, and a source counts as a queue of one record.
    Earlier,
    /// Lachesis-Mod: nice values.
    Nice,
    /// Lachesis-Mod-RT: real-time priorities.
    RealTime,
}

impl System {
    /// All systems, from the oldest to the newest.
    pub(super) const ALL: [Self; 4] = [System::Os, System::Earlier, System::Nice, System::RealTime];

    /// Returns the name of the system on the command line and in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            System::Os => "os",
            System::Earlier => "v1",
            System::Nice => "nice",
            System::RealTime => "rt",
        }
    }

    /// Returns the system of this name, if there is one.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|system| system.name() == name)
    }

    /// Returns true if the system changes priorities.
    pub(super) fn is_steered(self) -> bool {
        self != System::Os
    }

    /// Returns the options of `thalweg steer` that make this system. The operating system alone is looked at by a dry run.
    pub(super) fn options(self) -> Vec<String> {
        let words = match self {
            System::Os => "--policy congestion --dry-run",
            System::Earlier => "--policy congestion_v1 --translator nice",
            System::Nice => "--policy congestion --translator nice",
            System::RealTime => "--policy congestion --translator rt",
        };
        let period = format!("{PERIOD_S}s");
        let common = ["--output", "json", "--period", &period];
        words.split(' ').chain(common).map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_known_by_their_names() {
        for system in System::ALL {
            assert_eq!(System::named(system.name()), Some(system));
            assert_eq!(system.is_steered(), !system.options().contains(&"--dry-run".to_owned()));
        }
        assert_eq!(System::named("edgewise"), None);
    }
}
