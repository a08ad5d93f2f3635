/** What a reader of one answer sees, as a pure function of the run's events. */

/**
 * @typedef {object} AnswerView
 * @property {string|null} messageId
 * @property {number} seq the last event that is part of this view
 * @property {"running"|"complete"|"stopped"|"failed"|"waiting"} status
 * @property {boolean} queued whether `waiting` means: for the answers before it
 * @property {string|null} runId
 * @property {string|null} erasedAt when its text was erased
 * @property {{kind: "answer"|"thinking", segment: number, text: string}[]} pieces in order of arrival
 * @property {object[]} references the latest set
 * @property {{id: string, name: string, state: "running"|"done"|"interrupted", data: object}[]} steps
 * @property {{stage: string, code: string, text: string}[]} warnings
 * @property {{code: string, text: string}|null} error
 * @property {string|null} outcome
 * @property {object|null} timing
 * @property {string|null} model
 * @property {string|null} title a new title of the session
 * @property {string[]} suggestions
 * @property {{thumb: "up"|"down", reason: string|null}|null} feedback
 */

/** How a run and its message stand once nothing more comes. */
export const ENDED = ["complete", "stopped", "failed"];

/** @returns {AnswerView} */
export function emptyView(messageId = null) {
  return {
    messageId,
    runId: null,
    seq: 0,
    status: "running",
    queued: false,
    erasedAt: null,
    pieces: [],
    references: [],
    steps: [],
    warnings: [],
    error: null,
    outcome: null,
    timing: null,
    model: null,
    title: null,
    suggestions: [],
    feedback: null,
  };
}

/** A question that waits for the answers before it. */
export function queuedView(messageId = null) {
  return { ...emptyView(messageId), status: "waiting", queued: true };
}

/** A stored message as a view. An unfinished one starts empty: its events tell all of it. */
export function viewOfMessage(message) {
  const view = { ...emptyView(message.id), runId: message.run_id ?? null, erasedAt: message.erased_at ?? null };
  if (message.status === "running") return view;
  if (message.status === "waiting") return { ...view, status: "waiting", queued: true };
  return {
    ...view,
    status: message.status ?? "complete",
    pieces: [
      ...(message.thinking ? [{ kind: "thinking", segment: 0, text: message.thinking }] : []),
      ...(message.content ? [{ kind: "answer", segment: 1, text: message.content }] : []),
    ],
    references: message.knowledge_references ?? [],
    error: message.error ? { code: message.error.code ?? "", text: message.error.message ?? "" } : null,
    outcome: message.outcome ?? null,
    timing: message.timing ?? null,
    model: message.model ?? null,
    suggestions: message.suggested_questions ?? [],
    feedback: message.feedback ?? null,
  };
}

/** The next view. An event that is already part of the view changes nothing. */
export function reduce(view, event) {
  if (event.seq <= view.seq) return view;
  const change = CHANGES[event.response_type];
  const runId = event.run_id ?? view.runId;
  return { ...view, runId, ...begun(view, event), ...change?.(view, event), seq: event.seq };
}

/** What waited in line is being answered as soon as anything but the question itself is told. */
function begun(view, event) {
  if (!view.queued || event.response_type === "agent_query") return {};
  return { queued: false, status: "running" };
}

const CHANGES = {
  agent_query: (view, event) => ({ messageId: event.assistant_message_id ?? view.messageId }),
  tool_call: (view, event) => ({ steps: [...view.steps, startedStep(event)] }),
  tool_result: (view, event) => ({ steps: endStep(view.steps, event) }),
  references: (_, event) => ({
    references: event.knowledge_references ?? event.data?.knowledge_references ?? [],
  }),
  answer: (view, event) => ({ pieces: append(view.pieces, "answer", event) }),
  thinking: (view, event) => ({ pieces: append(view.pieces, "thinking", event) }),
  reset: (view, event) => {
    const dropped = new Set(event.data?.segments ?? []);
    return { pieces: view.pieces.filter((piece) => !dropped.has(piece.segment)) };
  },
  warning: (view, event) => ({
    warnings: [
      ...view.warnings,
      { stage: event.data?.stage ?? "", code: event.data?.code ?? "", text: event.content ?? "" },
    ],
  }),
  tool_approval_required: () => ({ status: "waiting" }),
  tool_approval_resolved: () => ({ status: "running" }),
  suggested_questions: (_, event) => ({ suggestions: event.data?.questions ?? [] }),
  session_title: (_, event) => ({ title: event.content || null }),
  error: (view, event) => ({
    status: "failed",
    error: { code: event.data?.code ?? "", text: event.content ?? "" },
    steps: interrupted(view.steps),
  }),
  stop: (view) => ({ status: "stopped", steps: interrupted(view.steps) }),
  complete: (view, event) => ({
    status: "complete",
    outcome: event.data?.outcome ?? null,
    timing: event.data?.timing ?? null,
    model: event.data?.model ?? null,
    steps: interrupted(view.steps),
  }),
};

function append(pieces, kind, event) {
  const segment = event.data?.segment ?? 1;
  const last = pieces.at(-1);
  const text = event.content ?? "";
  if (last?.kind === kind && last.segment === segment) {
    return [...pieces.slice(0, -1), { ...last, text: last.text + text }];
  }
  return [...pieces, { kind, segment, text }];
}

function startedStep(event) {
  const data = event.data ?? {};
  return { id: data.tool_call_id ?? "", name: data.tool_name ?? "", state: "running", data };
}

function endStep(steps, event) {
  const data = event.data ?? {};
  const state = data.interrupted ? "interrupted" : "done";
  return steps.map((step) =>
    step.id === data.tool_call_id && step.state === "running"
      ? { ...step, state, data: { ...step.data, ...data } }
      : step,
  );
}

function interrupted(steps) {
  return steps.map((step) => (step.state === "running" ? { ...step, state: "interrupted" } : step));
}

export function answerText(view) {
  return textOf(view, "answer");
}

export function thinkingText(view) {
  return textOf(view, "thinking");
}

function textOf(view, kind) {
  return view.pieces
    .filter((piece) => piece.kind === kind)
    .map((piece) => piece.text)
    .join("");
}

/** A number or name that a step reports, wherever the event carries it. */
export function fact(step, name) {
  const { data } = step;
  return data[name] ?? data.result?.[name] ?? data.arguments?.[name];
}
