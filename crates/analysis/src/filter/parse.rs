//! The text of a filter.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::condition::{Comparison, Condition, End, Field};

/// What is wrong with a filter: one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// The character at which it is wrong, from 1.
    pub column: usize,
    /// What is wrong, and what could stand there.
    pub what: String,
}

impl std::fmt::Display for FilterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "column {}: {}", self.column, self.what)
    }
}

impl std::error::Error for FilterError {}

type Parsed<T> = Result<T, FilterError>;

/// Reads all of `text`.
pub(super) fn condition(text: &str) -> Parsed<Condition> {
    let mut parser = Parser { words: words(text), at: 0, depth: 0, end: text.chars().count() + 1 };
    let condition = parser.any()?;
    match parser.peek() {
        None => Ok(condition),
        Some(word) => Err(parser.error(&format!("'{word}' where 'and', 'or' or the end is expected"))),
    }
}

/// Every name that a filter may use, and what it stands for.
const FIELDS: [(&str, Field); 14] = [
    ("frame.interface_id", Field::Interface),
    ("frame.number", Field::Number),
    ("ip.addr", Field::Ip(End::Either)),
    ("ip.src", Field::Ip(End::Source)),
    ("ip.dst", Field::Ip(End::Destination)),
    ("ipv6.addr", Field::Ipv6(End::Either)),
    ("ipv6.src", Field::Ipv6(End::Source)),
    ("ipv6.dst", Field::Ipv6(End::Destination)),
    ("tcp.port", Field::Tcp(End::Either)),
    ("tcp.srcport", Field::Tcp(End::Source)),
    ("tcp.dstport", Field::Tcp(End::Destination)),
    ("sctp.port", Field::Sctp(End::Either)),
    ("sctp.srcport", Field::Sctp(End::Source)),
    ("sctp.dstport", Field::Sctp(End::Destination)),
];

/// Names that stand alone.
const PROTOCOLS: [(&str, Field); 4] = [
    ("ip", Field::Ip(End::Either)),
    ("ipv6", Field::Ipv6(End::Either)),
    ("tcp", Field::Tcp(End::Either)),
    ("sctp", Field::Sctp(End::Either)),
];

/// Parentheses and negations within each other.
const MAX_DEPTH: usize = 50;

const EVERYTHING: (u128, u128) = (0, u128::MAX);

struct Parser<'a> {
    /// Each with its column.
    words: Vec<(usize, &'a str)>,
    at: usize,
    depth: usize,
    /// The column after the last character.
    end: usize,
}

impl<'a> Parser<'a> {
    fn any(&mut self) -> Parsed<Condition> {
        let mut conditions = vec![self.all()?];
        while self.take("or") || self.take("||") {
            conditions.push(self.all()?);
        }
        Ok(one_or(conditions, Condition::Any))
    }

    fn all(&mut self) -> Parsed<Condition> {
        let mut conditions = vec![self.single()?];
        while self.take("and") || self.take("&&") {
            conditions.push(self.single()?);
        }
        Ok(one_or(conditions, Condition::All))
    }

    fn single(&mut self) -> Parsed<Condition> {
        if self.depth == MAX_DEPTH {
            return Err(self.error("parentheses and negations are nested more than 50 deep"));
        }
        self.depth += 1;
        let condition = if self.take("not") || self.take("!") {
            Condition::Not(Box::new(self.single()?))
        } else if self.take("(") {
            let condition = self.any()?;
            self.expect(")")?;
            condition
        } else {
            Condition::Compare(self.comparison()?)
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn comparison(&mut self) -> Parsed<Comparison> {
        let Some(name) = self.peek() else { return Err(self.error("a condition is missing here")) };
        if let Some(field) = look_up(&PROTOCOLS, name) {
            self.at += 1;
            return Ok(Comparison { field, ranges: vec![EVERYTHING], inside: true });
        }
        let Some(field) = look_up(&FIELDS, name) else { return Err(self.unknown(name)) };
        self.at += 1;
        let operator = self.peek().unwrap_or("");
        let Some(operator) = Operator::from_word(operator) else {
            // That the field is there.
            return Ok(Comparison { field, ranges: vec![EVERYTHING], inside: true });
        };
        self.at += 1;
        let kind = Kind::of(field);
        if let Operator::In = operator {
            return Ok(Comparison { field, ranges: self.set(kind)?, inside: true });
        }
        let before = self.at;
        let (from, to) = self.value(kind)?;
        let range = match operator {
            Operator::Equal | Operator::NotEqual | Operator::In => Some((from, to)),
            _ if from != to => {
                self.at = before;
                return Err(self.error("a prefix is compared by == or != only"));
            }
            Operator::Less => from.checked_sub(1).map(|last| (0, last)),
            Operator::LessOrEqual => Some((0, to)),
            Operator::Greater => to.checked_add(1).map(|first| (first, u128::MAX)),
            Operator::GreaterOrEqual => Some((from, u128::MAX)),
        };
        let inside = !matches!(operator, Operator::NotEqual);
        Ok(Comparison { field, ranges: range.into_iter().collect(), inside })
    }

    fn set(&mut self, kind: Kind) -> Parsed<Vec<(u128, u128)>> {
        self.expect("{")?;
        let mut ranges = Vec::new();
        loop {
            let before = self.at;
            let (from, mut to) = self.value(kind)?;
            if self.take("..") {
                to = self.value(kind)?.1;
                if to < from {
                    self.at = before;
                    return Err(self.error("a range that ends before it begins"));
                }
            }
            ranges.push((from, to));
            if self.take("}") {
                return Ok(ranges);
            }
            // Older versions of Wireshark had spaces only.
            self.take(",");
        }
    }

    /// A value, as the range that it stands for.
    fn value(&mut self, kind: Kind) -> Parsed<(u128, u128)> {
        let Some(word) = self.peek() else {
            return Err(self.error(&format!("{} is missing here", kind.words())));
        };
        let Some(range) = kind.range(word) else {
            return Err(self.error(&format!("'{word}' is not {}", kind.words())));
        };
        self.at += 1;
        Ok(range)
    }

    fn unknown(&self, name: &str) -> FilterError {
        let known: Vec<&str> = PROTOCOLS.iter().chain(&FIELDS).map(|(name, _)| *name).collect();
        self.error(&format!("'{name}' is not known; known are {}", known.join(", ")))
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).map(|(_, word)| *word)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, word: &str) -> Parsed<()> {
        if self.take(word) {
            return Ok(());
        }
        Err(match self.peek() {
            Some(found) => self.error(&format!("'{found}' where '{word}' is expected")),
            None => self.error(&format!("'{word}' is missing here")),
        })
    }

    fn error(&self, what: &str) -> FilterError {
        let column = self.words.get(self.at).map_or(self.end, |(column, _)| *column);
        FilterError { column, what: what.into() }
    }
}

#[derive(Clone, Copy)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

impl Operator {
    fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "==" | "eq" => Self::Equal,
            "!=" | "ne" => Self::NotEqual,
            "<" | "lt" => Self::Less,
            "<=" | "le" => Self::LessOrEqual,
            ">" | "gt" => Self::Greater,
            ">=" | "ge" => Self::GreaterOrEqual,
            "in" => Self::In,
            _ => return None,
        })
    }
}

