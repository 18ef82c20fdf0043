// One small script: it reads the forms, calls the same interface as programs do, and shows what comes back.
"use strict";

const element = (name, text, attributes = {}) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

async function call(method, path, body) {
  const options = { method, headers: {} };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  } else if (method !== "GET") options.body = "";
  const response = await fetch(path, options);
  const told = response.status === 204 ? {} : await response.json();
  if (!response.ok) throw new Error(told.error || "the server could not do this");
  return told;
}

async function shown(place, work) {
  place.replaceChildren(element("p", "…", { class: "hint" }));
  try {
    place.replaceChildren(...(await work()));
  } catch (error) {
    place.replaceChildren(element("p", error.message, { class: "error", role: "alert" }));
  }
}

const figure = (value) => {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return Number.isInteger(value) ? value.toLocaleString("en") : Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 8 });
  return Array.isArray(value) ? value.join(", ") : String(value);
};

function tableOf(heads, rows) {
  const table = element("table"), head = element("tr");
  heads.forEach((text) => head.append(element("th", text, { scope: "col" })));
  const body = element("tbody");
  for (const row of rows) {
    const line = element("tr");
    row.forEach((value) => line.append(element("td", figure(value), typeof value === "number" ? { class: "number" } : {})));
    body.append(line);
  }
  const top = element("thead");
  top.append(head);
  table.append(top, body);
  const wide = element("div", undefined, { class: "wide" });
  wide.append(table);
  return wide;
}

function answerParts(told) {
  const table = tableOf(told.columns, told.texts);
  const parts = [table];
  if (told.chart) {
    const label = "A chart of the answer with its intervals; the table above has the same numbers.";
    parts.push(element("img", undefined, { class: "chart", alt: label, src: "data:image/svg+xml;charset=utf-8," + encodeURIComponent(told.chart) }));
  }
  for (const note of told.notes) parts.push(element("p", note, { class: "note" }));
  parts.push(element("p", told.command, { class: "note" }));
  return parts;
}

function question(form) {
  const data = new FormData(form), asked = { sql: data.get("sql") };
  if (data.has("epsilon")) {
    asked.delta = data.get("delta") || "0";
    if (data.get("accuracy")) asked.accuracy = data.get("accuracy");
    else asked.epsilon = data.get("epsilon");
  }
  return asked;
}

