/** Markdown to HTML text. What comes out is still untrusted: `render.js` sanitises it. */

import MarkdownIt from "./vendor/markdown-it-15.0.3.js";

// Chinese text and punctuation, and the marks that stand for a citation (`citations.js`).
const UNSPACED = /[\u0002\u0003\u2E80-\u9FFF\uF900-\uFAFF\uFE30-\uFE4F\uFF00-\uFFEF]|\p{Script=Han}/u;

const md = new MarkdownIt({ html: false, linkify: true, breaks: true });

// CommonMark reads `**注意：**请` as plain asterisks, because it expects a space after
// punctuation. Chinese has none, and models write it all the time; so do citations: `**Note.**[1]`.
md.inline.State = class extends md.inline.State {
  scanDelims(start, splits) {
    const found = super.scanDelims(start, splits);
    const before = this.src[start - 1] ?? " ";
    const after = this.src[start + found.length] ?? " ";
    if (splits && (UNSPACED.test(before) || UNSPACED.test(after))) {
      found.can_open = !/\s/.test(after);
      found.can_close = !/\s/.test(before);
    }
    return found;
  }
};

// No picture is fetched for an answer: it would tell a stranger's server who reads what.
md.renderer.rules.image = (tokens, index) => {
  const token = tokens[index];
  const label = token.content || token.attrGet("src") || "";
  const source = md.utils.escapeHtml(token.attrGet("src") ?? "");
  return `<a href="${source}">${md.utils.escapeHtml(label)}</a>`;
};

// The policy of the page refuses style attributes, so alignment is a class.
for (const rule of ["th_open", "td_open"]) {
  md.renderer.rules[rule] = (tokens, index, options, _env, renderer) => {
    const token = tokens[index];
    const align = /text-align:\s*(left|center|right)/.exec(token.attrGet("style") ?? "");
    token.attrs = align ? [["class", `align-${align[1]}`]] : null;
    return renderer.renderToken(tokens, index, options);
  };
}

/** @returns {string} HTML */
export function markdownToHtml(text) {
  return md.render(text);
}
