/**
 * Calls a function once a frame while there is something to show. Requests within one frame are one
 * call; the function says whether it wants the next frame too.
 */
export class FrameLoop {
  readonly #draw: (time: number) => boolean;
  #requested = false;

  constructor(draw: (time: number) => boolean) {
    this.#draw = draw;
  }

  /** Makes sure that the next frame is drawn. */
  request(): void {
    if (!this.#requested) {
      this.#requested = true;
      requestAnimationFrame(this.#frame);
    }
  }

  readonly #frame = (time: number): void => {
    this.#requested = false;
    if (this.#draw(time)) {
      this.request();
    }
  };
}
