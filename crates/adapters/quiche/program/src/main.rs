//! The QUIC of quiche as a stack of rexmit's.

// It is linked for quiche: BoringSSL.
use boring_sys as _;

mod end;
mod host;
mod led;
mod sealed;

fn main() -> std::io::Result<()> {
    led::without_rdrand();
    let about = rexmitstack::About { name: "quiche", build: "0.30.0", protocols: "quic", forgets: true };
    rexmitstack::serve::<host::Shared>(&about)
}
