/** Asks again whenever the wish changes, and lets only the answer to the last wish count. */

const REST_MS = 300; // of the fingers, before a wish counts

export class Latest {
  #ask;
  #onAnswer;
  #onError;
  #clock;
  #timer = null;
  #controller = null;

  /**
   * ask(wish, signal): promise; onAnswer(answer, wish), onError(error, wish): of the last wish only.
   * Some answers come although they were aborted, or behind a later one: they are dropped too.
   * @param {{set: typeof setTimeout, clear: typeof clearTimeout}} clock
   */
  constructor({ ask, onAnswer, onError, clock = { set: setTimeout.bind(globalThis), clear: clearTimeout.bind(globalThis) } }) {
    this.#ask = ask;
    this.#onAnswer = onAnswer;
    this.#onError = onError;
    this.#clock = clock;
  }

  /** Asks once nothing new has been wished for a moment. */
  soon(wish) {
    this.#clock.clear(this.#timer);
    this.#timer = this.#clock.set(() => this.now(wish), REST_MS);
  }

  /** Asks at once. What was asked before does not count any more. */
  async now(wish) {
    this.stop();
    const controller = new AbortController();
    this.#controller = controller;
    try {
      const answer = await this.#ask(wish, controller.signal);
      if (this.#controller === controller) this.#onAnswer(answer, wish);
    } catch (error) {
      if (this.#controller === controller) this.#onError(error, wish);
    }
  }

  /** Nothing is wished any more. */
  stop() {
    this.#clock.clear(this.#timer);
    this.#controller?.abort();
    this.#controller = null;
  }
}
