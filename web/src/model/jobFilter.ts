/** The filter of the list of jobs as text, such as `state:running label:team=film render`. Pure. */

export interface JobFilter {
  states: string[];
  labels: string[];
  namespace: string;
  queue: string;
  user: string;
  type: string;
  text: string;
}

const NO_FILTER: JobFilter = { states: [], labels: [], namespace: "*", queue: "", user: "", type: "", text: "" };
const WAITING = "pending";

export function parseFilter(text: string): JobFilter {
  const filter = { ...NO_FILTER, states: [] as string[], labels: [] as string[] };
  const words: string[] = [];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const [field, ...rest] = word.split(":");
    const value = rest.join(":");
    if (!value || !field) words.push(word);
    else if (field === "state") filter.states.push(value === "waiting" ? WAITING : value);
    else if (field === "label") filter.labels.push(value);
    else if (field === "namespace" || field === "ns") filter.namespace = value;
    else if (field === "queue") filter.queue = value;
    else if (field === "user") filter.user = value;
    else if (field === "type") filter.type = value;
    else words.push(word);
  }
  return { ...filter, text: words.join(" ") };
}

/** The same text with the word added, or removed if it is there. */
export function toggleWord(text: string, word: string): string {
  const words = text.split(/\s+/).filter(Boolean);
  return (words.includes(word) ? words.filter((each) => each !== word) : [...words, word]).join(" ");
}
