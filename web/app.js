/** Puts the page together and keeps it in step with the address. */

import * as api from "./api.js";
import { Busy } from "./busy.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { describe } from "./errors.js";
import { textBefore } from "./highlight.js";
import { onLanguage, language, LANGUAGES, setLanguage, startLanguage, t } from "./i18n.js";
import { KnowledgeBases } from "./kb/dialog.js";
import { Sources } from "./references.js";
import { Scope } from "./scope.js";
import { isSearch } from "./search/address.js";
import { SearchPage } from "./search/page.js";
import { SessionList } from "./sessions.js";
import { Sidebar } from "./sidebar.js";
import { Why } from "./why/why.js";

const $ = (selector) => document.querySelector(selector);

let info = {};
let kbsKnown = false;

const sidebar = new Sidebar({ panel: $("#sidebar"), button: $("#menu"), rest: $("main") });
const scope = new Scope($("#scope"));
const sources = new Sources($("#sources"));
const sessions = new SessionList({
  list: $("#session-list"),
  more: $("#sessions-more"),
  onOpen: () => sidebar.close(),
  onChanged: () => drawTitle(),
  onDeleted: (id) => id === conversation.session && startNew(),
  onError: (error) => say(describe(error)),
});
const composer = new Composer({ form: $("#composer"), onSend: send, onStop: stop });
const busy = new Busy({
  panel: $("#busy"),
  onChoose: (onBusy) => {
    composer.focus();
    if (composer.text.trim()) put(composer.text.trim(), onBusy);
  },
  onCancel: () => composer.focus(),
});
const why = new Why($("#why"));
const conversation = new Conversation({
  thread: $("#thread"),
  scroller: $("#scroller"),
  status: $("#status"),
  onSources: (view, citations, citation, opener) => {
    const told = citation ? textBefore(opener) : "";
    sources.open({ references: view.references, citations, citation, opener, told });
  },
  onWhy: (run) => why.open(run),
  onAsk: send,
  onRetry: (question) => {
    composer.text = question;
    composer.focus();
  },
  onChange: () => {
    if (!conversation.running) busy.close();
    draw();
    sessions.refresh();
  },
  onError: (error) => say(describe(error)),
});
const documents = new KnowledgeBases({
  dialog: $("#documents"),
  onKbs: loadKbs,
  onChanged: () => {
    scope.loadTags();
    draw();
  },
});
const search = new SearchPage($("#search"));
let searching = false; // whether the page for trying a search is shown

async function start() {
  startLanguage();
  onLanguage(redraw);
  $("#language").addEventListener("click", () => setLanguage(LANGUAGES.find((one) => one !== language())));
  $("#new").addEventListener("click", startNew);
  for (const button of document.querySelectorAll(".open-documents")) {
    button.addEventListener("click", () => documents.open());
  }
  $(".skip").addEventListener("click", () => (searching ? search : composer).focus());
  addEventListener("hashchange", openAddressed);
  takeFilesDraggedHere();
  redraw();
  await Promise.all([loadInfo(), loadKbs(), sessions.refresh()]);
  await openAddressed();
  if (!searching) composer.focus();
}

/** Files dragged over the page open the dialog they can be dropped in; beside it they would replace the page. */
function takeFilesDraggedHere() {
  const carriesFiles = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragenter", (event) => {
    if (carriesFiles(event) && !$("#documents").open) documents.open();
  });
  for (const name of ["dragover", "drop"]) {
    addEventListener(name, (event) => carriesFiles(event) && event.preventDefault());
  }
}

async function loadInfo() {
  try {
    info = (await api.info()) ?? {};
  } catch {
    info = {}; // only limits and a notice are lost
  }
  documents.setInfo(info);
  draw();
}

async function loadKbs() {
  try {
    const kbs = await api.listKbs();
    kbsKnown = true;
    scope.setKbs(kbs);
    documents.setKbs(kbs);
    search.setKbs(kbs);
    draw();
  } catch (error) {
    say(describe(error));
  }
}

