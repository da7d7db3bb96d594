use std::fs;
use std::net::IpAddr;

use rexmit_capture::Reader;
use rexmit_wire::{IpFields, Payload, Transport, UdpDatagram};

use super::*;

fn packet() -> Packet {
    let datagram = UdpDatagram::new(1, 2, Payload::EMPTY);
    Packet {
        src: IpAddr::from([10, 0, 0, 1]),
        dst: IpAddr::from([10, 0, 0, 2]),
        ip: IpFields::default(),
        transport: Transport::Udp(datagram),
        damaged: false,
    }
}

#[test]
fn a_file_has_its_name_only_when_it_is_whole() {
    let folder = std::env::temp_dir().join(format!("rexmit-capture-file-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("server.pcapng");
    let names = || fs::read_dir(&folder).unwrap().count();

    let mut capture = CaptureFile::create(&path, "server", &Options::default()).unwrap();
    capture.write_directed(Instant::ZERO, &packet(), None, None).unwrap();
    assert!(!path.exists());
    assert_eq!(names(), 1);
    capture.finish().unwrap();
    assert!(path.exists());
    assert_eq!(names(), 1);
    let whole = fs::read(&path).unwrap();
    assert_eq!(Reader::new(&whole[..]).unwrap().count(), 1);

    // One that is given up leaves the older file and nothing else.
    drop(CaptureFile::create(&path, "server", &Options::default()).unwrap());
    assert_eq!(names(), 1);
    assert_eq!(fs::read(&path).unwrap(), whole);
    fs::remove_dir_all(&folder).unwrap();

    let error = CaptureFile::create(&path, "server", &Options::default()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}
