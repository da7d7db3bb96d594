//! Programs at hosts: what a real kernel runs there besides, or instead of, the scenario's own transfers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rexmit_network::two_hosts::{CLIENT, HOSTS, SERVER, choose, host_name};
use rexmit_network::{ByHost, HostId};
use rexmit_tables::row;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use crate::hosts::Hosts;
use crate::{HostCell, Resolved, SpecError};

/// What a host runs: a command, `"curl -so /dev/null http://$REXMIT_SERVER:8000/file"`, or a table with more about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ProgramForm {
    /// A command alone.
    Command(CommandSpec),
    /// The whole.
    Program(ProgramSpec),
}

impl<'de> Deserialize<'de> for ProgramForm {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        if !value.is_object() {
            return command_of(value).map(Self::Command).map_err(D::Error::custom);
        }
        rexmit_stack::read(value).map(Self::Program).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for CommandSpec {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        command_of(Value::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// A command, which is a line or a list of words.
fn command_of(value: Value) -> Result<CommandSpec, String> {
    let wrong =
        || format!("{value} is not a command; write a line, such as \"iperf3 -s\", or a list of words");
    match &value {
        Value::String(line) => Ok(CommandSpec::Line(line.clone())),
        Value::Array(words) => {
            let words = words.iter().map(|word| word.as_str().map(str::to_string).ok_or_else(wrong));
            words.collect::<Result<_, _>>().map(CommandSpec::Words)
        }
        _ => Err(wrong()),
    }
}

/// Variables, whose values may be numbers or truths as well.
fn variables<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    let given: BTreeMap<String, Value> = BTreeMap::deserialize(from)?;
    let text = |(name, value): (String, Value)| match value {
        Value::String(text) => Ok((name, text)),
        Value::Number(_) | Value::Bool(_) => Ok((name, value.to_string())),
        _ => Err(D::Error::custom(format!("{name}: {value} is not text"))),
    };
    given.into_iter().map(text).collect()
}

/// A program of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramSpec {
    /// The command and its arguments, as a line whose words are split as a shell splits them, or as a list of words. No shell
    /// runs it, but `$NAME` in it is the variable of its environment.
    pub command: CommandSpec,
    /// Variables of its environment besides `PATH`, `HOME`, `TMPDIR` (a folder of its own, empty at the start),
    /// `REXMIT_SERVER` and `REXMIT_CLIENT` (the hosts' addresses).
    #[serde(default, deserialize_with = "variables", skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// A file that it writes, relative to `TMPDIR`: kept like what it prints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum CommandSpec {
    /// As people write it.
    Line(String),
    /// Word by word.
    Words(Vec<String>),
}

/// What programs may do to files, and what their clock shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProgramsSpec {
    /// The folder that they begin in. Default: the study's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Folders that programs may write to; they keep what is written there. Relative ones are seen from `folder`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<PathBuf>,
    /// What becomes of what they write elsewhere.
    #[serde(skip_serializing_if = "is_default")]
    pub elsewhere: Elsewhere,
    /// Time of day at the start, such as `"2026-07-01T12:00"` (UTC). Default: 2026-01-01.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// What becomes of what programs write where they may not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Elsewhere {
    /// It is refused: the file system is read-only, except for `/tmp` and `/run`, which are gone with the run.
    #[default]
    ReadOnly,
    /// It is gone with the run.
    Gone,
}

impl ProgramsSpec {
    /// Nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A program, ready to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The command and its arguments, with `$NAME` as it was written.
    pub words: Vec<String>,
    /// What its environment has besides what every program's has.
    pub environment: BTreeMap<String, String>,
    /// A file that is kept.
    pub file: Option<String>,
}

impl ProgramForm {
    /// The program.
    ///
    /// # Errors
    /// No words, a quote without an end, a file outside the program's folder.
    pub fn resolve(&self) -> Result<Program, SpecError> {
        let (command, environment, file) = match self {
            Self::Command(command) => (command, BTreeMap::new(), None),
            Self::Program(program) => (&program.command, program.environment.clone(), program.file.clone()),
        };
        let words = match command {
            CommandSpec::Words(words) => words.clone(),
            CommandSpec::Line(line) => shlex::split(line)
                .ok_or_else(|| SpecError::new("", format!("{line:?}: it has an unclosed quote")))?,
        };
        if words.first().is_none_or(String::is_empty) {
            return Err(SpecError::new("", "no command; allowed: such as \"iperf3 -c $REXMIT_SERVER\""));
        }
        if let Some(word) = words.iter().chain(environment.values()).find(|word| word.contains('\0')) {
            return Err(SpecError::new("", format!("{word:?} has a NUL, which no program can be given")));
        }
        for name in environment.keys() {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(SpecError::new("environment", format!("{name:?} is not a name of a variable")));
            }
        }
        let outside = |file: &&String| file.starts_with('/') || file.split('/').any(|part| part == "..");
        if let Some(file) = file.as_ref().filter(outside) {
            let text = format!("{file:?} is not in the program's TMPDIR; allowed: such as \"result.json\"");
            return Err(SpecError::new("file", text));
        }
        let program = Program { words, environment, file };
        let mut known = program.environment.clone();
        known.extend(GIVEN.map(|name| (name.to_string(), String::new())));
        program.expanded(&known)?;
        Ok(program)
    }
}

