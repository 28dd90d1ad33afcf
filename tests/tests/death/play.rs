//! Playing a scene to its end, and what must hold then.

use crate::scenes::{Actor, Scene};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use warena::{
    Arena, BlockState, ChunkSource, Config, Death, ReapError, Reaped, agent_number, die_at,
};
use warena_tests::{Extent, GatedSource, Object, arena, prove, prove_idle};

/// Chunks of a memory, the first of which is never handed out.
const CHUNKS: u32 = 8;

/// A scene with the deaths of its workers.
pub struct Cast<'a> {
    pub title: String,
    pub config: Config,
    pub scene: &'a Scene,
    /// The write that the worker ends instead of.
    pub dies_at: u32,
    /// The same of a first one who reaps it.
    pub heir_dies_at: Option<u32>,
}

/// Who lived to the end.
pub struct Outcome {
    pub survived: bool,
    pub heir_survived: bool,
}

thread_local! {
    static ARENA: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
}

/// The arena of the scene that this thread plays.
pub fn arena_of<'a>(_: &Actor<'a>) -> &'a Arena<&'a GatedSource> {
    // SAFETY: set to an arena that outlives the thread's scene.
    unsafe { &*ARENA.get().cast() }
}

/// Runs `act` as an agent that ends at the write of that number; whether it got through.
fn mortal(dies_at: u32, act: impl FnOnce()) -> bool {
    die_at(Some(dies_at));
    let result = catch_unwind(AssertUnwindSafe(act));
    match result {
        Ok(()) => true,
        Err(end) if end.is::<Death>() => false,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// What the worker left: its number, what its program knows of, whether it lived.
type Left = (u32, Vec<Object>, bool);

fn act(cast: &Cast<'_>, arena: &Arena<&GatedSource>) -> Left {
    ARENA.set(std::ptr::from_ref(arena).cast());
    let worker = ManuallyDrop::new(arena.attach().unwrap());
    let mut objects = Vec::new();
    (cast.scene.before)(&worker, &mut objects);
    let survived = mortal(cast.dies_at, || (cast.scene.act)(&worker, &mut objects));
    (agent_number(), objects, survived)
}

/// Plays the scene; panics with its title when something is wrong.
pub fn play(cast: &Cast<'_>) -> Outcome {
    let result = catch_unwind(AssertUnwindSafe(|| played(cast)));
    result.unwrap_or_else(|panic| {
        eprintln!("in: {}", cast.title);
        std::panic::resume_unwind(panic)
    })
}

fn played(cast: &Cast<'_>) -> Outcome {
    let source = GatedSource::new(u64::from(CHUNKS) << 20);
    let arena = arena(&source, cast.config);
    let keeper = arena.attach().unwrap();
    let mut mine: Vec<_> = [64, 64, 3000, 100_000]
        .map(|size| Object::alloc(&keeper, size, 77, Extent::Ends).unwrap())
        .into();
    let on_its_own_thread = || {
        std::thread::scope(|scope| {
            let actor = scope.spawn(|| act(cast, &arena));
            actor
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    };
    let (agent, theirs, survived) = if cast.scene.locked {
        while_locked(cast, &source, &arena)
    } else {
        on_its_own_thread()
    };
    let heir = cast.heir_dies_at.map(|dies_at| {
        std::thread::scope(|scope| {
            let heir = scope.spawn(|| {
                // SAFETY: the agent's thread has ended.
                let lived = mortal(dies_at, || unsafe {
                    arena.reap_agent(agent).unwrap();
                });
                (agent_number(), lived)
            });
            heir.join().unwrap()
        })
    });
    // Others go on with what they can reach, before all of it is done.
    for stamp in 0..24 {
        if let Ok(pointer) = keeper.alloc_nowait(64) {
            // SAFETY: just allocated.
            mine.push(unsafe { Object::adopt(pointer, 64, stamp, Extent::Ends) });
        }
    }
    if let Some((heir, _)) = heir {
        // SAFETY: its thread has ended too.
        unsafe { arena.reap_agent(heir) }.unwrap();
    }
    // SAFETY: the agent's thread has ended.
    let reap = || unsafe { arena.reap_agent(agent) };
    let reaped = reap().unwrap();
    prove(&arena);
    assert_eq!(reap(), Ok(Reaped::default()), "a second time");
    assert!(reaped.slots <= 3);
    let slots = (0..)
        .take_while(|&slot| arena.slot_stats(slot).is_some())
        .count();
    let next = arena.attach().unwrap();
    assert!((next.slot() as usize) < slots, "a seat is lost");
    drop(next);
    assert_eq!(
        // SAFETY: refused, since this agent lives.
        unsafe { arena.reap_agent(agent_number()) },
        Err(ReapError::Live)
    );

    let address = |object: &Object| source.memory().address(object.pointer()).unwrap();
    let known: BTreeSet<u32> = mine.iter().chain(&theirs).map(address).collect();
    let allocated: BTreeSet<u32> = arena
        .snapshot()
        .filter(|block| block.state == BlockState::Allocated)
        .map(|block| block.address)
        .collect();
    mine.iter().chain(&theirs).for_each(Object::check);
    assert!(allocated.is_superset(&known), "an object is lost");
    let unknown: Vec<u32> = allocated.difference(&known).copied().collect();
    assert!(
        unknown.len() <= cast.scene.in_flight,
        "{unknown:x?} are nobody's"
    );

    for object in mine.into_iter().chain(theirs) {
        object.free(&keeper);
    }
    for &address in &unknown {
        keeper.free(source.memory().pointer(address)).unwrap();
    }
    drop(keeper);
    assert_eq!(arena.damage(), None);
    prove_idle(&arena);
    // SAFETY: nobody is attached, and nothing is used any more.
    unsafe { arena.destroy() }.unwrap();
    prove_whole(cast, &source);
    Outcome {
        survived,
        heir_survived: heir.is_none_or(|(_, lived)| lived),
    }
}

/// The scene while another agent, which lives on, holds the heap lock. Once that one has let go the
/// dead is reaped.
fn while_locked(cast: &Cast<'_>, source: &GatedSource, arena: &Arena<&GatedSource>) -> Left {
    let mut left = None;
    let (ready, wait_for_ready) = std::sync::mpsc::channel();
    let (go, wait_for_go) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let actor = scope.spawn(move || {
            ARENA.set(std::ptr::from_ref(arena).cast());
            let worker = ManuallyDrop::new(arena.attach().unwrap());
            let mut objects = Vec::new();
            (cast.scene.before)(&worker, &mut objects);
            ready.send(()).unwrap();
            wait_for_go.recv().unwrap();
            let survived = mortal(cast.dies_at, || (cast.scene.act)(&worker, &mut objects));
            (agent_number(), objects, survived)
        });
        wait_for_ready.recv().unwrap();
        source.while_locked(arena, || {
            go.send(()).unwrap();
            left = Some(actor.join().unwrap());
        });
    });
    left.unwrap()
}

/// All of the memory can be had at once: no page was lost. But for those that an agent had just
/// grown the memory by, and not noted yet: nobody can tell them from what others grow.
fn prove_whole(cast: &Cast<'_>, source: &GatedSource) {
    let there = (0..CHUNKS).map_while(|_| source.acquire(1, 0)).count() as u32;
    // The largest such growth of a scene is for a run of three, and need not be aligned.
    let most_lost = if cast.scene.grows { 4 } else { 0 };
    assert!(there + most_lost >= CHUNKS - 1, "{there} chunks are left");
}
