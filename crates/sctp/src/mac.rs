//! SipHash-2-4 (Aumasson and Bernstein, 2012): the code that authenticates cookies and heartbeats.
//!
//! RFC 9260 section 5.1.3 asks for a message authentication code over the state cookie and leaves its kind open.

/// The 64-bit code of `bytes` under a key that grows from `secret`.
pub(crate) fn mac(secret: u64, bytes: &[u8]) -> u64 {
    let (k0, k1) = (secret, secret.rotate_left(32) ^ 0x9e37_79b9_7f4a_7c15);
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        absorb(&mut v, u64::from_le_bytes(word.try_into().expect("eight bytes")));
    }
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    last[7] = bytes.len() as u8;
    absorb(&mut v, u64::from_le_bytes(last));
    v[2] ^= 0xff;
    (0..4).for_each(|_| round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn absorb(v: &mut [u64; 4], word: u64) {
    v[3] ^= word;
    round(v);
    round(v);
    v[0] ^= word;
}

fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_of_the_text_and_of_the_key_counts() {
        let text: Vec<u8> = (0..29).collect();
        let code = mac(7, &text);
        assert_eq!(code, mac(7, &text));
        for bit in 0..text.len() * 8 {
            let mut other = text.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(code, mac(7, &other), "bit {bit}");
        }
        assert!((0..64).all(|bit| mac(7 ^ (1 << bit), &text) != code));
        assert_ne!(mac(7, &text[..28]), code);
    }
}
