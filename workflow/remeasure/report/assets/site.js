"use strict";
// One script for all pages: theme, the ledger's table, the search over artefacts. No libraries.

// --- theme: before the first paint, so that nothing flashes -------------------------------
const THEME_KEY = "remeasure-theme";

function storedTheme() {
  try {
    const stored = localStorage.getItem(THEME_KEY);
    return stored === "light" || stored === "dark" ? stored : "auto";
  } catch {
    return "auto"; // a browser that keeps nothing for pages from disk
  }
}

function applyTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  for (const button of document.querySelectorAll("[data-theme-choice]"))
    button.setAttribute("aria-pressed", String(button.dataset.themeChoice === theme));
}

applyTheme(storedTheme());

function startThemes() {
  const group = document.querySelector(".themes");
  group.hidden = false;
  applyTheme(storedTheme());
  group.addEventListener("click", (event) => {
    const theme = event.target.dataset.themeChoice;
    if (!theme) return;
    try {
      if (theme === "auto") localStorage.removeItem(THEME_KEY);
      else localStorage.setItem(THEME_KEY, theme);
    } catch { /* remembered for this page only */ }
    applyTheme(theme);
  });
}

// --- small helpers ------------------------------------------------------------------------
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const anchor = (path) => "a-" + path.replace(/[^A-Za-z0-9]+/g, "-");

const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

const counted = (number) => number.toLocaleString("en-US");

// The address keeps the state, so that a filtered view can be linked. Replacing it
// leaves the history alone while someone types.
function replaceHash(hash) {
  if (location.hash !== hash) history.replaceState(null, "", hash || location.pathname + location.search);
}

function later(action, milliseconds) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds);
  };
}

// --- ledger -------------------------------------------------------------------------------
const PAGE = 200;
const FILTERS = ["study", "output", "verdict", "kind"];

// key in the address, title, class of the cells, the row's value to sort by, what a cell holds
const COLUMNS = [
  ["output", "output", "", (row) => row.output,
    (row) => element("a", { href: `${row.study}.html#${row.output}` }, row.output)],
  ["quantity", "quantity", "quantity", (row) => row.quantity,
    (row) => row.condition ? [row.quantity, element("span", { class: "quiet" }, row.condition)] : row.quantity],
  ["published", "published", "num", (row) => row.published, (row) => row.printed],
  ["measured", "measured", "num", (row) => row.value,
    (row) => row.value === "" ? "–" : element("span", { title: row.value }, row.shown)],
  ["interval", "interval, width", "num", (row) => row.spread, (row) => row.interval === "" ? "" :
    [row.interval, element("span", { class: "interval" },
      `width ${row.width}` + (row.wide ? ", wider than the value" : ""))]],
  ["unit", "unit", "", (row) => row.unit, (row) => row.unit],
  ["verdict", "verdict", "", (row) => row.verdict,
    (row) => element("span", { class: `badge ${row.tone}` }, row.verdict)],
  ["reason", "reason", "reason", (row) => row.reason, (row) => row.reason],
  ["kind", "kind", "", (row) => row.kind, (row) => row.kind],
  ["n", "n", "num", (row) => row.n, (row) => row.n === "" ? "" : counted(Number(row.n))],
  ["origin", "origin", "", (row) => row.origin, (row) => row.origin],
  ["study", "study", "", (row) => row.study, (row) => row.study],
  ["step", "step", "", (row) => row.step, (row) => row.step],
  ["artefact", "artefact", "", (row) => row.artifact, (row) => row.artifact === "" ? "" :
    element("a", { href: `provenance.html#${anchor(row.artifact)}` }, row.artifact)],
];

// Numbers before words, nothing at the end whichever way it goes; equal rows keep their order.
function sorted(rows, key, descending) {
  const value = COLUMNS.find((column) => column[0] === key)[3];
  const sign = descending ? -1 : 1;
  const keyed = rows.map((row, place) => {
    const text = value(row);
    const number = text === "" ? NaN : Number(text);
    return { row, place, text, number, rank: text === "" ? 2 : Number.isNaN(number) ? 1 : 0 };
  });
  keyed.sort((a, b) => {
    if (a.rank !== b.rank) return a.rank - b.rank;
    if (a.rank === 0) return sign * (a.number - b.number) || a.place - b.place;
    if (a.text === b.text) return a.place - b.place;
    return sign * (a.text < b.text ? -1 : 1);
  });
  return keyed.map((item) => item.row);
}

