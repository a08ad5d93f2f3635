import assert from "node:assert/strict";
import { test } from "node:test";

import { FrameParser, readFrames } from "../../web/sse.js";

const WIRE = ': keep-alive\n\nretry: 1000\n\nid: 1\nevent: message\ndata: {"content":"水渠 🌊"}\n\nid: 2\ndata: a\ndata: b\n\n';
const TOLD = [
  ["", "", 1000],
  ["1", '{"content":"水渠 🌊"}', null],
  ["2", "a\nb", null],
];

const told = (frames) => frames.map(({ id, data, retry }) => [id, data, retry]);

function bodyOf(...pieces) {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
}

async function collect(body, options) {
  const frames = [];
  for await (const frame of readFrames(body, options)) frames.push(frame);
  return frames;
}

test("a stream cut at any byte gives the same frames", async () => {
  const bytes = new TextEncoder().encode(WIRE);
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const frames = await collect(bodyOf(bytes.slice(0, cut), bytes.slice(cut)));
    assert.deepEqual(told(frames), TOLD, `cut at ${cut}`);
  }
});

test("a stream that comes byte by byte gives the same frames, with any line end", async () => {
  for (const end of ["\n", "\r\n", "\r"]) {
    const bytes = new TextEncoder().encode(WIRE.replaceAll("\n", end));
    const frames = await collect(bodyOf(...[...bytes].map((byte) => Uint8Array.of(byte))));
    assert.deepEqual(told(frames), TOLD, JSON.stringify(end));
  }
});

test("a frame that was not finished is not told", async () => {
  const bytes = new TextEncoder().encode("data: whole\n\ndata: half");
  assert.deepEqual((await collect(bodyOf(bytes))).map(({ data }) => data), ["whole"]);
});

test("only the first space of a value is dropped and unknown fields are ignored", () => {
  const [frame] = new FrameParser().push("data:  x\nnonsense: 1\ndata\n\n");
  assert.equal(frame.data, " x\n");
});

test("comments count as a sign of life", async () => {
  let signs = 0;
  await collect(bodyOf(new TextEncoder().encode(": keep-alive\n\n")), { onBytes: () => (signs += 1) });
  assert.equal(signs, 1);
});

test("leaving early closes the connection", async () => {
  let cancelled = false;
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode("data: 1\n\n")),
    cancel: () => (cancelled = true),
  });
  for await (const _ of readFrames(body)) break;
  assert.ok(cancelled);
});
