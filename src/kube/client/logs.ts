/** Lines of a container. A broken stream is resumed from the second of its last line, without repeating lines. */
import { sleep } from "../../runtime/clock.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { minute } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { kubeCallMs } from "../../runtime/limits.ts";
import { ownText } from "../../runtime/own-copy.ts";
import { fieldsOf, recordsOf } from "../json-fields.ts";
import { kinds, objectText } from "../kinds.ts";
import type { LogLine, ObjectAt, PodLogOptions } from "../kube.ts";
import { backOffMs, connectionError, isTransient } from "./api-errors.ts";
import { type Lines, linesOf, Silence } from "./lines.ts";
import type { Requests } from "./requests.ts";
import { objectPath, withQuery } from "./transport.ts";

/** A log that is silent for so long is requested again, in case its connection is dead. */
const kubeLogSilenceMs = 2 * minute;
/** A longer line is split: container runtimes split at 16 KiB. */
const kubeLogLineBytes = 256 * 1024;

interface LogDeps extends Pick<RuntimeDeps, "clock" | "random"> {
  readonly requests: Requests;
  /** Aborted when the client is closed. */
  readonly closing: AbortSignal;
}

/** Parameters of one log request. */
interface Reading {
  readonly follow?: boolean | undefined;
  /** Of the container before this one; messages of the kubelet itself are dropped then. */
  readonly previous?: boolean | undefined;
  readonly tailLines?: number | undefined;
  readonly sinceTime?: string | undefined;
}

export async function* followLogs(
  at: ObjectAt,
  request: PodLogOptions,
  deps: LogDeps,
): AsyncGenerator<readonly LogLine[]> {
  const { clock, random, closing } = deps;
  const { follow, previous } = request;
  // The previous container has ended, so its log does not go on.
  const goesOn = follow && !previous;
  // Closing the client ends a followed log normally, and any other with an error.
  const endings = goesOn ? [request.signal, closing] : [request.signal];
  const signal = AbortSignal.any(endings.filter((each) => each !== undefined));
  const options = { ...request, signal };
  const log = createLogReader((reading: Reading) => oneStream(at, options, reading, deps));
  let { tailLines } = request;

  async function* resumed(isAgain: boolean): AsyncGenerator<readonly LogLine[]> {
    if (goesOn && tailLines === 0) {
      await log.skip({ tailLines: 1 });
      tailLines = undefined;
    }
    // A restart may have made the container that we read the previous one.
    if (isAgain && log.since !== undefined) yield* unlessAbsent(log.read({ previous: true, sinceTime: log.since }));
    const begin = log.since === undefined ? { tailLines } : { sinceTime: log.since };
    yield* log.read({ follow, previous, ...begin });
  }

  for (let [failures, tries] = [0, 0]; ; tries += 1) {
    let failure: unknown;
    try {
      yield* resumed(tries > 0);
    } catch (thrown) {
      if (signal.aborted) return;
      if (!goesOn || !isRetryable(thrown, options)) throw thrown;
      failure = thrown;
    }
    if (!goesOn || signal.aborted) return;
    // A stopping API server ends the stream like a container that ended.
    const mayHaveEnded = failure === undefined || isAbsent(failure);
    if (mayHaveEnded && !(await isRunning(at, options, deps))) {
      // Both may have happened: read once more for the rest.
      if (log.news > 0) continue;
      const rest = log.unended();
      if (rest.length > 0) yield rest;
      if (!(await nextBegins(options))) return;
      tailLines = undefined;
      failures = 0;
    } else if (failure instanceof Silence) failures = 0;
    else failures = log.news > 0 ? 1 : failures + 1;
    // The signal aborts the pause too, and is checked next.
    if (failures > 0) await sleep(clock, backOffMs(random, failures, failure), signal).catch(() => undefined);
    if (signal.aborted) return;
  }
}

/** Transient, or nothing to read yet. */
function isRetryable(thrown: unknown, { next }: PodLogOptions): boolean {
  return thrown instanceof Silence || isTransient(thrown) || (next !== undefined && isAbsent(thrown));
}

/** The kubelet's response when there is no such container (yet), or when it has just restarted. */
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

/** Waits until the next container begins; false where none does. */
async function nextBegins({ next, signal }: PodLogOptions & { readonly signal: AbortSignal }): Promise<boolean> {
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
  const operation = { verb: "read the log of", resource: objectText(kinds.pod, at) };
  const wanted = { container, follow, previous, timestamps: true, tailLines, sinceTime };
  const path = withQuery(`${objectPath(kinds.pod, at)}/log`, wanted);
  const { body, peer } = await requests.stream({ ...operation, ...requests.begin({ signal, deadlineMs }), path });
  // A log that is not followed is complete already, so silence is a failure.
  const silenceMs = follow ? kubeLogSilenceMs : kubeCallMs;
  try {
    yield* linesOf(body, { clock, mostBytes: kubeLogLineBytes, tooLong: "cut", silenceMs });
  } catch (thrown) {
    throw follow && thrown instanceof Silence ? thrown : connectionError(thrown, operation, peer);
  }
}

