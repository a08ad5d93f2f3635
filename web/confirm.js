/** Asks before something is deleted. */

/** @returns {Promise<boolean>} */
export function confirm(question) {
  const dialog = document.getElementById("confirm");
  dialog.querySelector("p").textContent = question;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
