//! Lists the profiles of the folder `profiles`, so that a new file there is all that a new profile needs.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> std::io::Result<()> {
    // As it is now, not as it was when this was compiled: a folder of compiled code may serve several clones.
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    // In the crate's folder a link leads there, so that a published crate has them too.
    let folder = here.join("profiles").canonicalize()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    files.retain(|file| file.extension().is_some_and(|end| end == "toml"));
    files.sort_by_key(|file| parts(&stem(file)));
    let entries: String = files
        .iter()
        .map(|file| {
            println!("cargo::rerun-if-changed={}", file.display());
            format!("({:?}, include_str!({:?})),\n", stem(file), file.display().to_string())
        })
        .collect();
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("profiles.rs"), format!("&[\n{entries}]\n"))
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// What a name is sorted by: 2.6.9 stands before 2.6.15.
fn parts(name: &str) -> Vec<(u32, String)> {
    let part =
        |part: &str| part.parse().map_or_else(|_| (0, part.to_string()), |number| (number, String::new()));
    name.split(['-', '.']).map(part).collect()
}
