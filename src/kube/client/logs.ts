/** Lines of a container. A stream that breaks is resumed from the second of its last line, without the lines that come twice. */
import { type Clock, sleep } from "../../runtime/clock.ts";
import { minute } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { kubeCallMs } from "../../runtime/limits.ts";
import { ownText } from "../../runtime/own-copy.ts";
import type { Random } from "../../runtime/random.ts";
import { fieldsOf, recordsOf } from "../json-fields.ts";
import { kinds, objectText } from "../kinds.ts";
import type { LogLine, ObjectAt, PodLogOptions } from "../kube.ts";
import { backOffMs, connectionError, isPassing } from "./api-errors.ts";
import { type Lines, linesOf, Silence } from "./lines.ts";
import type { Requests } from "./requests.ts";
import { objectPath, withQuery } from "./transport.ts";

/** A log that is silent this long is asked for anew, in case its connection died without a word. */
const kubeLogSilenceMs = 2 * minute;
/** A longer line of a log is cut into several: container runtimes cut at 16 KiB. */
const kubeLogLineBytes = 256 * 1024;

interface LogDeps {
  readonly requests: Requests;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborted when the client is closed. */
  readonly closing: AbortSignal;
}

/** A piece of a log, as one request asks for it. */
interface Reading {
  readonly follow?: boolean | undefined;
  readonly previous?: boolean | undefined;
  readonly tailLines?: number | undefined;
  readonly sinceTime?: string | undefined;
}

export async function* followLogs(
  at: ObjectAt,
  asked: PodLogOptions,
  deps: LogDeps,
): AsyncGenerator<readonly LogLine[]> {
  const { clock, random, closing } = deps;
  const { follow, previous } = asked;
  // The container before this one has ended: whatever runs now, its log does not go on.
  const goesOn = follow && !previous;
  // Closing is a good end for what has no other. What is read to its end breaks off with an error instead.
  const endings = goesOn ? [asked.signal, closing] : [asked.signal];
  const signal = AbortSignal.any(endings.filter((each) => each !== undefined));
  const options = { ...asked, signal };
  const log = createLogReader((reading: Reading) => oneStream(at, options, reading, deps));
  let { tailLines } = asked;

  async function* fromThePlace(isAgain: boolean): AsyncGenerator<readonly LogLine[]> {
    if (goesOn && tailLines === 0) {
      await log.skip({ tailLines: 1 });
      tailLines = undefined;
    }
    // What is there now may be the next container, of which nobody has told yet.
    if (isAgain && log.since !== undefined) yield* unlessAbsent(log.read({ previous: true, sinceTime: log.since }));
    const begin = log.since === undefined ? { tailLines } : { sinceTime: log.since };
    yield* log.read({ follow, previous, ...begin });
  }

  for (let [failures, tries] = [0, 0]; ; tries += 1) {
    let failure: unknown;
    try {
      yield* fromThePlace(tries > 0);
    } catch (thrown) {
      if (signal.aborted) return;
      if (!goesOn || !mayGoOn(thrown, options)) throw thrown;
      failure = thrown;
    }
    if (!goesOn || signal.aborted) return;
    // An API server that stops ends the stream as politely as a container does.
    const mayHaveEnded = failure === undefined || isAbsent(failure);
    if (mayHaveEnded && !(await isRunning(at, options, deps))) {
      // Both may have: whether that was all, another look tells.
      if (log.news > 0) continue;
      const rest = log.unended();
      if (rest.length > 0) yield rest;
      if (!(await isFollowed(options))) return;
      tailLines = undefined;
      failures = 0;
    } else if (failure instanceof Silence) failures = 0;
    else failures = log.news > 0 ? 1 : failures + 1;
    // The signal ends the pause too, and is looked at next.
    if (failures > 0) await sleep(clock, backOffMs(random, failures, failure), signal).catch(() => undefined);
    if (signal.aborted) return;
  }
}

/** Whether the failure is one that passes, or says that there is nothing yet to be read. */
function mayGoOn(thrown: unknown, { next }: PodLogOptions): boolean {
  return thrown instanceof Silence || isPassing(thrown) || (next !== undefined && isAbsent(thrown));
}

/** By the kubelet: no container has begun, or none before this one; or it was just started itself and knows of no pod yet. */
function isAbsent(thrown: unknown): boolean {
  return ProviderError.is(thrown, "AKP_KUBE_REFUSED") || ProviderError.is(thrown, "AKP_KUBE_NOT_FOUND");
}

async function* unlessAbsent<T>(lines: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* lines;
  } catch (thrown) {
    if (!isAbsent(thrown)) throw thrown;
  }
}

