/**
 * A TextDecoder for the module's glue, which takes it from here: the engine's, or, in a worklet, which
 * has none, a small one that is enough for the valid UTF-8 that the module writes.
 */

class SmallTextDecoder {
  decode(bytes: Uint8Array = new Uint8Array()): string {
    let text = '';
    for (let index = 0; index < bytes.length;) {
      const first = bytes[index]!;
      // The first byte of a character says how many follow: 0xxxxxxx, 110xxxxx, 1110xxxx, 11110xxx.
      const following = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
      let character = following === 0 ? first : first & (0x3f >> following);
      for (let offset = 1; offset <= following; offset += 1) {
        character = (character << 6) | (bytes[index + offset]! & 0x3f);
      }
      text += String.fromCodePoint(character);
      index += 1 + following;
    }
    return text;
  }
}

/** @internal */
export const TextDecoder = globalThis.TextDecoder ?? SmallTextDecoder;
