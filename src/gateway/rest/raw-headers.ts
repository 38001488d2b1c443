/** Headers as they came. Node's own reading of them, which makes an object of all, costs a quarter of a whole answer. */
import type { IncomingMessage } from "node:http";

/** Of several the first, as it was sent; `name` is in lower case. */
export function firstHeader({ rawHeaders }: IncomingMessage, name: string): string | undefined {
  for (let at = 0; at < rawHeaders.length; at += 2) if (isNamed(rawHeaders[at], name)) return rawHeaders[at + 1];
  return undefined;
}

export function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && isNamed(rawHeaders[at - 1], name));
}

export function countHeaders({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (isNamed(rawHeaders[at], name)) count += 1;
  return count;
}

function isNamed(given: string | undefined, name: string): boolean {
  return given?.length === name.length && given.toLowerCase() === name;
}