/// Variables that every program has.
const GIVEN: [&str; 5] = ["HOME", "PATH", "REXMIT_CLIENT", "REXMIT_SERVER", "TMPDIR"];

impl Program {
    /// The words with the variables of this environment in them.
    ///
    /// # Errors
    /// A variable that is not there.
    pub fn expanded(&self, environment: &BTreeMap<String, String>) -> Result<Vec<String>, SpecError> {
        self.words.iter().map(|word| expand(word, environment)).collect()
    }
}

/// A word with `$NAME` and `${NAME}` replaced; `$$` is a dollar, and so is one before anything else.
fn expand(word: &str, environment: &BTreeMap<String, String>) -> Result<String, SpecError> {
    let mut parts = word.split('$');
    let mut text = parts.next().unwrap_or_default().to_string();
    while let Some(part) = parts.next() {
        let braced = part.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let len = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len());
        let (name, rest) = braced.unwrap_or_else(|| part.split_at(len));
        if name.is_empty() {
            text.push('$');
            // Of two in a row, the second is the text of the first.
            text.push_str(if part.is_empty() { parts.next().unwrap_or_default() } else { part });
            continue;
        }
        let value = environment.get(name).ok_or_else(|| {
            let known: Vec<&str> = environment.keys().map(String::as_str).collect();
            SpecError::new("", rexmit_stack::unknown_name("variable", name, &known))
        })?;
        text.push_str(value);
        text.push_str(rest);
    }
    Ok(text)
}

row! {
    /// What became of a program.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct ProgramRow {
        host: HostCell = plain("server or client: where it ran"),
        code: Option<u32> =
            plain("its exit code; 128 and the signal where one ended it, 127 where there is no such command")
                or "it ran until it was asked to end",
        started_ns: i64 = ns("when it was started, since the start of the run: before 0 at the server"),
        ended_ns: Option<i64> = ns("when it ended") or "it ran until the run was over",
        output: String = plain("what it printed, up to 256 KiB"),
        errors: String = plain("what it printed as errors, up to 256 KiB"),
        file: Option<String> = plain("the file that it was to write, up to 4 MiB") or "there is none",
    }
}

/// What a host without a stack of its own has where it runs a program.
const STACK: &str = "linux-6.1";

/// Gives hosts that run a program and name no stack one: what they have is the kernel's own, whatever its name.
pub(crate) fn name_stacks(scenario: &mut Value) {
    let any = HOSTS.iter().any(|host| !scenario["hosts"][host_name(*host)]["program"].is_null());
    for host in HOSTS.into_iter().filter(|_| any) {
        let Some(hosts) = scenario["hosts"].as_object_mut() else { return };
        let table = hosts.entry(host_name(host)).or_insert_with(|| Value::Object(Map::new()));
        if let Some(table) = table.as_object_mut() {
            table.entry("stack").or_insert_with(|| STACK.into());
        }
    }
}

/// Gives every host that names no stack one, where programs are all that runs.
pub(crate) fn name_all_stacks(scenario: &mut Value) {
    let hosts = scenario.get_mut("hosts").and_then(Value::as_object_mut);
    for table in hosts.into_iter().flatten().filter_map(|(_, host)| host.as_object_mut()) {
        table.entry("stack").or_insert_with(|| STACK.into());
    }
}

impl Hosts {
    /// The hosts' programs.
    ///
    /// # Errors
    /// The first that is impossible.
    pub(crate) fn programs(&self) -> Result<ByHost<Option<Program>>, SpecError> {
        self.each(|name, host| {
            let program = host.program.as_ref().map(ProgramForm::resolve).transpose();
            program.map_err(|e| e.within(&format!("hosts.{name}.program")))
        })
    }
}

impl Resolved {
    /// Whether a host runs a program.
    pub fn has_programs(&self) -> bool {
        self.programs.values().any(Option::is_some)
    }

