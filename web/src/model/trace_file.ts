/**
 * Loads a trace over HTTP and unpacks it in the page.
 *
 * Some servers send a `.gz` file with `Content-Encoding: gzip`, and the browser has unpacked it
 * before the page sees it; others send it as it is. The first two bytes tell which.
 */
import { parseTrace, type Trace } from './trace.ts';

const GZIP_MAGIC = [0x1f, 0x8b];

/** The bytes of a file that may or may not be gzip-compressed still. */
export async function unpack(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  if (!GZIP_MAGIC.every((byte, index) => bytes[index] === byte)) {
    return bytes;
  }
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(unpacked).arrayBuffer());
}

/** Fetches and reads the trace at `url`. */
export async function loadTrace(url: string): Promise<Trace> {
  const response = await fetch(url);
  if (!response.ok) {
    throw new Error(`the trace ${url} could not be loaded: HTTP ${response.status}`);
  }
  return parseTrace(await unpack(new Uint8Array(await response.arrayBuffer())));
}
