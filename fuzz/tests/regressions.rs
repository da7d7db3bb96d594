//! Every input that once failed, run as the fuzzer runs it: within its bounds of memory.

use std::fs;
use std::path::Path;

use rexmit_fuzz::{LARGE, SMALL, Target};

fn all() -> impl Iterator<Item = &'static Target> {
    SMALL.iter().chain(LARGE)
}

/// Runs the files of `regressions/NAME`.
fn run(name: &str) {
    let target = all().find(|target| target.name == name).expect("a target");
    target.run(&[]);
    for (path, data) in files(name) {
        println!("{path}");
        target.run(&data);
    }
}

fn files(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions").join(name);
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("a folder that can be read").path());
    let mut found: Vec<_> =
        paths.map(|path| (path.display().to_string(), fs::read(&path).expect("a file"))).collect();
    found.sort();
    found
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })*

        #[test]
        fn each_target_is_run_here_and_each_folder_has_a_target() {
            let names = [$(stringify!($name)),*];
            assert_eq!(all().map(|target| target.name).collect::<Vec<_>>(), names);
            let folders = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions"));
            for entry in folders.expect("the folder regressions") {
                let name = entry.expect("a folder").file_name();
                assert!(names.iter().any(|known| name == *known), "no target for regressions/{name:?}");
            }
        }
    };
}

targets! {
    units packet sctp filter frames fragments offload
    pattern trace association capture profile scenario analysis pairs
}
