/** The typed client of the REST API. Pages call it through `queries.ts` and `actions.ts`. */
import createClient from "openapi-fetch";
import { serverBase } from "./address";
import { errorOf } from "./problems";
import type { components, paths } from "./schema";

export const client = createClient<paths>({
  baseUrl: serverBase,
  credentials: "same-origin",
  querySerializer: { array: { style: "form", explode: true } },
});

export type Schemas = components["schemas"];
export type JobView = Schemas["JobView"];
export type TaskView = Schemas["TaskView"];
export type NodeView = Schemas["NodeView"];
export type EventView = Schemas["EventView"];
export type ClusterInfo = Schemas["ClusterInfo"];
export type WhyView = Schemas["WhyView"];
export type PlanView = Schemas["PlanView"];
export type SuggestionView = Schemas["SuggestionView"];
export type ObjectView = Schemas["ObjectView"];
export type PolicyView = Schemas["PolicyView"];

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The body of an answer. Raises ApiError. */
export async function body<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer;
  if (!response.ok) throw errorOf(response.status, error);
  return data as T;
}
