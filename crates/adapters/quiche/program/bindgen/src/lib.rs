//! What boring-sys asks of bindgen, without libclang.
//!
//! boring-sys builds BoringSSL, and has bindgen read its headers with libclang to declare all of it in Rust. quiche declares what it
//! calls itself, so nothing here needs those declarations, and few machines have libclang. This crate stands in bindgen's place (see
//! `[patch]` in the program's manifest): it takes the same options and writes the few names that boring-sys itself mentions.

use std::io::{Error, Write};
use std::path::Path;

/// Declarations of the names that boring-sys mentions.
const DECLARATIONS: &str = "
pub type _bindgen_ty_1 = ::std::os::raw::c_uint;
pub type ssl_compliance_policy_t = ::std::os::raw::c_uint;
pub const SSL_ERROR_NONE: ::std::os::raw::c_int = 0;
pub enum BIO {}
pub enum BIO_METHOD {}
pub enum EVP_MD {}
pub enum SSL {}
#[repr(C)]
pub struct CBS {
    pub data: *const u8,
    pub len: usize,
}
unsafe extern \"C\" {
    pub fn BIO_new(method: *const BIO_METHOD) -> *mut BIO;
    pub fn CRYPTO_library_init();
    pub fn ERR_add_error_data(count: ::std::os::raw::c_uint, ...);
    pub fn OPENSSL_free(ptr: *mut ::std::os::raw::c_void);
    pub fn SSL_set1_groups(ssl: *mut SSL, groups: *const ::std::os::raw::c_int, count: usize) -> ::std::os::raw::c_int;
}
";

/// The release of Rust that declarations are for.
#[derive(Clone, Copy, Debug)]
pub struct RustTarget;

impl RustTarget {
    /// Any release will do.
    ///
    /// # Errors
    /// None.
    pub fn stable(_minor: u64, _patch: u64) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// How an `enum` of C is declared.
#[derive(Clone, Copy, Debug)]
pub enum EnumVariation {
    /// As a type around a number.
    NewType {
        /// It is a set of bits.
        is_bitfield: bool,
        /// Its values stand beside it.
        is_global: bool,
    },
}

/// The type of a macro's number.
#[derive(Clone, Copy, Debug)]
pub enum MacroTypeVariation {
    /// A signed one.
    Signed,
}

/// What is to be declared, and how: all of it is taken no notice of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Builder;

macro_rules! options {
    ($($name:ident: $value:ty),* $(,)?) => {
        $(
            /// Takes no notice.
            #[must_use]
            pub fn $name(self, _: $value) -> Self {
                self
            }
        )*
    };
}

impl Builder {
    options! {
        rust_target: RustTarget,
        derive_copy: bool,
        derive_debug: bool,
        derive_default: bool,
        derive_eq: bool,
        derive_partialeq: bool,
        default_enum_style: EnumVariation,
        default_macro_constant_type: MacroTypeVariation,
        generate_comments: bool,
        fit_macro_constants: bool,
        size_t_is_usize: bool,
        layout_tests: bool,
        merge_extern_blocks: bool,
        prepend_enum_name: bool,
        allowlist_file: &str,
        opaque_type: &str,
        clang_args: Vec<String>,
        clang_arg: impl Into<String>,
        header: &str,
    }

    /// The declarations.
    ///
    /// # Errors
    /// None.
    pub fn generate(self) -> Result<Bindings, Error> {
        Ok(Bindings)
    }
}

/// The declarations.
#[derive(Clone, Copy, Debug)]
pub struct Bindings;

impl Bindings {
    /// Writes them.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write<'a>(&self, mut to: Box<dyn Write + 'a>) -> Result<(), Error> {
        to.write_all(DECLARATIONS.as_bytes())
    }

    /// Writes them to a file.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write_to_file(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        std::fs::write(path, DECLARATIONS)
    }
}