/** Whether another container has begun where one has ended; waits for it. */
async function isFollowed({ next, signal }: PodLogOptions & { readonly signal: AbortSignal }): Promise<boolean> {
  try {
    return (await next?.(signal)) ?? false;
  } catch (thrown) {
    if (signal.aborted) return false;
    throw thrown;
  }
}

async function* oneStream(at: ObjectAt, options: PodLogOptions, reading: Reading, deps: LogDeps) {
  const { requests, clock } = deps;
  const { container, signal, deadlineMs } = options;
  const { follow = false, previous, tailLines, sinceTime } = reading;
  const asked = { verb: "read the log of", resource: objectText(kinds.pod, at) };
  const wanted = { container, follow, previous, timestamps: true, tailLines, sinceTime };
  const path = withQuery(`${objectPath(kinds.pod, at)}/log`, wanted);
  const { body, peer } = await requests.stream({ ...asked, ...requests.begin({ signal, deadlineMs }), path });
  // What is not followed is there already, and a node that has it does not stop in the middle.
  const silenceMs = follow ? kubeLogSilenceMs : kubeCallMs;
  try {
    yield* linesOf(body, { clock, mostBytes: kubeLogLineBytes, tooLong: "cut", silenceMs });
  } catch (thrown) {
    throw follow && thrown instanceof Silence ? thrown : connectionError(thrown, asked, peer);
  }
}

/** Whether more lines may come; where nobody can tell, they may. */
async function isRunning(at: ObjectAt, { container, signal }: PodLogOptions, { requests }: LogDeps): Promise<boolean> {
  try {
    const asked = { verb: "get", resource: objectText(kinds.pod, at) };
    const pod = await requests.json({ ...asked, path: objectPath(kinds.pod, at), signal });
    const status = fieldsOf(fieldsOf(pod)["status"]);
    // Without a name the one ordinary container is meant, whatever runs beside it.
    const ofAll = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];
    return (container ? ofAll : ofAll.slice(0, 1))
      .flatMap((list) => recordsOf(status[list]))
      .some(({ name, state }) => (!container || name === container) && fieldsOf(state)["running"]);
  } catch (thrown) {
    if (signal?.aborted || ProviderError.is(thrown, "AKP_KUBE_NOT_FOUND")) return false;
    if (isPassing(thrown)) return true;
    throw thrown;
  }
}

/** Reads a log piece after piece and gives each line once. */
interface Asked {
  readonly follow?: boolean | undefined;
  /** Of the container before this one, of which the kubelet's own words say nothing that anybody wants to know. */
  readonly previous?: boolean | undefined;
}

/** `open` asks for a piece of it, every line with its time. */
function createLogReader<Reading extends Asked>(open: (reading: Reading) => AsyncIterable<Lines>) {
  const memory = createLogMemory();
  let time = "";
  /** By a kubelet itself, last. */
  let said = "";
  let news = 0;
  /** In the middle of which the last piece ended. */
  let broken: Lines | undefined;

  function newOf({ texts, isRest }: Lines, withWords = true): LogLine[] {
    const lines: LogLine[] = [];
    for (const [index, text] of texts.entries()) {
      const goesOn = isRest && index === 0;
      const own = goesOn ? time : timeOf(text);
      if (own === undefined) {
        if (withWords && text !== said) lines.push({ time, text });
        if (withWords) said = text;
        continue;
      }
      time = own;
      if (!memory.isNew(own)) continue;
      // A kubelet that fails says so every time anew; only a line of the container is news.
      news += 1;
      lines.push({ time, text: goesOn ? text : text.slice(own.length + 1) });
    }
    return lines;
  }

  return {
    /** From where the next piece of it is wanted; undefined before any line. */
    get since(): string | undefined {
      return memory.since;
    },
    /** Lines of the container in the last piece. */
    get news(): number {
      return news;
    },

    async *read(reading: Reading): AsyncGenerator<readonly LogLine[]> {
      [news, broken] = [0, undefined];
      // Even of the next container: its lines are later than all that was read, unless it is the same one after all.
      memory.expectAgain();
      for await (const lines of open(reading)) {
        // Where the container goes on, it comes again as a whole.
        const isHeld = lines.isBroken && reading.follow;
        if (isHeld) broken = lines;
        const batch = isHeld ? [] : newOf(lines, !reading.previous);
        if (batch.length > 0) yield batch;
      }
    },

    /** Goes to the end of a piece, and gives nothing of it. */
    async skip(reading: Reading): Promise<void> {
      for await (const lines of open(reading)) newOf(lines);
    },

    /** The container has ended, and with it the line that it was in. */
    unended(): readonly LogLine[] {
      return broken ? newOf(broken) : [];
    },
  };
}

/** How far a log was read. Resuming is by the second, so the lines of that second come again, in the same order. */
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
function timeOf(line: string): string | undefined {
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
