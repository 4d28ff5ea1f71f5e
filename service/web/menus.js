// The menus of the page itself: its language and its colours.

import { byId, make } from "./dom.js";
import { NAMES, fillTexts, locale, setLocale } from "./i18n.js";
import { save } from "./storage.js";

/**
 * @param {() => void} spoken called when the page has another language
 * @param {() => void} missing called when its texts cannot be loaded
 */
export function wireMenus(spoken, missing) {
  const menu = byId("interface", HTMLSelectElement);
  const names = Object.entries(NAMES);
  menu.append(...names.map(([code, name]) => make("option", { value: code, lang: code }, name)));
  menu.value = locale();
  menu.addEventListener("change", async () => {
    try {
      await setLocale(menu.value);
    } catch {
      menu.value = locale();
      return missing();
    }
    fillTexts();
    spoken();
  });
  const theme = byId("theme", HTMLSelectElement);
  const root = document.documentElement;
  theme.value = root.dataset.theme ?? "";
  theme.addEventListener("change", () => {
    save("theme", theme.value);
    if (theme.value) root.dataset.theme = theme.value;
    else delete root.dataset.theme;
  });
}
