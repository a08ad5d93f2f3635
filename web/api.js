/** Calls to the server. Every refusal becomes an ApiError with the server's own words. */

const ROOT = "/api/v1";
const PAGE_SIZE = 1000;

/** A call that failed: `status` is 0 where there was no answer at all. */
export class ApiError extends Error {
  constructor(message, { status = 0, code = "", details = {} } = {}) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

async function call(path, { method = "GET", body, accept = "application/json", signal } = {}) {
  const headers = { Accept: accept };
  let payload = body;
  if (body !== undefined && !(body instanceof FormData)) {
    headers["Content-Type"] = "application/json";
    payload = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(ROOT + path, { method, headers, body: payload, signal, cache: "no-store" });
  } catch (error) {
    throw new ApiError(String(error?.message ?? error));
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response) {
  let error = {};
  try {
    error = (await response.json()).error ?? {};
  } catch {
    // A proxy in between answers in its own format; the status is what is left.
  }
  return new ApiError(error.message ?? "", {
    status: response.status,
    code: error.code ?? "",
    details: error.details ?? {},
  });
}

async function json(path, options) {
  const response = await call(path, options);
  if (response.status === 204) return {};
  return response.json();
}

async function data(path, options) {
  return (await json(path, options)).data;
}

async function events(path, options) {
  return (await call(path, { ...options, accept: "text/event-stream" })).body;
}

/** Every page of a list. */
async function all(path) {
  const items = [];
  for (let page = 1; ; page += 1) {
    const answer = await json(path + query({ page, page_size: PAGE_SIZE }));
    items.push(...answer.data);
    if (!answer.data.length || items.length >= (answer.total ?? 0)) return items;
  }
}

const id = encodeURIComponent;

/** `?name=value…` of what is given: nothing stands for null and for empty texts. */
function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

export const info = () => data("/info");

export const listSessions = (page, size) => json(`/sessions?page=${page}&page_size=${size}`);
export const createSession = (kbIds) =>
  data("/sessions", { method: "POST", body: { knowledge_base_ids: kbIds } });
export const getSession = (session) => data(`/sessions/${id(session)}`);
export const renameSession = (session, title) =>
  data(`/sessions/${id(session)}`, { method: "PUT", body: { title } });
export const pinSession = (session, pinned) =>
  data(`/sessions/${id(session)}/pin`, { method: "PUT", body: { pinned } });
export const deleteSession = (session) => json(`/sessions/${id(session)}`, { method: "DELETE" });
export const listMessages = (session) => all(`/sessions/${id(session)}/messages`);

/**
 * Asks, and gives the event stream of the answer. The same `requestId` never asks twice.
 * `onBusy`: what to do while another answer is written: "reject", "queue" or "stop".
 */
export const ask = (session, { query, kbIds, tagIds, auto, requestId, onBusy }, signal) =>
  events(`/sessions/${id(session)}/knowledge-qa`, {
    method: "POST",
    body: {
      query,
      knowledge_base_ids: kbIds,
      ...(tagIds.length && { tag_ids: tagIds }),
      ...(auto && { settings: { auto_select: true } }),
      request_id: requestId,
      on_busy: onBusy,
    },
    signal,
  });
/** Asks the last question of a session anew, edited where `query` is given. */
export const regenerate = (session, { query, requestId }, signal) =>
  events(`/sessions/${id(session)}/regenerate`, {
    method: "POST",
    body: { request_id: requestId, ...(query && { query }) },
    signal,
  });
/** @param {{thumb: "up"|"down", reason?: string}|null} feedback null takes it back */
export const rate = (message, feedback) =>
  data(`/messages/${id(message)}/feedback`, feedback ? { method: "POST", body: feedback } : { method: "DELETE" });
export const continueStream = (session, message, after, signal) =>
  events(`/sessions/continue-stream/${id(session)}?message_id=${id(message)}&after=${after}`, { signal });
export const stop = (session, message) =>
  data(`/sessions/${id(session)}/stop`, { method: "POST", body: { message_id: message } });

export const trace = (run, signal) => data(`/runs/${id(run)}/trace`, { signal });
export const fork = (run, body) => data(`/runs/${id(run)}/fork`, { method: "POST", body });
export const diff = (run, other, signal) => data(`/runs/${id(run)}/diff?with=${id(other)}`, { signal });

export const listKbs = () => all("/knowledge-bases");
export const createKb = (name, kind) => data("/knowledge-bases", { method: "POST", body: { name, kind } });
export const deleteKb = (kb) => json(`/knowledge-bases/${id(kb)}`, { method: "DELETE" });

/** @param {{page: number, page_size: number, tag_id?: string}} wanted */
export const listDocuments = (kb, wanted) => json(`/knowledge-bases/${id(kb)}/documents${query(wanted)}`);
export const allDocuments = (kb) => all(`/knowledge-bases/${id(kb)}/documents`);
export const getDocument = (document) => data(`/documents/${id(document)}`);
export const deleteDocument = (document) => json(`/documents/${id(document)}`, { method: "DELETE" });
export const documentEvents = (document, signal) => events(`/documents/${id(document)}/events`, { signal });
export const upload = (kb, file) => data(`/knowledge-bases/${id(kb)}/documents`, { method: "POST", body: withFile(file) });

export const listTags = (kb) => all(`/knowledge-bases/${id(kb)}/tags`);
export const createTag = (kb, name) => data(`/knowledge-bases/${id(kb)}/tags`, { method: "POST", body: { name } });
export const renameTag = (tag, name) => data(`/tags/${id(tag)}`, { method: "PUT", body: { name } });
export const deleteTag = (tag) => json(`/tags/${id(tag)}`, { method: "DELETE" });
export const setTags = (document, tagIds) =>
  data(`/documents/${id(document)}/tags`, { method: "PUT", body: { tag_ids: tagIds } });

/** @param {{page: number, page_size: number, kind?: string}} wanted */
export const listChunks = (document, wanted) => json(`/documents/${id(document)}/chunks${query(wanted)}`);
export const getChunk = (chunk, signal) => data(`/chunks/${id(chunk)}`, { signal });
export const changeChunk = (chunk, change) => data(`/chunks/${id(chunk)}`, { method: "PUT", body: change });

/** @param {{page: number, page_size: number, search?: string, tag_id?: string, enabled?: boolean}} wanted */
export const listFaq = (kb, wanted, signal) => json(`/knowledge-bases/${id(kb)}/faq${query(wanted)}`, { signal });
export const getFaq = (entry) => data(`/faq/${id(entry)}`);
export const addFaq = (kb, entry) => data(`/knowledge-bases/${id(kb)}/faq`, { method: "POST", body: entry });
export const changeFaq = (entry, change) => data(`/faq/${id(entry)}`, { method: "PUT", body: change });
export const deleteFaq = (kb, ids) => data(`/knowledge-bases/${id(kb)}/faq/delete`, { method: "POST", body: { ids } });
export const enableFaq = (kb, ids, enabled) =>
  data(`/knowledge-bases/${id(kb)}/faq/enabled`, { method: "PUT", body: { ids, enabled } });
/** @param {"append"|"replace"} mode */
export const importFaq = (kb, file, mode) =>
  data(`/knowledge-bases/${id(kb)}/faq/import`, { method: "POST", body: withFile(file, { mode }) });
/** The address of the file with all entries. */
export const faqFile = (kb, format) => `${ROOT}/knowledge-bases/${id(kb)}/faq/export${query({ format })}`;

export const search = (wanted, signal) => data("/search", { method: "POST", body: wanted, signal });

function withFile(file, fields = {}) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append("file", file, file.name);
  return form;
}