function startLedger(source) {
  const data = JSON.parse(source.textContent);
  const rows = data.rows.map((cells) => {
    const row = Object.fromEntries(data.columns.map((name, index) => [name, cells[index]]));
    row.text = [row.study, row.output, row.quantity, row.condition, row.published, row.printed,
      row.unit, row.verdict, row.reason, row.kind, row.origin, row.step, row.artifact]
      .join("\n").toLowerCase();
    return row;
  });
  const form = document.getElementById("filters");
  const head = document.querySelector(".ledger thead tr");
  const body = document.querySelector(".ledger tbody");
  const box = document.getElementById("rows");
  const status = document.getElementById("status");
  const [previous, next] = ["previous", "next"].map((id) => document.getElementById(id));
  const order = { verdict: data.verdicts };
  let state;

  for (const [key, title, style] of COLUMNS) {
    const button = element("button", { type: "button", "data-sort": key }, title);
    head.append(element("th", style === "num" ? { scope: "col", class: "num" } : { scope: "col" }, button));
  }

  const blank = () => ({ q: "", study: "", output: "", verdict: "", kind: "", sort: "", down: false, page: 1 });

  function read() {
    const given = new URLSearchParams(location.hash.slice(1));
    const read = blank();
    for (const name of ["q", ...FILTERS]) read[name] = given.get(name) || "";
    const sort = given.get("sort") || "";
    read.down = sort.startsWith("-");
    read.sort = sort.replace(/^-/, "");
    if (!COLUMNS.some((column) => column[0] === read.sort)) read.sort = "";
    read.page = Math.max(1, Number.parseInt(given.get("page"), 10) || 1);
    return read;
  }

  function remember() {
    const kept = new URLSearchParams();
    for (const name of ["q", ...FILTERS]) if (state[name]) kept.set(name, state[name]);
    if (state.sort) kept.set("sort", (state.down ? "-" : "") + state.sort);
    if (state.page > 1) kept.set("page", state.page);
    const text = kept.toString();
    replaceHash(text ? "#" + text : "");
  }

  // Each select counts the rows that all the other filters leave, so a choice shows what it gives.
  function options(name, found) {
    const counts = new Map();
    for (const row of found) counts.set(row[name], (counts.get(row[name]) || 0) + 1);
    if (state[name] && !counts.has(state[name])) counts.set(state[name], 0);
    const known = [...counts.keys()];
    const places = order[name];
    if (places) known.sort((a, b) => places.indexOf(a) - places.indexOf(b));
    const select = form.elements[name];
    select.replaceChildren(
      element("option", { value: "" }, `all (${counted(found.length)})`),
      ...known.map((value) => element("option", { value }, `${value} (${counted(counts.get(value))})`)),
    );
    select.value = state[name];
  }

  function show() {
    const wanted = words(state.q);
    const searched = rows.filter((row) => wanted.every((word) => row.text.includes(word)));
    const passes = (row, except) =>
      FILTERS.every((name) => name === except || !state[name] || row[name] === state[name]);
    for (const name of FILTERS) options(name, searched.filter((row) => passes(row, name)));
    let found = searched.filter((row) => passes(row, ""));
    if (state.sort) found = sorted(found, state.sort, state.down);
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    state.page = Math.min(state.page, pages);
    const first = (state.page - 1) * PAGE;
    const shown = found.slice(first, first + PAGE);
    const fragment = document.createDocumentFragment();
    for (const row of shown) {
      const line = document.createElement("tr");
      for (const [, , style, , cell] of COLUMNS) {
        const made = document.createElement("td");
        if (style) made.className = style;
        made.append(...[cell(row)].flat());
        line.append(made);
      }
      fragment.append(line);
    }
    body.replaceChildren(fragment);
    const range = found.length === 0 ? "No rows" : found.length === 1 ? "1 row"
      : pages === 1 ? `${counted(found.length)} rows`
      : `Rows ${counted(first + 1)} to ${counted(first + shown.length)} of ${counted(found.length)}`;
    status.textContent = found.length === rows.length ? range : `${range} (of ${counted(rows.length)} in all)`;
    previous.disabled = state.page === 1;
    next.disabled = state.page === pages;
    for (const cell of head.children) {
      const on = cell.firstChild.dataset.sort === state.sort;
      if (on) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
  }

  function restore() {
    state = read();
    form.elements.q.value = state.q;
    show();
  }

  function change(changes) {
    state = { ...state, page: 1, ...changes };
    show();
    remember();
  }

  const typed = later(() => change({ q: form.elements.q.value.trim() }), 120);
  form.elements.q.addEventListener("input", typed);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", (event) => {
    if (FILTERS.includes(event.target.name)) change({ [event.target.name]: event.target.value });
  });
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    form.elements.q.value = "";
    change({ ...blank(), sort: state.sort, down: state.down });
  });
  // A column goes up, then down, then back to the ledger's own order.
  head.addEventListener("click", (event) => {
    const key = event.target.dataset.sort;
    if (!key) return;
    if (state.sort !== key) change({ sort: key, down: false });
    else if (!state.down) change({ down: true });
    else change({ sort: "", down: false });
  });
  const turn = (pages) => {
    change({ page: state.page + pages });
    box.scrollTop = 0;
  };
  previous.addEventListener("click", () => turn(-1));
  next.addEventListener("click", () => turn(1));
  window.addEventListener("hashchange", restore);
  for (const part of [form, box, document.getElementById("pager")]) part.hidden = false;
  restore();
}

// --- provenance ---------------------------------------------------------------------------
function startProvenance(form) {
  const entries = [...document.querySelectorAll("details.artefact")];
  const texts = entries.map((entry) => entry.textContent.toLowerCase());
  const found = document.getElementById("found");
  const all = found.textContent;
  form.hidden = false;
  function show() {
    const wanted = words(form.elements.q.value);
    let count = 0;
    entries.forEach((entry, index) => {
      entry.hidden = !wanted.every((word) => texts[index].includes(word));
      count += entry.hidden ? 0 : 1;
    });
    found.textContent = wanted.length ? `${counted(count)} of ${all}` : all;
  }
  // A link to an artefact opens it.
  function open() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const entry = target && target.closest("details.artefact");
    if (!entry) return;
    form.elements.q.value = "";
    show();
    entry.open = true;
    entry.scrollIntoView();
  }
  form.elements.q.addEventListener("input", later(show, 80));
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", open);
  open();
}

// A link into a closed part of a page opens the parts around its target.
function openAround() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part = target; part; part = part.parentElement)
    if (part.tagName === "DETAILS") part.open = true;
  if (target) target.scrollIntoView();
}

document.addEventListener("DOMContentLoaded", () => {
  startThemes();
  const ledger = document.getElementById("ledger-data");
  const find = document.getElementById("find");
  if (ledger) startLedger(ledger);
  else if (find) startProvenance(find);
  else {
    window.addEventListener("hashchange", openAround);
    openAround();
  }
});
