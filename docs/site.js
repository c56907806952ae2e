// A button that copies a block of code. Blocks and tables that scroll can be reached by the
// keyboard, and boxes and side bars have names.
document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight")) {
    const code = block.querySelector("pre");
    code.tabIndex = 0;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    block.append(button);
  }
  for (const box of document.querySelectorAll("input.task-list-item-checkbox")) {
    const item = box.closest("li");
    box.setAttribute("aria-label", (item.querySelector("strong") ?? item).textContent.trim());
  }
  const reach = () => {
    for (const table of document.querySelectorAll(".content table.docutils")) {
      if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
      else table.removeAttribute("tabindex");
    }
  };
  reach();
  window.addEventListener("load", reach);
  window.addEventListener("resize", reach);
  document.querySelector("aside.sidebar-drawer")?.setAttribute("aria-label", "All pages");
  document.querySelector("aside.toc-drawer")?.setAttribute("aria-label", "This page");
  for (const caption of document.querySelectorAll("p.caption[role=heading]")) {
    caption.setAttribute("aria-level", "2");
  }
});
