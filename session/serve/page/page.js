// Shows what `status` says, and asks again every two seconds. Everything from outside is put into the page as
// text, never as HTML.
"use strict";

const EVERY = 2000;
const LONGEST = 10000;
const KEPT = "sidestep-token";
const HEALTH = {
  "healthy": ["●", "good"], "degraded": ["▲", "bad"], "due for a probe": ["◆", "due"], "probed": ["◆", "due"],
};
const OUTCOME = { answered: ["✓", "good"], failed: ["✗", "bad"], left: ["–", "quiet"], running: ["…", "due"] };
const ENDED = { answered: "answered", failed: "failed", left: "the client left", running: "runs" };

const byId = (id) => document.getElementById(id);
const numbers = new Intl.NumberFormat("en");
let token = "";
let isPaused = false;
let timer = 0;
let asking = null;

function kept() {
  try { return sessionStorage.getItem(KEPT) || ""; } catch { return ""; }
}

function keep(value) {
  token = value;
  try { sessionStorage.setItem(KEPT, value); } catch { /* it is asked for again after a reload */ }
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

// The token comes behind the # of the address, which no browser sends to a server. It does not stay there.
function takeToken() {
  const given = decoded(location.hash.slice(1));
  if (given && given !== "main") {
    keep(given);
    history.replaceState(null, "", location.pathname);
  } else {
    token = kept();
  }
}

function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function seconds(value) {
  if (value >= 120) return `${numbers.format(Math.round(value / 60))} min`;
  return value >= 10 ? `${Math.round(value)} s` : `${value.toFixed(1)} s`;
}

function plural(count, word) {
  return `${numbers.format(count)} ${word}${count === 1 ? "" : "s"}`;
}

// A piece of text in a style of its own; the sign before it says the same as the colour, as the words do.
function piece(text, style) {
  const node = document.createElement("span");
  node.textContent = text;
  if (style) node.className = style;
  return node;
}

function paragraph(...pieces) {
  const node = document.createElement("p");
  node.append(...pieces);
  return node;
}

function signed([sign, style], words) {
  const mark = piece(`${sign} `, "");
  mark.setAttribute("aria-hidden", "true");
  const node = piece("", style);
  node.append(mark, words);
  return node;
}

// Each row keeps its place in the document while it is shown, and each cell is changed only if it says something new,
// so that a screen reader and a selection keep their place.
function fill(table, rows) {
  const labels = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const body = table.tBodies[0];
  const old = new Map([...body.rows].map((row) => [row.dataset.key, row]));
  rows.forEach(({ key, cells }, at) => {
    let row = old.get(key);
    old.delete(key);
    if (!row) {
      row = newRow(key, labels);
    }
    if (body.rows[at] !== row) body.insertBefore(row, body.rows[at] || null);
    cells.forEach(([said, make], column) => {
      const cell = row.cells[column];
      if (cell.dataset.said !== said) {
        cell.dataset.said = said;
        cell.replaceChildren(...[make()].flat());
      }
    });
  });
  old.forEach((row) => row.remove());
}

function newRow(key, labels) {
  const row = document.createElement("tr");
  row.setAttribute("role", "row");
  row.dataset.key = key;
  labels.forEach((label, column) => {
    const cell = document.createElement(column ? "td" : "th");
    cell.setAttribute("role", column ? "cell" : "rowheader");
    if (!column) cell.scope = "row";
    cell.dataset.label = label;
    row.append(cell);
  });
  return row;
}

const plain = (text) => [text, () => text];
const cell = (value, make) => [JSON.stringify(value), make];

const CLIENTS_KEY = "the client's own key";

function named(route, key) {
  const parts = [piece(route, "")];
  if (key) parts.push(piece(key === CLIENTS_KEY ? ` with ${key}` : ` key ${key}`, "quiet"));
  return parts;
}

function why(failure) {
  return failure.status === null ? failure.kind : `${failure.status} ${failure.kind}`;
}

function routeRow(each) {
  const left = each.seconds_left ? seconds(Math.ceil(each.seconds_left)) : "0 s";
  const last = each.last_failure;
  return {
    key: JSON.stringify([each.route, each.api_key_env]),
    cells: [
      cell([each.route, each.api_key_env], () => paragraph(...named(each.route, each.api_key_env))),
      cell(each.state, () => signed(HEALTH[each.state] || ["?", "due"], each.state)),
      plain(left),
      plain(`${numbers.format(each.successes)} of ${numbers.format(each.attempts)}`),
      cell(last, () => (last ? [paragraph(why(last)), paragraph(piece(last.message, "quiet"))] : "none")),
    ],
  };
}

function tokens(counted) {
  if (!counted) return "";
  return `${numbers.format(counted.input || 0)} tokens in, ${numbers.format(counted.output || 0)} out`;
}

function attemptItem(each, isLast, state) {
  const item = document.createElement("li");
  if (each.waited >= 0.05) item.append(piece(`after a wait of ${seconds(each.waited)}: `, "quiet"));
  item.append(...named(each.route, each.api_key_env), ": ");
  if (each.kind) {
    item.append(signed(OUTCOME.failed, why(each)));
  } else if (each.seconds === null) {
    item.append(signed(OUTCOME.running, "runs"));
  } else {
    const ended = isLast ? state : "left";
    item.append(signed(OUTCOME[ended] || OUTCOME.left, ENDED[ended] || ended));
  }
  if (each.seconds !== null) item.append(piece(` in ${seconds(each.seconds)}`, "quiet"));
  return item;
}

function attemptList(step) {
  const list = document.createElement("ol");
  step.attempts.forEach((each, at) => list.append(attemptItem(each, at === step.attempts.length - 1, step.state)));
  if (step.reason) return [paragraph(piece(`${step.requested} was passed over: ${step.reason}`, "quiet")), list];
  return step.attempts.length ? list : "none";
}

function dollars(value) {
  return value > 0 && value < 0.0001 ? "< $0.0001" : `$${value.toFixed(4)}`;
}

function costOf(step) {
  const counted = step.attempts.filter((each) => each.tokens);
  const sum = (name) => counted.reduce((total, each) => total + (each.tokens[name] || 0), 0);
  const priced = counted.length && counted.every((each) => each.money !== null);
  const money = priced ? dollars(counted.reduce((total, each) => total + each.money, 0)) : "";
  return counted.length ? { money, tokens: tokens({ input: sum("input"), output: sum("output") }) } : null;
}

function stepRow(step) {
  const waited = step.attempts.reduce((total, each) => total + each.waited, 0);
  const cost = costOf(step);
  const words = step.state === "answered" ? `answered by ${step.route}` : ENDED[step.state] || step.state;
  const ago = step.state === "running" ? "now" : `${seconds(step.seconds_ago)} ago`;
  return {
    key: String(step.step),
    cells: [
      cell([step.requested, ago], () => [paragraph(`${step.step}. ${step.requested}`), paragraph(piece(ago, "quiet"))]),
      cell([step.state, step.route], () => signed(OUTCOME[step.state] || OUTCOME.left, words)),
      cell([step.attempts, step.reason, step.state], () => attemptList(step)),
      plain(numbers.format(step.swaps)),
      plain(seconds(waited)),
      plain(seconds(step.seconds)),
      cell(cost, () => (cost ? [paragraph(cost.money || "no price"), paragraph(piece(cost.tokens, "quiet"))] : "not counted")),
    ],
  };
}

const MOST_NAMED = 8;

// It says only what matters to somebody who cannot look, and changes only then.
function summary(status) {
  const out = status.routes.filter((each) => each.state !== "healthy");
  const names = [...new Set(out.map((each) => each.route))];
  const all = plural(status.routes.length, "route");
  if (!status.routes.length) return "No route is known yet.";
  if (!out.length) return status.routes.length === 1 ? "The only route is healthy." : `All ${all} are healthy.`;
  const further = names.length > MOST_NAMED ? ` and ${plural(names.length - MOST_NAMED, "other")}` : "";
  return `${out.length} of ${all} not healthy: ${names.slice(0, MOST_NAMED).join(", ")}${further}.`;
}

function show(status) {
  byId("ask").hidden = true;
  byId("shown").hidden = false;
  for (const name of ["answered", "failed", "saved"]) put(byId(name), numbers.format(status.counts[name]));
  for (const [name, make] of [["routes", routeRow], ["steps", stepRow]]) {
    byId(name).hidden = !status[name].length;
    byId(`no-${name}`).hidden = status[name].length > 0;
    fill(byId(name), status[name].map(make));
  }
  byId("left-out").hidden = !status.left_out;
  put(byId("left-out"), `${plural(status.left_out, "further route")} that a client has asked for, not shown`);
  byId("prices").hidden = status.knows_prices || !status.steps.length;
  put(byId("summary"), summary(status));
  put(byId("updated"), `Updated at ${new Date().toLocaleTimeString()}`);
}

function askForToken() {
  const form = byId("ask");
  if (form.hidden) {
    byId("shown").hidden = true;
    form.hidden = false;
    byId("token").focus();
  }
  put(byId("summary"), token ? "This is not the token of this address." : "This address asks for its token.");
}

async function ask() {
  clearTimeout(timer);
  asking?.abort();
  const mine = asking = new AbortController();
  const late = setTimeout(() => mine.abort(), LONGEST);
  try {
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    const answer = await fetch("status", { headers, cache: "no-store", signal: mine.signal });
    if (answer.status === 401) {
      askForToken();
      return;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    show(await answer.json());
  } catch {
    if (asking === mine) put(byId("summary"), "No answer: sidestep serve has ended, or is busy. What follows is old.");
  } finally {
    clearTimeout(late);
    if (asking === mine) again();
  }
}

function again() {
  clearTimeout(timer);
  const waits = !byId("ask").hidden || isPaused || document.hidden;
  if (!waits) timer = setTimeout(ask, EVERY);
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  keep(byId("token").value.trim());
  byId("token").value = "";
  ask();
});
byId("pause").addEventListener("click", () => {
  isPaused = !isPaused;
  byId("pause").setAttribute("aria-pressed", String(isPaused));
  if (isPaused) clearTimeout(timer); else ask();
});
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});
document.addEventListener("visibilitychange", () => { if (!document.hidden && !isPaused) ask(); });
window.addEventListener("hashchange", () => { takeToken(); ask(); });

takeToken();
ask();
