//! Sides of the table: a program, the form in which it is asked a question, and the form of the engine that it is compared with.

use super::question::{Format, Question};

/// An engine that is not ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Peer {
    DuckDb,
    Polars,
    Timely,
    Renoir,
    Flink,
}

/// A program that is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Program {
    /// `thalweg run` of a file of SQL.
    Sql,
    /// `thalweg run` that only reads the tables of a question: the share of the engine's time that goes into making rows.
    Source,
    /// `thalweg bench ysb`: our typed interface, or, with the name of an `--api`, a hand-written loop.
    Bench(Option<&'static str>),
    /// A peer, in one of its forms.
    Peer(Peer, &'static str),
}

/// A row of the table: a program that is asked a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Side {
    pub(super) question: Question,
    pub(super) program: Program,
}

impl Peer {
    /// All peers, in the order of the table.
    pub(super) const ALL: [Peer; 5] = [Peer::DuckDb, Peer::Polars, Peer::Timely, Peer::Renoir, Peer::Flink];

    /// Returns the name on the command line, which is that of its package.
    pub(super) fn name(self) -> &'static str {
        match self {
            Peer::DuckDb => "duckdb",
            Peer::Polars => "polars",
            Peer::Timely => "timely",
            Peer::Renoir => "renoir",
            Peer::Flink => "flink",
        }
    }

    /// Returns the peer of a name on the command line.
    pub(super) fn named(name: &str) -> Option<Peer> {
        Peer::ALL.into_iter().find(|peer| peer.name() == name)
    }

    /// Returns whether the peer is asked the question.
    pub(super) fn answers(self, question: Question) -> bool {
        !self.forms(question).is_empty()
    }

    /// Returns the forms in which the peer is asked the question; none if it is not asked.
    fn forms(self, question: Question) -> &'static [&'static str] {
        match (self, question) {
            (Peer::DuckDb | Peer::Polars, Question::Ysb) => &["join", "division"],
            (Peer::DuckDb | Peer::Polars, Question::Group { .. } | Question::File(_) | Question::Join) => {
                &[""]
            }
            (Peer::Timely, Question::Ysb) => &["stock", "closure", "pre"],
            (Peer::Renoir, Question::Ysb) => &["group", "key"],
            // Flink's Parquet needs jars of Hadoop, and it has no table in memory.
            (Peer::Flink, Question::PortableYsb | Question::File(Format::Csv | Format::Json)) => &[""],
            _ => &[],
        }
    }
}

impl Side {
    /// Returns the name of the program and of its form in the table.
    pub(super) fn title(self) -> String {
        let (peer, form) = match self.program {
            Program::Sql => return "Thalweg, SQL".to_owned(),
            Program::Source => return "Thalweg, making the rows alone".to_owned(),
            Program::Bench(None) => return "Thalweg, typed".to_owned(),
            Program::Bench(Some(api)) => return format!("by hand, `{api}`"),
            Program::Peer(peer, form) => (peer, form),
        };
        let form = match form {
            "" => "",
            "stock" => ", an operator for each step",
            "closure" => ", one closure",
            "pre" => ", counted before the exchange",
            "group" => ", `group_by`",
            "key" => ", `key_by`, counts of threads added at the end",
            "join" => ", join with campaigns",
            _ => ", division in place of the join",
        };
        format!("{}{form}", peer.name())
    }

    /// Returns the side of the engine with which this one is compared; `None` for the engine itself. What is programmed is compared
    /// with our typed interface, and what is asked in a language of queries with our SQL.
    pub(super) fn compared_with(self) -> Option<Side> {
        let program = match self.program {
            Program::Sql | Program::Source | Program::Bench(None) => return None,
            Program::Bench(Some(_)) | Program::Peer(Peer::Timely | Peer::Renoir, _) => Program::Bench(None),
            Program::Peer(..) => Program::Sql,
        };
        Some(Side { program, ..self })
    }
}

/// Returns the sides of a question: the engine in its forms, hand-written loops, and the peers that are asked. Our SQL is the first,
/// since its answer is the one that others are compared with.
pub(super) fn of(question: Question, peers: &[Peer]) -> Vec<Side> {
    let mut programs = vec![Program::Sql];
    if matches!(question, Question::Ysb | Question::Group { .. } | Question::Join) {
        programs.push(Program::Source);
    }
    if question == Question::Ysb {
        let loops = ["loop-blocks", "loop-chains", "loop-fused"].map(|api| Program::Bench(Some(api)));
        programs.push(Program::Bench(None));
        programs.extend(loops);
    }
    for peer in Peer::ALL.into_iter().filter(|peer| peers.contains(peer)) {
        programs.extend(peer.forms(question).iter().map(|form| Program::Peer(peer, form)));
    }
    programs.into_iter().map(|program| Side { question, program }).collect()
}
