/** What a search found: every passage with its way, what the search before had otherwise, and the stages. */

import * as api from "../api.js";
import { h } from "../dom.js";
import { inWords } from "../errors.js";
import { foreign } from "../foreign.js";
import { marked } from "../highlight.js";
import { duration, has, t } from "../i18n.js";
import { calls, settings } from "../why/calls.js";
import { Candidates } from "../why/candidates.js";
import { timeline } from "../why/timeline.js";
import { named, stageName, titleOf } from "../why/words.js";
import { movesBetween } from "./moves.js";
import { recordOf } from "./record.js";
import { rangesOf, termsOf } from "./terms.js";

const MARKED = 20_000; // characters of a passage in which words are looked for
const TEXT_SHOWN = 4_000; // before somebody asks for the rest

export class Results {
  #record = null;
  #terms = new Set();
  #moves = new Map();
  #gone = [];
  #table = null;
  #details = new Map(); // by chunk id: the element with its text
  #top = h("div", { class: "summary" });
  #passages = h("section", {});
  #rest = h("div", {});
  element = h("div", { class: "search-results why-body" });

  clear() {
    this.#record = null;
    this.#table = null;
    this.#details.clear();
    this.element.replaceChildren();
  }

  /**
   * @param {object} answer of POST /search
   * @param {boolean} compare whether the search before asked the same, so that what moved can be told
   */
  show(answer, compare) {
    const record = recordOf(answer);
    const before = compare && this.#record ? this.#record.candidates : null;
    const { moves, gone } = before ? movesBetween(before, record.candidates) : { moves: new Map(), gone: [] };
    this.#record = record;
    this.#terms = termsOf(record.questions);
    this.#moves = moves;
    this.#gone = gone;
    this.#details.clear(); // the texts may have been edited, and other words are marked
    this.draw();
  }

  /** In a sentence, for a screen reader and the eye. */
  get summary() {
    if (!this.#record) return "";
    const { candidates, stages } = this.#record;
    const kept = candidates.filter(({ fate }) => fate === "returned").length;
    const ms = stages.reduce((sum, { duration_ms: one }) => sum + (one ?? 0), 0);
    return t("search.told", { kept, all: candidates.length, time: duration(ms) });
  }

  draw() {
    const record = this.#record;
    if (!record) return;
    this.#top.replaceChildren(...this.#facts(record));
    this.#drawPassages(record);
    const called = record.calls.length ? [h("h3", {}, t("why.calls")), calls(record)] : [];
    this.#rest.replaceChildren(h("h3", {}, t("why.stages")), timeline(record, async () => {}), ...called, settings(record));
    if (!this.element.firstChild) this.element.append(this.#top, this.#passages, this.#rest);
  }

  #facts({ queries, variants, channels, verdict, cache, warnings }) {
    const rows = [
      ...Object.entries(queries).map(([language, text]) => [named("language", language), text]),
      ...variants.map((text) => [t("search.variant"), text]),
    ].map(([name, text]) => [name, foreign("dd", {}, text)]);
    if (Object.keys(channels).length) {
      const told = Object.entries(channels).map(([name, n]) => t("search.found_by", { name: named("channel", name), n }));
      rows.push([t("search.channels"), h("dd", {}, told.join(" · "))]);
    }
    if (verdict) rows.push([t("stage.rerank"), h("dd", {}, named("verdict", verdict))]);
    const used = Object.entries(cache).filter(([, how]) => how);
    if (used.length) {
      const told = used.map(([name, how]) => t("search.cached", { name: named("cache", name), how: named("cached", how) }));
      rows.push([t("search.cache"), h("dd", {}, told.join(" · "))]);
    }
    const items = warnings.map(({ stage, code, message }) => h("li", {}, `${stageName(stage)}: ${inWords({ code, message: message || code })}`));
    return [
      rows.length ? h("dl", {}, ...rows.flatMap(([name, value]) => [h("dt", {}, name), value])) : null,
      items.length ? h("ul", { class: "warnings" }, ...items) : null,
    ].filter(Boolean);
  }

  #drawPassages(record) {
    if (!record.candidates.length) {
      this.#table = null;
      return this.#passages.replaceChildren(h("p", { class: "empty" }, t("search.nothing")));
    }
    if (this.#table) this.#table.show(record);
    else this.#table = new Candidates(record, this.#tableOptions());
    const gone = this.#goneList();
    this.#passages.replaceChildren(...(gone ? [this.#table.element, gone] : [this.#table.element]));
  }

  #tableOptions() {
    return {
      byChannel: true,
      rangesIn: (text) => this.#rangesIn(text),
      moveOf: ({ chunk_id: id }) => moveChip(this.#moves.get(id)),
      detailOf: (candidate) => this.#detailOf(candidate),
    };
  }

  #goneList() {
    if (!this.#gone.length) return null;
    const items = this.#gone.map((one) => h("li", {}, foreign("span", {}, titleOf(one)), " ", foreign("span", { class: "snippet" }, one.snippet ?? "")));
    return h("div", { class: "gone" }, h("h4", {}, t("search.gone")), h("ul", { class: "hit-changes", data: { kind: "left" } }, ...items));
  }

  /** The whole text of a passage: as it was returned, or as it is kept. */
  #detailOf(candidate) {
    const { chunk_id: id } = candidate;
    if (!this.#details.has(id)) {
      const place = h("div", { class: "passage" });
      this.#details.set(id, place);
      this.#fill(place, id);
    }
    return this.#details.get(id);
  }

  async #fill(place, id) {
    let text = this.#record.texts.get(id);
    if (text === undefined) {
      place.replaceChildren(h("p", { class: "hint" }, "…"));
      try {
        text = (await api.getChunk(id)).content;
      } catch {
        return place.replaceChildren(h("p", { class: "snippet gone" }, t("why.text_gone")));
      }
    }
    const ranges = this.#record.highlights.get(id) ?? this.#rangesIn(text);
    this.#showText(place, text, ranges, text.length > TEXT_SHOWN);
  }

  #rangesIn(text) {
    return rangesOf(this.#terms, text.slice(0, MARKED));
  }

  #showText(place, text, all, cut) {
    const shown = cut ? `${text.slice(0, TEXT_SHOWN)}…` : text;
    const ranges = all.filter(([, end]) => end <= shown.length);
    const whole = () => this.#showText(place, text, all, false);
    place.replaceChildren(
      foreign("p", { class: "passage-text" }, shown, ...marked(shown, ranges)),
      ...(cut ? [h("button", { type: "button", class: "quiet small", on: { click: whole } }, t("chunks.whole", { n: text.length }))] : []),
    );
  }
}

const SIGNS = { new: "+", back: "+", out: "−", up: "▲", down: "▼" };

function moveChip(move) {
  if (!move) return null;
  const { kind, by } = move;
  const sign = by ? `${SIGNS[kind]}${by}` : SIGNS[kind];
  const words = t(`move.${kind}`, { n: by ?? "" });
  const shown = has(`move.${kind}`) && !by ? `${sign} ${words}` : sign;
  return h("span", { class: "move", role: "img", data: { move: kind }, title: words, "aria-label": words }, shown);
}
