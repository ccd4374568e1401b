// Comfort on top of pages that work without it.
"use strict";

const list = document.getElementById("list");

// The second click of a double click can hit the entry that moved up, which nobody has read.
addEventListener("click", (event) => {
  if (event.detail > 1 && event.target.closest("button")) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}, true);

// What takes an entry's place keeps its height: nothing slides under the pointer.
addEventListener("htmx:before:swap", ({ detail: { tasks } }) => {
  for (const { type, target, fragment } of tasks) {
    if (type !== "main" || !target?.matches(".entry")) continue;
    const next = fragment.querySelector(".entry");
    if (next) next.style.minHeight = `${target.offsetHeight}px`;
    // Whoever went on meanwhile stays where they are.
    const here = document.activeElement;
    if (here !== document.body && !target.contains(here)) {
      fragment.querySelector("[autofocus]")?.removeAttribute("autofocus");
    }
  }
});
addEventListener("htmx:after:swap", () => count());

function alarm(text) {
  const notice = document.createElement("p");
  notice.className = "notice bad";
  notice.textContent = text;
  document.getElementById("alert").replaceChildren(notice);
}
addEventListener("htmx:error", () => alarm("There was no answer. Reload the page to see whether that was saved."));
// A proxy's answer has no words of ours.
addEventListener("htmx:response:error", ({ detail: { ctx } }) => {
  if (!ctx.hx.redirect && !ctx.text.includes("<hx-partial")) alarm("The portal did not answer. Reload the page to see what was saved.");
});

function count() {
  const number = document.querySelectorAll("[name=selected]:checked").length;
  for (const place of document.querySelectorAll("#selection .number")) place.textContent = number ? `${number} ` : "";
}
addEventListener("change", count);
addEventListener("pageshow", count);

// Nothing is confirmed by a key that was not on the screen from its first line to its last.
function isRead(entry) {
  const fold = entry.querySelector(".whole:not([open])");
  if (fold) fold.open = true;
  const { top, bottom } = (entry.querySelector(".whole .content") ?? entry.querySelector(".content")).getBoundingClientRect();
  entry.begun ||= top >= 0 && top < innerHeight;
  if (!entry.begun) entry.scrollIntoView();
  else if (bottom > innerHeight) scrollBy(0, Math.min(bottom - innerHeight + 80, innerHeight - 80));
  else return !fold;
  return false;
}

function move(entry, step) {
  const all = [...list.querySelectorAll("article[tabindex]")];
  const next = all[all.indexOf(entry) + step];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: next.offsetHeight < innerHeight ? "nearest" : "start" });
}

list?.addEventListener("keydown", (event) => {
  const entry = event.target.closest("article[tabindex]");
  const types = event.target.closest("textarea, select, input:not([type=checkbox])");
  if (!entry || !list.dataset.keys || types || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  const press = (what) => entry.querySelector(what)?.click();
  if (event.key === "j") move(entry, 1);
  else if (event.key === "k") move(entry, -1);
  else if (event.key === "c" && entry.querySelector("[value=confirm]")) isRead(entry) && press("[value=confirm]");
  else if (event.key === "r") press("[value=reject]");
  else if (event.key === "x") press("[name=selected]");
});
