//! ROLLUP and CUBE as the grouping sets that they stand for, also of several columns taken as one: `ROLLUP ((a, b), c)`, and within
//! GROUPING SETS.
//!
//! Source: SQL:2016, 7.13 (group by clause): ROLLUP is all beginnings of its list, the longest first, CUBE all parts of it.

use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments};

use crate::error::{Code, SqlError};

type Result<T> = std::result::Result<T, SqlError>;

/// Columns, or several that are taken as one.
type Keys = Vec<Expr>;

/// The most keys of a CUBE, which has two to the power of them as sets.
const CUBE_KEYS_MAX: usize = 10;

/// The most keys of a ROLLUP, whose sets have half the square of them as keys.
const ROLLUP_KEYS_MAX: usize = 100;

fn check_size(what: &str, list: &[Keys], most: usize) -> Result<()> {
    let count: usize = list.iter().map(|keys| keys.len().max(1)).sum();
    if count <= most {
        return Ok(());
    }
    let message = format!("{what} of {count} keys has too many sets: {most} keys are the most");
    Err(SqlError::new(Code::Invalid, message).help("name the sets: GROUPING SETS (..)"))
}

/// All beginnings of the list.
pub(super) fn rollup(list: &[Keys]) -> Result<Vec<Keys>> {
    check_size("ROLLUP", list, ROLLUP_KEYS_MAX)?;
    Ok((0..=list.len()).rev().map(|count| list[..count].concat()).collect())
}

/// All parts of the list.
pub(super) fn cube(list: &[Keys]) -> Result<Vec<Keys>> {
    check_size("CUBE", list, CUBE_KEYS_MAX)?;
    // The first key is the last to go.
    let is_in = |set: usize, at: usize| set >> at & 1 == 1;
    let part = |set| (0..list.len()).filter(|at| is_in(set, *at)).flat_map(|at| list[at].clone()).collect();
    Ok((0..1 << list.len()).rev().map(part).collect())
}

/// The sets, with a ROLLUP or CUBE among them replaced by its own.
pub(super) fn sets(list: Vec<Keys>) -> Result<Vec<Keys>> {
    let mut sets = Vec::new();
    for set in list {
        match &set[..] {
            [Expr::Function(function)] => match (function.name.to_string().as_str(), within(function)) {
                ("ROLLUP", Some(list)) => sets.extend(rollup(&list)?),
                ("CUBE", Some(list)) => sets.extend(cube(&list)?),
                _ => sets.push(set),
            },
            _ => sets.push(set),
        }
    }
    Ok(sets)
}

/// The list in the brackets of a ROLLUP or CUBE that was read as a function.
fn within(function: &Function) -> Option<Vec<Keys>> {
    let FunctionArguments::List(arguments) = &function.args else { return None };
    let keys = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Tuple(several))) => Some(several.clone()),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(one)) => Some(vec![one.clone()]),
        _ => None,
    };
    arguments.args.iter().map(keys).collect()
}
