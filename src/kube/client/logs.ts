/**
 * The lines of a container. A stream that breaks off is asked for again from the second of its last line, and the
 * lines that come twice are left out.
 */
import { type Clock, sleep } from "../../runtime/clock.ts";
import { minute } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { kubeCallMs } from "../../runtime/limits.ts";
import type { Random } from "../../runtime/random.ts";
import { fieldsOf, recordsOf } from "../json-fields.ts";
import { kinds, objectText } from "../kinds.ts";
import type { LogLine, ObjectAt, PodLogOptions } from "../kube.ts";
import { backOffMs } from "./back-off.ts";
import { linesOf, Silence } from "./lines.ts";
import { createLogReader } from "./log-reader.ts";
import { objectPath, withQuery } from "./paths.ts";
import { connectionError, isPassing } from "./refusal.ts";
import type { Requests } from "./requests.ts";

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
