//! Binds the library's own names to itself: the C library's functions of `libc_names.rs` come before those of the process
//! that loads it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
}
