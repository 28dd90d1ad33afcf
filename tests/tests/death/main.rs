//! Workers that end before any one of their writes, and what whoever reaps them finds.
//!
//! Each scene is played once for every write that its last call does, and the worker ends instead of
//! that write. Then, every time: the dead agent is reaped by another, the arena is proven in order,
//! what living and dead programs had allocated is as it was, nothing else is but what was in flight,
//! all of it can be freed, and the memory can be had again whole.

mod gather;
mod play;
mod scenes;

use play::{Cast, play};
use scenes::{ALL, Scene};
use warena::Config;
use warena_tests::soak;

const CONFIGS: [(&str, Config); 5] = [
    ("full", Config::DEFAULT),
    ("spill-only", Config::SPILL_ONLY),
    ("no-caches", Config::NO_CACHES),
    (
        "small",
        Config {
            cached_orders: 12,
            capacity: 4,
            batch: 2,
            transfer_capacity: 4,
            ..Config::DEFAULT
        },
    ),
    (
        "checking",
        Config {
            quarantine: 3,
            ..Config::CHECKING
        },
    ),
];

/// Plays a scene for every write, of long ones for most, until the worker gets through alive; how many there were.
fn every_write(name: &str, config: Config, scene: &Scene) -> u32 {
    let mut writes = 0;
    while !play(&Cast {
        title: format!("{}, {name}, write {writes}", scene.name),
        config,
        scene,
        dies_at: writes,
        heir_dies_at: None,
    })
    .survived
    {
        // Beyond those that differ, one of every few: in checking mode each unit of a block is written.
        writes += 1 + writes / 100;
    }
    writes
}

#[test]
fn a_worker_may_end_before_any_write() {
    for scene in &ALL {
        let mut writes = Vec::new();
        for (name, config) in CONFIGS {
            writes.push(every_write(name, config, scene));
        }
        println!("{:<34} {writes:?} writes", scene.name);
        assert!(
            writes.iter().sum::<u32>() > 0,
            "{}: there was nothing to die of",
            scene.name
        );
    }
}

#[test]
fn the_one_who_reaps_may_end_as_well() {
    for scene in &ALL {
        for (name, config) in CONFIGS {
            let writes = every_write(name, config, scene);
            // A few deaths of the scene, each reaped by heirs that die at their every write.
            let step = (writes / soak(3) as u32).max(1);
            for dies_at in (0..writes).step_by(step as usize) {
                let mut heir = 0;
                while !play(&Cast {
                    title: format!("{}, {name}, write {dies_at}, heir's {heir}", scene.name),
                    config,
                    scene,
                    dies_at,
                    heir_dies_at: Some(heir),
                })
                .heir_survived
                {
                    // Most of an heir's writes clear and list, one like the other.
                    heir += if heir < 40 { 1 } else { 1 + heir / 16 };
                }
            }
        }
    }
}
