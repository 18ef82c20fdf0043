// The page itself: it asks, draws once, shows what would be sent, and sends that. A true answer is nowhere but in the
// fields, and leaves them for nothing but the draw.

const main = document.getElementById("main");
const input = document.getElementById("survey").textContent;
const survey = JSON.parse(input), texts = survey.texts;

function fill(text, values = {}) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// A number as the texts' language writes it: its sign between thousands, and before decimals.
const SIGNS = Object.fromEntries(new Intl.NumberFormat(texts.lang).formatToParts(12345.6).map(({ type, value }) => [type, value]));

function number(text) {
  return text.replace(/[.,]/g, (sign) => (sign === "," ? SIGNS.group : SIGNS.decimal));
}

// An element with properties and children; texts never become markup.
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else if (value !== null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function show(...children) {
  main.replaceChildren(...children.filter((child) => child !== null));
  main.focus();
  window.scrollTo(0, 0);
}

// One draw for each browser ------------------------------------------------------------------------------------------

// What was drawn is kept, and nothing else: what is asked, and the line. Without a store it lives as long as the page.
const kept = {
  name: `dproof ${survey.survey}`,
  own: {},
  read() {
    try {
      return JSON.parse(localStorage.getItem(this.name)) ?? this.own;
    } catch {
      return this.own;
    }
  },
  add(values) {
    this.own = { ...this.read(), ...values };
    try {
      localStorage.setItem(this.name, JSON.stringify(this.own));
    } catch {
      // a browser that stores nothing
    }
  },
};

const coins = new Coins((bytes) => crypto.getRandomValues(bytes));

// The groups that this respondent is asked for: all, or the one that was drawn.
function askedGroups() {
  if (survey.weights === null) return survey.groups;
  if (!Number.isInteger(kept.read().asked)) kept.add({ asked: coins.choose(survey.weights) });
  return [survey.groups[kept.read().asked]];
}

// The code of a group, from those of its columns: the last one varies fastest.
function joined(group, codes) {
  return group.columns.reduce((code, place) => code * BigInt(survey.columns[place].size) + codes.get(place), 0n);
}

function drawnLine(groups, codes) {
  const row = groups.map((group) => {
    const drawn = SAMPLERS[group.law.kind](group.law, joined(group, codes), coins);
    return `${JSON.stringify(group.name)}:${drawn}`;
  });
  const id = coins.word(128).toString(16).padStart(32, "0");
  return `{"survey":"${survey.survey}","id":"${id}","row":{${row.join(",")}}}`;
}

// Questions ----------------------------------------------------------------------------------------------------------

const RANGE = /^-?[\d.]+ – -?[\d.]+$/; // of numbers

function label(choice) {
  if (RANGE.test(choice)) return number(choice);
  return choice === true ? texts.yes : choice === false ? texts.no : choice ?? texts.no_answer;
}

// What its numbers count, also where the few of a question are choices.
function unit(column) {
  if (column.form !== "one") return column.form;
  const [first] = column.choices;
  return /^\d+-\d\d-\d\d$/.test(first) ? "date" : /^\d\d:\d\d$/.test(first) ? "time" : "number";
}

function ends(column) {
  const [low, high] = column.ends.map(number);
  return { low, high };
}

function field(column, place) {
  const name = `q${place}`, help = `${name}-help`, parts = [];
  const bounds = column.ends ? fill(texts.range, ends(column)) : "";
  const said = [column.help, bounds].filter(Boolean).join(" ");
  if (said) parts.push(element("p", { className: "soft", id: help }, said));
  const described = said ? help : null;
  const choice = (type, value, text) =>
    element("label", { className: "choice" }, element("input", { type, name, value, autocomplete: "off" }), element("span", {}, text));
  if (column.form === "one" && column.choices.length > 12) {
    const options = column.choices.map((one, code) => (one === null ? null : element("option", { value: String(code) }, label(one))));
    const first = element("option", { value: "" }, texts.choose);
    const skip = column.skip === null ? null : element("option", { value: "skip" }, texts.skip);
    const list = element("select", { name, id: name, autocomplete: "off", "aria-describedby": described, "aria-label": column.question }, first, ...options.filter(Boolean));
    if (skip) list.append(skip);
    parts.push(list);
  } else if (column.form === "one" || column.form === "several") {
    const type = column.form === "one" ? "radio" : "checkbox";
    column.choices.forEach((one, code) => one === null || parts.push(choice(type, String(code), label(one))));
    if (column.skip !== null) parts.push(choice(type, "skip", texts.skip));
  } else {
    const limits = column.form !== "number" ? { min: column.ends[0], max: column.ends[1] } : { step: "any", inputMode: "decimal" };
    parts.push(element("input", { type: column.form, name, id: name, autocomplete: "off", "aria-describedby": described, "aria-label": column.question, ...limits }));
    if (column.skip !== null) parts.push(choice("checkbox", "skip", texts.skip));
  }
  parts.push(element("p", { className: "error", id: `${name}-error`, role: "alert" }));
  return element("fieldset", { "aria-describedby": described }, element("legend", {}, column.question), ...parts);
}

// A decimal or a fraction as two whole numbers.
function ratio(text) {
  const [top, bottom = "1"] = text.split("/");
  const [whole, decimals = ""] = top.split(".");
  return [BigInt(whole + decimals), BigInt(bottom) * 10n ** BigInt(decimals.length)];
}

// The code of the point nearest to a number, the upper one when it is half-way; null for what lies outside.
function nearest(column, text) {
  if (!/^-?\d+(\.\d+)?$/.test(text)) return null;
  const [[x, a], [low, b], [step, c]] = [text, column.low, column.step].map(ratio);
  const top = 2n * (x * b - low * a) * c + a * b * step, bottom = 2n * a * b * step;
  const code = top / bottom - (top % bottom < 0n ? 1n : 0n);
  return 0n <= code && code < BigInt(column.points) ? code : null;
}

const DAY = 86400000, DAYS = 719162; // from 1 January of the year 1 to that of 1970

// The code of what a field holds, with a text of it; a sentence where it holds no answer.
function read(form, column, place) {
  const fields = [...form.elements].filter((one) => one.name === `q${place}`);
  const ticked = fields.filter((one) => one.checked).map((one) => one.value);
  const typed = fields.find((one) => one.type === column.form || one.tagName === "SELECT");
  const needed = { problem: fill(texts.needed, { question: column.question }) };
  if (ticked.includes("skip") || typed?.value === "skip") return { code: BigInt(column.skip), text: texts.skip };
  if (column.form === "several") {
    const code = ticked.reduce((set, item) => set | (1n << BigInt(item)), 0n);
    return { code, text: ticked.map((item) => label(column.choices[item])).join(", ") || texts.none };
  }
  if (column.form === "one") {
    const chosen = typed ? typed.value : ticked[0];
    if (!chosen) return needed;
    return { code: BigInt(chosen), text: label(column.choices[chosen]) };
  }
  if (typed.value === "" && !typed.validity.badInput) return needed;
  const code = nearest(column, NUMBERS[column.form](typed.value));
  if (code !== null) return { code, text: number(typed.value) };
  return { problem: fill(texts.outside, { ...ends(column), question: column.question }) };
}

// What is typed as a number: of days, of minutes after midnight, or itself.
const NUMBERS = {
  date: (text) => String(Math.round(Date.parse(text) / DAY) + DAYS),
  time: (text) => String(60 * Number(text.slice(0, 2)) + Number(text.slice(3, 5))),
  number: plain,
};

// A number of minutes as a time of day; noise leads to hours before and after it.
function clock(minutes) {
  const size = Math.abs(minutes), parts = [Math.floor(size / 60), size % 60];
  return (minutes < 0 ? "-" : "") + parts.map((part) => String(part).padStart(2, "0")).join(":");
}

// A number as it is typed, without an exponent.
function plain(text) {
  return /e/i.test(text) ? Number(text).toFixed(12) : text.replace(/^(-?)\./, "$10.").replace(/^\+/, "").replace(/\.$/, "");
}

// What is sent, in words ---------------------------------------------------------------------------------------------

// A code of one column as it is read.
function told(column, line, code) {
  if (code === null || (line && String(code) === line.absent)) return texts.no_answer;
  if (column.form === "several") {
    const items = column.choices.filter((_, item) => (code >> BigInt(item)) & 1n).map(label);
    if ((code >> BigInt(column.choices.length)) & 1n) items.push(texts.no_answer);
    return items.join(", ") || texts.none;
  }
  if (line === null) return label(column.choices[Number(code)]);
  const value = point(line, code), form = unit(column);
  if (form === "time") return clock(Math.round(value));
  if (form !== "date") return number(String(Number(value.toPrecision(12))));
  const day = new Date((Math.round(value) - DAYS) * DAY);
  return isNaN(day) ? String(Math.round(value)) : day.toISOString().split("T")[0];
}

// The number that a code stands for.
function point({ low, step }, code) {
  const [[first, a], [by, b]] = [low, step].map(ratio);
  return Number(first * b + BigInt(code) * by * a) / Number(a * b);
}

// The codes of the columns of a group, from one below the product of their sizes.
function split(group, code) {
  const codes = [];
  for (const place of [...group.columns].reverse()) {
    const size = BigInt(survey.columns[place].size);
    codes.unshift(code % size);
    code /= size;
  }
  return codes;
}

// The inputs that a released code stands for, where it stands for several.
function held(group, code) {
  const law = group.law;
  const all = [...Array(Number(law.size)).keys()];
  if (law.kind === "subset-selection") return all.filter((value) => (code >> BigInt(value)) & 1n);
  const { modulus, width, places, powers } = design(law);
  const j = Math.floor(Number(code) / modulus), y = Number(code) % modulus;
  const inside = new Set(places.slice(0, width).map((place) => (place * powers[j]) % modulus));
  return all.filter((value) => inside.has((y - value + modulus) % modulus));
}

const LISTS = ["subset-selection", "block-design", "plane-design"];

function toldGroup(group, code) {
  const columns = group.columns.map((place) => survey.columns[place]);
  if (code !== null && LISTS.includes(group.law.kind)) {
    const values = held(group, code).map((value) => split(group, BigInt(value)).map((one, n) => told(columns[n], null, one)).join(" + "));
    return values.length > 40 ? `${values.slice(0, 40).join("; ")}; …` : values.join("; ");
  }
  if (group.law.kind === "one-item") {
    const items = columns[0].choices, item = Number(code / 2n);
    return `${item < items.length ? label(items[item]) : texts.no_answer}: ${code % 2n ? texts.yes : texts.no}`;
  }
  if (columns.length === 1) return told(columns[0], group.lines[0], code);
  return split(group, code).map((one, n) => told(columns[n], group.lines[n], one)).join(" + ");
}

// A chance in as few people as show it, some on each side.
function inPeople(chance) {
  let of = 10;
  const kept = () => Math.round(of * chance), isShown = () => 0 < kept() && kept() < of && Math.abs(kept() / of - chance) <= 0.02;
  while (!isShown() && of < 1e12) of *= 10;
  const [all, some, other] = [of, kept(), of - kept()].map((people) => number(people.toLocaleString("en")));
  return { of: all, kept: some, other };
}

function share(part, ...rest) {
  const all = [part, ...rest].map(BigInt).reduce((sum, one) => sum + one, 0n);
  return Number((BigInt(part) * 10n ** 15n) / all) / 1e15;
}

function meaning(group, code) {
  const { law } = group, column = group.columns.length === 1 && survey.columns[group.columns[0]];
  const told = { date: texts.noise_days, time: texts.noise_minutes };
  const noise = (error) => fill(told[column && unit(column)] || texts.noise, { error: number(error) });
  if (law.kind === "keep-or-other") return fill(texts.same, inPeople(share(law.keep, BigInt(law.other) * (BigInt(law.size) - 1n))));
  if (law.kind === "bits" || law.kind === "one-item") {
    return fill(law.kind === "bits" ? texts.items : texts.one_item, inPeople(share(law.stay, law.flip)));
  }
  if (law.kind === "subset-selection") {
    const size = BigInt(law.size) - 1n, width = BigInt(law.width);
    return fill(texts.list, inPeople(share(binomial(size, width - 1n) * BigInt(law.high), binomial(size, width) * BigInt(law.low))));
  }
  if (LISTS.includes(law.kind)) {
    const { modulus, width } = design(law);
    return fill(texts.list, inPeople(share(BigInt(width) * BigInt(law.high), BigInt(modulus - width) * BigInt(law.low))));
  }
  const same = (weight, whole) => fill(texts.same, inPeople(share(weight, whole - weight)));
  const hidden = (weight, whole) => fill(texts.hidden, inPeople(share(whole - weight, weight)));
  const [line] = group.lines, isMissing = column && String(code) === column.skip;
  if (law.kind === "optional") {
    const [shown, missing, whole] = [law.present, law.missing, law.whole].map(BigInt);
    return isMissing ? same(whole - missing, whole) : `${noise(group.error)} ${hidden(whole - shown, whole)}`;
  }
  if (law.kind !== "matrix") return noise(group.error);
  const row = law.rows[code].map(BigInt), whole = row.reduce((sum, weight) => sum + weight, 0n);
  if (line === null) return same(row[code], whole);
  const absent = line.absent === null ? 0n : row[line.absent];
  if (absent && isMissing) return same(absent, whole);
  const typed = column.choices && NUMBERS[unit(column)](column.choices[code]);
  const value = typed ? point({ low: typed, step: "0" }, 0) : point(column, code);
  const away = row.reduce((sum, weight, drawn) => {
    const far = String(drawn) === line.absent ? 0 : Math.abs(point(line, drawn) - value);
    return sum + far * share(weight, whole - absent - weight);
  }, 0);
  const moved = noise(away.toLocaleString("en", { maximumSignificantDigits: 3 }));
  return absent ? `${moved} ${hidden(absent, whole)}` : moved;
}

// From question to sending -------------------------------------------------------------------------------------------

function heading() {
  const about = [["receiver", "custodian"], ["purpose", "purpose"], ["contact", "contact"]];
  const lines = about.filter(([, key]) => survey[key]).map(([text, key]) => element("p", { className: "soft" }, fill(texts[text], survey)));
  return [element("h1", {}, survey.title || texts.title), element("p", {}, texts.intro), ...lines];
}

function ask() {
  const groups = askedGroups(), places = [...new Set(groups.flatMap((group) => group.columns))].sort((a, b) => a - b);
  const form = element("form", { noValidate: true, autocomplete: "off" });
  if (survey.weights !== null) form.append(element("p", {}, texts.one_thing));
  form.append(...places.map((place) => field(survey.columns[place], place)));
  form.append(element("button", { type: "submit" }, texts.next), element("p", { className: "soft" }, texts.next_help));
  form.addEventListener("input", (event) => complain(form, event.target.name, ""));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const answers = new Map(places.map((place) => [place, read(form, survey.columns[place], place)]));
    for (const [place, { problem }] of answers) complain(form, `q${place}`, problem ?? "");
    const wrong = places.find((place) => answers.get(place).problem);
    if (wrong !== undefined) return [...form.elements].find((one) => one.name === `q${wrong}`).focus();
    review(groups, places, answers);
  });
  show(...heading(), form);
}

