//! Grouping sets: GROUP BY lists with GROUPING SETS, ROLLUP and CUBE as lists of keys. ROLLUP and CUBE may contain
//! several columns taken as one, `ROLLUP ((a, b), c)`, and may stand within GROUPING SETS. Several parts of one list are
//! combined: each set of one with each set of the others.
//!
//! Sets with equal keys within one ROLLUP or CUBE are one set, as in Flink; sets that are named twice appear
//! twice, unless GROUP BY DISTINCT says that each is there once.
//!
//! Source: SQL:2016, 7.13 (group by clause): ROLLUP has all prefixes of its list, the longest first, CUBE all
//! subsets.

use std::collections::{HashMap, HashSet};

use sqlparser::ast::{Expr, Function, FunctionArguments};
use thalweg_sql_tables::error::{Code, SqlError};

use super::syntax::{is_plain_call, value_of};
use crate::text::dialect::single_name;
use crate::text::group::DISTINCT_SETS;

type Result<T> = std::result::Result<T, SqlError>;

/// Keys of a grouping set, or one entry in the list of a ROLLUP or CUBE: a column, or several columns taken as one.
type Keys<'a> = Vec<&'a Expr>;

/// Greatest number of keys of a CUBE; n keys give 2^n grouping sets.
const CUBE_KEYS_MAX: usize = 10;

/// Greatest number of keys of a ROLLUP; the grouping sets of n keys have n^2 / 2 keys together.
const ROLLUP_KEYS_MAX: usize = 100;

/// Greatest number of grouping sets of one GROUP BY list.
const SETS_MAX: usize = 4_096;

/// Returns the keys of a GROUP BY list, each once by its text, and the grouping sets as lists of indexes of keys; `None`
/// for a list without grouping sets.
///
/// # Errors
/// [`Code::Unsupported`] and [`Code::Invalid`] for too many sets, [`Code::Syntax`] for wrong ones.
pub(super) fn of_list<'a>(list: &[&'a Expr]) -> Result<(Vec<&'a Expr>, Option<Vec<Vec<usize>>>)> {
    let (list, is_once) = without_distinct(list);
    let is_sets = |key: &&Expr| match key {
        Expr::GroupingSets(_) | Expr::Rollup(_) | Expr::Cube(_) => true,
        Expr::Function(function) => is_called(function, "ROLLUP") || is_called(function, "CUBE"),
        _ => false,
    };
    let mut combined: Vec<Keys<'a>> = vec![Vec::new()];
    for key in &list {
        let own: Vec<Keys<'a>> = match key {
            Expr::GroupingSets(sets) => within_sets(sets)?,
            Expr::Rollup(list) => rollup(&entries(list))?,
            Expr::Cube(list) => cube(&entries(list))?,
            Expr::Function(function) if is_called(function, "ROLLUP") => rollup(&within(function)?)?,
            Expr::Function(function) if is_called(function, "CUBE") => cube(&within(function)?)?,
            Expr::Tuple(parts) if parts.is_empty() => vec![Keys::new()],
            key => vec![vec![*key]],
        };
        check_count(combined.len().saturating_mul(own.len()))?;
        combined = combined
            .iter()
            .flat_map(|before| own.iter().map(|set| before.iter().chain(set).copied().collect()))
            .collect();
    }
    if is_once {
        combined = once(combined);
    }
    let mut keys: Vec<&'a Expr> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut place = |key: &'a Expr| {
        *known.entry(key.to_string()).or_insert_with(|| {
            keys.push(key);
            keys.len() - 1
        })
    };
    let sets: Vec<Vec<usize>> =
        combined.into_iter().map(|set| set.into_iter().map(&mut place).collect()).collect();
    Ok((keys, list.iter().any(is_sets).then_some(sets)))
}

/// Returns a GROUP BY list without the DISTINCT before its first item, and whether there was one.
fn without_distinct<'a>(list: &[&'a Expr]) -> (Vec<&'a Expr>, bool) {
    if let [Expr::Function(function), rest @ ..] = list
        && single_name(&function.name)
            .is_some_and(|name| name.quote_style.is_some() && name.value == DISTINCT_SETS)
        && let FunctionArguments::List(arguments) = &function.args
        && let Some(first) = arguments.args.first().and_then(value_of)
    {
        return ([first].into_iter().chain(rest.iter().copied()).collect(), true);
    }
    (list.to_vec(), false)
}

