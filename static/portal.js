// Comfort on top of pages that work without it.
"use strict";

const alertRegion = () => document.getElementById("alert");

// The second click of a double click can land on the entry that moved up, and nobody read that one.
addEventListener("click", (event) => {
  if (event.detail > 1 && event.target.closest("button")) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}, true);

// Whatever takes the place of an entry keeps its height, so that nothing slides under the pointer.
addEventListener("htmx:before:swap", ({ detail: { tasks } }) => {
  for (const { type, target, fragment } of tasks) {
    if (type !== "main" || !target?.matches(".entry")) continue;
    const next = fragment.firstElementChild;
    if (next) next.style.minHeight = `${target.offsetHeight}px`;
    // Somebody who went on meanwhile stays where they are.
    if (!target.contains(document.activeElement) && document.activeElement !== document.body) {
      fragment.querySelector("[autofocus]")?.removeAttribute("autofocus");
    }
  }
});

function say(text) {
  const notice = document.createElement("p");
  notice.className = "notice bad";
  notice.textContent = text;
  alertRegion().replaceChildren(notice);
}

addEventListener("htmx:response:error", ({ detail: { ctx } }) => {
  if (!ctx.hx.redirect && !/<hx-partial|<article/.test(ctx.text)) say("Something went wrong on the way. Reload the page to see what was saved.");
});
addEventListener("htmx:error", () => say("There was no answer, so it is not known whether that was saved. Reload the page to see."));
