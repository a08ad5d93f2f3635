/** Server-sent events out of a byte stream, however the network cut it. */

/** Collects text and hands out complete frames; what is not closed by an empty line is kept back. */
export class FrameParser {
  #rest = "";
  #afterReturn = false;
  #data = [];
  #event = "";
  #id = "";
  #retry = null;

  /** @returns {{id: string, event: string, data: string, retry: number|null}[]} */
  push(text) {
    // A CRLF may be cut in two; its second half must not count as an empty line.
    if (this.#afterReturn && text.startsWith("\n")) text = text.slice(1);
    if (text) this.#afterReturn = text.endsWith("\r");
    const lines = (this.#rest + text).split(/\r\n|\n|\r/);
    this.#rest = lines.pop();
    const frames = [];
    for (const line of lines) {
      if (line) this.#field(line);
      else this.#close(frames);
    }
    return frames;
  }

  #field(line) {
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment, sent to keep the connection open
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.#retry = Number(value);
  }

  #close(frames) {
    if (this.#data.length || this.#retry !== null) {
      frames.push({
        id: this.#id,
        event: this.#event || "message",
        data: this.#data.join("\n"),
        retry: this.#retry,
      });
    }
    this.#data = [];
    this.#event = "";
    this.#retry = null;
  }
}

/**
 * Frames of a response body. `onBytes` is called for every piece that arrives, comments included.
 * @param {ReadableStream<Uint8Array>} body
 */
export async function* readFrames(body, { onBytes = () => {} } = {}) {
  const reader = body.getReader();
  const decoder = new TextDecoder(); // keeps half a character until its other bytes come
  const parser = new FrameParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    // Leaving early must close the connection: a browser opens only six to one server.
    reader.cancel().catch(() => {});
  }
}
