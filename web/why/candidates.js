/** The table of passages of a run: what each scored, and what became of it. */

import { h, icon } from "../dom.js";
import { foreign } from "../foreign.js";
import { marked } from "../highlight.js";
import { t } from "../i18n.js";
import { channelsOf, COLUMNS, fateOf, filtered, lastStage, sorted, usedColumns, wayOf } from "./ranking.js";
import { named, reasonName, shortNumber, stageName, titleOf, whereabouts } from "./words.js";

const SHOW = { all: "why.all", kept: "why.kept", left: "why.left" };
const ENDS = { on: "why.went_on", cited: "why.cited", used: "why.used", pending: "why.not_reached", returned: "search.returned" };
const FIRST = 30; // rows that are drawn before somebody asks for all

let tables = 0; // for ids that belong labels and fields together

export class Candidates {
  #trace;
  #columns;
  #byId;
  #id;
  #options;
  #which = "all";
  #channel = null; // only what it found is shown
  #sort = { column: "given", up: false };
  #all = false;
  #open = new Set(); // chunk ids whose way is shown
  #tools = h("div", { class: "table-tools" });
  #said = h("p", { class: "hidden", role: "status" });
  #head = h("thead", { role: "rowgroup" });
  #rows = h("tbody", { role: "rowgroup" });
  #more = h("button", { type: "button", class: "quiet" });

  /**
   * `byChannel`: offer to see what one channel found. `rangesIn(text)`: places in a text to mark.
   * `moveOf(candidate)`, `detailOf(candidate)`: an element beside its title, or above its way, or null.
   */
  constructor(trace, { byChannel = false, rangesIn = () => [], moveOf = () => null, detailOf = () => null } = {}) {
    this.#options = { byChannel, rangesIn, moveOf, detailOf };
    tables += 1;
    this.#id = `candidates-${tables}`;
    // The roles are the table's own; written out, since a narrow screen shows rows as cards.
    const table = h("table", { class: "candidates", role: "table", "aria-label": t("why.table") }, this.#head, this.#rows);
    this.element = h("div", {}, this.#tools, this.#said, h("div", { class: "table-frame" }, table), this.#more);
    this.#more.addEventListener("click", () => {
      this.#all = true;
      this.#draw();
    });
    this.show(trace);
  }

