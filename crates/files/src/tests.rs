use super::*;

/// A folder for a test, which goes with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("rexmit-files-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_is_whole_or_absent_and_the_older_one_stays_until_then() {
    let scratch = Scratch::new("whole");
    let path = scratch.0.join("a.pcapng");
    write(&path, b"old").unwrap();
    let mut file = Whole::create(&path).unwrap();
    file.write_all(b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    let temporary = scratch.names().pop().unwrap();
    let random = temporary.strip_prefix("a.pcapng.").and_then(|n| n.strip_suffix(".tmp")).unwrap();
    assert!(random.len() == 16 && random.bytes().all(|b| b.is_ascii_hexdigit()));
    drop(file);
    assert_eq!((scratch.names(), fs::read(&path).unwrap()), (vec!["a.pcapng".into()], b"old".to_vec()));
    write(&path, b"new").unwrap();
    assert_eq!((scratch.names(), fs::read(&path).unwrap()), (vec!["a.pcapng".into()], b"new".to_vec()));
}

#[cfg(unix)]
#[test]
fn links_are_replaced_or_refused_and_never_followed() {
    let scratch = Scratch::new("links");
    let [victim, link] = ["victim", "link"].map(|name| scratch.0.join(name));
    fs::write(&victim, b"mine").unwrap();
    std::os::unix::fs::symlink(&victim, &link).unwrap();
    assert!(append(&link, 0).is_err());
    assert!(remove(&link).is_err());
    write(&link, b"theirs").unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"mine");
    assert!(fs::symlink_metadata(&link).unwrap().is_file());
    remove(&link).unwrap();
    assert_eq!(scratch.names(), ["victim"]);
}

#[test]
fn a_path_without_a_name_is_an_error() {
    assert_eq!(Whole::create(Path::new("/")).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert_eq!(Whole::create(Path::new("/nowhere/x")).unwrap_err().kind(), io::ErrorKind::NotFound);
}
