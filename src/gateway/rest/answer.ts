/** What a route answers. The network has three ways to say that something failed; clients print the body as it is. */

export interface Answer {
  readonly status: number;
  /** In the order in which they are sent. Date, length and connection are added. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | Uint8Array;
}

const jsonHeaders = [["Content-Type", "application/json; charset=UTF-8"]] as const;
const plainJsonHeaders = [["Content-Type", "application/json"]] as const;
export const textHeaders = [
  ["Content-Type", "text/plain; charset=utf-8"],
  ["X-Content-Type-Options", "nosniff"],
] as const;

/** `text` is JSON already, without a line end. */
export function json(text: string | Uint8Array, status = 200): Answer {
  return { status, headers: jsonHeaders, body: text };
}

/** The migrations answer without a charset, and so do refusals of auth. */
export function plainJson(text: string, status = 200): Answer {
  return { status, headers: plainJsonHeaders, body: text };
}

/** A failure of a handler, in words. */
export function failure(status: number, text: string): Answer {
  return { status, headers: textHeaders, body: `${text}\n` };
}

/** A status and nothing else. */
export function empty(status: number): Answer {
  return { status, headers: [], body: "" };
}

export function withHeader({ status, headers, body }: Answer, name: string, value: string): Answer {
  return { status, headers: [...headers, [name, value]], body };
}

/** A refusal of auth. */
export function refusal(status: number, message: string): Answer {
  return plainJson(JSON.stringify({ message }), status);
}
