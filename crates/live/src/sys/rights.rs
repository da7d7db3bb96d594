//! The rights with which this thread opens files.
//!
//! Linux keeps them for each thread; the C library's `setgroups` would change those of all, and another thread could
//! lack root's rights at that moment.

use std::cell::RefCell;
use std::io;

use nix::unistd::{Gid, Uid, getgroups, setfsgid, setfsuid};

use super::{about, check};

thread_local! {
    /// What this thread had before.
    static BEFORE: RefCell<Option<(Uid, Gid, Vec<Gid>)>> = const { RefCell::new(None) };
}

/// Lets this thread open, make, rename and remove files with the rights of a user, until [`give_back`]. Without
/// root's capabilities over files [capabilities(7), "Effect of user ID changes"].
///
/// # Errors
/// Without the privilege to, or where it has another's rights already; its rights are then the earlier ones.
pub fn take(user: u32, group: u32, groups: &[u32]) -> io::Result<()> {
    if BEFORE.with_borrow(Option::is_some) {
        return Err(io::Error::other("this thread has another's rights already"));
    }
    let all: Vec<Gid> = groups.iter().copied().map(Gid::from_raw).collect();
    let own = getgroups()?;
    set_groups(&all)?;
    // Each answers with the earlier id, whether it has changed it or not.
    let before = (setfsuid(Uid::from_raw(user)), setfsgid(Gid::from_raw(group)), own);
    let now = (setfsuid(Uid::from_raw(u32::MAX)), setfsgid(Gid::from_raw(u32::MAX)));
    BEFORE.set(Some(before));
    if now == (Uid::from_raw(user), Gid::from_raw(group)) {
        return Ok(());
    }
    give_back()?;
    Err(io::Error::from_raw_os_error(libc::EPERM)).map_err(about(format!("user {user}, group {group}")))
}

/// Gives this thread back the rights that it had before [`take`].
///
/// # Errors
/// None after [`take`] on Linux.
pub fn give_back() -> io::Result<()> {
    match BEFORE.take() {
        Some((user, group, groups)) => {
            setfsuid(user);
            setfsgid(group);
            set_groups(&groups)
        }
        None => Ok(()),
    }
}

/// Of this thread alone.
fn set_groups(groups: &[Gid]) -> io::Result<()> {
    // SAFETY: the pointer is to as many groups as are said, and `Gid` is a transparent `gid_t`.
    let answer = unsafe { libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) };
    check(answer).map(drop).map_err(about("groups"))
}
