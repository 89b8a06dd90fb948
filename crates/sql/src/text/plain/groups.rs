//! Rewriting of ROLLUP and CUBE into the grouping sets for which they stand. They may also contain several
//! columns taken as one, `ROLLUP ((a, b), c)`, and may stand within GROUPING SETS.
//!
//! Sets with equal keys within one ROLLUP or CUBE are one set, as in Flink; sets that are named twice appear
//! twice.
//!
//! Source: SQL:2016, 7.13 (group by clause): ROLLUP has all prefixes of its list, the longest first, CUBE all
//! subsets.

use std::collections::HashSet;

use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments};
use thalweg_sql_tables::error::{Code, SqlError};

use crate::text::dialect::single_name;

type Result<T> = std::result::Result<T, SqlError>;

/// One entry in the list of a ROLLUP or CUBE: a column, or several columns taken as one.
type Keys = Vec<Expr>;

/// Greatest number of keys of a CUBE; n keys give 2^n grouping sets.
const CUBE_KEYS_MAX: usize = 10;

/// Greatest number of keys of a ROLLUP; the grouping sets of n keys have n^2 / 2 keys together.
const ROLLUP_KEYS_MAX: usize = 100;

/// Greatest number of grouping sets of one GROUP BY list.
const SETS_MAX: usize = 4_096;

fn check_size(what: &str, list: &[Keys], most: usize) -> Result<()> {
    let count: usize = list.iter().map(|keys| keys.len().max(1)).sum();
    if count <= most {
        return Ok(());
    }
    let message = format!("{what} of {count} keys has too many sets: {most} keys are the most");
    Err(SqlError::new(Code::Invalid, message).help("name the sets: GROUPING SETS (..)"))
}

/// Returns the grouping sets of a ROLLUP: all prefixes of its list of keys.
pub(super) fn rollup(list: &[Keys]) -> Result<Vec<Keys>> {
    check_size("ROLLUP", list, ROLLUP_KEYS_MAX)?;
    Ok(once((0..=list.len()).rev().map(|count| list[..count].concat()).collect()))
}

/// Returns the grouping sets of a CUBE: all subsets of its list of keys.
pub(super) fn cube(list: &[Keys]) -> Result<Vec<Keys>> {
    check_size("CUBE", list, CUBE_KEYS_MAX)?;
    // Bit `at` of the number of a set tells whether the set has the key with the index `at`. The numbers
    // descend, so the set of all keys comes first and the empty set last.
    let is_in = |set: usize, at: usize| set >> at & 1 == 1;
    let part = |set| (0..list.len()).filter(|at| is_in(set, *at)).flat_map(|at| list[at].clone()).collect();
    Ok(once((0..1 << list.len()).rev().map(part).collect()))
}

/// Returns each grouping set once. The order and the repetition of keys in a set make no difference.
fn once(mut sets: Vec<Keys>) -> Vec<Keys> {
    let mut known = HashSet::new();
    sets.retain(|set| {
        let mut keys: Vec<String> = set.iter().map(Expr::to_string).collect();
        keys.sort_unstable();
        keys.dedup();
        known.insert(keys)
    });
    sets
}

/// Returns the grouping sets of a list, with each ROLLUP or CUBE in it replaced by its own sets.
pub(super) fn sets(list: Vec<Keys>) -> Result<Vec<Keys>> {
    let mut sets = Vec::new();
    for set in list {
        match &set[..] {
            [Expr::Function(function)] if is_called(function, "ROLLUP") => {
                sets.extend(rollup(&within(function)?)?);
            }
            [Expr::Function(function)] if is_called(function, "CUBE") => {
                sets.extend(cube(&within(function)?)?);
            }
            _ => sets.push(set),
        }
        if sets.len() > SETS_MAX {
            let message = format!("GROUPING SETS has more than {SETS_MAX} sets");
            return Err(SqlError::new(Code::Unsupported, message));
        }
    }
    Ok(sets)
}

fn is_called(function: &Function, word: &str) -> bool {
    single_name(&function.name)
        .is_some_and(|name| name.quote_style.is_none() && name.value.eq_ignore_ascii_case(word))
}

/// Returns the list of keys in the brackets of a ROLLUP or CUBE that was parsed as a function call.
fn within(function: &Function) -> Result<Vec<Keys>> {
    let wrong = || {
        let message = format!("{} takes a list of columns", function.name.to_string().to_uppercase());
        SqlError::new(Code::Syntax, message)
    };
    let Function {
        name: _,
        uses_odbc_syntax: _,
        parameters,
        args,
        filter,
        null_treatment,
        over,
        within_group,
    } = function;
    let is_plain = matches!(parameters, FunctionArguments::None)
        && filter.is_none()
        && null_treatment.is_none()
        && over.is_none()
        && within_group.is_empty();
    let keys = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Tuple(several))) => Ok(several.clone()),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(one)) => Ok(vec![one.clone()]),
        _ => Err(wrong()),
    };
    match args {
        FunctionArguments::List(list)
            if is_plain
                && !list.args.is_empty()
                && list.duplicate_treatment.is_none()
                && list.clauses.is_empty() =>
        {
            list.args.iter().map(keys).collect()
        }
        _ => Err(wrong()),
    }
}
