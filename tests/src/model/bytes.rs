//! Scripts out of bytes, as a fuzzer makes them: any bytes are a script, and a changed byte changes
//! one setting or one call.

use super::{Bad, Call, How, Script};
use warena::{Config, MAX_CACHED_ORDERS};

/// Calls of a script at most: longer inputs find nothing more, and take longer.
const CALLS: usize = 400;

impl Script {
    /// The script that these bytes say. Short ones are read as if zeros followed.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut bytes = Bytes(bytes);
        let capacity = 1 + bytes.below(32);
        let batch = 1 + bytes.below(capacity);
        let transfer_capacity = match bytes.below(5) {
            0 => 0,
            batches => batch * batches,
        };
        let config = Config {
            cached_orders: bytes.below(MAX_CACHED_ORDERS + 1),
            capacity,
            batch,
            transfer_capacity,
            max_workers: 1 + bytes.below(4),
            max_chunks: 1 + bytes.below(8),
            ..Config::DEFAULT
        };
        let chunks = 1 + u64::from(bytes.below(8));
        let mut calls = Vec::new();
        while !bytes.0.is_empty() && calls.len() < CALLS {
            calls.push(bytes.call());
        }
        Self {
            config,
            chunks,
            calls,
        }
    }
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    fn below(&mut self, end: u32) -> u32 {
        u32::from(self.byte()) % end
    }

    fn word(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    /// A size: mostly an order and how much less than its block, so that one byte decides each.
    fn size(&mut self) -> usize {
        let kind = self.byte();
        let less = usize::from(self.byte());
        match kind {
            0 => less,
            1 => [0xfff0_0000, 0xfff0_0001, 1 << 32, usize::MAX][less % 4],
            2..20 => ((less % 4 + 1) << 20) - usize::from(kind) + 2,
            _ => {
                let block = 16_usize << (kind % 16);
                block - less % block.min(256)
            }
        }
    }

    fn call(&mut self) -> Call {
        let kind = self.byte();
        let worker = usize::from(kind >> 6);
        match kind & 63 {
            0..24 => Call::Alloc {
                worker,
                how: match kind & 7 {
                    0..=3 => How::Plain,
                    4 => How::Zeroed,
                    5 => How::Aligned(self.below(22)),
                    6 => How::NoGrow,
                    _ => How::NoWait,
                },
                size: self.size(),
            },
            24..28 => Call::AllocBulk {
                worker,
                n_order: self.below(8),
                grow: kind & 1 == 0,
                size: self.size(),
            },
            28..42 => Call::Free {
                worker,
                object: self.byte().into(),
                nowait: kind & 1 == 0,
            },
            42..45 => Call::FreeBulk {
                worker,
                first: self.byte().into(),
                count: self.below(100) as usize,
                twice: kind & 1 == 0,
            },
            45..50 => Call::FreeBad {
                worker,
                object: self.byte().into(),
                bad: match kind & 63 {
                    45 => Bad::Freed,
                    46 => Bad::Interior(self.byte()),
                    47 => Bad::Unaligned(1 + self.below(15) as usize),
                    48 => Bad::Anywhere(self.word() % (10 << 20)),
                    _ => Bad::Null,
                },
            },
            50..56 => Call::Realloc {
                worker,
                object: self.byte().into(),
                size: self.size(),
            },
            56..58 => Call::Reserve {
                worker,
                count: self.below(40) as usize,
                size: self.size(),
            },
            58..60 => Call::Flush { worker },
            60 => Call::Grow {
                count: self.below(4),
            },
            61..63 => Call::Attach,
            _ => Call::Detach { worker },
        }
    }
}