  /** Takes another record. What is sorted, filtered and opened stays, as far as it is still there. */
  show(trace) {
    this.#trace = trace;
    this.#columns = usedColumns(trace.candidates).map(({ name }) => name);
    this.#byId = new Map(trace.candidates.map((one) => [one.chunk_id, one]));
    if (!this.#sortable().includes(this.#sort.column)) this.#sort = { column: "given", up: false };
    if (!channelsOf(trace.candidates).includes(this.#channel)) this.#channel = null;
    const focused = this.element.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.#drawTools();
    this.#draw();
    this.#focus(focused);
  }

  #focus(key) {
    if (key) this.element.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
  }

  #drawTools() {
    const select = h("select", { id: `${this.#id}-sort`, data: { key: "sort" } }, ...this.#sortable().map((name) => h("option", { value: name }, sortName(name))));
    select.value = this.#sort.column;
    select.addEventListener("change", () => this.#change({ sort: { column: select.value, up: false } }));
    this.#tools.replaceChildren(
      ...[
        this.#whichChoice(),
        this.#options.byChannel ? this.#channelChoice() : null,
        h("span", { class: "sort-choice" }, h("label", { for: select.id }, t("why.sort")), select),
      ].filter(Boolean),
    );
  }

  #whichChoice() {
    const { candidates } = this.#trace;
    const options = Object.entries(SHOW).map(([which, key]) => [which, t(key, { n: filtered(candidates, which).length })]);
    return choice(`${this.#id}-which`, t("why.show"), options, this.#which, (which) => this.#change({ which }));
  }

  #channelChoice() {
    const { candidates } = this.#trace;
    const channels = channelsOf(candidates);
    if (!channels.length) return null;
    const told = (name) => t("search.found_by", { name: named("channel", name), n: filtered(candidates, "all", name).length });
    const options = [["", t("search.all_channels")], ...channels.map((name) => [name, told(name)])];
    return choice(`${this.#id}-channel`, t("search.channels"), options, this.#channel ?? "", (channel) => this.#change({ channel: channel || null }));
  }

  #sortable() {
    return ["given", "passage", ...this.#columns];
  }

  #change({ which = this.#which, channel = this.#channel, sort = this.#sort }) {
    this.#which = which;
    this.#channel = channel;
    this.#sort = sort;
    this.#tools.querySelector("select").value = sort.column;
    this.#draw();
    const n = filtered(this.#trace.candidates, which, channel).length;
    this.#said.textContent = t("why.shown", { n, column: sortName(sort.column) });
  }

  #draw() {
    const wanted = sorted(filtered(this.#trace.candidates, this.#which, this.#channel), this.#sort.column, this.#sort.up);
    const shown = this.#all ? wanted : wanted.slice(0, FIRST);
    const focused = document.activeElement?.dataset?.key;
    this.#head.replaceChildren(this.#header());
    this.#rows.replaceChildren(...shown.flatMap((candidate) => this.#row(candidate)));
    this.#more.hidden = shown.length === wanted.length;
    this.#more.textContent = t("why.more", { n: wanted.length });
    this.#focus(focused);
  }

  #header() {
    const cells = ["passage", ...this.#columns].map((name) => this.#sorter(name));
    return h("tr", { role: "row" }, ...cells, h("th", { role: "columnheader", scope: "col" }, t("column.fate")));
  }

  #sorter(name) {
    const { column, up } = this.#sort;
    const current = column === name;
    const turn = () => this.#change({ sort: { column: name, up: current && !up } });
    // Scores begin with the best; titles with A.
    const down = name === "passage" ? "ascending" : "descending";
    const order = current ? (up ? opposite(down) : down) : "none";
    const button = h("button", { type: "button", data: { key: `sort-${name}` }, on: { click: turn } }, t(`column.${name}`));
    return h("th", { role: "columnheader", scope: "col", "aria-sort": order }, button);
  }

  #row(candidate) {
    const open = this.#open.has(candidate.chunk_id);
    const row = h(
      "tr",
      { role: "row", data: { chunk: candidate.chunk_id, fate: fateOf(candidate) } },
      this.#passageCell(candidate, open),
      ...this.#columns.map((name) => numberCell(candidate, name)),
      h("td", { role: "cell", class: "fate", data: { label: t("column.fate") } }, ...this.#fate(candidate)),
    );
    row.addEventListener("click", (event) => {
      if (!event.target.closest("button")) this.#toggle(candidate);
    });
    return open ? [row, this.#wayRow(candidate)] : [row];
  }

  #passageCell(candidate, open) {
    const title = titleOf(candidate);
    const button = h(
      "button",
      {
        type: "button",
        class: "way-button",
        "aria-expanded": String(open),
        "aria-label": t("why.way_open", { title }),
        data: { key: `way-${candidate.chunk_id}` },
        on: { click: () => this.#toggle(candidate) },
      },
      icon("more"),
      foreign("span", { class: "title" }, title),
    );
    const where = whereabouts(candidate);
    return h(
      "th",
      { role: "rowheader", scope: "row", class: "candidate-passage" },
      candidate.alias ? h("span", { class: "number", title: t("why.number", { alias: candidate.alias }) }, candidate.alias) : null,
      button,
      this.#options.moveOf(candidate),
      ...(candidate.marks ?? []).map((mark) => h("span", { class: "mark-chip", title: mark }, named("mark", mark))),
      where ? h("span", { class: "facts" }, where) : null,
      this.#foundAs(candidate, title),
      this.#snippet(candidate),
    );
  }

  #toggle({ chunk_id: id }) {
    if (!this.#open.delete(id)) this.#open.add(id);
    this.#draw();
  }

  #wayRow(candidate) {
    const steps = wayOf(candidate, this.#trace.stages);
    const list = h("ol", { class: "way" }, ...steps.map((step) => this.#step(step, candidate)));
    const detail = this.#options.detailOf(candidate);
    const cell = h("td", { role: "cell", colspan: String(this.#columns.length + 2) }, detail, h("h5", {}, t("why.way")), list);
    return h("tr", { role: "row", class: "way-row" }, cell);
  }

  #step({ stage, ranks, scores, end }, candidate) {
    const names = [...new Set([...Object.keys(ranks), ...Object.keys(scores)])];
    return h(
      "li",
      { data: { end } },
      h("span", { class: "step-name", title: stage }, stageName(stage)),
      h("span", { class: "facts" }, names.map((name) => measured(name, ranks[name], scores[name])).join(" · ")),
      h("span", { class: "end" }, ...this.#end(end, candidate)),
    );
  }

  #end(end, candidate) {
    return ENDS[end] ? [t(ENDS[end])] : this.#leaving(candidate);
  }

  #fate(candidate) {
    const fate = fateOf(candidate);
    if (ENDS[fate]) return [t(ENDS[fate])];
    const stage = lastStage(candidate);
    const where = stage ? [h("span", { class: "left-at", title: stage }, stageName(stage)), " "] : [];
    return [...where, ...this.#leaving(candidate)];
  }

  /** The question in whose words an FAQ entry was found, where that is not its own. */
  #foundAs({ question }, title) {
    return question && question !== title ? h("span", { class: "facts" }, t("why.found_as"), " ", foreign("span", {}, question)) : null;
  }

  #snippet({ snippet: text }) {
    if (!text) return h("span", { class: "snippet gone" }, t("why.text_gone"));
    return foreign("span", { class: "snippet" }, text, ...marked(text, this.#options.rangesIn(text)));
  }

  /** Why a passage is not among the selected, and the passage that has its text or its place. */
  #leaving({ left, merged_by: by, merged_into: into }) {
    const reason = left?.reason ?? by ?? "";
    const other = into ?? left?.other;
    const words = [h("span", { class: "reason", title: reason }, reasonName(reason))];
    if (other) words.push(h("span", { class: "facts" }, ` ${t("why.other", { title: this.#nameOf(other) })}`));
    const numbers = left ? limitText(left) : "";
    if (numbers) words.push(h("span", { class: "facts" }, ` ${numbers}`));
    return words;
  }

  /** Passages of one document share a title, so the alias or the place tells which one is meant. */
  #nameOf(chunkId) {
    const one = this.#byId.get(chunkId);
    if (!one) return chunkId;
    return [one.alias, titleOf(one), whereabouts(one)].filter(Boolean).join(" · ");
  }
}

/** Thresholds compare the score with the limit; elsewhere the limit is of something else. */
function limitText({ reason, score, limit }) {
  const hasScore = typeof score === "number";
  if (typeof limit !== "number") return "";
  if (/^below_/.test(reason) && hasScore) {
    return t("why.below", { score: shortNumber(score), limit: shortNumber(limit) });
  }
  const told = hasScore ? [t("why.score", { n: shortNumber(score) })] : [];
  return [...told, t("why.limit", { n: shortNumber(limit) })].join(" · ");
}

/** Buttons of which one is pressed. */
function choice(name, legend, options, chosen, onChange) {
  const boxes = options.map(([value, text]) => {
    const box = h("input", { type: "radio", name, value, data: { key: `${name}-${value}` } });
    box.checked = value === chosen;
    box.addEventListener("change", () => onChange(value));
    return h("label", {}, box, h("span", {}, text));
  });
  return h("fieldset", { class: "choices" }, h("legend", { class: "hidden" }, legend), ...boxes);
}

function numberCell(candidate, name) {
  const column = COLUMNS.find((one) => one.name === name);
  const rank = candidate.ranks?.[column.rank];
  const score = candidate.scores?.[column.score];
  return h(
    "td",
    { role: "cell", class: "number-cell", data: { label: t(`column.${name}`) } },
    typeof score === "number" ? h("span", { title: String(score) }, shortNumber(score)) : null,
    typeof rank === "number" ? h("span", { class: "rank", "aria-label": t("why.place", { n: rank }) }, `#${rank}`) : null,
  );
}

const STAGE_PLACES = ["collected", "reranked", "merged", "selected"]; // the stage says of what

/** One column at one stage: "Meaning 0.91 #3"; places in the list of the stage are written out. */
function measured(name, rank, score) {
  if (STAGE_PLACES.includes(name)) return t("why.place", { n: rank });
  const parts = [named("column", name)];
  if (score !== undefined) parts.push(shortNumber(score));
  if (rank !== undefined) parts.push(`#${rank}`);
  return parts.join(" ");
}

function sortName(column) {
  return column === "given" ? t("why.sort_given") : t(`column.${column}`);
}

function opposite(order) {
  return order === "ascending" ? "descending" : "ascending";
}
