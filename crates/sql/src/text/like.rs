//! The clause LIKE of CREATE TABLE: a table takes over what another table declares.
//!
//! Source: Flink's documentation, "CREATE Statements", LIKE; its `MergeTableLikeUtil` for the rules of each feature.

use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;
use thalweg_sql_tables::error::{Code, SqlError};

use super::ddl::{self, ColumnKind, CreateTable, Name};
use super::script::word;

/// The clause `LIKE table [(rule ..)]` of CREATE TABLE.
#[derive(Clone, Debug)]
pub struct Like {
    /// Table whose declaration is taken over.
    pub source: Name,
    /// Rules for features of the declaration, each feature once.
    pub rules: Vec<(Feature, Merging)>,
}

/// Part of a table's declaration for which LIKE has a rule of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feature {
    /// All of them.
    All,
    /// The primary key.
    Constraints,
    /// DISTRIBUTED BY, which no table has here.
    Distribution,
    /// Computed columns.
    Generated,
    /// Columns of metadata.
    Metadata,
    /// Options of WITH.
    Options,
    /// The columns of PARTITIONED BY.
    Partitions,
    /// The watermark.
    Watermarks,
}

/// Rule by which a feature of the other table is taken over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Merging {
    /// The feature is taken over, and must not be declared again.
    Including,
    /// The feature is left out.
    Excluding,
    /// The feature is taken over where the new table does not declare it.
    Overwriting,
}

impl Feature {
    const NAMES: [(&str, Feature); 8] = [
        ("ALL", Feature::All),
        ("CONSTRAINTS", Feature::Constraints),
        ("DISTRIBUTION", Feature::Distribution),
        ("GENERATED", Feature::Generated),
        ("METADATA", Feature::Metadata),
        ("OPTIONS", Feature::Options),
        ("PARTITIONS", Feature::Partitions),
        ("WATERMARKS", Feature::Watermarks),
    ];

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, feature)| *feature == self).map_or("", |(name, _)| name)
    }
}

/// Parses the rest of the clause after the word LIKE.
pub(super) fn like(parser: &mut Parser) -> Result<Like, ParserError> {
    let source = ddl::name(parser)?;
    let mut rules: Vec<(Feature, Merging)> = Vec::new();
    if !parser.consume_token(&Token::LParen) {
        return Ok(Like { source, rules });
    }
    while !parser.consume_token(&Token::RParen) {
        let token = parser.next_token();
        let merging = match word(&token.token).as_deref() {
            Some("INCLUDING") => Merging::Including,
            Some("EXCLUDING") => Merging::Excluding,
            Some("OVERWRITING") => Merging::Overwriting,
            _ => return parser.expected("INCLUDING, EXCLUDING or OVERWRITING", token),
        };
        let token = parser.next_token();
        let named = word(&token.token);
        let known = Feature::NAMES.iter().find(|(name, _)| named.as_deref() == Some(name));
        let Some((name, feature)) = known else {
            let names = Feature::NAMES.map(|(name, _)| name).join(", ");
            return parser.expected(&format!("one of {names}"), token);
        };
        let is_one = matches!(
            feature,
            Feature::All | Feature::Constraints | Feature::Distribution | Feature::Partitions
        );
        if merging == Merging::Overwriting && is_one {
            let message = format!("OVERWRITING {name} has no meaning: write INCLUDING or EXCLUDING");
            return Err(ddl::at(&token.span, message));
        }
        if rules.iter().any(|(known, _)| known == feature) {
            return Err(ddl::at(&token.span, format!("there are two rules for {name}")));
        }
        rules.push((*feature, merging));
    }
    Ok(Like { source, rules })
}

impl Like {
    /// Returns the rule for a feature: its own, that for ALL, or the default.
    fn rule(&self, feature: Feature) -> Merging {
        let rule =
            |wanted| self.rules.iter().find(|(known, _)| *known == wanted).map(|(_, merging)| *merging);
        rule(feature).or_else(|| rule(Feature::All)).unwrap_or(match feature {
            Feature::Options => Merging::Overwriting,
            _ => Merging::Including,
        })
    }
}

