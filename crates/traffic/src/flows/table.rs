//! Tables as text, read whole: a header that names the columns, in any order, and one row per line.
//!
//! A header may say the unit of a column, as `size (kB)`; otherwise each cell has its own, as in a scenario. Lines that
//! begin with `#` are comments.

/// A column that a table has.
pub(super) struct Column {
    pub name: &'static str,
    /// Units that its header may say.
    pub units: &'static [&'static str],
    /// Its header may also say a number of bytes, as `1460 bytes`: cells are then whole numbers of packets.
    pub packets: bool,
    /// A header of it.
    pub example: &'static str,
}

/// Reads a table that has just these columns, and hands each row to `row`: its cells with their units, in the order of
/// `columns`.
///
/// # Errors
/// The first line that is wrong, and what to write there.
pub(super) fn read<const N: usize>(
    text: &str,
    columns: &[Column; N],
    mut row: impl FnMut([&str; N]) -> Result<(), String>,
) -> Result<(), String> {
    let mut header: Option<Vec<(usize, Unit)>> = None;
    let mut cells: [String; N] = std::array::from_fn(|_| String::new());
    let mut rows = 0_u64;
    for (i, line) in text.split_terminator('\n').enumerate() {
        if line.starts_with('#') {
            continue;
        }
        let read = match &header {
            _ if line.ends_with('\r') => {
                Err("ends with CR LF, and a line of a table ends with LF alone: write the file anew, as by \
                     tr -d '\\r' < OLD > NEW"
                    .to_owned())
            }
            None => header_of(line, columns).map(|read| header = Some(read)),
            Some(header) => {
                rows += 1;
                fill(&mut cells, line, header, columns)
                    .and_then(|()| row(std::array::from_fn(|column| cells[column].as_str())))
            }
        };
        read.map_err(|what| format!("line {}: {what}", i + 1))?;
    }
    if rows == 0 {
        let what = if header.is_none() { "has no header" } else { "has a header and no row" };
        return Err(format!("{what}: write a header such as {} and rows below it", examples(columns)));
    }
    Ok(())
}

/// What stands in a column's header for each of its cells.
enum Unit {
    /// Nothing: cells have their own.
    None,
    Named(&'static str),
    /// This many bytes.
    Packets(u64),
}

/// For each cell of a line the column that it belongs to.
fn header_of(line: &str, columns: &[Column]) -> Result<Vec<(usize, Unit)>, String> {
    let mut header: Vec<(usize, Unit)> = Vec::new();
    for cell in line.split(',') {
        let (name, unit) = match cell.trim().split_once(['(', '[']) {
            Some((name, unit)) => (name.trim(), Some(unit.trim_end_matches([')', ']']).trim())),
            None => (cell.trim(), None),
        };
        let Some(index) = columns.iter().position(|column| column.name.eq_ignore_ascii_case(name)) else {
            let known: Vec<&str> = columns.iter().map(|column| column.name).collect();
            return Err(format!(
                "unknown column {}: write {}, with the unit in brackets, such as {}",
                shown(cell.trim()),
                known.join(" and "),
                examples(columns)
            ));
        };
        let column = &columns[index];
        if header.iter().any(|(other, _)| *other == index) {
            return Err(format!("the column {} appears twice: leave one out", column.name));
        }
        header.push((index, unit.map_or(Ok(Unit::None), |unit| unit_of(unit, column))?));
    }
    match columns.iter().enumerate().find(|(i, _)| header.iter().all(|(index, _)| index != i)) {
        Some((_, missing)) => {
            Err(format!("no column is the {}: write one, such as {}", missing.name, missing.example))
        }
        None => Ok(header),
    }
}

fn unit_of(unit: &str, column: &Column) -> Result<Unit, String> {
    if let Some(known) = column.units.iter().find(|known| **known == unit) {
        return Ok(Unit::Named(known));
    }
    let bytes = unit.strip_suffix(" bytes").filter(|_| column.packets).and_then(whole);
    if let Some(bytes) = bytes.filter(|bytes| *bytes > 0) {
        return Ok(Unit::Packets(bytes));
    }
    let packets = if column.packets { ", or of a packet, such as 1460 bytes" } else { "" };
    Err(format!(
        "the column {} has the unknown unit {}: write one of {}{packets}, such as {}",
        column.name,
        shown(unit),
        column.units.join(", "),
        column.example
    ))
}

/// Puts the cells of a line, with their units, in the order of the columns.
fn fill(
    cells: &mut [String],
    line: &str,
    header: &[(usize, Unit)],
    columns: &[Column],
) -> Result<(), String> {
    let found = line.split(',').count();
    if found != header.len() {
        return Err(format!("has {found} cells, not {}: write a cell for each column", header.len()));
    }
    for ((index, unit), text) in header.iter().zip(line.split(',').map(str::trim)) {
        let column = &columns[*index];
        if text.is_empty() {
            return Err(format!("has no {}: write one, or remove the line", column.name));
        }
        let cell = &mut cells[*index];
        cell.clear();
        match unit {
            Unit::None => cell.push_str(text),
            Unit::Named(unit) => cell.extend([text, " ", unit]),
            Unit::Packets(bytes) => {
                let bytes = whole(text).and_then(|n| n.checked_mul(*bytes)).ok_or_else(|| {
                    format!(
                        "{}: {} is not a number of packets: write a whole number",
                        column.name,
                        shown(text)
                    )
                })?;
                cell.extend([bytes.to_string().as_str(), " bytes"]);
            }
        }
    }
    Ok(())
}

fn whole(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn examples(columns: &[Column]) -> String {
    let all: Vec<&str> = columns.iter().map(|column| column.example).collect();
    all.join(",")
}

/// Text for people, shortened.
fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    format!("{shown:?}")
}
