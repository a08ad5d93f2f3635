/**
 * The open conversation: its messages, the answer being written, and those that wait for it.
 *
 * Only one answer is followed at a time: a browser opens six connections to one server, and up to ten
 * questions may wait. What happens to a waiting one is told by its own events when its turn has come.
 */

import { Answer, questionEditor, questionElement } from "./answer.js";
import * as api from "./api.js";
import { oncePerFrame } from "./dom.js";
import { follow } from "./follow.js";
import { t } from "./i18n.js";
import { emptyView, queuedView, reduce, viewOfMessage } from "./stream.js";

const NEAR_END_PX = 120;
const MARGIN_PX = 12;

export class Conversation {
  #thread;
  #scroller;
  #status;
  #hooks;
  #session = null;
  #answers = new Set();
  #questions = new WeakMap(); // what each answer answers
  #live = null; // {answer, view, connection, controller}: the answer being written
  #line = []; // {answer, view}: what waits for it, in order
  #left = new AbortController(); // aborted when the conversation is left

  /**
   * @param {object} hooks
   *   onSources, onWhy: see `Answer`; onAsk(text): put a question; onRetry(text): offer it again;
   *   onChange(): running or not, or the title, may have changed; onError(error): a wish was refused
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

  /** Whether questions wait for the answer being written. */
  get waiting() {
    return this.#line.length > 0;
  }

  /** Leaves the conversation. An answer being written goes on without a reader. */
  clear() {
    this.#live?.controller.abort();
    this.#live = null;
    this.#left.abort();
    this.#left = new AbortController();
    this.#line = [];
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
    this.#markLast();
    this.#next();
    this.#scrollToEnd();
    this.#hooks.onChange();
  }

  #add(message, question) {
    if (message.role === "user") {
      this.#thread.append(questionElement(message.content, { erased: Boolean(message.erased_at) }));
      return;
    }
    const view = viewOfMessage(message);
    const answer = this.#answer(question);
    answer.show(view);
    if (view.status === "running" || view.status === "waiting") this.#line.push({ answer, view });
  }

  /**
   * Puts a question to an existing session. Refusals are thrown, nothing of them stays shown.
   * @param {{kbIds: string[], tagIds: string[]}} scope where it is searched
   * @param {"reject"|"queue"|"stop"} onBusy what to do about an answer that is being written
   */
  async ask(session, query, scope, onBusy = "reject") {
    this.#session = session;
    const question = questionElement(query);
    this.#thread.append(question);
    const answer = this.#answer(query);
    const view = this.#live ? queuedView() : emptyView();
    answer.show(view);
    this.#scrollToEnd();
    const requestId = crypto.randomUUID?.() ?? String(Math.random()).slice(2);
    const open = asked(session, { query, ...scope, requestId, onBusy });
    try {
      if (this.#live) await this.#wait(answer, open);
      else await this.#read(answer, view, open, 0);
    } catch (error) {
      question.remove();
      answer.element.remove();
      this.#answers.delete(answer);
      this.#markLast();
      throw error;
    }
  }

  /** The last turn anew, with an edited question where `query` is given. What was refused leaves the old one. */
  async regenerate(old, query = null) {
    if (this.#live || this.#line.length) return;
    const session = this.#session;
    const before = old.element.previousElementSibling;
    const question = query ?? this.#questions.get(old);
    const shown = questionElement(question);
    const answer = this.#answer(question);
    old.element.after(shown, answer.element);
    answer.show(emptyView());
    before.hidden = old.element.hidden = true;
    const requestId = crypto.randomUUID?.() ?? String(Math.random()).slice(2);
    const first = (signal) => api.regenerate(session, { query, requestId }, signal);
    try {
      await this.#read(answer, emptyView(), asked(session, { requestId }, first), 0);
      before.remove();
      old.element.remove();
      this.#answers.delete(old);
    } catch (error) {
      shown.remove();
      answer.element.remove();
      this.#answers.delete(answer);
      before.hidden = old.element.hidden = false;
      this.#hooks.onError(error);
    }
    this.#markLast();
  }

  #edit(answer) {
    const question = answer.element.previousElementSibling;
    if (question.querySelector("form")) return;
    const editor = questionEditor(this.#questions.get(answer), {
      onSend: (text) => {
        editor.remove();
        this.regenerate(answer, text);
      },
      onCancel: () => editor.remove(),
    });
    question.append(editor);
    editor.querySelector("textarea").focus();
  }

  async #rate(answer, feedback) {
    try {
      const message = await api.rate(answer.view.messageId, feedback);
      answer.show({ ...answer.view, feedback: message.feedback });
    } catch (error) {
      this.#hooks.onError(error);
    }
  }

  #markLast() {
    const answers = [...this.#answers];
    for (const answer of answers) answer.last = answer === answers.at(-1);
  }

  /** Ends the answer being written; what is there stays. */
  async stop() {
    const live = this.#live;
    if (!live) return;
    if (live.view.messageId) await api.stop(this.#session, live.view.messageId);
    else live.controller.abort();
  }

  /** Hands the question over; it is followed when the answers before it have ended. */
  async #wait(answer, open) {
    const { signal } = this.#left;
    for await (const event of follow({ open, signal })) {
      const view = reduce(queuedView(), event);
      if (!view.messageId) continue;
      answer.show(view);
      this.#line.push({ answer, view });
      return this.#next();
    }
  }

  /** Follows the first in line, unless an answer is being followed already. */
  #next() {
    if (this.#live || !this.#line.length) return;
    const { answer, view } = this.#line.shift();
    const session = this.#session;
    const open = (after, signal) => api.continueStream(session, view.messageId, after, signal);
    this.#read(answer, view, open, view.seq);
  }

  /** A waiting question is not to be answered any more. */
  async #dequeue(answer) {
    const { view } = answer;
    try {
      await api.stop(this.#session, view.messageId);
    } catch (error) {
      return this.#hooks.onError(error);
    }
    const place = this.#line.findIndex((one) => one.answer === answer);
    if (place < 0) return; // its turn had come, and its own events tell the rest
    this.#line.splice(place, 1);
    answer.show({ ...view, status: "stopped", queued: false });
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
      onWhy: this.#hooks.onWhy,
      onAnew: () => this.regenerate(answer),
      onEdit: () => this.#edit(answer),
      onRate: (feedback) => this.#rate(answer, feedback),
      onDequeue: () => this.#dequeue(answer),
    });
    this.#answers.add(answer);
    this.#questions.set(answer, question);
    this.#markLast();
    this.#thread.append(answer.element);
    return answer;
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
    this.#next();
    this.#hooks.onChange();
  }

  /** At most one drawing per frame, however many pieces arrive. */
  #drawer(live) {
    return oncePerFrame(() => {
      if (!live.answer.element.isConnected) return;
      const follows = this.#nearEnd();
      live.answer.show(live.view, live.connection);
      this.#announce(live);
      if (follows) this.#scrollAlong(live.answer.element);
    });
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

/** The first connection asks. Later ones continue, or ask again if the question never arrived. */
function asked(session, request, first = (signal) => api.ask(session, request, signal)) {
  let message = null;
  let tried = false;
  return async (after, signal) => {
    if (tried && !message) message = await findMessage(session, request.requestId);
    tried = true;
    if (message) return api.continueStream(session, message, after, signal);
    return first(signal);
  };
}

async function findMessage(session, requestId) {
  const messages = await api.listMessages(session);
  return messages.find((one) => one.role === "assistant" && one.request_id === requestId)?.id ?? null;
}
