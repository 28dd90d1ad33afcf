/**
 * A producer: the module that runs in each Web Worker. It takes its slot in the arena and runs the
 * work it is assigned until the control block says stop. It allocates and frees through the
 * package, as any program would.
 */
import { Arena } from 'warena';
import { ControlBlock } from '../model/control_block.ts';
import { reportError } from '../model/error_report.ts';
import { Exchange } from '../model/exchange.ts';
import { ObjectList } from '../model/object_list.ts';
import { MallocFree } from './malloc_free.ts';
import { MallocXfree } from './malloc_xfree.ts';
import { Pacer } from './pacer.ts';
import type { Command, Reply, Request, Work } from './protocol.ts';
import { StampedArena } from './stamped_arena.ts';
import { TraceReplay } from './trace_replay.ts';
import { sizes, type Ground, type Workload } from './workload.ts';

class Producer {
  readonly slot: number;
  readonly #arena: Arena;
  readonly #ground: Ground;
  #workload: Workload | undefined;

  constructor(arena: Arena, control: ControlBlock, worker: number) {
    this.#arena = arena;
    this.slot = arena.slot;
    const stamped = new StampedArena(arena, worker, control, answer);
    this.#ground = {
      arena: stamped,
      control,
      pacer: new Pacer(control, () => stamped.publish()),
    };
  }

  assign(work: Work): void {
    this.#workload = makeWorkload(this.#ground, work);
  }

  run(cycles: number): void {
    const { arena, control, pacer } = this.#ground;
    try {
      for (let cycle = 0; cycle < cycles && control.running; cycle += 1) {
        pacer.refresh();
        if (!this.#workload?.cycle()) {
          break;
        }
        arena.tally.cycles += 1;
        arena.publish();
      }
    } finally {
      arena.publish();
    }
  }

  release(): void {
    this.#workload?.release();
    this.#ground.arena.publish();
  }

  detach(): void {
    this.#arena.detach();
  }
}

function makeWorkload(ground: Ground, work: Work): Workload {
  const { worker } = ground.arena;
  switch (work.kind) {
    case 'malloc-free': {
      const held = ObjectList.in(work.held);
      return new MallocFree(ground, work.objects, sizes(work.bytes, worker), held);
    }
    case 'malloc-xfree': {
      const exchange = new Exchange(work.exchange, work.workers, work.objects);
      return new MallocXfree(ground, exchange, sizes(work.bytes, worker));
    }
    case 'trace':
      return new TraceReplay(ground, work.program, work.objects);
  }
}

let producer: Producer | undefined;

async function obey(command: Command): Promise<Producer> {
  if (command.do === 'attach') {
    const arena = await Arena.attach(command.handle);
    producer = new Producer(arena, new ControlBlock(command.control), command.worker);
    return producer;
  }
  if (producer === undefined) {
    throw new Error(`the worker was told to ${command.do} before it was attached to an arena`);
  }
  switch (command.do) {
    case 'assign':
      producer.assign(command.work);
      break;
    case 'run':
      producer.run(command.cycles);
      break;
    case 'release':
      producer.release();
      break;
    case 'detach':
      producer.detach();
      break;
  }
  return producer;
}

function answer(reply: Reply): void {
  self.postMessage(reply);
}

self.addEventListener('message', async ({ data }: MessageEvent<Request>) => {
  try {
    const { slot } = await obey(data.command);
    answer({ say: 'done', id: data.id, slot });
  } catch (error) {
    answer({ say: 'failed', id: data.id, error: reportError(error) });
  }
});
