// What every page has: a choice of theme, and copying.
const find = (name) => document.getElementById(name);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const say = (text) => { find("said").textContent = text; };

(() => {
  "use strict";

  // Theme: as the system, light, dark.

  const THEMES = ["auto", "light", "dark"];
  const NAMES = { auto: "Auto", light: "Light", dark: "Dark" };
  const theme = find("theme");
  const themed = () => document.documentElement.dataset.theme || "auto";
  const showTheme = () => { find("theme-name").textContent = NAMES[themed()]; };
  theme.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(themed()) + 1) % THEMES.length];
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    try {
      if (next === "auto") localStorage.removeItem("tokometer-theme");
      else localStorage.setItem("tokometer-theme", next);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
    showTheme();
  });
  showTheme();

  // Copying.

  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      area.className = "vh";
      (document.querySelector("dialog[open]") || document.body).append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  };
  for (const button of all("[data-copy]")) {
    const label = button.textContent;
    button.addEventListener("click", async () => {
      const source = find(button.dataset.copy);
      // The table of values stands in the page as one JSON string.
      const done = await copy(source.id === "csv" ? JSON.parse(source.textContent) : source.textContent);
      button.textContent = done ? "Copied" : "Not allowed here";
      say(done ? "Copied" : "The browser does not allow to copy");
      setTimeout(() => { button.textContent = label; }, 1500);
    });
  }
})();
