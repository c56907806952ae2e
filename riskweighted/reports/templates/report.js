"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const say = (text) => { document.getElementById("status").textContent = text; };

  // Sorting: numbers by size, other cells after them as text; a second press turns the order.
  const cellText = (row, place) => row.cells[place].querySelector("bdi").textContent;
  const asNumber = (text) => {
    const plain = text.replaceAll(",", "");
    return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain) ? Number(plain) : NaN;
  };
  // "0.067 ± <0.001" stands where 0.067 does, "<0.001" below 0.001.
  const asSize = (text) => {
    const value = text.split(" ± ")[0];
    return value.startsWith("<") ? asNumber(value.slice(1)) / 2 : asNumber(value);
  };
  const compare = (one, other) => {
    const [x, y] = [asSize(one), asSize(other)];
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
    return one.localeCompare(other);
  };
  const sortBy = (button) => {
    const head = button.closest("th");
    const body = button.closest("table").tBodies[0];
    const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    const sign = direction === "ascending" ? 1 : -1;
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction);
    const rows = [...body.rows];
    rows.sort((a, b) => sign * compare(cellText(a, head.cellIndex), cellText(b, head.cellIndex)));
    body.append(...rows);
    say(`Sorted by ${button.textContent}, ${direction}`);
  };

  // CSV of a table; a text that a spreadsheet would take for a formula gets an apostrophe.
  const csvCell = (text) => {
    if (!Number.isNaN(asNumber(text))) return text.replaceAll(",", "");
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const download = (button) => {
    const table = button.closest(".table-block").querySelector("table");
    const lines = [...table.rows].map((row) => [...row.cells].map((cell, place) => csvCell(cellText(row, place))).join(","));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", lines.join("\r\n"), "\r\n"], { type: "text/csv" }));
    link.download = button.dataset.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    say(`${button.dataset.name} saved`);
  };

  // A figure, or the table of its numbers in its place.
  const show = (button, table) => {
    const block = button.closest(".figure-block");
    block.querySelector(".picture").hidden = table;
    block.querySelector(".tables").hidden = !table;
    button.setAttribute("aria-expanded", String(table));
    button.textContent = table ? "Show figure" : "Show table";
  };

  // Definitions: shown on focus, hover or press beside their button; Escape hides them.
  const bubble = document.getElementById("bubble");
  let owner = null;
  const hide = () => { bubble.hidden = true; owner = null; };
  const open = (tip) => {
    const text = document.getElementById(tip.getAttribute("aria-describedby"));
    bubble.replaceChildren(...[...text.children].map((part) => part.cloneNode(true)));
    bubble.hidden = false;
    owner = tip;
    const place = tip.getBoundingClientRect();
    const left = Math.min(place.left, root.clientWidth - bubble.offsetWidth - 8);
    const below = place.bottom + 6;
    const fits = below + bubble.offsetHeight < window.innerHeight;
    Object.assign(bubble.style, { left: `${Math.max(left, 8)}px`, top: `${fits ? below : Math.max(place.top - bubble.offsetHeight - 6, 8)}px` });
  };

  for (const button of document.querySelectorAll(".toggle")) show(button, false);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) { if (!bubble.contains(event.target)) hide(); return; }
    if (button.matches(".sort")) sortBy(button);
    if (button.matches(".download")) download(button);
    if (button.matches(".toggle")) show(button, button.getAttribute("aria-expanded") === "false");
    if (button.matches(".tip")) open(button);
  });
  for (const tip of document.querySelectorAll(".tip")) {
    tip.addEventListener("mouseenter", () => open(tip));
    tip.addEventListener("focus", () => open(tip));
    tip.addEventListener("blur", hide);
    tip.addEventListener("mouseleave", () => { if (document.activeElement !== owner) hide(); });
  }
  // A printed page has what is folded on the screen.
  const folded = new Set();
  window.addEventListener("beforeprint", () => {
    for (const group of document.querySelectorAll("details:not([open])")) { folded.add(group); group.open = true; }
  });
  window.addEventListener("afterprint", () => { for (const group of folded) group.open = false; folded.clear(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  window.addEventListener("scroll", () => { if (document.activeElement !== owner) hide(); }, { passive: true });
})();
