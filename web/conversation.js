/** The open conversation: its messages, the answer being written, and the connection to it. */

import { Answer, questionElement } from "./answer.js";
import * as api from "./api.js";
import { follow } from "./follow.js";
import { t } from "./i18n.js";
import { emptyView, reduce, viewOfMessage } from "./stream.js";

const NEAR_END_PX = 120;
const MARGIN_PX = 12;

export class Conversation {
  #thread;
  #scroller;
  #status;
  #hooks;
  #session = null;
  #answers = new Set();
  #live = null; // {answer, view, connection, controller}: the answer being written

  /**
   * @param {object} hooks
   *   onSources: see `Answer`; onAsk(text): put a question; onRetry(text): offer it again;
   *   onChange(): running or not, or the title, may have changed
   */
  constructor({ thread, scroller, status, ...hooks }) {
    this.#thread = thread;
    this.#scroller = scroller;
    this.#status = status;
    this.#hooks = hooks;
  }

  get session() {
    return this.#session;
  }

  get running() {
    return this.#live !== null;
  }

  /** Leaves the conversation. An answer being written goes on without a reader. */
  clear() {
    this.#live?.controller.abort();
    this.#live = null;
    this.#session = null;
    this.#answers.clear();
    this.#thread.replaceChildren();
    this.#status.textContent = "";
  }

  /** Shows a stored conversation and goes on with the answer being written, if there is one. */
  async open(session) {
    this.clear();
    this.#session = session;
    const messages = await api.listMessages(session);
    if (this.#session !== session) return;
    for (const message of messages) this.#add(message, questionOf(message, messages));
    this.#scrollToEnd();
    this.#hooks.onChange();
  }

  #add(message, question) {
    if (message.role === "user") {
      this.#thread.append(questionElement(message.content));
      return;
    }
    const view = viewOfMessage(message);
    const answer = this.#answer(question);
    answer.show(view);
    if (view.status === "running") this.#read(answer, view, this.#stored(message.id), 0);
  }

  /** Puts a question to an existing session. Refusals are thrown, nothing of them stays shown. */
  async ask(session, query, kbIds) {
    this.#session = session;
    const question = questionElement(query);
    this.#thread.append(question);
    const answer = this.#answer(query);
    const view = emptyView();
    answer.show(view);
    this.#scrollToEnd();
    const requestId = crypto.randomUUID?.() ?? String(Math.random()).slice(2);
    const open = this.#asked(session, { query, kbIds, requestId });
    try {
      await this.#read(answer, view, open, 0);
    } catch (error) {
      question.remove();
      answer.element.remove();
      this.#answers.delete(answer);
      throw error;
    }
  }

  /** Ends the answer being written; what is there stays. */
  async stop() {
    const live = this.#live;
    if (!live) return;
    if (live.view.messageId) await api.stop(this.#session, live.view.messageId);
    else live.controller.abort();
  }

  /** Draws everything again, in another language. */
  redraw() {
    for (const answer of this.#answers) answer.show(answer.view);
  }

  #answer(question) {
    const answer = new Answer({
      onSources: this.#hooks.onSources,
      onAsk: this.#hooks.onAsk,
      onRetry: () => this.#hooks.onRetry(question),
    });
    this.#answers.add(answer);
    this.#thread.append(answer.element);
    return answer;
  }

  /** The first connection asks. Later ones continue, or ask again if the question never arrived. */
  #asked(session, request) {
    let tried = false;
    return async (after, signal) => {
      const known = this.#live?.view.messageId ?? (tried ? await findMessage(session, request.requestId) : null);
      tried = true;
      if (known) return api.continueStream(session, known, after, signal);
      return api.ask(session, request, signal);
    };
  }

  #stored(message) {
    const session = this.#session;
    return (after, signal) => api.continueStream(session, message, after, signal);
  }

  async #read(answer, view, open, after) {
    const live = { answer, view, connection: "open", controller: new AbortController() };
    const { signal } = live.controller;
    this.#live = live;
    this.#hooks.onChange();
    const draw = this.#drawer(live);
    const onState = (state) => {
      live.connection = state;
      draw();
    };
    try {
      for await (const event of follow({ open, after, signal, onState })) {
        live.view = reduce(live.view, event);
        draw();
        if (event.response_type === "agent_query" || event.response_type === "session_title") {
          this.#hooks.onChange();
        }
        if (event.done) this.#end(live);
      }
      if (live.view.status === "running") live.view = { ...live.view, status: "stopped" };
    } catch (error) {
      // A question that was refused leaves nothing behind; an answer that was begun stays.
      if (live.view.seq === 0 && !live.view.messageId) throw error;
      live.view = { ...live.view, status: "failed", error: { code: "", text: error.message } };
    } finally {
      this.#end(live);
    }
    draw();
  }

  #end(live) {
    if (this.#live !== live) return;
    this.#live = null;
    this.#hooks.onChange();
  }

  /** At most one drawing per frame, however many pieces arrive. */
  #drawer(live) {
    let planned = false;
    return () => {
      if (planned) return;
      planned = true;
      requestAnimationFrame(() => {
        planned = false;
        if (!live.answer.element.isConnected) return;
        const follows = this.#nearEnd();
        live.answer.show(live.view, live.connection);
        this.#announce(live);
        if (follows) this.#scrollAlong(live.answer.element);
      });
    };
  }

  #announce(live) {
    const text = live.view.status === "complete" ? t("answer.written") : live.answer.progress;
    if (this.#status.textContent !== text) this.#status.textContent = text;
  }

  #nearEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
  }

  #scrollToEnd() {
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  /** Towards the end, but not past the question: a long answer is read from its beginning. */
  #scrollAlong(answer) {
    const question = answer.previousElementSibling ?? answer;
    const { scrollHeight, clientHeight, scrollTop } = this.#scroller;
    const wanted = Math.min(scrollHeight - clientHeight, question.offsetTop - MARGIN_PX);
    if (wanted > scrollTop) this.#scroller.scrollTop = wanted;
  }
}

function questionOf(message, messages) {
  const asked = messages.find((one) => one.role === "user" && one.request_id === message.request_id);
  return asked?.content ?? "";
}

async function findMessage(session, requestId) {
  const messages = await api.listMessages(session);
  return messages.find((one) => one.role === "assistant" && one.request_id === requestId)?.id ?? null;
}
