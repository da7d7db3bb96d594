//! Numbers of the pcapng format.

pub(crate) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub(crate) const INTERFACE_DESCRIPTION: u32 = 1;
/// Obsolete, still found in old files.
pub(crate) const PACKET: u32 = 2;
pub(crate) const SIMPLE_PACKET: u32 = 3;
pub(crate) const INTERFACE_STATISTICS: u32 = 5;
pub(crate) const ENHANCED_PACKET: u32 = 6;

pub(crate) const DECRYPTION_SECRETS: u32 = 0x0a;

/// Of decryption secrets: lines of NSS's key log.
pub(crate) const TLS_KEY_LOG: u32 = 0x544c_534b;

pub(crate) const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

pub(crate) const OPT_END: u16 = 0;
pub(crate) const OPT_COMMENT: u16 = 1;
/// Of a section header.
pub(crate) const SHB_HARDWARE: u16 = 2;
pub(crate) const SHB_OS: u16 = 3;
pub(crate) const SHB_APPLICATION: u16 = 4;
/// Of an interface description.
pub(crate) const IF_NAME: u16 = 2;
pub(crate) const IF_DESCRIPTION: u16 = 3;
pub(crate) const IF_TSRESOL: u16 = 9;
pub(crate) const IF_TSOFFSET: u16 = 14;
/// Of an enhanced packet.
pub(crate) const EPB_FLAGS: u16 = 2;
pub(crate) const EPB_DROPCOUNT: u16 = 4;
/// Of interface statistics.
pub(crate) const ISB_IFRECV: u16 = 4;
pub(crate) const ISB_IFDROP: u16 = 5;
pub(crate) const ISB_OSDROP: u16 = 7;
