// The tabs below the panes: arrow keys move between them, and one panel is shown.

import { load, save } from "./storage.js";

/**
 * Wires the tabs; calls `opened` with the name of the shown panel.
 * @param {(name: string) => void} opened
 */
export function wireTabs(opened) {
  const tabs = [...document.querySelectorAll("[role=tab]")].filter((tab) => tab instanceof HTMLElement);
  const nameOf = (/** @type {Element} */ tab) => tab.id.replace("tab-", "");

  /** @param {HTMLElement} chosen */
  function open(chosen) {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      const panel = document.getElementById(tab.getAttribute("aria-controls") ?? "");
      if (panel) panel.hidden = tab !== chosen;
    }
    save("tab", nameOf(chosen));
    opened(nameOf(chosen));
  }

  tabs.forEach((tab, index) => {
    tab.addEventListener("click", () => open(tab));
    tab.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: -1 };
      const to = steps[/** @type {"Home"} */ (event.key)];
      if (to === undefined) return;
      event.preventDefault();
      const next = /** @type {HTMLElement} */ (tabs.at(to % tabs.length));
      next.focus();
      open(next);
    });
  });
  open(tabs.find((tab) => nameOf(tab) === load("tab", "")) ?? tabs[0]);
}
