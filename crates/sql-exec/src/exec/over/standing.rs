//! The ranking functions ROW_NUMBER, RANK and DENSE_RANK over the rows of a key in the order of time.
//!
//! Source: Flink, `RowNumberAggFunction`, `RankAggFunction`, `DenseRankAggFunction`.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array};
use serde::{Deserialize, Serialize};
use thalweg_model::{StateError, StateReader, StateWriter};
use thalweg_sql_functions::aggregates::{Accumulator, BoundAggregate};
use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_functions::keys::whole_numbers;
use thalweg_sql_functions::types::SqlType;

use crate::plan::RankFunction;

/// Creates a ranking function over rows in the order of time. Its argument is the time of a row; `None` if
/// each row has a time of its own.
pub fn standing(which: RankFunction, time: Option<SqlType>) -> BoundAggregate {
    BoundAggregate {
        arguments: time.into_iter().collect(),
        result: SqlType::BigInt,
        is_nullable: false,
        create: Arc::new(move || Box::new(Standings { which, groups: Vec::new() })),
        create_retractable: None,
        distinct_over: 0,
    }
}

struct Standings {
    which: RankFunction,
    groups: Vec<Seen>,
}

/// Numbers of rows and distinct times of a key so far, from which a row's rank follows.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Seen {
    rows: i64,
    rank: i64,
    times: i64,
    last: Option<i64>,
}

impl Standings {
    fn results(&self, groups: impl Iterator<Item = Seen>) -> ArrayRef {
        let number = |seen: Seen| match self.which {
            RankFunction::RowNumber => seen.rows,
            RankFunction::Rank => seen.rank,
            RankFunction::DenseRank => seen.times,
        };
        Arc::new(Int64Array::from_iter_values(groups.map(number)))
    }
}

impl Accumulator for Standings {
    fn resize(&mut self, groups: usize) {
        self.groups.resize(groups.max(self.groups.len()), Seen::default());
    }

    fn update(&mut self, groups: &[u32], arguments: &[ArrayRef], _keep: Option<&BooleanArray>) {
        let times = arguments.first().map(whole_numbers);
        for (row, group) in groups.iter().enumerate() {
            let seen = &mut self.groups[*group as usize];
            let time = times.as_ref().map(|times| times[row]);
            seen.rows += 1;
            if time.is_none() || seen.last != time {
                seen.rank = seen.rows;
                seen.times += 1;
                seen.last = time;
            }
        }
    }

    fn retract(&mut self, _groups: &[u32], _arguments: &[ArrayRef], _keep: Option<&BooleanArray>) {
        panic!("`Calls` takes rows back only from accumulators that were made to retract");
    }

    fn can_retract(&self) -> bool {
        false
    }

    fn merge(&mut self, _other: &dyn Accumulator, _into: &[u32]) -> Result<(), EvaluationError> {
        Err(EvaluationError {
            code: "EVALUATION",
            message: "ranks of several streams cannot be put together".to_owned(),
        })
    }

    fn results(&self, range: Range<usize>) -> Result<ArrayRef, EvaluationError> {
        Ok(self.results(self.groups[range].iter().copied()))
    }

    fn results_of(&self, groups: &[u32]) -> Result<ArrayRef, EvaluationError> {
        Ok(self.results(groups.iter().map(|group| self.groups[*group as usize])))
    }

    fn reset(&mut self, groups: &[u32]) {
        groups.iter().for_each(|group| self.groups[*group as usize] = Seen::default());
    }

    fn clear(&mut self) {
        self.groups.clear();
    }

    fn bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Seen>()
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.groups)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.groups = state.take()?;
        Ok(())
    }
}
