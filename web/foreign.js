/** Text that others wrote, as an element. */

import { h } from "./dom.js";
import { languageOf } from "./i18n.js";

/**
 * Text only, whatever it holds; in its language, for fonts and voices; and with a direction of its own,
 * so that hidden characters in it turn nothing round outside of it.
 */
export function foreign(tag, properties, text, ...children) {
  return h(tag, { dir: "auto", lang: languageOf(text), ...properties }, ...(children.length ? children : [text]));
}