function complain(form, name, problem) {
  document.getElementById(`${name}-error`).textContent = problem;
  [...form.elements].filter((one) => one.name === name).forEach((one) => one.setAttribute("aria-invalid", String(problem !== "")));
}

// Where the plan has tickets: the field for that of a respondent, which may stand in the address.
function ticketField() {
  const given = element("input", {
    type: "text", id: "ticket", value: location.hash.slice(1), autocomplete: "off", autocapitalize: "none", spellcheck: false,
    "aria-describedby": "ticket-help" });
  return element("div", { className: "card" }, element("label", { className: "choice", htmlFor: "ticket" }, element("strong", {}, texts.ticket)),
    element("p", { className: "soft", id: "ticket-help" }, texts.ticket_help), given);
}

function review(groups, places, answers) {
  const codes = new Map(places.map((place) => [place, answers.get(place).code]));
  const again = typeof kept.read().line === "string";
  if (!again) kept.add({ line: drawnLine(groups, codes) });
  const row = sentCodes(kept.read().line), field = survey.tickets ? ticketField() : null, given = field?.querySelector("input");
  const ticket = () => given.value.trim().toLowerCase();
  const line = () => (field ? `{"ticket":${JSON.stringify(ticket())},${kept.read().line.slice(1)}` : kept.read().line);
  const exact = element("textarea", { readOnly: true, dir: "ltr", value: line(), "aria-label": texts.exactly });
  const cards = groups.map((group) => element("div", { className: "card" }, element("dl", {},
    element("dt", {}, texts.question), element("dd", {}, group.columns.map((place) => survey.columns[place].question).join(" + ")),
    element("dt", {}, texts.answered), element("dd", { className: "true" }, group.columns.map((place) => answers.get(place).text).join(" + ")),
    element("dt", {}, texts.sent), element("dd", { className: "sent" }, toldGroup(group, row.get(group.name)))),
    element("p", {}, meaning(group, joined(group, codes)))));
  const send = element("button", { type: "button" }, survey.send === null ? texts.save : texts.send);
  const leave = element("button", { type: "button", className: "second" }, texts.leave);
  const moved = { factor: number(survey.factor), delta: number(survey.delta) };
  const failed = element("p", { className: "error", role: "alert" });
  send.addEventListener("click", () => {
    failed.textContent = field && !ticket() ? texts.ticket_needed : "";
    if (failed.textContent) return given.focus();
    return survey.send === null ? save(line()) : post(line(), send, failed);
  });
  field?.addEventListener("input", () => (exact.value = line()));
  leave.addEventListener("click", () => show(element("h1", {}, survey.title || texts.title), element("p", { role: "status" }, texts.left)));
  show(
    element("h1", {}, texts.review), again ? element("p", { className: "card" }, texts.again) : null, ...cards,
    element("h2", {}, texts.means), element("p", {}, fill(survey.delta ? texts.promise_delta : texts.promise, moved)),
    survey.custodian ? element("p", {}, fill(texts.receiver, survey)) : null,
    survey.send === null ? null : element("p", {}, fill(texts.address, survey)), element("p", {}, texts.forget),
    element("details", {}, element("summary", {}, texts.exactly), exact),
    field, send, leave, failed);
}

