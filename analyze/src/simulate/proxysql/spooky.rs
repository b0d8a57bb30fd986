//! SpookyHash V2 (Bob Jenkins, public domain), with which ProxySQL names digests: `SpookyHash::Hash64(text, length, 0)`.

const CONST: u64 = 0xdead_beef_dead_beef;
/// Texts from this length on take the long way.
const LONG: usize = 192;
const BLOCK: usize = 96;

/// The 64-bit hash with seed 0.
pub fn hash64(text: &[u8]) -> u64 {
    if text.len() < LONG { short(text) } else { long(text) }
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_le_bytes(word)
}

fn short(text: &[u8]) -> u64 {
    let mut h = [0, 0, CONST, CONST];
    let mut rest = text;
    if text.len() > 15 {
        while let Some((block, after)) = rest.split_at_checked(32) {
            add(&mut h, 2, block);
            short_mix(&mut h);
            h[0] = h[0].wrapping_add(word(&block[16..]));
            h[1] = h[1].wrapping_add(word(&block[24..]));
            rest = after;
        }
        if let Some((block, after)) = rest.split_at_checked(16) {
            add(&mut h, 2, block);
            short_mix(&mut h);
            rest = after;
        }
    }
    h[3] = h[3].wrapping_add((text.len() as u64) << 56);
    if rest.is_empty() {
        h[2] = h[2].wrapping_add(CONST);
        h[3] = h[3].wrapping_add(CONST);
    } else {
        add(&mut h, 2, rest);
    }
    short_end(&mut h);
    h[0]
}

/// Adds up to sixteen bytes to two words.
fn add(h: &mut [u64; 4], at: usize, bytes: &[u8]) {
    let (low, high) = bytes.split_at(bytes.len().min(8));
    h[at] = h[at].wrapping_add(word(low));
    h[at + 1] = h[at + 1].wrapping_add(word(high));
}

fn short_mix(h: &mut [u64; 4]) {
    const TURNS: [u32; 12] = [50, 52, 30, 41, 54, 48, 38, 37, 62, 34, 5, 36];
    for (step, turn) in TURNS.into_iter().enumerate() {
        let at = (step + 2) % 4;
        h[at] = h[at].rotate_left(turn).wrapping_add(h[(at + 1) % 4]);
        h[(at + 2) % 4] ^= h[at];
    }
}

fn short_end(h: &mut [u64; 4]) {
    const TURNS: [u32; 11] = [15, 52, 26, 51, 28, 9, 47, 54, 32, 25, 63];
    for (step, turn) in TURNS.into_iter().enumerate() {
        let at = (step + 3) % 4;
        let before = (at + 3) % 4;
        h[at] ^= h[before];
        h[before] = h[before].rotate_left(turn);
        h[at] = h[at].wrapping_add(h[before]);
    }
}

fn long(text: &[u8]) -> u64 {
    let mut h = [0, 0, CONST, 0, 0, CONST, 0, 0, CONST, 0, 0, CONST];
    let mut rest = text;
    while let Some((block, after)) = rest.split_at_checked(BLOCK) {
        mix(&mut h, block);
        rest = after;
    }
    let mut last = [0; BLOCK];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    // Less than a block is left.
    last[BLOCK - 1] = rest.len() as u8;
    for (at, bytes) in last.chunks(8).enumerate() {
        h[at] = h[at].wrapping_add(word(bytes));
    }
    for _ in 0..3 {
        end_partial(&mut h);
    }
    h[0]
}

fn mix(h: &mut [u64; 12], block: &[u8]) {
    const TURNS: [u32; 12] = [11, 32, 43, 31, 17, 28, 39, 57, 55, 54, 22, 46];
    for (at, (bytes, turn)) in block.chunks(8).zip(TURNS).enumerate() {
        h[at] = h[at].wrapping_add(word(bytes));
        h[(at + 2) % 12] ^= h[(at + 10) % 12];
        h[(at + 11) % 12] ^= h[at];
        h[at] = h[at].rotate_left(turn);
        h[(at + 11) % 12] = h[(at + 11) % 12].wrapping_add(h[(at + 1) % 12]);
    }
}

fn end_partial(h: &mut [u64; 12]) {
    const TURNS: [u32; 12] = [44, 15, 34, 21, 38, 33, 10, 13, 38, 53, 42, 54];
    for (step, turn) in TURNS.into_iter().enumerate() {
        let at = (step + 1) % 12;
        let before = step_before(step);
        h[before] = h[before].wrapping_add(h[at]);
        h[(step + 2) % 12] ^= h[before];
        h[at] = h[at].rotate_left(turn);
    }
}

fn step_before(step: usize) -> usize {
    (step + 11) % 12
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As ProxySQL installations have printed them in `stats_mysql_query_digest`.
    #[test]
    fn digests_are_those_that_proxysql_prints() {
        for (text, digest) in [
            ("SELECT ?", 0x1C46_AE52_9DD5_A40E),
            ("select ?", 0x1E09_2DAE_FFBB_F262),
            ("show databases", 0x0203_3E45_904D_3DF0),
            ("select USER()", 0x594F_2C74_4B69_8066),
            ("select * from db5.tbl_0", 0x7A34_2865_9E1B_FDC2),
            ("select * from db15.tbl_0", 0xA951_EB38_FA9E_D6A4),
            ("SELECT * FROM testdb.t1", 0x4AEA_B1A1_BBE6_01B2),
            ("SELECT @@HOSTNAME as hostname", 0xF8F7_80C4_7A8D_1D82),
            ("select @@version_comment limit ?", 0x226C_D90D_52A2_BA0B),
            ("INSERT INTO testdb.t1 VALUES(?,?,?)", 0x447D_BFBC_0B48_3620),
            ("UPDATE mydb.object SET text=? WHERE id=?", 0x8666_F6E3_44CE_A089),
        ] {
            assert_eq!(hash64(text.as_bytes()), digest, "{text}");
        }
    }

    /// The results that the author gives for his test: byte `n` of the text is `n + 128`, and the lower half of the hash counts.
    #[test]
    fn texts_of_every_length_have_the_authors_hashes() {
        let text: Vec<u8> = (0..512_usize).map(|n| (n + 128) as u8).collect();
        for (from, hashes) in [
            (
                0,
                [
                    0x6bf5_0919_u32,
                    0x70de_1d26,
                    0xa2b3_7298,
                    0x35bc_5fbf,
                    0x8223_b279,
                    0x5bcb_315e,
                    0x53fe_88a1,
                    0xf9f1_a233,
                ],
            ),
            (
                8,
                [
                    0xee19_3982,
                    0x54f8_6f29,
                    0xc877_2d36,
                    0x9ed6_0886,
                    0x5f23_d1da,
                    0x1ed9_f474,
                    0xf2ef_0c89,
                    0x83ec_01f9,
                ],
            ),
            (
                16,
                [
                    0xf274_736c,
                    0x7e9a_c0df,
                    0xc7ae_d250,
                    0xb101_5811,
                    0xe234_70f5,
                    0x48ac_20c4,
                    0xe2ab_3cd5,
                    0x608f_8363,
                ],
            ),
            (
                504,
                [
                    0x27c2_e04b,
                    0x0b75_23bd,
                    0x0730_5776,
                    0xc6be_7503,
                    0x918f_a7c9,
                    0xaf2e_2cd9,
                    0x8204_6f8e,
                    0xcc1c_8250,
                ],
            ),
        ] {
            for (at, expected) in hashes.into_iter().enumerate() {
                assert_eq!(hash64(&text[..from + at]) as u32, expected, "{}", from + at);
            }
        }
    }
}
