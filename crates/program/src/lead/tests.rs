//! What rexmit writes to the page is what the library reads there; which programs take no library.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};

use super::preload::{Page, Time, base, draw, length, pass, shown};
use super::*;

const SECOND: u64 = 1_000_000_000;

/// The page as a program finds it, at this time of the run.
fn page(key: u8, now: u64) -> Page {
    let lead = Lead::new(&[key; 16]).unwrap();
    lead.set_now(now).unwrap();
    let mut bytes = [0; size_of::<Page>()];
    lead.page.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(lead.page.metadata().unwrap().len(), bytes.len() as u64);
    let word = |at: usize| AtomicU64::new(u64::from_ne_bytes(*bytes[at..].first_chunk().unwrap()));
    Page {
        run: word(offset_of!(Page, run)),
        own: word(offset_of!(Page, own)),
        date: word(offset_of!(Page, date)),
        uptime: word(offset_of!(Page, uptime)),
        key: [word(offset_of!(Page, key)), word(offset_of!(Page, key) + 8)],
        drawn: word(offset_of!(Page, drawn)),
    }
}

#[test]
fn the_page_is_read_as_it_is_written() {
    let page = page(7, 2_500_000_000);
    let uptime = base(&page, 1).unwrap();
    assert_eq!(shown(&page, uptime, 1), Time { seconds: 102, parts: 500_000_000 });
    assert_eq!(shown(&page, uptime, 1_000), Time { seconds: 102, parts: 500_000 });
    let clocks = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -6].map(|clock| base(&page, clock));
    let (date, own) = (Some(DATE), Some(UPTIME));
    let expected = [date, own, None, None, own, date, own, own, date, own, None, date, None];
    assert_eq!(clocks, expected);
    assert_eq!(page.key.each_ref().map(|key| key.load(Ordering::Relaxed)), [0x0707_0707_0707_0707; 2]);
}

#[test]
fn the_date_is_that_of_captures() {
    assert_eq!(DATE, rexmit_capture::DEFAULT_EPOCH_NS);
}

#[test]
fn a_sleep_counts_until_the_run_is_later() {
    let page = page(0, 0);
    pass(&page, 3 * SECOND);
    pass(&page, SECOND);
    assert_eq!(shown(&page, 0, 1).seconds, 4);
    page.run.store(3 * SECOND, Ordering::Relaxed);
    assert_eq!(shown(&page, 0, 1).seconds, 4);
    page.run.store(9 * SECOND, Ordering::Relaxed);
    pass(&page, SECOND);
    assert_eq!(shown(&page, 0, 1).seconds, 10);
    pass(&page, u64::MAX);
    assert_eq!(shown(&page, UPTIME, 1).seconds, (u64::MAX / SECOND) as i64);
}

#[test]
fn a_length_is_no_time_where_the_c_library_has_none() {
    let of = |seconds, parts| length(Time { seconds, parts });
    assert_eq!(of(2, 5), Some(2 * SECOND + 5));
    assert_eq!(of(i64::MAX, 0), Some(u64::MAX));
    assert_eq!([of(-1, 0), of(0, -1), of(0, SECOND as i64)], [None; 3]);
}

#[test]
fn random_numbers_are_the_keys_and_never_the_same() {
    let numbers = |key: u8| {
        let page = page(key, 0);
        std::array::from_fn::<u64, 1_000, _>(|_| draw(&page))
    };
    assert_eq!(numbers(1), numbers(1));
    let mut all: Vec<u64> = [0, 1, 2].into_iter().flat_map(numbers).collect();
    let ones: u32 = all.iter().map(|number| number.count_ones()).sum();
    // 3,000 numbers of 64 bits have 96,000 with a deviation of 219.
    assert!((95_000..97_000).contains(&ones), "{ones}");
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 3_000);
}

/// The head of an ELF file of this machine's kind with program headers of these kinds.
fn elf(kinds: &[u32]) -> Vec<u8> {
    let mut head = std::fs::read("/proc/self/exe").unwrap()[..64].to_vec();
    head[32..40].copy_from_slice(&64_u64.to_le_bytes());
    head[54..56].copy_from_slice(&56_u16.to_le_bytes());
    head[56..58].copy_from_slice(&(kinds.len() as u16).to_le_bytes());
    for kind in kinds {
        head.extend(kind.to_le_bytes());
        head.extend([0; 52]);
    }
    head
}

#[test]
fn a_program_without_a_loader_takes_no_library() {
    assert_eq!(not_dynamic(&elf(&[6, 3, 1])), None);
    let told = Some("is statically linked, and loads no library");
    assert_eq!(not_dynamic(&elf(&[6, 1, 2])), told);
    assert_eq!(not_dynamic(&elf(&[])), told);
    let other = |at: usize| {
        let mut head = elf(&[3]);
        head[at] ^= 1;
        not_dynamic(&head)
    };
    assert_eq!([other(4), other(5), other(18)], [Some("is of another kind of processor than rexmit"); 3]);
}

/// What is not an ELF file, or cut off, is for the kernel to refuse.
#[test]
fn files_of_any_bytes_are_looked_at() {
    let whole = elf(&[6, 1, 2]);
    for end in 0..whole.len() {
        not_dynamic(&whole[..end]);
        interpreter(&[b"#!", &whole[..end]].concat(), Path::new("/"));
    }
    let mut far = whole.clone();
    far[32..40].fill(0xff);
    assert_eq!(not_dynamic(&far), None);
    assert_eq!(not_dynamic(b"no program"), None);
}

#[test]
fn scripts_are_looked_at_through_their_interpreter() {
    let of = |line: &str| interpreter(format!("#!{line}\nrest").as_bytes(), Path::new("/here"));
    assert_eq!(of("/bin/x -e"), Some("/bin/x".into()));
    assert_eq!(of(" ./x"), Some("/here/./x".into()));
    assert_eq!(of("/usr/bin/env -S A=1 ./x -e"), Some("/here/./x".into()));
    assert_eq!(of("/usr/bin/env"), Some("/usr/bin/env".into()));
    assert_eq!(of("/usr/bin/env there-is-none"), None);
    assert_eq!(of(""), None);
}
