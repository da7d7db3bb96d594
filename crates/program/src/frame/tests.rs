use proptest::prelude::*;

use super::*;

fn item(kind: u8, value: &[u8]) -> Vec<u8> {
    [&[kind][..], &(value.len() as u32).to_le_bytes(), value].concat()
}

/// An answer to READ with an item of each kind.
fn whole() -> Vec<u8> {
    let number = |n: u64| n.to_le_bytes();
    let data = [&7_u16.to_le_bytes()[..], &number(40), &[1], b"0123"].concat();
    let state = [&[4][..], b"OPEN", &[0], &number(3_000), &[4], &number(9)].concat();
    [
        vec![0x87],
        item(1, &5_u32.to_le_bytes()),
        item(2, &data),
        item(3, b"\x52packet"),
        item(4, &[2]),
        item(5, &number(12)),
        item(6, &[&[1][..], &number(99)].concat()),
        item(7, &state),
        item(8, b"CLIENT_RANDOM a b\n"),
        item(16, &1_u16.to_le_bytes()),
        item(17, b"mine"),
        item(18, b"1.2"),
        item(19, b"tcp sctp"),
        item(20, b""),
        item(10, b"\x1e{}\n"),
        item(9, &1_162_u32.to_le_bytes()),
        item(128, b""),
        item(129, b""),
        item(130, b""),
        item(200, b"of a version to come"),
    ]
    .concat()
}

#[test]
fn an_answer_has_what_its_items_say() {
    let answer = Answer::parse(&Call::Read(100), &whole()).unwrap();
    let mut values = [None; FIELDS];
    (values[0], values[4]) = (Some(3_000), Some(9));
    let expected = Answer {
        taken: 5,
        data: Some(Data { stream: 7, place: Some(40), ends: true, datagram: false, bytes: b"0123".to_vec() }),
        limit: Some(1_162),
        packets: vec![Leaving {
            why: Some(Why::Timeout),
            new_data: true,
            repeats: false,
            datagram: true,
            bytes: b"packet".to_vec(),
        }],
        events: vec![Event::Readable],
        readable: Some(12),
        timer: Some(Timer::At(99)),
        state: Some(State { name: "OPEN".into(), values }),
        secrets: "CLIENT_RANDOM a b\n".into(),
        qlog: b"\x1e{}\n".to_vec(),
        version: Some(1),
        name: Some("mine".into()),
        build: Some("1.2".into()),
        protocols: Some("tcp sctp".into()),
        forgets: true,
        datagrams: true,
        memory: true,
        follows_up: true,
        next: Vec::new(),
    };
    assert_eq!(answer, expected);
}

#[test]
fn a_call_has_those_that_follow_behind_it() {
    let write = Call::Write { how: Delivery::default(), place: 9, bytes: b"abc" };
    let mut frame = Vec::new();
    Call::Followed { first: &Call::Packet(b"packet"), most: 7, write: Some(&write) }
        .append_to(5, 2, &mut frame);
    let mut alone = Vec::new();
    write.append_to(5, 2, &mut alone);
    let at = [&5_u64.to_le_bytes()[..], &2_u32.to_le_bytes()].concat();
    let first = [&[4, 7, 0, 0, 0, 6, 0, 0, 0][..], b"packet"].concat();
    assert_eq!(frame[4..], [&[11][..], &at, &first, &alone[17..]].concat());
}

#[test]
fn the_answers_to_calls_that_follow_stand_apart() {
    let write = Call::Write { how: Delivery::default(), place: 0, bytes: b"abc" };
    let followed = Call::Followed { first: &Call::Timer, most: 7, write: Some(&write) };
    let data = |byte: u8| item(2, &[&[0, 0][..], &u64::MAX.to_le_bytes(), &[0, byte]].concat());
    let read = [&[0x8b][..], &item(4, &[2]), &item(11, &[7]), &data(1), &item(11, &[7]), &data(2)].concat();
    let answer = Answer::parse(&followed, &read).unwrap();
    assert_eq!((answer.events, answer.data), (vec![Event::Readable], None));
    let bytes: Vec<_> =
        answer.next.iter().map(|(kind, one)| (*kind, one.data.clone().unwrap().bytes)).collect();
    assert_eq!(bytes, [(7, vec![1]), (7, vec![2])]);

    let written = [&[0x8b][..], &item(4, &[1]), &item(11, &[6]), &item(1, &3_u32.to_le_bytes())].concat();
    let answer = Answer::parse(&followed, &written).unwrap();
    assert_eq!((answer.taken, answer.next[0].0, answer.next[0].1.taken), (0, 6, 3));

    let told = |call: &Call<'_>, items: &[u8]| {
        Answer::parse(call, &[&[call.kind() | ANSWER], items].concat()).unwrap_err().unwrap_err()
    };
    let none = Call::Followed { first: &Call::Timer, most: 0, write: None };
    assert_eq!(told(&none, &item(11, &[7])), "a call that the application does not make");
    assert_eq!(told(&none, &item(11, &[6])), "a call that the application does not make");
    assert_eq!(told(&followed, &item(11, &[4])), "a call that the application does not make");
    assert_eq!(
        told(&followed, &[item(11, &[6]), item(11, &[6])].concat()),
        "a call that the application does not make"
    );
    assert_eq!(told(&followed, &data(1)), "with data that nobody reads");
    assert_eq!(told(&followed, &[item(11, &[6]), data(1)].concat()), "with data that nobody reads");
    assert_eq!(told(&Call::Timer, &item(11, &[7])), "with an item of the unknown type 11");
}

