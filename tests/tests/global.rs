//! A program whose global allocator is Warena: everything that it allocates, the standard library's
//! part included, comes from the heap under test. After each check only the main thread runs, and
//! the heap is proved.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::process::Command;
use std::sync::mpsc;
use std::sync::{Arc, Barrier};
use std::thread;
use warena::{Config, Global};

const MAXIMUM_BYTES: u64 = 512 << 20;
const SEATS: u32 = 16;

#[global_allocator]
static HEAP: Global = Global::with(Config {
    max_workers: SEATS,
    ..Config::DEFAULT
})
.maximum_bytes(MAXIMUM_BYTES);

type Check = (&'static str, fn());

const CHECKS: [Check; 11] = [
    ("collections keep what they are given", collections),
    (
        "what one thread allocates another frees",
        cross_thread_frees,
    ),
    ("ten thousand threads leave nothing", many_threads),
    (
        "more threads than seats are served",
        more_threads_than_seats,
    ),
    (
        "frees behind a thread's end are served",
        frees_behind_the_end,
    ),
    ("every size and alignment fits", shapes),
    ("zeroed memory is zero, used before or not", zeroed),
    ("resizing keeps the bytes", resizing),
    (
        "a size that the caller states wrong harms nobody",
        wrong_sizes,
    ),
    ("out of memory is an answer", out_of_memory),
    ("a wrong free changes nothing", wrong_free),
];

/// The argument by which this program starts itself to make a mistake.
const MISTAKE: &str = "free-twice";

fn main() {
    if std::env::args().any(|argument| argument == MISTAKE) {
        free_twice();
        return;
    }
    for (name, check) in CHECKS {
        check();
        prove();
        println!("ok: {name}");
    }
    assert_eq!(Global::refused(), 0);
}

/// Proves every arena of the heap.
fn prove() {
    for arena in Global::arenas() {
        arena.verify().unwrap();
    }
    assert_eq!(Global::arenas().count(), 1, "nobody found the heap locked");
}

/// Objects in the program's hands, their bytes, and bytes owned.
fn held() -> (u64, u64, u64) {
    let arena = Global::arena().unwrap();
    let found = arena.verify().unwrap();
    let stats = arena.stats();
    (
        found.allocated_objects,
        stats.allocated_bytes,
        stats.owned_bytes,
    )
}

fn collections() {
    let mut table = HashMap::new();
    let mut tree = BTreeMap::new();
    for round in 0..20_000_u64 {
        let text = format!("{round:>width$}", width = (round % 300) as usize);
        tree.insert(round.wrapping_mul(0x9e37_79b9_7f4a_7c15), text.clone());
        table.insert(text, vec![round; (round % 70) as usize]);
        if round % 3 == 0 {
            tree.pop_first();
        }
    }
    for (text, numbers) in &table {
        let round: u64 = text.trim().parse().unwrap();
        assert_eq!(numbers.len() as u64, round % 70);
        assert!(numbers.iter().all(|&number| number == round));
    }
    assert!(tree.iter().all(|(key, text)| {
        let round: u64 = text.trim().parse().unwrap();
        *key == round.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }));
}

fn cross_thread_frees() {
    const THREADS: u8 = 4;
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..THREADS).map(|_| mpsc::sync_channel(64)).unzip();
    let started = Arc::new(Barrier::new(THREADS.into()));
    let threads = receivers.into_iter().zip(0..).map(|(receiver, own)| {
        let next = senders[usize::from((own + 1) % THREADS)].clone();
        let started = Arc::clone(&started);
        thread::spawn(move || {
            started.wait();
            for round in 0..5_000_usize {
                let sent = (own, vec![own; 1 + round * 37 % 9_000].into_boxed_slice());
                next.send(sent).unwrap();
                let (owner, bytes): (u8, Box<[u8]>) = receiver.recv().unwrap();
                assert!(bytes.iter().all(|&byte| byte == owner));
            }
        })
    });
    let threads: Vec<_> = threads.collect();
    drop(senders);
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Runs that many threads, a few at a time, each of which allocates and frees a little.
fn short_threads(count: usize) {
    const AT_ONCE: usize = 8;
    for _ in 0..count / AT_ONCE {
        let threads: [_; AT_ONCE] = std::array::from_fn(|index| {
            thread::spawn(move || {
                let texts: Vec<_> = (0..20).map(|text| format!("{index} {text}")).collect();
                texts.concat().len()
            })
        });
        for thread in threads {
            assert!(thread.join().unwrap() > 0);
        }
    }
}

fn many_threads() {
    short_threads(200);
    let (before, seats) = (held(), Global::arena().unwrap().stats().workers);
    assert_eq!(seats, 1, "only the main thread has a seat");
    short_threads(10_000);
    assert_eq!(held(), before);
    assert_eq!(Global::arena().unwrap().stats().workers, seats);
}

fn more_threads_than_seats() {
    let all = Arc::new(Barrier::new(4 * SEATS as usize + 1));
    let threads: Vec<_> = (0..4 * SEATS)
        .map(|index| {
            let all = Arc::clone(&all);
            thread::spawn(move || {
                all.wait();
                for round in 0..200 {
                    let numbers = vec![index; 1 + round % 50];
                    assert!(numbers.iter().all(|&number| number == index));
                }
                // Those that have no seat keep none from the others.
                all.wait();
            })
        })
        .collect();
    all.wait();
    all.wait();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(Global::arena().unwrap().stats().workers, 1);
}

/// A value that is dropped, and allocates, while its thread ends.
struct Last(Box<str>);

impl Drop for Last {
    fn drop(&mut self) {
        let again = format!("{} and again", self.0);
        assert!(again.ends_with("again"));
    }
}

fn frees_behind_the_end() {
    thread_local! {
        // Made by the thread's very first statement, so that it is dropped behind what came later.
        static LAST: std::cell::RefCell<Vec<Last>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    let run = || {
        thread::spawn(|| {
            LAST.with_borrow_mut(|last| last.push(Last("once".into())));
            let stack = vec![0_u8; 2 << 20];
            LAST.with_borrow_mut(|last| last.push(Last("twice".into())));
            stack
        })
        .join()
        .unwrap()
    };
    run();
    let before = held();
    for _ in 0..100 {
        // What the thread allocated, and outlives it, is freed here.
        drop(run());
    }
    assert_eq!(held(), before);
}

fn shapes() {
    for shift in 0..=20 {
        let alignment = 1_usize << shift;
        let sizes = [
            1,
            alignment / 2,
            alignment - 1,
            alignment,
            alignment + 1,
            3 * alignment,
        ];
        for size in sizes.into_iter().filter(|&size| size > 0) {
            let layout = Layout::from_size_align(size, alignment).unwrap();
            // SAFETY: the size is not 0; blocks are freed once, with their layout.
            unsafe {
                let blocks: [_; 3] = std::array::from_fn(|_| black_box(alloc(layout)));
                for (mark, block) in (1..).zip(blocks) {
                    assert!(!block.is_null(), "{layout:?}");
                    assert_eq!(block.addr() % alignment, 0, "{layout:?}");
                    block.write_bytes(mark, size);
                }
                for (mark, block) in (1..).zip(blocks) {
                    assert_eq!([block.read(), block.add(size - 1).read()], [mark; 2]);
                    dealloc(block, layout);
                }
            }
        }
    }
    // An alignment that no block has is refused, not missed.
    let layout = Layout::from_size_align(1, 2 << 20).unwrap();
    // SAFETY: the size is not 0.
    let block = unsafe { alloc(layout) };
    // An allocation that nobody looks at may be left out, and then succeeds.
    assert!(black_box(block).is_null());
}

fn zeroed() {
    for size in [1, 24, 2_000, 5_000, 300_000, 3 << 20] {
        for alignment in [1, 64, 4_096] {
            let layout = Layout::from_size_align(size, alignment).unwrap();
            for _ in 0..3 {
                // SAFETY: the size is not 0; the block is freed once, with its layout.
                unsafe {
                    let block = black_box(alloc_zeroed(layout));
                    let bytes = std::slice::from_raw_parts_mut(block, size);
                    assert!(bytes.iter().all(|&byte| byte == 0), "{layout:?}");
                    bytes.fill(0xa5);
                    dealloc(block, layout);
                }
            }
        }
    }
}

fn resizing() {
    for alignment in [1, 64, 4_096, 1 << 20] {
        let mut layout = Layout::from_size_align(40, alignment).unwrap();
        // SAFETY: the size is not 0; each block is resized or freed once, with its layout.
        unsafe {
            let mut block = black_box(alloc(layout));
            for index in 0..40 {
                block.add(index).write(index as u8);
            }
            for size in [
                41,
                100,
                64,
                5_000,
                90_000,
                700_000,
                3 << 20,
                90_000,
                2 << 20,
                50,
                40,
            ] {
                block = black_box(realloc(block, layout, size));
                layout = Layout::from_size_align(size, alignment).unwrap();
                assert_eq!(block.addr() % alignment, 0, "{layout:?}");
                block.add(size - 1).write(39 * u8::from(size == 40));
                assert!((0..40).all(|index| block.add(index).read() == index as u8));
            }
            dealloc(block, layout);
        }
    }
    let before = held();
    for _ in 0..10_000 {
        let mut numbers = Vec::new();
        numbers.extend(0..100_u32);
        numbers.shrink_to(10);
        assert_eq!(numbers[99], 99);
    }
    assert_eq!(held(), before);
}

fn wrong_sizes() {
    let before = held();
    for (size, stated) in [
        (387_646, 137_198),
        (100, 16),
        (100, 5_000),
        (16, 3 << 20),
        (3 << 20, 16),
    ] {
        let layouts = [size, stated].map(|size| Layout::from_size_align(size, 1).unwrap());
        // SAFETY: the heap under test promises not to trust the size that it is told.
        unsafe {
            let neighbours: [_; 2] = std::array::from_fn(|_| black_box(alloc(layouts[0])));
            neighbours[1].write_bytes(7, size);
            dealloc(neighbours[0], layouts[1]);
            assert_eq!(neighbours[1].add(size - 1).read(), 7);
            dealloc(neighbours[1], layouts[1]);
        }
    }
    assert_eq!(held(), before);
}

fn out_of_memory() {
    let mut bytes = Vec::<u8>::new();
    assert!(bytes.try_reserve(isize::MAX as usize).is_err());
    assert!(bytes.try_reserve(MAXIMUM_BYTES as usize).is_err());
    // Piece by piece, until no piece is left.
    let mut pieces = Vec::with_capacity(1 << 12);
    while bytes.try_reserve_exact(400_000).is_ok() {
        pieces.push(std::mem::take(&mut bytes));
    }
    assert!(pieces.len() as u64 * 400_000 > MAXIMUM_BYTES / 3);
    drop(pieces);
    bytes.try_reserve(MAXIMUM_BYTES as usize / 4).unwrap();
}

fn free_twice() {
    let layout = Layout::new::<[u64; 8]>();
    // SAFETY: not at all: the second free is the mistake, which the heap under test survives.
    unsafe {
        let block = alloc(layout);
        println!("{block:p}");
        dealloc(black_box(block), layout);
        dealloc(black_box(block), layout);
    }
    assert_eq!(Global::refused(), 1);
    prove();
}

fn wrong_free() {
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program).arg(MISTAKE).output().unwrap();
    let pointer = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    if cfg!(debug_assertions) {
        assert!(!output.status.success());
        assert!(
            said.contains(pointer.trim()) && said.contains("double free"),
            "{said}"
        );
    } else {
        assert!(output.status.success(), "{said}");
    }
}
