use std::process::Command;

use serde_json::json;

use super::*;
use crate::resolve_profile;

#[test]
fn a_device_a_folder_a_pipe_and_a_large_file_are_no_profiles() {
    let folder = std::env::temp_dir().join(format!("rexmit-inputs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let pipe = folder.join("pipe.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let large = folder.join("large.toml");
    File::create(&large).unwrap().set_len(MOST_PROFILE_BYTES + 1).unwrap();
    let text = |path: &Path| resolve_profile(&json!(path.to_str().unwrap())).unwrap_err().to_string();
    let found = [Path::new("/dev/zero"), &folder.join("."), &pipe, &large].map(text);
    std::fs::remove_dir_all(&folder).unwrap();
    for (text, words) in found.iter().zip([
        "a device, not a regular file",
        "a folder, not",
        "a named pipe, not",
        "larger than 1048576 bytes",
    ]) {
        assert!(text.contains(words), "{text}");
        assert_eq!(text.lines().count(), 1);
    }
}

#[test]
fn a_capture_may_be_a_descriptor_of_this_process_but_no_named_pipe() {
    let (reader, _writer) = std::io::pipe().unwrap();
    let own = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
    assert!(open_capture(Path::new(&own)).is_ok());
    assert!(open_capture(Path::new("/dev/null")).unwrap_err().to_string().contains("a device"));
}
