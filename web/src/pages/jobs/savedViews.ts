/** Filters that the user saved, in this browser. */

const STORED = "shunter.views";
const VIEWS_MAX = 20;

export function loadViews(): string[] {
  try {
    const views: unknown = JSON.parse(localStorage.getItem(STORED) ?? "[]");
    return Array.isArray(views) ? views.filter((view) => typeof view === "string") : [];
  } catch {
    return [];
  }
}

export function saveView(view: string): string[] {
  return store([...loadViews().filter((each) => each !== view), view].slice(-VIEWS_MAX));
}

export function deleteView(view: string): string[] {
  return store(loadViews().filter((each) => each !== view));
}

function store(views: string[]): string[] {
  localStorage.setItem(STORED, JSON.stringify(views));
  return views;
}
