/** Turns the settings into the work of each producer. */
import type { Work } from '../workers/protocol.ts';
import { Exchange } from './exchange.ts';
import { ObjectList } from './object_list.ts';
import type { Settings } from './settings.ts';
import { compileTrace, type Trace } from './trace.ts';
import type { TraceName } from './trace_catalogue.ts';

/** The work of worker 0, 1, …; `load` is asked for the trace if one is to be replayed. */
export async function divideWork(
  settings: Settings,
  load: (name: TraceName) => Promise<Trace>,
): Promise<Work[]> {
  const { workload, workers, objects, size } = settings;
  const bytes = size === 'mixed' ? undefined : size;
  switch (workload) {
    case 'malloc-free':
      return Array.from({ length: workers }, () => ({
        kind: workload,
        objects,
        bytes,
        held: ObjectList.makeRoom(objects),
      }));
    case 'malloc-xfree': {
      const exchange = Exchange.makeRoom(workers, objects);
      return Array.from({ length: workers }, () => ({
        kind: workload,
        objects,
        bytes,
        exchange,
        workers,
      }));
    }
    case 'trace': {
      const trace = await load(settings.trace);
      const programs = compileTrace(trace, workers, settings.share === 'copies');
      return programs.map((program) => ({ kind: workload, objects, program }));
    }
  }
}
