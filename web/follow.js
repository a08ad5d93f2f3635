/** One run's events, each exactly once and in order, over as many connections as it takes. */

import { readFrames } from "./sse.js";

const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 15_000;
// The server sends a comment every 10 s, so this much silence is a dead connection.
const SILENCE_MS = 35_000;

/** Milliseconds before try number `failures` (from 0); the spread keeps tabs from calling in step. */
export function backoff(failures, base = FIRST_DELAY_MS, random = Math.random) {
  const full = Math.min(base * 2 ** failures, LONGEST_DELAY_MS);
  return full * (0.75 + 0.25 * random());
}

/** Whether trying again may help: not when the server has understood and refused. */
export function worthRetrying(error) {
  const status = error?.status ?? 0;
  return status < 400 || status >= 500 || status === 408 || status === 429;
}

/** Resolves after `ms`, at once when the network comes back, or when `signal` is aborted. */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      globalThis.removeEventListener?.("online", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    globalThis.addEventListener?.("online", end, { once: true });
    signal?.addEventListener("abort", end, { once: true });
  });
}

/**
 * @param {object} options
 * @param {(after: number, signal: AbortSignal) => Promise<ReadableStream>} options.open
 *   one connection that starts behind event `after`; throws an error with `status` when refused
 * @param {number} [options.after] the last event already known
 * @param {AbortSignal} [options.signal] ends the iteration without an error
 * @param {(state: "open"|"lost") => void} [options.onState]
 */
export async function* follow({
  open,
  after = 0,
  signal,
  onState = () => {},
  wait = pause,
  silenceMs = SILENCE_MS,
}) {
  let last = after;
  let failures = 0;
  let base = FIRST_DELAY_MS;
  let ended = false;
  while (!signal?.aborted) {
    const connection = watched(signal, silenceMs);
    const startedAt = last;
    try {
      const body = await open(last, connection.signal);
      onState("open");
      for await (const frame of readFrames(body, { onBytes: connection.alive })) {
        if (frame.retry !== null) base = frame.retry;
        if (!frame.data) continue;
        const event = JSON.parse(frame.data);
        if (event.seq <= last) continue;
        // A hole means that this connection lost something: ask again from the last event seen.
        // Right after asking it can only be the server's own log, and waiting would not fill it.
        if (event.seq > last + 1 && last !== startedAt) break;
        last = event.seq;
        failures = 0;
        ended ||= event.done === true;
        yield event;
      }
    } catch (error) {
      if (signal?.aborted || ended) return;
      if (!worthRetrying(error)) throw error;
    } finally {
      connection.close();
    }
    if (ended || signal?.aborted) return;
    onState("lost");
    await wait(backoff(failures, base), signal);
    failures += 1;
  }
}

/** A signal that also fires after `silenceMs` without a call of `alive`. */
function watched(outer, silenceMs) {
  const controller = new AbortController();
  const abort = () => controller.abort();
  let timer = setTimeout(abort, silenceMs);
  outer?.addEventListener("abort", abort, { once: true });
  return {
    signal: controller.signal,
    alive: () => {
      clearTimeout(timer);
      timer = setTimeout(abort, silenceMs);
    },
    close: () => {
      clearTimeout(timer);
      outer?.removeEventListener("abort", abort);
      controller.abort();
    },
  };
}
