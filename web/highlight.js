/** Where in a passage the words stand that an answer quotes, and how they are marked. */

import { h } from "./dom.js";

const LEAST_CHARACTERS = 6;

/**
 * The last sentence of `told`, the answer's text in front of a citation, if the passage holds it.
 * Spaces and line breaks may differ: an extracted page breaks lines where the answer does not.
 * @returns {[number, number]|null} start and end in `passage`
 */
export function quotedRange(told, passage) {
  const sentences = told.split(/(?<=[。！？；!?;\n])|(?<=\.)\s/).map((sentence) => sentence.trim());
  const sentence = sentences.filter((one) => one.length >= LEAST_CHARACTERS).at(-1);
  if (!sentence) return null;
  const pattern = sentence.split(/\s+/).map(escaped).join("\\s*");
  const match = new RegExp(pattern).exec(passage);
  return match ? [match.index, match.index + match[0].length] : null;
}

function escaped(text) {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

/** The text in pieces, those of `ranges` marked. */
export function marked(text, ranges) {
  const pieces = [];
  let shown = 0;
  for (const [start, end] of ranges) {
    pieces.push(text.slice(shown, start), h("mark", {}, text.slice(start, end)));
    shown = end;
  }
  return [...pieces, text.slice(shown)].filter((piece) => piece !== "");
}

/** The text of the paragraph, item or cell in front of a citation's button. */
export function textBefore(button) {
  const block = button.closest("p, li, td, th, h1, h2, h3, h4, h5, h6, pre");
  if (!block) return "";
  const range = document.createRange();
  range.setStart(block, 0);
  range.setEndBefore(button);
  const copy = range.cloneContents();
  for (const other of copy.querySelectorAll("button")) other.remove();
  for (const end of copy.querySelectorAll("br")) end.replaceWith("\n");
  return copy.textContent;
}