// The codes of a line, whole however long they are.
function sentCodes(line) {
  const row = line.slice(line.indexOf('"row":{') + 7, -2);
  return new Map([...row.matchAll(/("(?:[^"\\]|\\.)*"):(-?\d+|null)/g)].map(([, name, code]) => [JSON.parse(name), code === "null" ? null : BigInt(code)]));
}

async function post(line, button, failed) {
  button.disabled = true;
  try {
    const answer = await fetch(survey.send, {
      method: "POST", body: `${line}\n`, headers: { "Content-Type": "text/plain;charset=UTF-8" },
      credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer",
    });
    if (!answer.ok) throw answer;
    show(element("h1", {}, survey.title || texts.title), element("p", { role: "status" }, texts.thanks));
  } catch (answer) {
    failed.textContent = answer.status === 403 ? texts.ticket_refused : texts.failed;
    button.disabled = false;
  }
}

function save(line) {
  const link = element("a", { href: URL.createObjectURL(new Blob([`${line}\n`], { type: "application/json" })), download: "answer.jsonl" });
  link.click();
  show(element("h1", {}, survey.title || texts.title), element("p", { role: "status" }, texts.kept),
    element("textarea", { readOnly: true, dir: "ltr", value: line, "aria-label": texts.exactly }));
}

async function begin() {
  document.documentElement.lang = texts.lang;
  document.title = survey.title || texts.title;
  const refuse = (text) => show(element("p", { className: "error", role: "alert" }, text));
  if (!globalThis.isSecureContext || !globalThis.crypto?.subtle || !crypto.getRandomValues) return refuse(texts.insecure);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(input)));
  if ([...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("") !== EXPECTED) return refuse(texts.changed);
  ask();
}

// Whoever comes back to the page finds no answers in it.
window.addEventListener("pagehide", () => main.replaceChildren());
window.addEventListener("pageshow", (event) => event.persisted && begin());
begin();