/** Whether more lines may come; also where the API server is unavailable. */
async function isRunning(at: ObjectAt, { container, signal }: PodLogOptions, { requests }: LogDeps): Promise<boolean> {
  try {
    const operation = { verb: "get", resource: objectText(kinds.pod, at) };
    const pod = await requests.json({ ...operation, path: objectPath(kinds.pod, at), signal });
    const status = fieldsOf(fieldsOf(pod)["status"]);
    // Without a name the one ordinary container is meant.
    const ofAll = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];
    return (container ? ofAll : ofAll.slice(0, 1))
      .flatMap((list) => recordsOf(status[list]))
      .some(({ name, state }) => (!container || name === container) && fieldsOf(state)["running"]);
  } catch (thrown) {
    if (signal?.aborted || ProviderError.is(thrown, "AKP_KUBE_NOT_FOUND")) return false;
    if (isTransient(thrown)) return true;
    throw thrown;
  }
}

/** Reads a log by several requests and gives each line once. */
function createLogReader(open: (reading: Reading) => AsyncIterable<Lines>) {
  const memory = createLogMemory();
  let time = "";
  /** The last message of the kubelet itself. */
  let kubeletMessage = "";
  let news = 0;
  /** The line within which the last stream ended. */
  let broken: Lines | undefined;

  function newOf({ texts, isRest }: Lines, withMessages = true): LogLine[] {
    const lines: LogLine[] = [];
    for (const [index, text] of texts.entries()) {
      const goesOn = isRest && index === 0;
      const own = goesOn ? time : timeOf(text);
      if (own === undefined) {
        if (withMessages && text !== kubeletMessage) lines.push({ time, text });
        if (withMessages) kubeletMessage = text;
        continue;
      }
      time = own;
      if (!memory.isNew(own)) continue;
      // A failing kubelet repeats its message, so only lines of the container count.
      news += 1;
      lines.push({ time, text: goesOn ? text : text.slice(own.length + 1) });
    }
    return lines;
  }

  return {
    /** Where to resume; undefined before any line. */
    get since(): string | undefined {
      return memory.since;
    },
    /** Lines of the container in the last stream. */
    get news(): number {
      return news;
    },

    async *read(reading: Reading): AsyncGenerator<readonly LogLine[]> {
      [news, broken] = [0, undefined];
      memory.expectAgain();
      for await (const lines of open(reading)) {
        // A followed log repeats the whole line when it is resumed.
        const isHeld = lines.isBroken && reading.follow;
        if (isHeld) broken = lines;
        const batch = isHeld ? [] : newOf(lines, !reading.previous);
        if (batch.length > 0) yield batch;
      }
    },

    /** Reads a stream without yielding its lines. */
    async skip(reading: Reading): Promise<void> {
      for await (const lines of open(reading)) newOf(lines);
    },

    /** The unfinished last line of a container that ended. */
    unended(): readonly LogLine[] {
      return broken ? newOf(broken) : [];
    },
  };
}

/** Nodes write times in their own zone. */
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
const zonePattern = /(?:Z|[+-]\d\d:\d\d)$/;
const secondChars = "2026-01-01T00:00:00".length;
/** With nanoseconds and a zone. */
const mostTimeChars = 40;

/** The timestamp of a line. Messages of the kubelet itself have none. */
function timeOf(line: string): string | undefined {
  const end = line.indexOf(" ");
  if (end < 0 && line.length > mostTimeChars) return undefined;
  const time = end < 0 ? line : line.slice(0, end);
  return timePattern.test(time) ? time : undefined;
}

/** How far a log was read. It is resumed by the second, so the lines of that second come again, in the same order. */
export function createLogMemory() {
  let second = "";
  let zone = "";
  /** Lines of that second. */
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
    /** Where to resume; undefined before any line. */
    get since(): string | undefined {
      return second === "" ? undefined : `${second}${zone}`;
    },
    /** Of a line of this time, or of a part of it. */
    isNew(time: string): boolean {
      if (expected > 0) {
        // From before `since`, or from before our first line.
        if (time < second || isLater(oldest, time)) return false;
        // A later line: the expected ones were rotated away.
        if (isLater(time, newest)) expected = 0;
        else {
          expected -= 1;
          return false;
        }
      }
      remember(time);
      return true;
    },
    /** The lines of the last second come once more now. */
    expectAgain(): void {
      expected = count;
    },
  };
}

/** Within one log, so with another zone it is always later. */
function isLater(time: string, than: string): boolean {
  if (time.length === than.length) return time > than;
  const [zone, other] = [zonePattern.exec(time)?.[0] ?? "", zonePattern.exec(than)?.[0] ?? ""];
  if (zone !== other) return true;
  return time.slice(0, -zone.length) > than.slice(0, -other.length);
}
