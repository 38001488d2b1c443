/** Which lines of a log were seen already, when the stream is asked for again from the second of the last one. */
import { limits } from "../../runtime/limits.ts";

interface LogMemory {
  /** Where to take it up again, to the second, which is as fine as the API takes it; undefined before any line. */
  readonly since: string | undefined;
  isNew(line: string): boolean;
  /** What was seen since then comes once more now. */
  expectAgain(): void;
}

/** The second of a line's time, and its zone: nodes write the time of their own zone. */
const timePattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)(?= |$)/;

/** The time that a line begins with. The rest of a line that was cut has none, nor has what a kubelet says itself. */
export function timeOf(line: string): string | undefined {
  return timePattern.exec(line)?.[0];
}

export function createLogMemory(): LogMemory {
  let since: string | undefined;
  /** Lines of that second and later, as they came. */
  let seen: string[] = [];
  let expected: string[] = [];

  function remember(line: string): void {
    const parts = timePattern.exec(line);
    const second = parts ? `${parts[1]}${parts[2]}` : undefined;
    if (second !== undefined && (since === undefined || second > since)) {
      since = second;
      seen = [];
    }
    seen.push(line);
    if (seen.length > limits.kubeLogLines) seen.shift();
  }

  return {
    get since() {
      return since;
    },
    isNew(line) {
      const at = expected.indexOf(line);
      // Without a time it does not say where in the log we are.
      const isPlaced = timeOf(line) !== undefined;
      if (at >= 0) {
        // The lines before it were rotated away meanwhile.
        const first = isPlaced ? 0 : at;
        expected.splice(first, at + 1 - first);
        return false;
      }
      if (isPlaced && expected.length > 0) expected = [];
      remember(line);
      return true;
    },
    expectAgain() {
      expected = [...seen];
    },
  };
}