function addressed() {
  const match = /^#\/sessions\/([^/]+)$/.exec(location.hash);
  try {
    return match ? decodeURIComponent(match[1]) : null;
  } catch {
    return null; // a link that was cut in the middle of a character
  }
}

async function openAddressed() {
  if (isSearch(location.hash)) return showSearch();
  leaveSearch();
  const id = addressed();
  if (id === conversation.session) return;
  sources.close();
  why.close();
  busy.close();
  say("");
  if (!id) return showNew();
  sessions.select(id);
  try {
    const [session] = await Promise.all([api.getSession(id), conversation.open(id)]);
    scope.choose(session?.knowledge_base_ids);
  } catch (error) {
    if (error.status !== 404) return say(describe(error));
    startNew();
    say(t("sessions.gone"));
  }
  draw();
}

/** Shows the page for trying a search. An answer being written goes on behind it. */
function showSearch() {
  searching = true;
  sources.close();
  why.close();
  sidebar.close();
  draw();
  search.open(location.hash);
}

function leaveSearch() {
  if (!searching) return;
  searching = false;
  search.close();
  draw();
}

function startNew() {
  leaveSearch();
  history.pushState(null, "", location.pathname);
  showNew();
  sidebar.close();
  composer.focus();
}

function showNew() {
  sources.close();
  why.close();
  busy.close();
  conversation.clear();
  sessions.select(null);
  draw();
}

async function send(text) {
  if (!text) return say(t("ask.empty"));
  if (conversation.running) {
    composer.text = text;
    return busy.offer({ waiting: conversation.waiting });
  }
  await put(text, "reject");
}

/** Asks; where another client is being answered, offers to wait for that or to stop it. */
async function put(text, onBusy) {
  say("");
  composer.text = "";
  $("#welcome").hidden = true;
  try {
    await conversation.ask(await openedSession(), text, { kbIds: scope.ids, tagIds: scope.tagIds, auto: scope.auto }, onBusy);
  } catch (error) {
    if (!composer.text) composer.text = text;
    if (error.code === "session_busy") await showBusy();
    else say(describe(error));
    if (error.code === "kb_not_found") await loadKbs();
    if (/^tag_/.test(error.code)) scope.loadTags();
  }
  draw();
}

async function showBusy() {
  await conversation.open(conversation.session);
  busy.offer({ waiting: conversation.waiting });
}

/** The conversation that is open, made now if it is new: one without a question is not kept. */
async function openedSession() {
  if (conversation.session) return conversation.session;
  const { id } = await api.createSession(scope.ids);
  sessions.select(id);
  history.pushState(null, "", `#/sessions/${encodeURIComponent(id)}`);
  return id;
}

async function stop() {
  try {
    await conversation.stop();
  } catch (error) {
    say(describe(error));
  }
}

function say(text) {
  $("#alert").textContent = text;
}

function draw() {
  document.body.dataset.view = searching ? "search" : "conversation";
  if (searching) $("#open-search").setAttribute("aria-current", "page");
  else $("#open-search").removeAttribute("aria-current");
  composer.setRunning(conversation.running);
  $("#notice").hidden = info.chat?.generates !== false;
  $("#welcome").hidden = conversation.session !== null;
  $("#welcome-first").hidden = !kbsKnown || scope.kbs.length > 0;
  drawTitle();
}

function drawTitle() {
  if (searching) {
    $("#title").textContent = t("search.title");
    document.title = `${t("search.title")} – headrace`;
    return;
  }
  const title = conversation.session ? sessions.title(conversation.session) : "";
  $("#title").textContent = title || t(conversation.session ? "sessions.untitled" : "sessions.new");
  document.title = title ? `${title} – headrace` : "headrace";
}

function redraw() {
  // The switch is written in the language it leads to.
  $("#language").lang = language() === "zh" ? "en" : "zh-CN";
  sessions.draw();
  scope.draw();
  documents.draw();
  search.draw();
  composer.draw();
  busy.close();
  conversation.redraw();
  draw();
}

start();