/// Returns whether two of several sets have the same keys.
pub(super) fn is_one_twice(sets: &[Vec<usize>]) -> bool {
    let mut known = HashSet::new();
    let sorted = |set: &Vec<usize>| {
        let mut keys = set.clone();
        keys.sort_unstable();
        keys.dedup();
        keys
    };
    !sets.iter().all(|set| known.insert(sorted(set)))
}

fn entries(list: &[Vec<Expr>]) -> Vec<Keys<'_>> {
    list.iter().map(|keys| keys.iter().collect()).collect()
}

fn check_count(count: usize) -> Result<()> {
    if count <= SETS_MAX {
        return Ok(());
    }
    Err(SqlError::new(Code::Unsupported, format!("GROUPING SETS has more than {SETS_MAX} sets")))
}

fn check_size(what: &str, list: &[Keys<'_>], most: usize) -> Result<()> {
    let count: usize = list.iter().map(|keys| keys.len().max(1)).sum();
    if count <= most {
        return Ok(());
    }
    let message = format!("{what} of {count} keys has too many sets: {most} keys are the most");
    Err(SqlError::new(Code::Invalid, message).help("name the sets: GROUPING SETS (..)"))
}

/// Returns the grouping sets of a ROLLUP: all prefixes of its list of keys.
fn rollup<'a>(list: &[Keys<'a>]) -> Result<Vec<Keys<'a>>> {
    check_size("ROLLUP", list, ROLLUP_KEYS_MAX)?;
    Ok(once((0..=list.len()).rev().map(|count| list[..count].concat()).collect()))
}

/// Returns the grouping sets of a CUBE: all subsets of its list of keys.
fn cube<'a>(list: &[Keys<'a>]) -> Result<Vec<Keys<'a>>> {
    check_size("CUBE", list, CUBE_KEYS_MAX)?;
    // Bit `at` of the number of a set tells whether the set has the key with the index `at`. The numbers
    // descend, so the set of all keys comes first and the empty set last.
    let is_in = |set: usize, at: usize| set >> at & 1 == 1;
    let part = |set| (0..list.len()).filter(|at| is_in(set, *at)).flat_map(|at| list[at].clone()).collect();
    Ok(once((0..1 << list.len()).rev().map(part).collect()))
}

/// Returns each grouping set once. The order and the repetition of keys in a set make no difference.
fn once(mut sets: Vec<Keys<'_>>) -> Vec<Keys<'_>> {
    let mut known = HashSet::new();
    sets.retain(|set| {
        let mut keys: Vec<String> = set.iter().map(|key| key.to_string()).collect();
        keys.sort_unstable();
        keys.dedup();
        known.insert(keys)
    });
    sets
}

/// Returns the grouping sets of a GROUPING SETS, with each ROLLUP or CUBE in it replaced by its own sets.
fn within_sets(list: &[Vec<Expr>]) -> Result<Vec<Keys<'_>>> {
    let mut sets = Vec::new();
    for set in list {
        match &set[..] {
            [Expr::Function(function)] if is_called(function, "ROLLUP") => {
                sets.extend(rollup(&within(function)?)?);
            }
            [Expr::Function(function)] if is_called(function, "CUBE") => {
                sets.extend(cube(&within(function)?)?);
            }
            [Expr::GroupingSets(inner)] => sets.extend(within_sets(inner)?),
            set => sets.push(set.iter().collect()),
        }
        check_count(sets.len())?;
    }
    Ok(sets)
}

fn is_called(function: &Function, word: &str) -> bool {
    single_name(&function.name)
        .is_some_and(|name| name.quote_style.is_none() && name.value.eq_ignore_ascii_case(word))
}

/// Returns the list of keys in the brackets of a ROLLUP or CUBE that was parsed as a function call.
fn within(function: &Function) -> Result<Vec<Keys<'_>>> {
    let wrong = || {
        let message = format!("{} takes a list of columns", function.name.to_string().to_uppercase());
        SqlError::new(Code::Syntax, message)
    };
    let keys = |argument| match value_of(argument) {
        Some(Expr::Tuple(several)) => Ok(several.iter().collect()),
        Some(one) => Ok(vec![one]),
        None => Err(wrong()),
    };
    match &function.args {
        FunctionArguments::List(list) if is_plain_call(function) && !list.args.is_empty() => {
            list.args.iter().map(keys).collect()
        }
        _ => Err(wrong()),
    }
}
