//! Network namespaces without a name: each is gone with the last process or descriptor that holds it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sched::{CloneFlags, setns, unshare};

use super::about;
use super::inside::Network;

/// A network namespace. It has no name in the file system, so nothing is left of it after a kill.
#[derive(Debug)]
pub struct Namespace {
    descriptor: File,
    /// Inside a guest's kernel, the namespace itself.
    network: Option<Network>,
}

impl Namespace {
    /// The one that this thread is in.
    ///
    /// # Errors
    /// Where /proc is not mounted.
    pub fn current() -> io::Result<Self> {
        File::open("/proc/thread-self/ns/net").map(Self::from).map_err(about("/proc/thread-self/ns/net"))
    }

    /// A new one; this thread stays where it is.
    ///
    /// # Errors
    /// `PermissionDenied` without CAP_SYS_ADMIN.
    pub fn create() -> io::Result<Self> {
        let home = Self::current()?;
        unshare(CloneFlags::CLONE_NEWNET).map_err(io::Error::from).map_err(about("a network namespace"))?;
        let new = Self::current();
        home.enter()?;
        new
    }

    /// Another descriptor of it.
    ///
    /// # Errors
    /// Where no descriptor is left.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.descriptor.try_clone().map(Self::from)
    }

    /// One that has a name in the file system, as `ip netns add` makes them.
    ///
    /// # Errors
    /// Where there is none of this name.
    pub fn named(name: &str) -> io::Result<Self> {
        let path = format!("/run/netns/{name}");
        File::open(&path).map(Self::from).map_err(about(path))
    }

    /// The descriptor that holds it.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Moves this thread into it.
    ///
    /// # Errors
    /// `PermissionDenied` without CAP_SYS_ADMIN.
    pub fn enter(&self) -> io::Result<()> {
        setns(&self.descriptor, CloneFlags::CLONE_NEWNET).map_err(io::Error::from)
    }

    /// Does something inside and comes back. What is opened there belongs to it for good.
    ///
    /// # Errors
    /// Those of `work`, and of the moves.
    pub fn within<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if let Some(network) = self.network {
            return network.within(work);
        }
        let home = Self::current()?;
        self.enter()?;
        let done = work();
        home.enter()?;
        done
    }
}

impl From<File> for Namespace {
    fn from(descriptor: File) -> Self {
        Self { network: Network::of(&descriptor), descriptor }
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
