"use strict";
document.documentElement.classList.add("has-script");
const form = document.querySelector(".filters");
const rows = [...document.querySelectorAll(".matrix tr[data-level]")];
const texts = rows.map((row) => row.querySelector("th").textContent.toLowerCase());

function filter() {
  const { text, tier, level, verdict } = Object.fromEntries(new FormData(form));
  const words = text.toLowerCase().split(/\s+/);
  let shown = 0;
  rows.forEach((row, index) => {
    const data = row.dataset;
    row.hidden = !(words.every((word) => texts[index].includes(word)) && (!tier || data.tier === tier) &&
      (!level || data.level === level) && (!verdict || data.verdicts.split(" ").includes(verdict)));
    shown += !row.hidden;
  });
  for (const area of document.querySelectorAll(".matrix tbody")) {
    area.hidden = !area.querySelector("tr[data-level]:not([hidden])");
  }
  form.querySelector("output").value = `${shown} of ${rows.length} rules`;
  document.querySelector(".matrix").hidden = !shown;
  document.querySelector(".empty").hidden = !!shown;
}

/* Moves the focus to the section that the address names, as a browser does with a new page. */
function arrive() {
  // The browser has not yet found the target when this runs for the first time.
  const target = document.getElementById(location.hash.slice(1));
  const view = target?.closest(".view") ?? document.querySelector("#rules");
  for (const link of document.querySelectorAll("nav a")) {
    const area = view.id.split("-")[0].replace(/^(rule|failure)$/, "$1s");
    if (link.hash === `#${area}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const title = view.querySelector("h2");
  document.title = `${title.textContent} · Herma`;
  if (location.hash) {
    title.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}

function press(event) {
  const target = event.target;
  if (event.key === "/" && !target.matches("input, select")) {
    event.preventDefault();
    if (!document.querySelector("#rules").checkVisibility()) location.hash = "#rules";
    form.elements.text.focus();
  } else if (event.key === "Escape" && form.contains(target)) {
    form.reset();
    filter();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const links = rows.filter((row) => !row.hidden).map((row) => row.querySelector("a"));
    const index = links.indexOf(target);
    if (index < 0 && target !== form.elements.text) return;
    const next = links[index + (event.key === "ArrowDown" ? 1 : -1)];
    if (next) {
      event.preventDefault();
      next.focus();
    }
  }
}

for (const block of document.querySelectorAll(".copied")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("code").textContent);
    button.textContent = "Copied";
  });
  block.append(button);
}
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
document.querySelector("[data-reset]").addEventListener("click", () => {
  form.reset();
  filter();
  form.elements.text.focus();
});
document.addEventListener("keydown", press);
addEventListener("hashchange", arrive);
filter();
arrive();
