//! Files that transfers name: flows with their starts and sizes, and distributions of sizes.

use std::path::Path;
use std::sync::Arc;

use rexmit_traffic::TableFile;
use sha2::{Digest, Sha256};

use crate::inputs::read_all;
use crate::known::{Known, check_hash, digits, unreadable};

/// Most bytes of such a file: a million flows have some 20 bytes each.
const MOST_BYTES: u64 = 64 << 20;

/// The text of a file, and its SHA-256.
type Table = Arc<(String, String)>;

static KNOWN: Known<Table> = Known::new();

/// The text of a file that a transfer names.
///
/// # Errors
/// One line that names the file; where the study has another hash, that.
pub(crate) fn read_table(TableFile { file, sha256 }: &TableFile) -> Result<String, String> {
    let path = Path::new(file);
    let table = KNOWN.open(path, |opened, _| {
        let text = read_all(opened, MOST_BYTES).map_err(|e| unreadable(path, &e))?;
        let found = digits(Sha256::digest(&text));
        Ok(Arc::new((text, found)))
    })?;
    let (text, found) = &*table;
    check_hash(file, "file", sha256.as_deref(), found)?;
    Ok(text.clone())
}
