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
    const answer = await json(`${path}?page=${page}&page_size=${PAGE_SIZE}`);
    items.push(...answer.data);
    if (!answer.data.length || items.length >= (answer.total ?? 0)) return items;
  }
}

const id = encodeURIComponent;

export const info = () => data("/info");

export const listSessions = (page, size) => json(`/sessions?page=${page}&page_size=${size}`);
export const createSession = (kbIds) =>
  data("/sessions", { method: "POST", body: { knowledge_base_ids: kbIds } });
export const getSession = (session) => data(`/sessions/${id(session)}`);
export const renameSession = (session, title) =>
  data(`/sessions/${id(session)}`, { method: "PUT", body: { title } });
export const deleteSession = (session) => json(`/sessions/${id(session)}`, { method: "DELETE" });
export const listMessages = (session) => all(`/sessions/${id(session)}/messages`);

/**
 * Asks, and gives the event stream of the answer. The same `requestId` never asks twice.
 * `onBusy`: what to do while another answer is written: "reject", "queue" or "stop".
 */
export const ask = (session, { query, kbIds, requestId, onBusy }, signal) =>
  events(`/sessions/${id(session)}/knowledge-qa`, {
    method: "POST",
    body: { query, knowledge_base_ids: kbIds, request_id: requestId, on_busy: onBusy },
    signal,
  });
export const continueStream = (session, message, after, signal) =>
  events(`/sessions/continue-stream/${id(session)}?message_id=${id(message)}&after=${after}`, { signal });
export const stop = (session, message) =>
  data(`/sessions/${id(session)}/stop`, { method: "POST", body: { message_id: message } });

export const trace = (run, signal) => data(`/runs/${id(run)}/trace`, { signal });
export const fork = (run, body) => data(`/runs/${id(run)}/fork`, { method: "POST", body });
export const diff = (run, other, signal) => data(`/runs/${id(run)}/diff?with=${id(other)}`, { signal });

export const listKbs = () => all("/knowledge-bases");
export const createKb = (name) => data("/knowledge-bases", { method: "POST", body: { name } });
export const deleteKb = (kb) => json(`/knowledge-bases/${id(kb)}`, { method: "DELETE" });

export const listDocuments = (kb, page, size) =>
  json(`/knowledge-bases/${id(kb)}/documents?page=${page}&page_size=${size}`);
export const getDocument = (document) => data(`/documents/${id(document)}`);
export const deleteDocument = (document) => json(`/documents/${id(document)}`, { method: "DELETE" });
export const documentEvents = (document, signal) => events(`/documents/${id(document)}/events`, { signal });
export async function upload(kb, file) {
  const form = new FormData();
  form.append("file", file, file.name);
  return data(`/knowledge-bases/${id(kb)}/documents`, { method: "POST", body: form });
}
