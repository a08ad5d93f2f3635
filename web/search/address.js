/** A search as a link: what is asked, where, and with which knobs. Pure. */

import { readKnob, KNOBS } from "./knobs.js";

const PATH = "#/search";
// Short names in the link, for lists of ids.
const LISTS = { kb: "kbIds", tag: "tagIds", doc: "documentIds" };

/**
 * @typedef {object} Wish
 * @property {string} query
 * @property {string[]} kbIds none: all there are
 * @property {string[]} tagIds
 * @property {string[]} documentIds
 * @property {boolean} rerank whether the reranker is asked
 * @property {Object<string, number|string|boolean>} knobs only those that differ from what is set
 */

/** @returns {Wish} */
export const emptyWish = () => ({ query: "", kbIds: [], tagIds: [], documentIds: [], rerank: true, knobs: {} });

export const isSearch = (hash) => hash === PATH || hash.startsWith(`${PATH}?`);

/** @param {Partial<Wish>} wish */
export function toHash(wish) {
  const { query, rerank, knobs, ...lists } = { ...emptyWish(), ...wish };
  const values = new URLSearchParams();
  if (query) values.append("q", query);
  for (const [name, list] of Object.entries(LISTS)) for (const id of lists[list]) values.append(name, id);
  if (!rerank) values.append("rerank", "false");
  for (const { name } of KNOBS) if (knobs[name] !== undefined) values.append(name, String(knobs[name]));
  return values.size ? `${PATH}?${values}` : PATH;
}

/** What a link holds; what it says wrongly is left out. @returns {Wish} */
export function fromHash(hash) {
  const values = new URLSearchParams(hash.slice(PATH.length));
  const wish = emptyWish();
  wish.query = values.get("q") ?? "";
  for (const [name, list] of Object.entries(LISTS)) wish[list] = [...new Set(values.getAll(name))];
  wish.rerank = values.get("rerank") !== "false";
  for (const { name } of KNOBS) {
    const { value } = readKnob(name, values.get(name) ?? "");
    if (value !== undefined) wish.knobs[name] = value;
  }
  return wish;
}

/** The body of POST /search. @param {Wish} wish */
export function toRequest({ query, kbIds, tagIds, documentIds, rerank, knobs }) {
  return {
    query,
    knowledge_base_ids: kbIds,
    ...(tagIds.length && { tag_ids: tagIds }),
    ...(documentIds.length && { knowledge_ids: documentIds }),
    ...(!rerank && { rerank }),
    ...(Object.keys(knobs).length && { settings: knobs }),
    trace: true,
  };
}
