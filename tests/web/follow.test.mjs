import assert from "node:assert/strict";
import { test } from "node:test";

import { backoff, follow, worthRetrying } from "../../web/follow.js";

const event = (seq, more = {}) => ({ seq, response_type: "answer", content: `${seq}`, done: false, ...more });
const frame = (one) => `id: ${one.seq}\ndata: ${JSON.stringify(one)}\n\n`;

/** A connection: text that arrives, then the end, an error, or silence. */
function connection(text, end = "close") {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      if (end === "close") controller.close();
    },
    pull(controller) {
      if (end === "error") controller.error(new TypeError("network error"));
    },
  });
}

/** Follows over the given connections, in order. An Error instead of one is thrown. */
async function run(connections, options = {}) {
  const asked = [];
  const waits = [];
  const states = [];
  const open = async (after) => {
    asked.push(after);
    const next = connections.shift();
    if (next instanceof Error) throw next;
    return next;
  };
  const seen = [];
  const wait = async (ms) => void waits.push(ms);
  const stream = follow({ open, wait, onState: (state) => states.push(state), ...options });
  for await (const one of stream) seen.push(one.seq);
  return { asked, waits, states, seen };
}

test("events come once each and in order when the connection breaks and the server repeats some", async () => {
  const first = connection(frame(event(1)) + frame(event(2)) + "id: 3\nda", "error");
  const second = connection([1, 2, 3].map((seq) => frame(event(seq))).join("") + frame(event(4, { done: true })));
  const { seen, asked, states } = await run([first, second]);
  assert.deepEqual(seen, [1, 2, 3, 4]);
  assert.deepEqual(asked, [0, 2]);
  assert.deepEqual(states, ["open", "lost", "open"]);
});

test("a hole in the numbers asks again from the last event seen", async () => {
  const holed = connection(frame(event(1)) + frame(event(3)));
  const whole = connection(frame(event(2)) + frame(event(3, { done: true })));
  const { seen, asked } = await run([holed, whole]);
  assert.deepEqual(seen, [1, 2, 3]);
  assert.deepEqual(asked, [0, 1]);
});

test("a hole in the server's own log does not ask for ever", async () => {
  const { seen } = await run([connection(frame(event(5)) + frame(event(6, { done: true })))]);
  assert.deepEqual(seen, [5, 6]);
});

test("a title after the end is still told, and nothing is asked again afterwards", async () => {
  const text = frame(event(1, { done: true })) + frame(event(2, { response_type: "session_title" }));
  const { seen, asked } = await run([connection(text, "error")]);
  assert.deepEqual(seen, [1, 2]);
  assert.deepEqual(asked, [0]);
});

test("waiting grows until an event arrives and follows the hint of the server", async () => {
  const down = () => new TypeError("fetch failed");
  const { waits } = await run([
    down(),
    down(),
    connection("retry: 2000\n\n" + frame(event(1))),
    connection(frame(event(2, { done: true }))),
  ]);
  assert.equal(waits.length, 3);
  assert.ok(waits[0] <= 1000 && waits[1] > 1000 && waits[1] <= 2000, `${waits}`);
  assert.ok(waits[2] >= 1500 && waits[2] <= 2000, `${waits}`);
});

test("a refusal is thrown, a server that is starting is not", async () => {
  const refused = Object.assign(new Error("no such session"), { status: 404 });
  await assert.rejects(run([refused]), /no such session/);
  const starting = Object.assign(new Error("starting"), { status: 503 });
  const { seen } = await run([starting, connection(frame(event(1, { done: true })))]);
  assert.deepEqual(seen, [1]);
});

test("a silent connection is given up", async () => {
  const connections = [connection(frame(event(1)), "silence"), connection(frame(event(2, { done: true })))];
  // The body of a fetch ends with its signal; a bare stream needs this to do the same.
  const open = async (_, signal) => {
    const { writable, readable } = new TransformStream();
    connections.shift().pipeTo(writable, { signal }).catch(() => {});
    return readable;
  };
  const { seen } = await run([], { open, silenceMs: 1 });
  assert.deepEqual(seen, [1, 2]);
});

test("aborting ends without an error", async () => {
  const controller = new AbortController();
  const seen = [];
  const open = async () => connection(frame(event(1)) + frame(event(2)));
  for await (const one of follow({ open, signal: controller.signal, wait: async () => {} })) {
    seen.push(one.seq);
    controller.abort();
  }
  assert.equal(seen[0], 1);
  assert.ok(seen.length <= 2);
});

test("backoff doubles up to a limit and is spread", () => {
  assert.equal(backoff(0, 1000, () => 1), 1000);
  assert.equal(backoff(2, 1000, () => 1), 4000);
  assert.equal(backoff(20, 1000, () => 1), 15_000);
  assert.equal(backoff(0, 1000, () => 0), 750);
});

test("only what may pass is tried again", () => {
  assert.ok([0, 408, 429, 500, 503].every((status) => worthRetrying({ status })));
  assert.ok([400, 401, 404, 409, 422].every((status) => !worthRetrying({ status })));
});
