// The pages work without this script. With it a form is sent without leaving the page: of the page that comes back, the
// marked parts take the places of the old ones. Nothing is rendered here.
"use strict";

document.documentElement.classList.add("scripted");
const status = document.getElementById("status");
const busy = (is) => document.documentElement.classList.toggle("busy", is);

// What was not done is shown, and not only said to a screen reader.
function say(text, failed = false) {
  status.textContent = text;
  status.className = failed ? "failed" : "hidden";
}
const UNANSWERED = "The server does not answer. Try it again.";

function swap(text) {
  const next = new DOMParser().parseFromString(text, "text/html");
  for (const part of next.querySelectorAll("[data-part]")) {
    const old = document.getElementById(part.id);
    if (old && !old.contains(document.activeElement?.closest("input, select, textarea") ?? null)) old.replaceWith(document.importNode(part, true));
  }
  marking();
  copying();
  return next;
}

// Beside an error stands the field that is wrong.
function marking() {
  for (const field of document.querySelectorAll("[aria-describedby]")) {
    const error = document.getElementById(field.getAttribute("aria-describedby"));
    const wrong = error?.textContent && (!error.dataset.key || error.dataset.key === field.name);
    if (wrong) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  }
}
marking();

async function send(form, name, value) {
  const body = new URLSearchParams(new FormData(form));
  if (name) body.set(name, value);
  const response = await fetch(form.action, { method: "POST", body });
  if (response.redirected) return location.assign(response.url);
  return swap(await shown(response));
}

// The page that came; where there is none, what was refused instead: a page that says so, or a sentence for programs.
class Refused extends Error {}
async function shown(response) {
  const text = await response.text();
  if (response.headers.get("content-type")?.startsWith("application/json")) throw new Refused(JSON.parse(text).error);
  const refused = new DOMParser().parseFromString(text, "text/html").getElementById("refused");
  if (refused) throw new Refused(refused.textContent);
  return text;
}
const why = (error) => error instanceof Refused ? error.message : UNANSWERED;

// One request of a form at a time; what was pressed or typed meanwhile is sent when it has come back.
const waits = new Map();
async function sent(form, name, value) {
  const live = name === "do" && value === "look";
  if (waits.has(form)) return void (live && waits.get(form) ? 0 : waits.set(form, [name, value]));
  waits.set(form, null);
  if (!live) for (const old of form.querySelectorAll(".error[data-part]")) old.textContent = "";  // it was about something else
  say(live ? "" : document.getElementById("working").textContent);
  busy(true);
  let next;
  try {
    next = await send(form, name, value);
  } catch (error) {
    say(why(error), true);
  }
  busy(false);
  const waiting = waits.get(form);
  waits.delete(form);
  if (waiting) return sent(form, ...waiting);
  if (next) announced(next, live);
}

// One sentence for a screen reader: the error, or that something has changed.
function announced(next, live) {
  const error = [...next.querySelectorAll(".error[data-part]")].find((part) => part.textContent);
  const shown = ["saved", "answer", "epsilons", "given", "state"].map((id) => next.getElementById(id)).find((part) => part?.textContent);
  if (error) say(error.textContent);
  else if (!live && shown) say(shown.querySelector("h2, caption, p")?.textContent || shown.textContent);
  else if (!live) say("Done.");
  if (!live && (error || shown)) document.getElementById((error || shown).id)?.scrollIntoView({ block: "nearest" });
}

document.addEventListener("submit", (event) => {
  const form = event.target, pressed = event.submitter;
  if (!form.matches("[data-swap]")) return void (form.method === "post" && busy(true));
  event.preventDefault();
  clearTimeout(waiting);  // a look that comes after it would take its error away
  sent(form, pressed?.name, pressed?.value);
});

// A table is sent as it is, under the name of its file.
document.querySelector("form[data-upload]")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target, file = form.elements.file.files[0], error = document.getElementById("upload-error");
  say(`Sending ${file.name} …`);
  error.textContent = "";
  busy(true);
  try {
    // What takes the place of a table has its name, whatever the file is called here.
    const { upload, replace } = form.dataset, dot = file.name.indexOf(".");
    const place = replace ? `${encodeURIComponent(replace + file.name.slice(dot))}?replace=true` : encodeURIComponent(file.name);
    const response = await fetch(upload + place, { method: "PUT", body: file });
    if (!response.ok) await shown(response);
    if (replace) return location.reload();
    swap(await shown(await fetch(location.href)));
    say(`${file.name} is in the folder.`);
  } catch (failed) {
    say(error.textContent = why(failed));
  }
  busy(false);
  marking();
});

const live = document.querySelector("form[data-live]");
let waiting;
live?.addEventListener("input", (event) => {
  if (["half_width", "target"].includes(event.target.name)) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => sent(live, "do", "look"), 700);
});

// A line to copy has a button that does.
function copying() {
  for (const caption of document.querySelectorAll(".copied figcaption:not(:has(button))")) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: "Copy", ariaLabel: `Copy: ${caption.textContent}` });
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(caption.parentElement.querySelector("pre").textContent);
      say(button.textContent = "Copied");
    });
    caption.append(button);
  }
}
copying();

// Names that fit the word that is being written: buttons, and Ctrl+Space for the first.
function fitting(box) {
  const word = /'[^']*$|[\p{L}\p{N}_"(*]*$/u.exec(box.value.slice(0, box.selectionStart))[0];
  const bare = (text) => text.toLowerCase().replace(/^"/, "");
  const words = JSON.parse(box.dataset.words);
  return [word, word ? words.filter((name) => bare(name).startsWith(bare(word)) && name !== word) : []];
}

function take(box, word, name) {
  const at = box.selectionStart;
  box.setRangeText(name, at - word.length, at, "end");
  box.focus();
  suggest(box);
}

function suggest(box) {
  const [word, names] = fitting(box);
  const buttons = names.slice(0, 8).map((name) => {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: name });
    button.addEventListener("click", () => take(box, word, name));
    return button;
  });
  document.getElementById("completion").replaceChildren(...buttons);
}

document.addEventListener("input", (event) => event.target.dataset.words && suggest(event.target));
document.addEventListener("keydown", (event) => {
  const box = event.target;
  if (!box.dataset?.words || !event.ctrlKey || event.code !== "Space") return;
  event.preventDefault();
  const [word, names] = fitting(box);
  if (names.length) take(box, word, names[0]);
});

// Work that goes on is looked at again.
async function watch() {
  if (!document.querySelector("[data-again]")) return;
  await new Promise((resume) => setTimeout(resume, 700));
  try {
    const next = swap(await shown(await fetch(location.href)));
    say(next.querySelector("[data-again]") ? "" : next.querySelector("#progress p").textContent);
  } catch (error) {
    if (error instanceof Refused) return say(error.message, true);
    say("The server does not answer. This page goes on trying.", true);
  }
  watch();
}
watch();

// Who comes back to a page by the browser's button finds nothing going on.
window.addEventListener("pageshow", () => busy(false));
