//! Questions: what is asked, over how many rows, and in which unit speeds are told.

/// A question that the engine and its peers are asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Question {
    /// Yahoo's streaming benchmark over events in memory.
    Ysb,
    /// Yahoo's streaming benchmark over events that are computed from their numbers, in SQL that other engines run unchanged.
    PortableYsb,
    /// GROUP BY without a window, in memory, with this many keys.
    Group { keys: u64 },
    /// Rows of one file, counted in windows.
    File(Format),
    /// A join without a bound in time of two tables in memory.
    Join,
}

/// The format of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    Csv,
    Json,
    Parquet,
}

/// Sizes of the data, as the command line gives them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sizes {
    /// Size of each file, about, in 10^6 bytes.
    pub(super) megabytes: u32,
    /// Rows of the tables in memory, as a percentage of the usual number.
    pub(super) percent: u32,
}

/// Names that stand for several questions.
const FAMILIES: [&str; 2] = ["group", "files"];

impl Question {
    /// All questions, in the order of the table.
    pub(super) const ALL: [Question; 9] = [
        Question::Ysb,
        Question::PortableYsb,
        Question::Group { keys: 10_000 },
        Question::Group { keys: 1_000_000 },
        Question::Group { keys: 10_000_000 },
        Question::File(Format::Csv),
        Question::File(Format::Json),
        Question::File(Format::Parquet),
        Question::Join,
    ];

    /// Returns the name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Question::Ysb => "ysb",
            Question::PortableYsb => "ysb-portable",
            Question::Group { keys: 10_000 } => "group-10k",
            Question::Group { keys: 1_000_000 } => "group-1m",
            Question::Group { .. } => "group-10m",
            Question::File(format) => format.name(),
            Question::Join => "join",
        }
    }

    /// Returns all names on the command line, those of several questions included.
    pub(super) fn names() -> Vec<&'static str> {
        Question::ALL.into_iter().map(Question::name).chain(FAMILIES).collect()
    }

    /// Returns the questions for which a name stands.
    pub(super) fn named(name: &str) -> Vec<Question> {
        let is_named = |question: &Question| match (name, question) {
            ("group", Question::Group { .. }) | ("files", Question::File(_)) => true,
            _ => question.name() == name,
        };
        Question::ALL.into_iter().filter(is_named).collect()
    }

    /// Returns the word that the scripts of peers have for the question.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Question::Group { .. } => "group",
            other => other.name(),
        }
    }

    /// Returns the beginning of the names of the question's files of SQL.
    pub(super) fn sql(self) -> &'static str {
        match self {
            Question::File(_) => "files",
            other => other.kind(),
        }
    }

    /// Returns whether peers read tables or a file that are made in advance.
    pub(super) fn has_data(self) -> bool {
        self != Question::PortableYsb
    }

    /// Returns the number of rows of each table.
    pub(super) fn rows(self, sizes: Sizes) -> u64 {
        let share = |rows: u64| (rows * u64::from(sizes.percent) / 100).max(1);
        let of_file = |bytes_per_row: u64| u64::from(sizes.megabytes) * 1_000_000 / bytes_per_row;
        match self {
            // Five times the buffer of the programs that go round it.
            Question::Ysb => share(5 << 22),
            Question::PortableYsb => share(4_000_000),
            Question::Group { .. } => share(10_000_000),
            Question::Join => share(1_000_000),
            Question::File(Format::Csv) => of_file(57),
            Question::File(Format::Json) => of_file(128),
            Question::File(Format::Parquet) => of_file(13),
        }
    }

    /// Returns the greatest key of the tables.
    pub(super) fn key_max(self, sizes: Sizes) -> u64 {
        match self {
            Question::Group { keys } => keys - 1,
            other => other.rows(sizes) - 1,
        }
    }

    /// Returns the title of the question in the table, with the unit of its speeds.
    pub(super) fn title(self, sizes: Sizes) -> String {
        let millions = self.rows(sizes) as f64 / 1e6;
        match self {
            Question::Ysb => format!("YSB in memory, {millions:.1} M events; M events/s"),
            Question::PortableYsb => {
                format!("YSB over computed events, the same SQL, {millions:.1} M events; M events/s")
            }
            Question::Group { keys } => {
                let keys = if keys < 1_000_000 {
                    format!("{} K", keys / 1_000)
                } else {
                    format!("{} M", keys / 1_000_000)
                };
                format!("GROUP BY {keys} keys, {millions:.1} M rows in memory; M rows/s")
            }
            Question::File(format) => {
                format!("{}, a file of about {} MB; MB/s", format.title(), sizes.megabytes)
            }
            Question::Join => {
                format!("join of two tables of {millions:.1} M rows in memory; M rows/s of both")
            }
        }
    }
}

impl Format {
    /// Returns the name in SQL and on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Json => "json",
            Format::Parquet => "parquet",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Format::Csv => "CSV",
            Format::Json => "JSON lines",
            Format::Parquet => "Parquet",
        }
    }
}
