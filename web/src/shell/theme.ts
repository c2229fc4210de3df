/** Light or dark: as the system says, until the user chooses. */

export type Theme = "light" | "dark";

const STORED = "shunter.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export function currentTheme(): Theme {
  const stored = localStorage.getItem(STORED);
  if (stored === "light" || stored === "dark") return stored;
  return system.matches ? "dark" : "light";
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = currentTheme();
  window.dispatchEvent(new Event("themechange"));
}

export function toggleTheme(): void {
  localStorage.setItem(STORED, currentTheme() === "dark" ? "light" : "dark");
  applyTheme();
}

export function watchSystemTheme(): void {
  system.addEventListener("change", applyTheme);
  window.addEventListener("storage", applyTheme);
}
