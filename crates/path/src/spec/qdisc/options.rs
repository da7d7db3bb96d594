//! What rtnetlink carries to a discipline (`TCA_OPTIONS`): a structure, attributes, or one after the other.

/// The options of a discipline as its kernel reads them, in this machine's byte order; empty for those that it has by
/// itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelOptions {
    bytes: Vec<u8>,
    /// A structure stands first.
    structure: bool,
}

impl KernelOptions {
    /// Those that begin with a structure of these numbers.
    pub fn of_numbers(numbers: &[u32]) -> Self {
        Self { bytes: numbers.iter().flat_map(|number| number.to_ne_bytes()).collect(), structure: true }
    }

    /// Adds an attribute.
    pub fn add(&mut self, attribute: u16, value: &[u8]) {
        let len = HEADER + value.len();
        self.bytes.extend((len as u16).to_ne_bytes());
        self.bytes.extend(attribute.to_ne_bytes());
        self.bytes.extend(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNED), 0);
    }

    /// Adds an attribute that is a number.
    pub fn add_number(&mut self, attribute: u16, number: u32) {
        self.add(attribute, &number.to_ne_bytes());
    }

    /// Whether they are attributes and nothing else.
    pub fn is_nested(&self) -> bool {
        !self.structure
    }

    /// All of it.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Length and number of an attribute.
const HEADER: usize = 4;
const ALIGNED: usize = 4;
