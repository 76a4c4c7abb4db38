/** Segments of a queue, one of which is read. */
export const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="#2f74c0"><path d="M1 2h14v3H1zM1 11h14v3H1z"/><path d="M1 6.5h9v3H1z" opacity=".5"/></svg>';

/** The one stylesheet. */
export const style = `
:root {
  color-scheme: light dark;
  --ink: light-dark(#1a1d21, #e6e8eb);
  --muted: light-dark(#545b64, #a2a9b3);
  --paper: light-dark(#ffffff, #15181c);
  --line: light-dark(#d5d9de, #343a42);
  --link: light-dark(#0b57b0, #82b4f5);
  --failure: light-dark(#b3140c, #ff8a80);
  --warning: light-dark(#7a4b00, #ffc46b);
  --ok: light-dark(#12632b, #7fd896);
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 90rem; padding: 0 1rem 3rem; font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
header { display: flex; flex-wrap: wrap; gap: 0 2rem; justify-content: space-between; align-items: baseline; border-bottom: 1px solid var(--line); padding: .75rem 0; }
header p { margin: 0; color: var(--muted); }
header nav { display: flex; flex-wrap: wrap; gap: 0 1rem; }
header nav a { text-decoration: none; }
header nav a:first-child { font-weight: 700; }
h3 { font-size: 1rem; margin: 1rem 0 0; }
a { color: var(--link); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
h1 { font-size: 1.4rem; line-height: 1.35; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
.verdict { border-left: .4rem solid var(--line); padding-left: .75rem; }
.verdict.ok, .verdict.notice { border-color: var(--ok); }
.verdict.warning { border-color: var(--warning); }
.verdict.failure { border-color: var(--failure); }
.verdict.ok span, .verdict.notice span { color: var(--ok); }
.verdict.warning span, .advice .warning strong { color: var(--warning); }
.verdict.failure span, .advice .failure strong, p.failure { color: var(--failure); }
.advice { padding-left: 1.5rem; }
.advice li { margin: .5rem 0; overflow-wrap: anywhere; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--muted); font-weight: 600; white-space: nowrap; }
td { min-width: 4rem; max-width: 40rem; overflow-wrap: break-word; }
td:has(time) { min-width: 11rem; }
td:has(bdi) { min-width: 8rem; }
td em { white-space: nowrap; }
em { color: var(--warning); font-style: normal; font-weight: 600; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
td code { overflow-wrap: break-word; }
.lost #read::after { content: " · the server does not answer"; color: var(--failure); }
pre { max-width: 40rem; white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }
summary { cursor: pointer; }
.none { color: var(--muted); }
dl { display: flex; flex-wrap: wrap; gap: .5rem 2rem; }
dt { color: var(--muted); }
dd { margin: 0; font-weight: 600; }
.buttons { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
.button, button { display: inline-block; font: inherit; color: var(--link); background: none; border: 1px solid var(--link); border-radius: .3rem; padding: .15rem .6rem; text-decoration: none; cursor: pointer; }
.button:hover, button:hover { color: var(--paper); background: var(--link); }
main > form > p { display: flex; flex-wrap: wrap; gap: 1rem; align-items: center; }
input { font: inherit; max-width: 100%; color: inherit; background: var(--paper); border: 1px solid var(--muted); border-radius: .3rem; padding: .2rem .4rem; }
`;

/** Times in the viewer's zone, and the page anew while somebody looks at it. Everything works without. */
export const script = `
"use strict";
const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
function localize(root) {
  for (const time of root.querySelectorAll("time")) time.textContent = format.format(new Date(time.dateTime));
}
async function refresh() {
  if (document.hidden || !document.getSelection().isCollapsed || document.querySelector("main form:focus-within")) return;
  const response = await fetch(location.href, { headers: { accept: "text/html" } });
  const next = new DOMParser().parseFromString(await response.text(), "text/html");
  if (!next.getElementById("main")) return;
  localize(next);
  const scrolled = [...document.querySelectorAll(".table")].map((table) => table.scrollLeft);
  const focused = [...document.querySelectorAll("main a, main .table")].indexOf(document.activeElement);
  for (const id of ["read", "main"]) {
    const [before, after] = [document.getElementById(id), next.getElementById(id)];
    if (before && after) before.replaceChildren(...after.childNodes);
  }
  document.title = next.title;
  document.querySelectorAll(".table").forEach((table, at) => { table.scrollLeft = scrolled[at] ?? 0; });
  if (focused >= 0) document.querySelectorAll("main a, main .table")[focused]?.focus({ preventScroll: true });
}
localize(document);
const every = Number(document.getElementById("main").dataset.refreshMs);
async function loop() {
  try {
    await refresh();
    document.body.classList.remove("lost");
  } catch {
    // the server is away: what is shown says as of when it is
    document.body.classList.add("lost");
  }
  setTimeout(loop, every);
}
if (every > 0) setTimeout(loop, every);
`;
