//! Functions of text, which Flink's documentation lists under "String functions", "Hash functions" and "JSON
//! functions", and the predicates LIKE and SIMILAR TO.
//!
//! Characters are Unicode code points, as in Flink, which counts them in UTF-8; text is never cut within a character.
//! Every text result is a STRING; Flink's type is sometimes a narrower VARCHAR with equal values. Syntax with words
//! in it (`POSITION(a IN b)`, `TRIM(BOTH a FROM b)`, `a LIKE b ESCAPE c`) is rewritten to calls before it reaches
//! this module.
//!
//! Source: Flink documentation, "System (Built-in) Functions"; where that is silent, `SqlFunctionUtils` and
//! `BinaryStringDataUtil` of flink-table-runtime.

mod addresses;
mod cut;
mod encode;
mod find;
mod hash;
pub mod json;
pub(crate) mod json_functions;
mod json_query;
mod letters;
mod like;
pub mod pattern;
mod printf;
mod regexp;
#[cfg(test)]
mod tests;
mod url;

use super::{Argument, BindError, Bound, Context, Function};

/// All SQL functions of text.
pub static TEXT: &[Function] = &[
    // Functions of letters, and concatenation.
    function("UPPER", "UPPER(text)", letters::upper),
    function("LOWER", "LOWER(text)", letters::lower),
    function("INITCAP", "INITCAP(text)", letters::initcap),
    function("REVERSE", "REVERSE(text)", letters::reverse),
    function("CHAR_LENGTH", "CHAR_LENGTH(text)", letters::char_length),
    function("CHARACTER_LENGTH", "CHARACTER_LENGTH(text)", letters::char_length),
    function("ASCII", "ASCII(text)", letters::ascii),
    function("CHR", "CHR(number)", letters::chr),
    function("CONCAT", "CONCAT(text, ...)", letters::concat),
    function("CONCAT_WS", "CONCAT_WS(separator, text, ...)", letters::concat_ws),
    function("REPEAT", "REPEAT(text, count)", letters::repeat),
    function("PRINTF", "PRINTF(pattern, value, ..)", printf::printf),
    function("ELT", "ELT(index, text, ...)", letters::elt),
    // Functions that take parts of a text by position.
    function("SUBSTRING", "SUBSTRING(text, start [, length])", cut::substring),
    function("SUBSTR", "SUBSTR(text, start [, length])", cut::substring),
    function("LEFT", "LEFT(text, count)", cut::left),
    function("RIGHT", "RIGHT(text, count)", cut::right),
    function("OVERLAY", "OVERLAY(text, new, start [, length])", cut::overlay),
    function("TRIM", "TRIM(text)", cut::trim),
    function("TRIM_BOTH", "TRIM(BOTH characters FROM text)", cut::trim_both),
    function("TRIM_LEADING", "TRIM(LEADING characters FROM text)", cut::trim_leading),
    function("TRIM_TRAILING", "TRIM(TRAILING characters FROM text)", cut::trim_trailing),
    function("LTRIM", "LTRIM(text [, characters])", cut::ltrim),
    function("RTRIM", "RTRIM(text [, characters])", cut::rtrim),
    function("BTRIM", "BTRIM(text [, characters])", cut::btrim),
    function("LPAD", "LPAD(text, length, pad)", cut::lpad),
    function("RPAD", "RPAD(text, length, pad)", cut::rpad),
    // Functions that find or take parts of a text by content.
    function("POSITION", "POSITION(needle IN text)", find::position),
    function("LOCATE", "LOCATE(needle, text [, start])", find::locate),
    function("INSTR", "INSTR(text, needle [, start [, occurrence]])", find::instr),
    function("STARTSWITH", "STARTSWITH(text, start)", find::startswith),
    function("ENDSWITH", "ENDSWITH(text, end)", find::endswith),
    function("REPLACE", "REPLACE(text, old, new)", find::replace),
    function("TRANSLATE", "TRANSLATE(text, from, to)", find::translate),
    function("SPLIT_INDEX", "SPLIT_INDEX(text, separator, index)", find::split_index),
    function("SUBSTRING_INDEX", "SUBSTRING_INDEX(text, delimiter, count)", find::substring_index),
    function("SPLIT", "SPLIT(text, delimiter)", find::split),
    function("STR_TO_MAP", "STR_TO_MAP(text [, pair delimiter, key delimiter])", find::str_to_map),
    // Functions and predicates that match a text with a pattern.
    function("LIKE", "text LIKE pattern [ESCAPE character]", like::like),
    function("SIMILAR", "text SIMILAR TO pattern [ESCAPE character]", like::similar),
    function("REGEXP", "REGEXP(text, pattern)", regexp::regexp),
    function("REGEXP_REPLACE", "REGEXP_REPLACE(text, pattern, new)", regexp::replace),
    function("REGEXP_EXTRACT", "REGEXP_EXTRACT(text, pattern [, group])", regexp::extract),
    function("REGEXP_EXTRACT_ALL", "REGEXP_EXTRACT_ALL(text, pattern [, group])", regexp::extract_all),
    function("REGEXP_COUNT", "REGEXP_COUNT(text, pattern)", regexp::count),
    function("REGEXP_INSTR", "REGEXP_INSTR(text, pattern)", regexp::instr),
    function("REGEXP_SUBSTR", "REGEXP_SUBSTR(text, pattern)", regexp::substr),
    // Functions that encode and decode text, bytes and web addresses.
    function("TO_BASE64", "TO_BASE64(text)", encode::to_base64),
    function("FROM_BASE64", "FROM_BASE64(text)", encode::from_base64),
    function("UNHEX", "UNHEX(text)", encode::unhex),
    function("ENCODE", "ENCODE(text, charset)", encode::encode),
    function("DECODE", "DECODE(bytes, charset)", encode::decode),
    function("URL_ENCODE", "URL_ENCODE(text)", url::encode),
    function("URL_DECODE", "URL_DECODE(text)", url::decode),
    function("PARSE_URL", "PARSE_URL(url, part [, key])", url::parse_url),
    function("INET_ATON", "INET_ATON(address)", addresses::inet_aton),
    function("INET_NTOA", "INET_NTOA(number)", addresses::inet_ntoa),
    // Functions that compute hashes of text or bytes.
    function("MD5", "MD5(text)", hash::md5),
    function("SHA1", "SHA1(text)", hash::sha1),
    function("SHA224", "SHA224(text)", hash::sha224),
    function("SHA256", "SHA256(text)", hash::sha256),
    function("SHA384", "SHA384(text)", hash::sha384),
    function("SHA512", "SHA512(text)", hash::sha512),
    function("SHA2", "SHA2(text, bits)", hash::sha2),
    // Functions that read and write JSON.
    function(
        "JSON_VALUE",
        "JSON_VALUE(json, path [RETURNING type] [NULL | ERROR | DEFAULT x ON EMPTY] [.. ON ERROR])",
        json_query::json_value,
    ),
    function(
        "JSON_QUERY",
        "JSON_QUERY(json, path [RETURNING ARRAY<STRING>] [WITH [CONDITIONAL] WRAPPER] [.. ON EMPTY] [.. ON ERROR])",
        json_query::json_query,
    ),
    function(
        "JSON_EXISTS",
        "JSON_EXISTS(json, path [TRUE | FALSE | UNKNOWN | ERROR ON ERROR])",
        json_query::json_exists,
    ),
    function(
        "JSON_OBJECT",
        "JSON_OBJECT([KEY k VALUE v, ..] [NULL | ABSENT ON NULL])",
        json_functions::json_object,
    ),
    function("JSON_ARRAY", "JSON_ARRAY([value, ..] [NULL | ABSENT ON NULL])", json_functions::json_array),
    function(json_functions::MEMBER, "KEY k VALUE v", json_functions::member),
    function(json_functions::ITEM, "JSON_ARRAY(value)", json_functions::item),
    function("JSON", "JSON(text)", json_functions::json),
    function("IS_JSON", "text IS JSON [VALUE | SCALAR | ARRAY | OBJECT]", json_functions::is_json),
    function("JSON_STRING", "JSON_STRING(value)", json_functions::json_string),
    function("JSON_QUOTE", "JSON_QUOTE(text)", json_functions::json_quote),
    function("JSON_UNQUOTE", "JSON_UNQUOTE(text)", json_functions::json_unquote),
];

type Bind = fn(&[Argument], &Context) -> Result<Bound, BindError>;

const fn function(name: &'static str, usage: &'static str, bind: Bind) -> Function {
    Function { name, usage, is_deterministic: true, bind }
}
