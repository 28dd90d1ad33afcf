/** What a worker does in a scene, with everything that it holds entered in its ledger. */
import { Arena } from 'warena';
import { check, stamp } from './stamp.mjs';

export class Hands {
  #ledger;
  #control;
  #handle;
  #marks = 1;
  #seats = [];

  constructor({ ledger, control, handle }) {
    this.#ledger = ledger;
    this.#control = control;
    this.#handle = handle;
  }

  /** The seat that it took last. */
  get arena() {
    return this.#seats.at(-1);
  }

  async attach() {
    this.#seats.push(await Arena.attach(this.#handle));
    this.#control.set('slot', this.#seats[0].slot);
    this.#control.set('seats', this.#seats.length);
  }

  /** Gives up the seat that it took last. */
  detach() {
    // Beforehand: whoever dies in the middle may have given it up.
    this.#control.set('seats', this.#seats.length - 1);
    this.arena.detach();
    this.#seats.pop();
  }

  leave() {
    while (this.#seats.length > 0) {
      this.detach();
    }
  }

  alloc(...sizes) {
    sizes.forEach((bytes) => this.enter(this.arena.alloc(bytes), bytes));
  }

  enter(pointer, bytes) {
    const object = { pointer, bytes, mark: (this.#marks += 1) };
    stamp(this.arena, object);
    this.#ledger.enter(object);
  }

  free(object, call = (pointer) => this.arena.free(pointer)) {
    check(this.arena, object);
    this.#ledger.leave(object);
    call(object.pointer);
    this.#ledger.left();
  }

  freeAll(call) {
    this.#ledger.objects().forEach((object) => this.free(object, call));
  }

  freeHalf() {
    this.#ledger
      .objects()
      .filter((_, index) => index % 2 === 0)
      .forEach((object) => this.free(object));
  }

  /** Resizes the objects that it holds, one after the other. */
  resize(...sizes) {
    const objects = this.#ledger.objects();
    sizes.forEach((bytes, index) => {
      const object = objects[index];
      this.#ledger.leave(object);
      this.enter(this.arena.realloc(object.pointer, bytes), bytes);
      this.#ledger.left();
    });
  }

  freeBulk() {
    const objects = this.#ledger.objects().slice(0, 8);
    this.#ledger.leave(...objects);
    this.arena.freeBulk(objects.map(({ pointer }) => pointer));
    this.#ledger.left();
  }
}
