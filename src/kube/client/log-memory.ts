/**
 * How far a log was read. A stream that is asked for again begins with the second of the newest line, which is as fine as
 * the API takes it, so that what was read of that second comes once more: so many lines, in the same order.
 */
import { ownText } from "../../runtime/own-copy.ts";

interface LogMemory {
  /** Where to take it up again; undefined before any line. */
  readonly since: string | undefined;
  /** Of a line of this time, or of a piece of it. */
  isNew(time: string): boolean;
  /** What was read since then comes once more now. */
  expectAgain(): void;
}

/** Nodes write the time of their own zone. */
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
const zonePattern = /(?:Z|[+-]\d\d:\d\d)$/;
const secondChars = "2026-01-01T00:00:00".length;
/** With nanoseconds and a zone. */
const mostTimeChars = 40;

/** The time that a line begins with. What a kubelet says itself has none. */
export function timeOf(line: string): string | undefined {
  const end = line.indexOf(" ");
  if (end < 0 && line.length > mostTimeChars) return undefined;
  const time = end < 0 ? line : line.slice(0, end);
  return timePattern.test(time) ? time : undefined;
}

export function createLogMemory(): LogMemory {
  let second = "";
  let zone = "";
  /** Of that second. */
  let count = 0;
  let oldest = "";
  let newest = "";
  let expected = 0;

  function remember(time: string): void {
    if (newest === "") oldest = ownText(time);
    if (newest === "" || isLater(time, newest)) newest = time;
    if (time.startsWith(second) && second !== "") {
      count += 1;
    } else if (newest === time) {
      second = ownText(time.slice(0, secondChars));
      zone = zonePattern.exec(time)?.[0] ?? "Z";
      count = 1;
    }
  }

  return {
    get since() {
      return second === "" ? undefined : `${second}${zone}`;
    },
    isNew(time) {
      if (expected > 0) {
        // From before what was asked for, or before the place where we began to read.
        if (time < second || isLater(oldest, time)) return false;
        // A later one: the others were rotated away meanwhile.
        if (isLater(time, newest)) expected = 0;
        else {
          expected -= 1;
          return false;
        }
      }
      remember(time);
      return true;
    },
    expectAgain() {
      expected = count;
    },
  };
}

/** Of one log: where the zone changes between two lines, the time did not go back. */
function isLater(time: string, than: string): boolean {
  if (time.length === than.length) return time > than;
  const [zone, other] = [zonePattern.exec(time)?.[0] ?? "", zonePattern.exec(than)?.[0] ?? ""];
  if (zone !== other) return true;
  return time.slice(0, -zone.length) > than.slice(0, -other.length);
}
