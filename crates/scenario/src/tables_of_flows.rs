//! Files that transfers name: flows with their starts and sizes, and distributions of sizes.

use std::path::Path;

use rexmit_traffic::TableFile;
use sha2::{Digest, Sha256};

use crate::inputs::read_text;

/// Most bytes of such a file: a million flows have some 20 bytes each.
const MOST_BYTES: u64 = 64 << 20;

/// The text of a file that a transfer names.
///
/// # Errors
/// One line that names the file; where the study has another hash, that.
pub(crate) fn read_table(file: &TableFile) -> Result<String, String> {
    let text = read_text(Path::new(&file.file), MOST_BYTES)
        .map_err(|e| format!("{}: cannot be read: {}", file.file, without_number(&e)))?;
    let sha256 = hash_of(&text);
    match &file.sha256 {
        Some(wanted) if !wanted.eq_ignore_ascii_case(&sha256) => Err(format!(
            "{}: is not the file that this study was made with: its SHA-256 is {sha256}, not {wanted}: bring that file back, \
             or name this one anew without sha256",
            file.file
        )),
        _ => Ok(text),
    }
}

fn hash_of(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An error without the number that the system gives it.
fn without_number(error: &std::io::Error) -> String {
    error.to_string().split(" (os error").next().unwrap_or_default().to_owned()
}