function build(form, table) {
  const data = new FormData(form), by = data.get("by"), number = data.get("number");
  const name = (text) => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`);
  const what = data.get("what") === "count" || !number ? "count(*) AS n" : `${data.get("what")}(${name(number)}) AS ${data.get("what")}_${number.replace(/\W/g, "_")}`;
  form.elements.sql.value = by ? `SELECT ${name(by)}, ${what} FROM ${table} GROUP BY ${name(by)}` : `SELECT ${what} FROM ${table}`;
}

function complete(form) {
  const area = form.elements.sql, hint = document.getElementById("completion");
  const names = form.dataset.names.split(" ").concat(["SELECT", "count(*)", "avg(", "sum(", "median(", "FROM", "WHERE", "GROUP BY", "ORDER BY"]);
  const word = /[\w"]*$/.exec(area.value.slice(0, area.selectionStart))[0];
  const found = word ? names.filter((name) => name.toLowerCase().startsWith(word.toLowerCase()) && name !== word) : [];
  hint.textContent = found.length ? `Ctrl+Space: ${found.slice(0, 6).join(", ")}` : "";
  return [word, found[0]];
}

for (const form of document.querySelectorAll("form.question")) {
  const answer = document.getElementById("answer"), action = form.dataset.action;
  const run = (way) => shown(answer, async () => {
    const told = await call("POST", `${action}/${way}`, way === "preview" ? question(form) : { ...question(form), chart: true });
    if (told.budget) document.getElementById("left").textContent = `Left to spend: ε = ${figure(told.budget.remaining.epsilon)}, δ = ${figure(told.budget.remaining.delta)}; ${told.budget.in_words}.`;
    return way === "preview" ? [element("pre", told.text)] : answerParts(told);
  });
  form.addEventListener("click", (event) => {
    const way = event.target.dataset.do;
    if (way === "preview") run(way);
    if (way === "build") build(form, event.target.dataset.table);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run(event.submitter?.dataset.do || form.querySelector("button:not([type])").dataset.do);
  });
  form.elements.sql.addEventListener("input", () => complete(form));
  form.elements.sql.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey && event.code === "Space")) return;
    event.preventDefault();
    const [word, found] = complete(form), area = form.elements.sql, at = area.selectionStart;
    if (found) area.setRangeText(found, at - word.length, at, "end");
  });
}

const give = document.getElementById("give");
give?.addEventListener("submit", (event) => {
  event.preventDefault();
  const data = new FormData(give);
  shown(document.getElementById("given"), async () => {
    const told = await call("POST", "/api/tokens", { name: data.get("name"), tables: data.getAll("tables"), epsilon: data.get("epsilon"), delta: data.get("delta") || "0", days: Number(data.get("days")) });
    return [element("p", `The token of ${told.name}, shown this once. Hand it over safely:`), element("code", told.token, { class: "token" }), element("p", told.command, { class: "note" })];
  });
});

const revoke = document.getElementById("revoke");
revoke?.addEventListener("submit", async (event) => {
  event.preventDefault();
  await shown(document.getElementById("given"), async () => {
    await call("DELETE", `/api/tokens/${Number(new FormData(revoke).get("number"))}`);
    return [element("p", "It is revoked. Reload the page to see it.")];
  });
});

// The guided plan ---------------------------------------------------------------------------------------------------

const plan = document.getElementById("plan");

const number = (text) => (text.trim() === "" ? undefined : Number.isFinite(Number(text)) ? Number(text) : text.trim());
const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

function draft() {
  const data = new FormData(plan), columns = {};
  for (const row of plan.querySelectorAll("tr[data-column]")) {
    const field = (name) => row.querySelector(`[name=${name}]`).value;
    const kind = field("kind"), column = {};
    if (kind === "drop" || kind === "public") column[kind] = true;
    else {
      column.space = kind;
      if (kind === "categories" || kind === "subsets") column.values = lines(field("values"));
      else for (const key of ["low", "high", "step"]) if (number(field(key)) !== undefined) column[key] = kind === "date" && key !== "step" ? field(key).trim() : number(field(key));
      if (kind === "categories") Object.assign(column, { outside: "category", missing: "category" });
      if (kind === "interval" || kind === "date") Object.assign(column, { outside: "clamp", missing: "category" });
      if (kind === "subsets") Object.assign(column, { separator: ";", missing: "category" });
      const bins = field("bins").split(",").map((text) => text.trim()).filter(Boolean);
      if (bins.length) column.bins = kind === "date" ? bins : bins.map(Number);
    }
    columns[row.dataset.column] = column;
  }
  const privacy = { model: data.get("model"), epsilon: data.get("epsilon"), delta: data.get("delta") || "0", neighbours: data.get("neighbours") };
  if (data.get("person")) privacy.person = data.get("person");
  if (Number(data.get("rows_per_person")) > 1) privacy.rows_per_person = Number(data.get("rows_per_person"));
  const made = { privacy, columns }, questions = lines(data.get("questions"));
  if (questions.length) made.questions = questions.map((sql) => ({ sql }));
  return made;
}

function expectedParts(told) {
  const ways = ["local", "central", "ask"], heads = ["± local release", "± central release", "± asking, ε shared"];
  const parts = [element("h2", "What it would give")];
  if (told.questions.length) parts.push(tableOf(["question", "column", ...heads], told.questions.map((one) => [one.question, one.column, ...ways.map((way) => one[way])])));
  parts.push(tableOf(["count or mean by", "± local release", "± central release", "± asking, all of ε"], told.columns.map((one) => [one.name, ...ways.map((way) => one[way])])));
  for (const [way, why] of Object.entries(told.refused)) parts.push(element("p", `${way}: ${why}`, { class: "note" }));
  parts.push(element("p", `An attacker who guesses about one person is right at most ${(100 * told.meaning.attack_accuracy).toFixed(1)} % of the time; a coin is right 50 %.`));
  for (const advice of told.meaning.advice) parts.push(element("p", `Take care: ${advice}`, { class: "error" }));
  parts.push(element("h2", "The plan"), element("pre", told.plan));
  return parts;
}

async function watched(place, name) {
  for (;;) {
    const told = await call("GET", `/api/jobs/${name}`);
    if (told.error) throw new Error(told.error);
    if (told.done) return [element("p", "The release is made: it stands on the first page.")];
    place.replaceChildren(element("p", `${told.rows.toLocaleString("en")} rows …`, { class: "hint" }));
    await new Promise((resume) => setTimeout(resume, 500));
  }
}

plan?.addEventListener("click", (event) => {
  const place = document.getElementById("expected"), name = plan.dataset.name, way = event.target.dataset.do;
  const data = new FormData(plan);
  if (way === "expect") shown(place, async () => expectedParts(await call("POST", "/api/drafts/expected", { plan: draft(), rows: Number(data.get("rows")) })));
  if (way === "save") shown(place, async () => { const told = await call("PUT", `/api/plans/${name}`, { plan: draft() }); return [element("p", `Saved as ${told.file}.`), element("pre", told.plan)]; });
  if (way === "check") shown(place, async () => { const told = await call("GET", `/api/tables/${name}/check`); return [element("p", told.confidential, { class: "error" }), tableOf(["column", "missing", "outside", "no number", "clamped"], told.columns.map((one) => [one.name, one.missing, one.outside, one.no_number, one.clamped])), ...told.hints.map((hint) => element("p", hint, { class: "note" }))]; });
  if (way === "sanitise") shown(place, async () => watched(place, (await call("POST", "/api/releases", { table: name, name: data.get("release") })).job));
});