/// Returns the declaration `new`, which says LIKE, with what it takes over from the declaration `base`.
///
/// # Errors
/// [`Code::Invalid`] if both declare a feature that is only taken over as a whole, and for a column that both have.
pub fn merged(base: &CreateTable, new: &CreateTable, like: &Like) -> Result<CreateTable, SqlError> {
    let twice = |what: String, feature: Feature, may_overwrite: bool| {
        let name = feature.name();
        let other = if may_overwrite { format!(" or OVERWRITING {name}") } else { String::new() };
        SqlError::new(Code::Invalid, format!("`{}` has {what} already", like.source.name))
            .at(new.name.place)
            .help(format!("write LIKE `{}` (EXCLUDING {name}){other}", like.source.name))
    };
    let is_key = |name: &str| base.primary_key.iter().any(|(key, _)| key == name);
    let mut columns = Vec::new();
    for column in &base.columns {
        let feature = match &column.kind {
            ColumnKind::Physical { .. } => None,
            ColumnKind::Computed { .. } => Some(Feature::Generated),
            ColumnKind::Metadata { .. } => Some(Feature::Metadata),
        };
        if feature.is_some_and(|feature| like.rule(feature) == Merging::Excluding) {
            continue;
        }
        let mut column = column.clone();
        if let ColumnKind::Physical { is_nullable, .. } = &mut column.kind {
            // A column stays NOT NULL if the primary key is left out.
            *is_nullable &= !is_key(&column.name);
        }
        columns.push(column);
    }
    for column in &new.columns {
        let Some(before) = columns.iter_mut().find(|before| before.name == column.name) else {
            columns.push(column.clone());
            continue;
        };
        let feature = match (&before.kind, &column.kind) {
            (ColumnKind::Computed { .. }, ColumnKind::Computed { .. }) => Feature::Generated,
            (ColumnKind::Metadata { .. }, ColumnKind::Metadata { .. }) => Feature::Metadata,
            _ => {
                let message = format!("`{}` has a column `{}` already", like.source.name, column.name);
                return Err(SqlError::new(Code::Invalid, message).at(column.place));
            }
        };
        if like.rule(feature) != Merging::Overwriting {
            return Err(twice(format!("a column `{}`", column.name), feature, true).at(column.place));
        }
        *before = column.clone();
    }
    let watermark = match (&base.watermark, &new.watermark, like.rule(Feature::Watermarks)) {
        (Some(_), Some(_), Merging::Including) => {
            return Err(twice("a watermark".to_owned(), Feature::Watermarks, true));
        }
        (_, Some(own), _) => Some(own.clone()),
        (_, None, Merging::Excluding) => None,
        (inherited, None, _) => inherited.clone(),
    };
    let keeps_key = like.rule(Feature::Constraints) == Merging::Including && !base.primary_key.is_empty();
    let (primary_key, key_name) = match (keeps_key, new.primary_key.is_empty()) {
        (true, false) => return Err(twice("a primary key".to_owned(), Feature::Constraints, false)),
        (true, true) => (base.primary_key.clone(), base.key_name.clone()),
        (false, _) => (new.primary_key.clone(), new.key_name.clone()),
    };
    let keeps_partitions =
        like.rule(Feature::Partitions) == Merging::Including && !base.partitioned_by.is_empty();
    let partitioned_by = match (keeps_partitions, new.partitioned_by.is_empty()) {
        (true, false) => return Err(twice("partitions".to_owned(), Feature::Partitions, false)),
        (true, true) => base.partitioned_by.clone(),
        (false, _) => new.partitioned_by.clone(),
    };
    let mut options = match like.rule(Feature::Options) {
        Merging::Excluding => Default::default(),
        Merging::Including | Merging::Overwriting => base.options.clone(),
    };
    for (key, option) in &new.options {
        if options.insert(key.clone(), option.clone()).is_some()
            && like.rule(Feature::Options) == Merging::Including
        {
            return Err(twice(format!("an option '{key}'"), Feature::Options, true).at(option.place));
        }
    }
    Ok(CreateTable {
        columns,
        watermark,
        primary_key,
        key_name,
        partitioned_by,
        options,
        comment: new.comment.clone().or_else(|| base.comment.clone()),
        like: None,
        ..new.clone()
    })
}
