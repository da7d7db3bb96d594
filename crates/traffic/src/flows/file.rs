//! Files that flows name. They are read elsewhere, and come here as text.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::FlowsError;
use crate::spec::TransferError;

/// What opens a file and gives its whole text, or one line that says why not and names the file.
pub(crate) type Read<'a> = dyn FnMut(&TableFile) -> Result<String, String> + 'a;

/// A file of a table, by its name alone or with the hash of what it held when the study was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFile {
    /// Its name.
    pub file: String,
    /// SHA-256 of its content, in hexadecimal digits; whoever reads the file refuses other content.
    pub sha256: Option<String>,
}

/// A file with the hash of its content.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HashedFile {
    /// Its name.
    file: String,
    /// SHA-256 of its content, as `sha256sum` prints it. A file with other content is refused. A study's record has it.
    sha256: String,
}

impl TableFile {
    /// Has it read, and reads its text; `key` names it.
    pub(super) fn parse<T>(
        &self,
        key: &'static str,
        read: &mut Read<'_>,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, TransferError> {
        let text = read(self).map_err(|e| FlowsError::File(key, e))?;
        // Spreadsheets write a byte-order mark before the first line.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        Ok(parse(text).map_err(|e| FlowsError::File(key, format!("{}: {e}", self.file)))?)
    }
}

impl From<&str> for TableFile {
    fn from(file: &str) -> Self {
        Self { file: file.to_owned(), sha256: None }
    }
}

impl<'de> Deserialize<'de> for TableFile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct TextOrTable;
        impl<'de> Visitor<'de> for TextOrTable {
            type Value = TableFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a file such as \"flows.csv\"")
            }

            fn visit_str<E: Error>(self, file: &str) -> Result<TableFile, E> {
                Ok(file.into())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TableFile, A::Error> {
                let HashedFile { file, sha256 } = HashedFile::deserialize(MapAccessDeserializer::new(map))?;
                Ok(TableFile { file, sha256: Some(sha256) })
            }
        }
        from.deserialize_any(TextOrTable)
    }
}

impl Serialize for TableFile {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.sha256 {
            None => to.serialize_str(&self.file),
            Some(sha256) => HashedFile { file: self.file.clone(), sha256: sha256.clone() }.serialize(to),
        }
    }
}

impl JsonSchema for TableFile {
    fn schema_name() -> Cow<'static, str> {
        "TableFile".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<HashedFile>();
        json_schema!({
            "description": "A file: its name, or a table of its name and the hash of its content.",
            "anyOf": [{ "type": "string" }, table]
        })
    }
}
