use super::*;

fn stamp(ms: u64, number: u64) -> Stamp {
    Stamp { time: Instant::from_nanos(ms * 1_000_000), number, tsval: 0, ident: 0, order: 1 }
}

fn board() -> Board {
    let mut board = Board::default();
    board.append(1, 1..101, &stamp(0, 1));
    board.append(101, 101..201, &stamp(1, 2));
    board.append(201, 301..401, &stamp(2, 3));
    board
}

#[test]
fn a_gap_becomes_a_hole_that_a_later_transmission_fills() {
    let mut board = board();
    assert_eq!(board.piece_at(250).map(|p| (p.start, p.end, p.count)), Some((201, 301, 0)));
    assert_eq!(board.seen_from(201).map(|p| p.start), Some(301));
    let before = board.again(201..301, &stamp(9, 4));
    assert_eq!((before.count, before.unseen, before.first), (0, 100, None));
    assert_eq!(board.piece_at(250).map(|p| (p.count, p.number)), Some((1, 4)));
}

#[test]
fn a_part_of_a_piece_that_comes_again_is_cut_out_of_it() {
    let mut board = board();
    let before = board.again(50..151, &stamp(9, 4));
    assert_eq!((before.count, before.unseen), (1, 0));
    assert_eq!(before.first.map(|p| p.number), Some(1));
    assert_eq!(before.last, Some(stamp(1, 2)));
    let counts: Vec<_> = board.pieces.iter().map(|p| (p.start, p.end, p.count)).collect();
    assert_eq!(
        counts,
        [(1, 50, 1), (50, 101, 2), (101, 151, 2), (151, 201, 1), (201, 301, 0), (301, 401, 1)]
    );
}

#[test]
fn acknowledged_pieces_are_remembered_for_what_comes_again() {
    let mut board = board();
    let mut acked = Vec::new();
    board.acknowledge(150, |piece| acked.push((piece.start, piece.end)));
    assert_eq!(acked, [(1, 101), (101, 150)]);
    let before = board.again(1..101, &stamp(9, 4));
    assert_eq!((before.count, before.first.map(|p| p.number)), (1, Some(1)));
    let before = board.again(101..201, &stamp(9, 5));
    assert_eq!((before.count, before.first.map(|p| p.number)), (1, Some(2)));
    assert_eq!(board.piece_at(160).map(|p| p.count), Some(2));
}

/// The board of a side that sent this many packets of 100 bytes.
fn sent(board: &mut Board, packets: std::ops::Range<i64>) {
    for n in packets {
        board.append(n * 100, n * 100..(n + 1) * 100, &stamp(1, n as u64));
    }
}

#[test]
fn what_nobody_acknowledges_is_forgotten_one_day() {
    let mut board = Board::default();
    let few = BOARD_UNANSWERED as i64 + 10;
    sent(&mut board, 0..few);
    assert!((BOARD_UNANSWERED - 2..=BOARD_UNANSWERED).contains(&board.len()));
    // It was sent all the same.
    assert_eq!(board.again(0..100, &stamp(2, 1)).count, 1);
    let kept = board.len();
    let mut acked = 0;
    board.acknowledge(few * 100, |_| acked += 1);
    assert_eq!(acked, kept);
    sent(&mut board, few..few + BOARD_SEGMENTS as i64 + 10);
    assert!((BOARD_SEGMENTS - 2..=BOARD_SEGMENTS).contains(&board.len()));
}

#[test]
fn packets_that_cut_pieces_do_not_make_more_than_are_kept() {
    let mut board = Board::default();
    let many = BOARD_UNANSWERED as i64 - 10;
    sent(&mut board, 0..many);
    for n in (many - 1000)..many {
        board.again(n * 100 + 30..n * 100 + 60, &stamp(2, 1));
        assert!(board.len() <= BOARD_UNANSWERED);
    }
    // The newest are there.
    assert_eq!(
        board.piece_at(many * 100 - 50).map(|piece| (piece.end - piece.start, piece.count)),
        Some((30, 2))
    );
}
