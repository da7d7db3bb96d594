//! What build scripts of adapters do to find a library of C and to make a private copy of it.
//!
//! A library is looked for in the folder that a variable names alone where that is set, otherwise in the system, then where
//! `make setup` unpacks it (`.cache/NAME`). Errors are one line for the message of a stack that is missing.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A variable of the environment; empty where it is not set.
pub fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// Where the library of the adapter `name` may be, the first first; `given` is the variable that names a folder.
///
/// Nowhere but on Linux: what is found here is for this machine's system.
pub fn roots(given: &str, name: &str) -> Vec<PathBuf> {
    if variable("CARGO_CFG_TARGET_OS") != "linux" {
        return Vec::new();
    }
    let project = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../../..");
    let folder = variable(given);
    if !folder.is_empty() {
        return vec![folder.into()];
    }
    vec!["/usr/local".into(), "/usr".into(), project.join(".cache").join(name)]
}

/// A root and its `usr`: it may be laid out like `/` or like `/usr`.
pub fn bases(root: &Path) -> [PathBuf; 2] {
    [root.to_path_buf(), root.join("usr")]
}

/// The first of these files in the folders of libraries below a base.
pub fn library(base: &Path, names: &[&str]) -> Option<PathBuf> {
    let triple = format!("lib/{}-linux-gnu", variable("CARGO_CFG_TARGET_ARCH"));
    let folders = [triple.as_str(), "lib64", "lib"].map(|folder| base.join(folder));
    let files = folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
    files.into_iter().find(|file| file.exists())
}

/// The objects of an archive, taken out into a folder of `out`.
///
/// # Errors
/// One line: `ar` does not run, or the folder cannot be.
pub fn unpack(archive: &Path, out: &Path) -> Result<Vec<PathBuf>, String> {
    let members = out.join("members");
    let _ = fs::remove_dir_all(&members);
    fs::create_dir_all(&members).map_err(|error| format!("{}: {error}", members.display()))?;
    run(Command::new(tool("AR", "ar")).arg("x").arg(archive).current_dir(&members))?;
    let mut objects: Vec<PathBuf> =
        fs::read_dir(&members).map_err(|e| e.to_string())?.flatten().map(|entry| entry.path()).collect();
    objects.sort();
    Ok(objects)
}

/// Makes an archive of one object, in the place of what is there.
///
/// # Errors
/// One line: `ar` does not run, or says why not.
pub fn pack(object: &Path, archive: &Path) -> Result<(), String> {
    let _ = fs::remove_file(archive);
    run(Command::new(tool("AR", "ar")).arg("crs").arg(archive).arg(object))
}

/// A program, or what the environment names in its place.
pub fn tool(name: &str, usual: &str) -> String {
    println!("cargo:rerun-if-env-changed={name}");
    let named = variable(name);
    if named.is_empty() { usual.to_string() } else { named }
}

/// Runs a command.
///
/// # Errors
/// One line: it does not run, or the first that it says of an error.
pub fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|error| format!("{name} does not run ({error})"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let told = said.lines().find(|line| line.contains("error")).or_else(|| said.lines().next());
    Err(format!("{name} failed: {}", told.unwrap_or("it said nothing")))
}
