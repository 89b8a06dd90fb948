//! The place in the text of an error that was reported without one: DataFusion's expressions keep the places of
//! columns only.
//!
//! The query is planned again with NULL in place of one of its expressions after the other. If the error goes away,
//! it was in that expression. Then the parts of that expression are replaced: if exactly one of them makes the error
//! go away, the search continues in that part. This is done for errors only, and at most [`TRIALS_MAX`] times.
//!
//! Source: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE TSE 28(2), 2002, for the idea.

use std::cell::Cell;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Value, Visit, VisitMut, Visitor, VisitorMut};

use sqlparser::tokenizer::Span;
use thalweg_sql_tables::error::{Code, SqlError};

use crate::text::ddl::place_of;
use crate::text::plain::own_span;

/// Greatest number of times that a query is planned again to find the place of an error.
const TRIALS_MAX: usize = 48;

/// Greatest number of expressions of a query in which the place of an error is searched.
const PARTS_MAX: usize = 300;

/// Returns the error with its place, if that can be found. `fails` plans a changed query and returns its error.
pub(super) fn located(
    error: SqlError,
    query: &Query,
    fails: &dyn Fn(&Query) -> Option<SqlError>,
) -> SqlError {
    let is_of_expression = matches!(
        error.code,
        Code::TypeMismatch | Code::UnknownFunction | Code::UnknownColumn | Code::Unsupported | Code::Invalid
    );
    if error.place.is_some() || !is_of_expression {
        return error;
    }
    let mut parts = Parts::default();
    let _ = query.visit(&mut parts);
    let parts = parts.found;
    if parts.len() > PARTS_MAX {
        return error;
    }
    let trials = Cell::new(0);
    let goes_away = |part: usize| {
        trials.set(trials.get() + 1);
        if trials.get() > TRIALS_MAX {
            return Gone::No;
        }
        let mut changed = query.clone();
        let _ = VisitMut::visit(&mut changed, &mut Blank { part, next: 0 });
        match fails(&changed) {
            None => Gone::All,
            Some(other) if other.code == error.code && other.message == error.message => Gone::No,
            Some(_) => Gone::ForAnother,
        }
    };
    let outer: Vec<usize> = (0..parts.len()).filter(|part| parts[*part].depth == 0).collect();
    let mut found = None;
    for part in outer {
        match goes_away(part) {
            Gone::All => {
                found = Some(part);
                break;
            }
            Gone::ForAnother => found = found.or(Some(part)),
            Gone::No => {}
        }
    }
    while let Some(part) = found {
        let inner = (part + 1..parts.len())
            .take_while(|inner| parts[*inner].depth > parts[part].depth)
            .filter(|inner| parts[*inner].depth == parts[part].depth + 1);
        let mut nearer = inner.filter(|inner| goes_away(*inner) == Gone::All);
        match (nearer.next(), nearer.next()) {
            (Some(one), None) => found = Some(one),
            _ => break,
        }
    }
    let span = found.map(|part| parts[part].span).filter(|span| span.start.line > 0);
    error.at(span.map(|span| place_of(&span)))
}

/// Effect on the error of replacing one expression of the query by NULL.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gone {
    /// The changed query has no error.
    All,
    /// The changed query has another error.
    ForAnother,
    /// The changed query has the same error.
    No,
}

struct Part {
    /// Number of expressions of the query that contain this one.
    depth: usize,
    /// Span in the text of the expression with all its parts.
    span: Span,
}

/// Collects the expressions of a query in the order in which they are visited.
#[derive(Default)]
struct Parts {
    /// Indexes of the expressions that contain the one being visited.
    open: Vec<usize>,
    found: Vec<Part>,
}

impl Visitor for Parts {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        let part = Part { depth: self.open.len(), span: own_span(expression) };
        self.open.push(self.found.len());
        self.found.push(part);
        if self.found.len() > PARTS_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn post_visit_expr(&mut self, _expression: &Expr) -> ControlFlow<()> {
        if let Some(done) = self.open.pop()
            && let Some(outer) = self.open.last()
        {
            let span = self.found[done].span;
            self.found[*outer].span = self.found[*outer].span.union(&span);
        }
        ControlFlow::Continue(())
    }
}

/// Replaces the expression with the index `part` by NULL; indexes are in the order of visits.
struct Blank {
    part: usize,
    next: usize,
}

impl VisitorMut for Blank {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if self.next == self.part {
            *expression = Expr::Value(Value::Null.into());
            return ControlFlow::Break(());
        }
        self.next += 1;
        ControlFlow::Continue(())
    }
}
