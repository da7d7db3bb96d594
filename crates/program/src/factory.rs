//! Programs as an entry of the registry of stacks.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use rexmit_stack::{
    About, Determinism, EndSettings, HostSettings, RngCore, RunSettings, SettingError, StackEnd,
    StackFactory, StackRun, changed_values,
};
use rexmit_units::Duration;
use serde_json::{Value, json};

use crate::end::ProgramEnd;
use crate::host::{Begin, Host};
use crate::pool::{self, Command};

/// How long a program has for an answer, where the scenario says nothing.
pub(crate) const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
/// The keys of `stack` that are about the program, and of no profile.
pub const KEYS: [&str; 6] = ["program", "folder", "answer_within", "pause", "lead", "settings"];

/// Programs as a stack that hosts can run.
#[derive(Clone, Copy, Debug)]
pub struct ProgramStack;

static ABOUT: About = About {
    name: "program",
    summary: "a program of yours that speaks rexmit's protocol for stacks",
    version: None,
    protocols: &["tcp", "sctp", "quic"],
    determinism: Determinism::None,
    one_run_at_a_time: false,
    is_linux: false,
    transmissions: false,
    settings: None,
};

impl StackFactory for ProgramStack {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn check_host(&self, host: &HostSettings<'_>) -> Result<Vec<String>, SettingError> {
        let command = command_of(host)?;
        if command.lead
            && let Some(why) = pool::hindrance(&command)
        {
            let text = format!("{why}, so that its clock cannot be led; leave it out");
            return Err(SettingError::new(host.key("stack.lead"), text));
        }
        Ok(host.alternate_address.map(|_| "alternate".to_string()).into_iter().collect())
    }

    fn start(&self, run: &RunSettings<'_>) -> Result<Box<dyn StackRun>, SettingError> {
        let hosts = run.hosts.iter().map(|host| planned(host, run)).collect::<Result<_, _>>()?;
        Ok(Box::new(Run { hosts }))
    }
}

pub(crate) struct Run {
    pub hosts: Vec<Planned>,
}

/// A host, which is made with its first connection.
pub(crate) struct Planned {
    command: Command,
    begin: Begin,
    host: Option<Rc<RefCell<Host>>>,
    ends: u32,
}

impl Planned {
    /// A host with this command, whose program is told the single values that its scenario changes in a profile, and settings.
    pub fn new(
        host: &HostSettings<'_>,
        run: &RunSettings<'_>,
        command: Command,
        changed: &BTreeMap<String, Value>,
        settings: Value,
    ) -> Self {
        let mut seed = [0; 32];
        (run.streams)(&host.key("program")).fill_bytes(&mut seed);
        let lead = command.lead.then(|| {
            let mut key = [0; 16];
            (run.streams)(&host.key("lead")).fill_bytes(&mut key);
            key
        });
        let settings = json!({
            "host": host.name,
            "protocol": host.protocol,
            "mtu": host.mtu,
            "address": host.address,
            "peer": host.peer,
            "profile": changed,
            "settings": settings,
            "qlog": host.qlog,
        });
        let begin = Begin {
            name: host.name.into(),
            mtu: host.mtu,
            protocol: host.protocol,
            seed,
            lead,
            settings: settings.to_string(),
        };
        Self { command, begin, host: None, ends: 0 }
    }

    fn host(&mut self) -> Rc<RefCell<Host>> {
        let (command, begin) = (&self.command, &self.begin);
        self.host.get_or_insert_with(|| Rc::new(RefCell::new(Host::begin(command, begin)))).clone()
    }
}

impl StackRun for Run {
    fn endpoint(&mut self, host: usize, end: &EndSettings) -> Result<Box<dyn StackEnd>, SettingError> {
        let planned = &mut self.hosts[host];
        let at = planned.host();
        let number = planned.ends;
        planned.ends += 1;
        Ok(Box::new(ProgramEnd::open(at, number, planned.begin.protocol, end)))
    }
}

/// What the program of a host says of itself, or why it does not.
///
/// # Errors
/// A host without a program, or with an impossible one.
pub fn ask_about(host: &HostSettings<'_>) -> Result<Result<crate::About, String>, SettingError> {
    let run = RunSettings { hosts: &[], streams: &|_| rexmit_stack::seeded(0) };
    let planned = planned(host, &run)?;
    let host = Host::begin(&planned.command, &planned.begin);
    Ok(match host.failure() {
        Some(failure) => Err(failure.to_string()),
        None => Ok(host.about().clone()),
    })
}

/// A host whose scenario names the program.
fn planned(host: &HostSettings<'_>, run: &RunSettings<'_>) -> Result<Planned, SettingError> {
    let command = command_of(host)?;
    let changed: BTreeMap<String, Value> = changed_values(host.stack)
        .into_iter()
        .filter(|(key, _)| !KEYS.contains(&key.split('.').next().unwrap_or_default()))
        .filter(|(key, _)| key != "protocol")
        .collect();
    let settings = host.stack.get("settings").cloned().unwrap_or_else(|| json!({}));
    Ok(Planned::new(host, run, command, &changed, settings))
}

/// The program that a host has for its stack.
fn command_of(host: &HostSettings<'_>) -> Result<Command, SettingError> {
    let wrong = |key: &str, text: String| SettingError::new(host.key(&format!("stack.{key}")), text);
    let words = match host.stack.get("program") {
        Some(Value::String(line)) => shlex::split(line)
            .ok_or_else(|| wrong("program", format!("{line:?}: it has an unclosed quote")))?,
        Some(Value::Array(words)) => {
            let text = || wrong("program", "a list of words, such as [\"./mine\", \"--fast\"]".into());
            words
                .iter()
                .map(|word| word.as_str().map(str::to_string).ok_or_else(text))
                .collect::<Result<_, _>>()?
        }
        Some(_) => return Err(wrong("program", "a command, such as \"./mine --fast\"".into())),
        None => {
            let text =
                "the code `program` is a program of yours: give stack.program, such as \"./mine --fast\"";
            return Err(SettingError::new(host.key("code"), text));
        }
    };
    if words.first().is_none_or(String::is_empty) || words.iter().any(|word| word.contains('\0')) {
        return Err(wrong("program", "no command; allowed: such as \"./mine --fast\"".into()));
    }
    let folder = match host.stack.get("folder") {
        None => PathBuf::from("."),
        Some(folder) => folder
            .as_str()
            .map(PathBuf::from)
            .ok_or_else(|| wrong("folder", "the name of the folder that the program begins in".into()))?,
    };
    let time = |key: &str, default: std::time::Duration| match host.stack.get(key) {
        None => Ok(default),
        Some(time) => time
            .as_str()
            .and_then(|time| time.parse().ok())
            .filter(|time: &Duration| !time.is_zero())
            .map(|time| std::time::Duration::from_nanos(time.as_nanos()))
            .ok_or_else(|| wrong(key, format!("a real time, such as \"{} s\"", default.as_secs()))),
    };
    let patience = time("answer_within", PATIENCE)?;
    let pause = time("pause", std::time::Duration::ZERO)?;
    let lead = match host.stack.get("lead") {
        None => false,
        Some(lead) => lead.as_bool().ok_or_else(|| wrong("lead", "true or false".into()))?,
    };
    if host.stack.get("settings").is_some_and(|settings| !settings.is_object()) {
        return Err(wrong("settings", "a table, which the program is given as JSON".into()));
    }
    let name = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default();
    Ok(Command { name, words, folder, patience, pause, lead })
}
