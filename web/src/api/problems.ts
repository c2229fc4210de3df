/** Errors of the API as one class, with the field and the fix that the server names. */

export interface Problem {
  field?: string;
  message: string;
  fix?: string | null;
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly problems: Problem[] = [],
  ) {
    super(message);
  }
}

/** The session has ended, or never began. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401;
}

export async function readError(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    return errorOf(response.status, JSON.parse(text));
  } catch {
    return new ApiError(response.status, text.slice(0, 300) || `the server answered ${response.status}`);
  }
}

export function errorOf(status: number, body: unknown): ApiError {
  const document = (body ?? {}) as { detail?: string; title?: string; problems?: Problem[] };
  const detail = document.detail || document.title || `the server answered ${status}`;
  return new ApiError(status, detail, document.problems ?? []);
}

export function describeError(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  if (error instanceof TypeError) return "the manager does not answer";
  return error instanceof Error ? error.message : String(error);
}
