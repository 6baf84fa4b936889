// Dark, light, or as the system has it. Not a module: it runs before anything is drawn, so that nothing flashes.
"use strict";
{
  const KEY = "decision-playground.theme";
  const THEMES = ["system", "dark", "light"];

  const stored = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // a browser that keeps nothing
    }
  };

  const apply = (theme) => {
    document.documentElement.dataset.theme = THEMES.includes(theme) ? theme : "system";
    return document.documentElement.dataset.theme;
  };

  apply(stored());

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const show = () => {
      const theme = document.documentElement.dataset.theme;
      button.textContent = { system: "Auto", dark: "Dark", light: "Light" }[theme];
      button.setAttribute("aria-label", `Colours: ${theme === "system" ? "as the system" : theme}. Change`);
    };
    button.addEventListener("click", () => {
      const theme = apply(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]);
      try {
        localStorage.setItem(KEY, theme);
      } catch {
        // it holds for as long as the page is open
      }
      show();
    });
    show();
  });
}