#[test]
fn what_is_no_answer_is_told_in_words() {
    let told = |frame: &[u8]| Answer::parse(&Call::Timer, frame).unwrap_err().unwrap_err();
    assert_eq!(told(b""), "with an empty frame");
    assert_eq!(told(&[0x86]), "as if it were WRITE");
    assert_eq!(told(&[0x05]), "with a frame of the unknown kind 5");
    assert_eq!(told(&[0x85, 3, 9]), "with an item that is cut off");
    assert_eq!(told(&[&[0x85][..], &item(99, b"")].concat()), "with an item of the unknown type 99");
    assert_eq!(told(&[&[0x85][..], &item(4, &[7])].concat()), "with an item of type 4 that is not an event");
    assert_eq!(
        told(&[&[0x85][..], &item(6, &[2; 9][..8])].concat()),
        "with an item of type 6 that is not a timer"
    );
    assert_eq!(told(&[&[0x85][..], &item(2, &[0; 11])].concat()), "with data that nobody reads");
    let refused = Answer::parse(&Call::Timer, b"\xffno\nmore").unwrap_err();
    assert_eq!(refused, Ok("no more".to_string()));
}

#[test]
fn a_datagram_is_marked_where_it_is_written_read_and_sent() {
    let write = |datagram| {
        let how = Delivery { datagram, ..Delivery::default() };
        let mut out = Vec::new();
        Call::Write { how, place: 0, bytes: b"12345678" }.append_to(0, 0, &mut out);
        out[19]
    };
    assert_eq!((write(false), write(true)), (0, 2));
    let place = u64::MAX.to_le_bytes();
    let data =
        |flags: u8| [&[0x87][..], &item(2, &[&[0, 0][..], &place, &[flags], b"12345678"].concat())].concat();
    let read = |flags| Answer::parse(&Call::Read(100), &data(flags)).map(|answer| answer.data.unwrap());
    assert!(read(2).unwrap().datagram && !read(1).unwrap().datagram && read(3).is_err());
    // New data of no stream.
    let leaving =
        Leaving { why: Some(Why::New), new_data: false, repeats: false, datagram: true, bytes: vec![] };
    assert!(leaving.content().datagram && !leaving.content().new_data);
}

#[test]
fn a_call_is_its_length_kind_time_end_and_what_it_says() {
    let mut out = Vec::new();
    Call::Read(9).append_to(0x0102, 5, &mut out);
    assert_eq!(out, [17, 0, 0, 0, 7, 2, 1, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0]);
}

proptest! {
    /// Any cut gives an error or an answer with less, never a panic.
    #[test]
    fn an_answer_may_be_cut_anywhere(at in 0_usize..400) {
        let whole = whole();
        let cut = &whole[..at.min(whole.len())];
        let read = Answer::parse(&Call::Read(100), cut);
        prop_assert!(read.is_err() || read != Answer::parse(&Call::Read(100), &whole) || cut.len() == whole.len() || at > 150);
    }

    #[test]
    fn bytes_of_an_answer_may_be_any(flips in prop::collection::vec((0_usize..400, any::<u8>()), 1..8)) {
        let mut whole = whole();
        for (at, byte) in flips {
            let at = at % whole.len();
            whole[at] ^= byte;
        }
        let _ = Answer::parse(&Call::Read(100), &whole);
    }

    #[test]
    fn a_frame_may_be_any_bytes(frame in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Err(Err(text)) = Answer::parse(&Call::Timer, &frame) {
            prop_assert!(!text.contains('\n'));
        }
    }
}
