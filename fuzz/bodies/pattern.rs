//! Text and files as patterns: no input panics, an error is one line, what is read prints as text that reads back, and
//! a file of a text is read as the same text.

use rexmit_path::pattern::tool::{self, Mode};

/// Runs one input: a first byte that says what the rest is.
pub fn run(data: &[u8]) {
    let Some((&kind, rest)) = data.split_first() else { return };
    if kind % 4 == 3 {
        return file(rest);
    }
    let Ok(text) = std::str::from_utf8(rest) else { return };
    match kind % 4 {
        0 => plain(text),
        1 => list(text),
        _ => generated(text, usize::from(kind / 4)),
    }
}

fn plain(text: &str) {
    match tool::parse(text) {
        Ok(pattern) => {
            let printed = tool::print(&pattern);
            assert_eq!(tool::parse(&printed), Ok(pattern), "{printed}");
            let shown = tool::show(&printed, 80).expect("it was printed by us");
            assert!(shown.starts_with(&printed));
        }
        Err(message) => one_line(&message),
    }
    if let Ok(bytes) = tool::text_to_file(text, None)
        && bytes.len() <= 1 << 10
    {
        file(&bytes);
    }
}

fn list(text: &str) {
    for period in [None, Some(32)] {
        match tool::make_list(text, period) {
            Ok((made, warnings)) => {
                tool::parse(&made).expect("it was made by us");
                warnings.iter().for_each(|warning| one_line(warning));
            }
            Err(message) => one_line(&message),
        }
    }
}

fn generated(text: &str, factor: usize) {
    for mode in [Mode::Data, Mode::Time { start: factor & 1 == 1 }] {
        match tool::make_file(factor, text, mode) {
            Ok(made) => file(&made.bytes),
            Err(message) => one_line(&message),
        }
    }
}

/// A file's text makes the file again: but entry 0 of one that begins with losses, all else.
fn file(bytes: &[u8]) {
    if bytes.len() > 1 << 10 {
        return;
    }
    match tool::file_to_text(bytes, None) {
        Ok(text) => {
            tool::parse(&text).expect("it was printed by us");
            match tool::text_to_file(&text, None) {
                Ok(again) => assert_eq!(again, bytes),
                // Without a loss there is no period either.
                Err(_) => assert!(bytes.iter().all(|byte| *byte == 0), "{text}"),
            }
        }
        Err(message) => one_line(&message),
    }
    if let Ok(text) = tool::file_to_text(bytes, Some("1 ms")) {
        tool::parse(&text).expect("it was printed by us");
    }
}

fn one_line(message: &str) {
    assert!(!message.is_empty() && !message.contains(char::is_control), "{message:?}");
}
