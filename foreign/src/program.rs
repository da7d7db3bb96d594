//! Programs in C++ that are compiled when they are first wanted, beside the program that wants them.

use std::path::PathBuf;
use std::process::Command;

/// A program of one file.
pub struct Source {
    /// Its name.
    pub name: &'static str,
    /// The file, from this crate's folder.
    pub file: &'static str,
    /// A header that is there where its libraries are.
    pub header: &'static str,
    /// Its libraries, as the linker takes them.
    pub libraries: &'static [&'static str],
    /// How its libraries and the compiler are installed.
    pub install: &'static str,
}

/// Compiles a program where that was not done since its source was changed, and says where it is.
///
/// # Errors
/// One line, if a library or the compiler is missing, or the compiler fails.
pub fn compiled(source: &Source) -> Result<PathBuf, String> {
    let missing = || format!("{} is not installed: {}", source.name, source.install);
    if !PathBuf::from(source.header).exists() {
        return Err(missing());
    }
    let io = |e: std::io::Error| format!("{}: {e}", source.name);
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(source.file);
    let own = std::env::current_exe().map_err(io)?;
    let program = own.with_file_name(format!("foreign-{}", source.name));
    let changed = |path: &PathBuf| path.metadata().and_then(|data| data.modified());
    if changed(&program).is_ok_and(|made| changed(&file).is_ok_and(|written| made > written)) {
        return Ok(program);
    }
    // Another process may be at it too: the last one that is ready stays.
    let whole = program.with_extension(std::process::id().to_string());
    let mut compile = Command::new("g++");
    compile.args(["-O2", "-std=c++17", "-o"]).arg(&whole).arg(&file).args(source.libraries);
    let done = compile.output().map_err(|_| missing())?;
    if !done.status.success() {
        let errors = String::from_utf8_lossy(&done.stderr);
        return Err(format!("{}: g++: {}", source.name, errors.lines().next().unwrap_or_default()));
    }
    std::fs::rename(whole, &program).map_err(io)?;
    Ok(program)
}
