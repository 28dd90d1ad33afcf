/**
 * A test of the package's types: compiled, strictly, against what is shipped, and never run. Each
 * `@ts-expect-error` is a use that must not compile.
 */
import { Arena, ArenaError, BlockState, blockOrder, blockState } from 'warena';
import type {
  ArenaErrorCode,
  ArenaHandle,
  ArenaObject,
  ArenaOptions,
  BulkRefusal,
  BlockStateNumber,
  ChunkSnapshot,
  HugeSnapshot,
  NodeWorker,
  OrderStats,
  ReapReport,
  Reaped,
  Snapshot,
  Stats,
  Verification,
  WorkerSnapshot,
} from 'warena';

/** Compiles when both types are the very same. */
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_is: Same<A, B>): void {}

export async function calls(): Promise<void> {
  const options: ArenaOptions = { maximumBytes: 1 << 26, capacity: 8 };
  const arena = await Arena.create(options);
  await Arena.create();
  // @ts-expect-error: no such option
  await Arena.create({ maxBytes: 1 });
  // @ts-expect-error: an option is a number
  await Arena.create({ capacity: '8' });
  // @ts-expect-error: made by create or attach only
  new Arena();

  const pointer: number = arena.alloc(100);
  // @ts-expect-error: a size is a number
  arena.alloc('100');
  same<ReturnType<Arena['free']>, void>(true);
  arena.free(pointer);
  // @ts-expect-error: a pointer is a number
  arena.free(null);
  const bytes: Uint8Array = arena.u8(pointer, 100);
  bytes.fill(0);

  const grown: number = arena.realloc(arena.allocZeroed(100), 200);
  const aligned: number = arena.allocAligned(100, 4096);
  // @ts-expect-error: an alignment must be given
  arena.allocAligned(100);
  arena.reserve(64, 8);
  arena.freeNowait(arena.allocNowait(64));
  arena.free(arena.allocNogrow(arena.usableSize(aligned)));
  const objects: Uint32Array<ArrayBuffer> = arena.allocBulk(64, 8);
  const refusals: BulkRefusal[] = arena.freeBulk([grown, aligned]).concat(arena.freeBulk(objects));
  same<BulkRefusal['error'], ArenaError>(true);
  // @ts-expect-error: pointers are numbers
  arena.freeBulk(['16']);
  same<ReturnType<Arena['owns']>, boolean>(true);
  same<ReturnType<Arena['flush']>, void>(true);
  const chunks: number = arena.grow(refusals.length);
  await Arena.create({ maximumChunks: chunks });

  const handle: ArenaHandle = arena.handle();
  await Arena.attach(structuredClone(handle));
  // @ts-expect-error: an arena is not its handle
  await Arena.attach(arena);
  // @ts-expect-error: nothing in a handle is to be changed
  handle.address = 0;

  const stats: Stats = arena.stats();
  same<Stats['freeBytes'], number>(true);
  const order: OrderStats | undefined = stats.orders[3];
  same<OrderStats[keyof OrderStats], number>(true);
  const verification: Verification = arena.verify();
  same<typeof verification.allocatedObjects, number>(true);
  same<typeof order, Stats['orders'][number] | undefined>(true);
  same<Arena['memory'], WebAssembly.Memory>(true);
  // @ts-expect-error: read only
  arena.slot = 1;
  arena.detach();
}

export async function deaths(arena: Arena, worker: NodeWorker): Promise<number> {
  arena.watch(worker);
  // @ts-expect-error: a thread has a number, and says when it ends
  arena.watch({});
  const end: () => void = arena.on('reap', ({ agent, slots }: ReapReport) => void (agent + slots));
  // @ts-expect-error: there is no such event
  arena.on('alloc', end);
  const found: Reaped = await arena.reap(3);
  const answer: () => void = await arena.vouch(4);
  answer();
  end();
  let bytes = found.bytes;
  for (const object of arena.objects()) {
    same<typeof object, ArenaObject>(true);
    bytes += object.bytes;
  }
  return bytes;
}

export function snapshots(arena: Arena, earlier: Snapshot): number {
  const snapshot: Snapshot = arena.snapshot(earlier);
  const chunk: ChunkSnapshot | undefined = snapshot.chunks[0];
  const huge: HugeSnapshot | undefined = snapshot.huge[0];
  const worker: WorkerSnapshot | undefined = snapshot.workers[0];
  // A copy: what takes no shared views takes this.
  const map: Uint8Array<ArrayBuffer> | undefined = chunk?.map;
  const byte = map?.[0] ?? 0;
  const state: BlockStateNumber = blockState(byte);
  const order: number = blockOrder(byte);
  if (state === BlockState.Zeroed || huge?.deferred) {
    return huge?.chunks ?? 0;
  }
  return state === BlockState.Cached ? order : (worker?.fill[order] ?? 0);
}

export function errors(error: unknown): ArenaErrorCode | undefined {
  if (!(error instanceof ArenaError)) {
    return undefined;
  }
  same<typeof error.pointer, number | undefined>(true);
  // @ts-expect-error: there is no such code
  if (error.code === 'Forbidden') {
    return undefined;
  }
  return error.code === 'DoubleFree' ? 'NotAllocated' : error.code;
}