    /// Refuses programs that nobody would wait for.
    pub(crate) fn check_programs(&self) -> Result<(), SpecError> {
        if self.links.is_some() && self.has_programs() {
            let text = "hosts of a network run none: give a server and a client with a path between them";
            return Err(SpecError::new("hosts", format!("programs: {text}")));
        }
        if self.links.is_none()
            && self.programs[SERVER].is_some()
            && self.programs[CLIENT].is_none()
            && self.scenario.transfers.is_empty()
        {
            let text = "nothing talks to it: give hosts.client.program, or a transfer";
            return Err(SpecError::new("hosts.server.program", text));
        }
        if !self.has_programs() && self.scenario.programs != ProgramsSpec::default() {
            return Err(SpecError::new("programs", "there are none: give hosts.client.program"));
        }
        Ok(())
    }

    /// Options of sockets at hosts where programs open all of them, by their keys.
    pub(crate) fn sockets_of_programs(&self) -> impl Iterator<Item = String> {
        let hosts = self
            .scenario
            .hosts
            .iter()
            .filter(|(host, ..)| self.programs[*host].is_some() && self.scenario.transfers.is_empty());
        hosts.flat_map(|(_, name, host)| {
            let keys = host.linux.of_sockets().into_iter();
            keys.map(move |key| format!("hosts.{name}.linux.{key} (a program opens its own sockets)"))
        })
    }

    /// That programs need a real kernel, where the scenario has some.
    ///
    /// # Errors
    /// Where it has.
    pub(crate) fn refuse_programs(&self) -> Result<(), SpecError> {
        let text = "programs run on a real kernel: give --backend uml (virtual time) or --backend kernel";
        match self.programs.iter().find(|(_, program)| program.is_some()) {
            None => Ok(()),
            Some((host, _)) => Err(SpecError::new(program_key(host), text)),
        }
    }
}

/// Says in the schema of a scenario what it must have: a server and a client with their stacks, or hosts at points with
/// theirs, and transfers; or a program.
pub(crate) fn say_what_is_needed(schema: &mut Value) {
    let mut take =
        |name: &str| schema["$defs"][name].as_object_mut().and_then(|part| part.remove("required"));
    let host = take("HostSpec").unwrap_or_default();
    let names = HOSTS.map(host_name);
    let both = json!({
        "required": names,
        "propertyNames": { "enum": names },
        "additionalProperties": { "required": host },
    });
    let at = [host.as_array().cloned().unwrap_or_default(), vec![json!("at")]].concat();
    let network = json!({ "additionalProperties": { "required": at } });
    let program =
        |name: &str| json!({ "required": [name], "properties": { name: { "required": ["program"] } } });
    let either = json!({ "anyOf": HOSTS.map(|id| program(host_name(id))) });
    schema["anyOf"] = json!([
        { "required": ["transfers"], "properties": { "hosts": { "anyOf": [both, network] } } },
        { "properties": { "hosts": either } },
    ]);
    // Transfers are between these two where there are no others.
    let alone = json!({ "properties": { "count": false } });
    let two = json!({ "propertyNames": { "enum": names }, "additionalProperties": alone });
    let ends = json!({ "from": { "enum": names }, "to": { "enum": names } });
    schema["if"] = json!({ "properties": { "hosts": two, "links": false } });
    schema["then"] = json!({ "properties": { "transfers": { "items": { "properties": ends } } } });
}

/// The key of a host's program.
pub fn program_key(host: HostId) -> &'static str {
    choose(host, "hosts.server.program", "hosts.client.program")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(program: Value) -> Result<Vec<String>, String> {
        let form: ProgramForm = serde_json::from_value(program).map_err(|e| e.to_string())?;
        let environment = [("REXMIT_SERVER", "10.0.2.1"), ("N", "7")].map(|(k, v)| (k.into(), v.into()));
        let program = form.resolve().map_err(|e| e.to_string())?;
        program.expanded(&environment.into()).map_err(|e| e.to_string())
    }

    #[test]
    fn a_line_is_split_as_a_shell_does_and_variables_stand_in_it() {
        let line = "client 'a b' http://$REXMIT_SERVER:80/${N}x \"$N\" $$5 a$";
        let expected = ["client", "a b", "http://10.0.2.1:80/7x", "7", "$5", "a$"];
        let table = json!({ "command": line, "environment": { "N": "7" } });
        assert_eq!(words(table).unwrap(), expected);
        assert_eq!(words(serde_json::json!(["a", "b c"])).unwrap(), ["a", "b c"]);
        assert_eq!(words(serde_json::json!({ "command": "a", "file": "x/y" })).unwrap(), ["a"]);
    }

    #[test]
    fn what_cannot_be_started_is_refused_in_one_line() {
        for wrong in [
            serde_json::json!(""),
            serde_json::json!("a 'b"),
            serde_json::json!("a $REXMIT_SERVR"),
            serde_json::json!({ "command": "a", "file": "../x" }),
            serde_json::json!({ "command": "a", "environment": { "A=B": "c" } }),
        ] {
            let told = words(wrong.clone()).unwrap_err();
            assert!(!told.is_empty() && !told.contains('\n'), "{wrong}: {told}");
        }
    }
}
