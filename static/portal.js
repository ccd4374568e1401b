"use strict";

const list = document.getElementById("list");
const on = (names, act) => names.split(" ").forEach((name) => addEventListener(name, act, true));

// The second click of a double click can hit the next entry, which nobody has read.
on("click", (event) => {
  if (event.detail > 1 && event.target.closest("button")) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
});

// Nothing slides under the pointer.
on("htmx:before:swap", ({ detail: { tasks } }) => {
  for (const { type, target, fragment } of tasks) {
    if (type !== "main" || !target?.matches(".entry")) continue;
    const next = fragment.querySelector(".entry");
    if (next && !target.matches(".group")) next.style.minHeight = `${target.getBoundingClientRect().height}px`;
    // Whoever went on stays there.
    const here = document.activeElement;
    if (here !== document.body && !target.contains(here)) {
      fragment.querySelector("[autofocus]")?.removeAttribute("autofocus");
    }
  }
});

on("htmx:error htmx:response:error", ({ detail: { ctx } }) => {
  // Our answers have words, a proxy's do not.
  if (ctx?.hx?.redirect || ctx?.text?.includes("<hx-partial")) return;
  document.getElementById("alert").innerHTML =
    '<p class="notice bad">There was no answer. Reload to see what was saved.</p>';
});

on("change pageshow htmx:after:swap", () => {
  const number = document.querySelectorAll("[name=selected]:checked").length;
  for (const place of document.querySelectorAll("#selection .number")) place.textContent = number ? `${number} ` : "";
});

// No key confirms what was not on the screen whole.
function isRead(entry) {
  const fold = entry.querySelector(".whole:not([open])");
  if (fold) fold.open = true;
  const text = entry.querySelector(".whole .content") ?? entry.querySelector(".content");
  const { top, bottom } = text.getBoundingClientRect();
  entry.begun ||= top >= 0 && top < innerHeight;
  if (!entry.begun) entry.scrollIntoView();
  else if (bottom > innerHeight) scrollBy(0, Math.min(bottom - innerHeight, innerHeight - 160) + 80);
  else return !fold;
}

function move(entry, step) {
  const all = [...list.querySelectorAll("article[tabindex]")];
  const next = all[all.indexOf(entry) + step];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: next.offsetHeight < innerHeight ? "nearest" : "start" });
}

list?.addEventListener("keydown", (event) => {
  const { target, key } = event;
  const entry = target.closest("article[tabindex]");
  if (!entry || !list.dataset.keys || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  if (target.matches("textarea, select, input:not([type=checkbox])")) return;
  const press = (what) => entry.querySelector(`[${what}]`)?.click();
  if (key === "j") move(entry, 1);
  if (key === "k") move(entry, -1);
  if (key === "r") press("value=reject");
  if (key === "x") press("name=selected");
  if (key === "c" && isRead(entry)) press("value=confirm");
});
