/** Asks before something is lost. */

import { t } from "./i18n.js";

/**
 * @param {string} yes the text on the button that loses it
 * @returns {Promise<boolean>}
 */
export function confirm(question, yes = t("dialog.delete")) {
  const dialog = document.getElementById("confirm");
  dialog.querySelector("p").textContent = question;
  dialog.querySelector(".danger").textContent = yes;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

/** Whether what was typed may be thrown away. */
export const mayDiscard = () => confirm(t("unsaved.ask"), t("unsaved.discard"));
