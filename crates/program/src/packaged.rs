//! Stacks that are programs of rexmit's own, each around somebody's code. They are built on the machine that runs them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use rexmit_stack::{
    About, HostSettings, RunSettings, SettingError, StackFactory, StackRun, read, settings_at,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::factory::{PATIENCE, Planned, Run};
use crate::pool::{self, Command};

/// What a program is built from.
#[derive(Debug)]
pub struct Source {
    /// The stack's name, and the program's.
    pub name: &'static str,
    /// What builds it.
    pub tool: Tool,
    /// The folder below which it is built.
    pub folder: &'static str,
    /// Its files.
    pub files: &'static [Files],
    /// What to say where it is not built.
    pub missing: &'static str,
    /// Where it is, once that was asked.
    pub place: OnceLock<Option<PathBuf>>,
}

/// Files that belong together: where each stands, and its text.
pub type Files = &'static [(&'static str, &'static str)];

/// What builds a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    /// The module of a folder, by `go build`.
    Go,
    /// The package of a folder, by `cargo build --release`.
    Cargo,
}

// Files of `bundled` are links to those of the project that have the same names, so that a published crate has them too.

/// The far side in Go, which a program's module finds by its `replace`.
pub const GO_FAR_SIDE: Files = &[
    ("go/rexmitstack/go.mod", include_str!("../bundled/go/rexmitstack/go.mod.txt")),
    ("go/rexmitstack/line.go", include_str!("../bundled/go/rexmitstack/line.go.txt")),
    ("go/rexmitstack/memory.go", include_str!("../bundled/go/rexmitstack/memory.go.txt")),
    ("go/rexmitstack/packet.go", include_str!("../bundled/go/rexmitstack/packet.go.txt")),
    ("go/rexmitstack/release.go", include_str!("../bundled/go/rexmitstack/release.go.txt")),
    ("go/rexmitstack/stack.go", include_str!("../bundled/go/rexmitstack/stack.go.txt")),
];

/// The far side in Rust, which a program's manifest finds by its path.
pub const RUST_FAR_SIDE: Files = &[
    ("rust/rexmitstack/Cargo.toml", include_str!("../bundled/rust/rexmitstack/Cargo.toml.txt")),
    ("rust/rexmitstack/src/calls.rs", include_str!("../bundled/rust/rexmitstack/src/calls.rs.txt")),
    ("rust/rexmitstack/src/lib.rs", include_str!("../bundled/rust/rexmitstack/src/lib.rs.txt")),
    ("rust/rexmitstack/src/line.rs", include_str!("../bundled/rust/rexmitstack/src/line.rs.txt")),
    ("rust/rexmitstack/src/memory.rs", include_str!("../bundled/rust/rexmitstack/src/memory.rs.txt")),
    ("rust/rexmitstack/src/packet.rs", include_str!("../bundled/rust/rexmitstack/src/packet.rs.txt")),
    ("rust/rexmitstack/src/random.rs", include_str!("../bundled/rust/rexmitstack/src/random.rs.txt")),
];

/// The bubble for stacks that read Go's own clock, and what it adds to the standard library.
pub const GO_BUBBLE: Files = &[
    ("go/bubble/go.mod", include_str!("../bundled/go/bubble/go.mod.txt")),
    ("go/bubble/bubble.go", include_str!("../bundled/go/bubble/bubble.go.txt")),
    ("go/bubble/wire.go", include_str!("../bundled/go/bubble/wire.go.txt")),
    (
        "go/bubble/_goroot/runtime/rexmit.go",
        include_str!("../bundled/go/bubble/_goroot/runtime/rexmit.go.txt"),
    ),
    (
        "go/bubble/_goroot/testing/cryptotest/rexmit.go",
        include_str!("../bundled/go/bubble/_goroot/testing/cryptotest/rexmit.go.txt"),
    ),
    (
        "go/bubble/_goroot/testing/synctest/rexmit.go",
        include_str!("../bundled/go/bubble/_goroot/testing/synctest/rexmit.go.txt"),
    ),
];

