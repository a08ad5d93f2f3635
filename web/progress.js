/** Follows documents being indexed, a few at a time. */

import * as api from "./api.js";
import { pause } from "./follow.js";
import { readFrames } from "./sse.js";

// A browser opens six connections to one server, and the answer needs one of them.
const AT_ONCE = 2;
const AGAIN_MS = 1000;

export const isFinal = (document) => document.status === "ready" || document.status === "failed";

export class Progress {
  #waiting = [];
  #following = new Map();
  #onDocument;

  /** onDocument(document): called with every state a document goes through */
  constructor(onDocument) {
    this.#onDocument = onDocument;
  }

  /** Follows a document until it is ready or failed. Doing it twice changes nothing. */
  follow(id) {
    if (this.#following.has(id) || this.#waiting.includes(id)) return;
    this.#waiting.push(id);
    this.#next();
  }

  forget(id) {
    this.#waiting = this.#waiting.filter((one) => one !== id);
    this.#following.get(id)?.abort();
  }

  stop() {
    this.#waiting = [];
    for (const controller of this.#following.values()) controller.abort();
  }

  #next() {
    while (this.#following.size < AT_ONCE && this.#waiting.length) {
      const id = this.#waiting.shift();
      const controller = new AbortController();
      this.#following.set(id, controller);
      this.#run(id, controller.signal).finally(() => {
        this.#following.delete(id);
        this.#next();
      });
    }
  }

  async #run(id, signal) {
    while (!signal.aborted) {
      try {
        for await (const frame of readFrames(await api.documentEvents(id, signal))) {
          if (!frame.data) continue;
          const event = JSON.parse(frame.data);
          if (this.#take(event.data ?? event)) return;
        }
        // The stream ended without an end of the work, so the server was restarted.
        if (this.#take(await api.getDocument(id))) return;
      } catch (error) {
        if (signal.aborted || error.status === 404) return;
      }
      await pause(AGAIN_MS, signal);
    }
  }

  #take(document) {
    this.#onDocument(document);
    return isFinal(document);
  }
}
