/**
 * What the page and a producer's worker say to each other. The page sends a request, the worker
 * answers each once; in between it may send notes. While it runs it reads no message: the control
 * block steers it then.
 */
import type { ArenaHandle } from 'warena';
import type { Program } from '../model/trace.ts';
import type { ErrorReport } from '../model/error_report.ts';

/**
 * The work of one producer, as plain data. `bytes` is undefined for sizes drawn anew. The objects that
 * the producer holds are noted in the work's shared memory (`held`, `exchange`, the program's table),
 * where they can be found when the producer is no more.
 */
export type Work =
  | { kind: 'malloc-free'; objects: number; bytes: number | undefined; held: SharedArrayBuffer }
  | {
      kind: 'malloc-xfree';
      objects: number;
      bytes: number | undefined;
      exchange: SharedArrayBuffer;
      workers: number;
    }
  | { kind: 'trace'; objects: number; program: Program };

export type Command =
  /** Takes a slot in the arena. */
  | { do: 'attach'; handle: ArenaHandle; control: SharedArrayBuffer; worker: number }
  /** Sets the work; whatever the work before held must have been released. */
  | { do: 'assign'; work: Work }
  /** Runs until the control block says stop, or for so many cycles. */
  | { do: 'run'; cycles: number }
  /** Frees whatever the work holds. */
  | { do: 'release' }
  /** Gives the slot back; the worker can be terminated afterwards. */
  | { do: 'detach' };

export interface Request {
  id: number;
  command: Command;
}

export type Reply =
  /** The command of request `id` is done; `slot` is the worker's slot in the arena. */
  | { say: 'done'; id: number; slot: number }
  /** It failed. */
  | { say: 'failed'; id: number; error: ErrorReport }
  /** Something that the person at the page must see, while the worker goes on. */
  | { say: 'note'; kind: 'out-of-memory' | 'violation'; text: string };