/// What the values of a field look like.
#[derive(Clone, Copy)]
enum Kind {
    Number(u64),
    Ipv4,
    Ipv6,
}

impl Kind {
    fn of(field: Field) -> Self {
        match field {
            Field::Interface => Self::Number(u32::MAX.into()),
            Field::Number => Self::Number(u64::MAX),
            Field::Tcp(_) | Field::Sctp(_) => Self::Number(u16::MAX.into()),
            Field::Ip(_) => Self::Ipv4,
            Field::Ipv6(_) => Self::Ipv6,
        }
    }

    fn words(self) -> String {
        match self {
            Self::Number(most) => format!("a number from 0 to {most}"),
            Self::Ipv4 => "an IPv4 address or prefix such as 10.0.0.0/8".into(),
            Self::Ipv6 => "an IPv6 address or prefix such as fd00::/8".into(),
        }
    }

    fn range(self, word: &str) -> Option<(u128, u128)> {
        let (value, prefix) = match word.split_once('/') {
            Some((value, prefix)) => (value, Some(prefix)),
            None => (word, None),
        };
        let (value, bits) = match self {
            Self::Number(most) => {
                let number = number(word).filter(|number| *number <= most)?;
                return Some((number.into(), number.into()));
            }
            Self::Ipv4 => (value.parse::<Ipv4Addr>().ok()?.to_bits().into(), 32),
            Self::Ipv6 => (value.parse::<Ipv6Addr>().ok()?.to_bits(), 128_u32),
        };
        let prefix = match prefix {
            Some(prefix) => prefix.parse::<u32>().ok().filter(|prefix| *prefix <= bits)?,
            None => bits,
        };
        // The bits that the prefix leaves open; a shift by all of 128 is not allowed.
        let open = 1_u128.checked_shl(bits - prefix).map_or(u128::MAX, |n| n - 1);
        Some((value & !open, value | open))
    }
}

/// Decimal, or hexadecimal after 0x.
fn number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

fn look_up(names: &[(&str, Field)], name: &str) -> Option<Field> {
    names.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
}

fn one_or(mut conditions: Vec<Condition>, many: impl FnOnce(Vec<Condition>) -> Condition) -> Condition {
    match conditions.pop() {
        Some(only) if conditions.is_empty() => only,
        last => {
            conditions.extend(last);
            many(conditions)
        }
    }
}

/// Signs that are words without spaces around them, the longer ones first.
const SIGNS: [&str; 15] = ["&&", "||", "==", "!=", "<=", ">=", "..", "<", ">", "!", "(", ")", "{", "}", ","];

/// The words of `text`, each with its column.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let (mut rest, mut column) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let len = if first.is_whitespace() {
            first.len_utf8()
        } else {
            let len = word_len(rest);
            found.push((column, &rest[..len]));
            len
        };
        column += rest[..len].chars().count();
        rest = &rest[len..];
    }
    found
}

/// Bytes of the word that `rest` begins with.
fn word_len(rest: &str) -> usize {
    let sign_at = |at: usize| SIGNS.iter().find(|sign| rest[at..].starts_with(**sign));
    if let Some(sign) = sign_at(0) {
        return sign.len();
    }
    let mut ends = rest.char_indices().map(|(at, _)| at).skip(1);
    ends.find(|&at| rest[at..].starts_with(char::is_whitespace) || sign_at(at).is_some())
        .unwrap_or(rest.len())
}