impl Source {
    /// Where the program is once it is built: in `stacks` of the user's cache, in a folder that is named for the text of all
    /// its files. `None` where programs are not allowed, or where nobody has a home.
    pub fn program(&self) -> Option<&Path> {
        let place = || {
            let mut hasher = DefaultHasher::new();
            self.files.hash(&mut hasher);
            let folder = format!("{}-{:016x}", self.name, hasher.finish());
            Some(pool::cache()?.join("stacks").join(folder).join(self.name))
        };
        self.place.get_or_init(place).as_deref()
    }
}

/// The user's folder of what rexmit builds: `$REXMIT_CACHE`, else rexmit's own in `$XDG_CACHE_HOME`, else in `~/.cache`.
pub(crate) fn cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
    if let Some(own) = set("REXMIT_CACHE") {
        return std::path::absolute(own).ok();
    }
    let common = set("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    Some(common.or_else(|| Some(std::env::home_dir()?.join(".cache")))?.join("rexmit"))
}

/// A stack that is such a program, with settings of type `C`.
#[derive(Debug)]
pub struct Packaged<C: 'static> {
    /// What never changes about it.
    pub about: About,
    /// What its program is built from.
    pub source: &'static Source,
    /// The smallest MTU of an interface.
    pub least_mtu: u32,
    /// Sets what a value of a profile is for it; `None` where it has no such setting.
    pub translate: fn(&str, &Value, &mut C) -> Option<()>,
    /// Checks settings by themselves; keys are relative to the table.
    pub check: fn(&C) -> Result<(), SettingError>,
    /// What the program is told of them.
    pub told: fn(&C) -> Value,
}

impl<C: Default + Serialize + DeserializeOwned> Packaged<C> {
    fn command(&self) -> Result<Command, SettingError> {
        let built = self.source.program().filter(|path| path.is_file());
        let program = built.ok_or_else(|| SettingError::new("", self.source.missing))?;
        Ok(Command {
            folder: program.parent().map(Path::to_path_buf).unwrap_or_default(),
            name: self.about.name.into(),
            words: vec![program.to_string_lossy().into_owned()],
            patience: PATIENCE,
            pause: Duration::ZERO,
            lead: false,
        })
    }
}

impl<C: Default + Serialize + DeserializeOwned> StackFactory for Packaged<C> {
    fn about(&self) -> &About {
        &self.about
    }

    fn missing(&self) -> Option<&str> {
        self.command().is_err().then_some(self.source.missing)
    }

    fn check_settings(&self, table: &Value) -> Result<(), SettingError> {
        (self.check)(&read(table.clone())?)
    }

    fn check_host(&self, host: &HostSettings<'_>) -> Result<Vec<String>, SettingError> {
        if host.mtu < self.least_mtu {
            let what = if host.protocol == "quic" { "QUIC" } else { self.about.name };
            let text = format!("{what} takes {} bytes and more; give it a larger MTU", self.least_mtu);
            return Err(SettingError::new(host.key("mtu"), text));
        }
        let (settings, mut unsupported) = settings_at(host, self.translate);
        (self.check)(&settings).map_err(|error| {
            SettingError::new(host.key(&format!("{}.{}", self.about.name, error.key)), error.message)
        })?;
        unsupported.extend(host.alternate_address.map(|_| "alternate".to_string()));
        Ok(unsupported)
    }

    fn start(&self, run: &RunSettings<'_>) -> Result<Box<dyn StackRun>, SettingError> {
        let command = self.command()?;
        let planned = |host| {
            let settings = settings_at(host, self.translate).0;
            Planned::new(host, run, command.clone(), &BTreeMap::new(), (self.told)(&settings))
        };
        Ok(Box::new(Run { hosts: run.hosts.iter().map(planned).collect() }))
    }
}
