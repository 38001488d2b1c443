/**
 * The lines of a container. A stream that breaks off is asked for again from the second of its last line, and the
 * lines that come twice are left out.
 */
import { type Clock, sleep } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Random } from "../../runtime/random.ts";
import { fieldsOf, recordsOf } from "../json-fields.ts";
import { kinds, objectText } from "../kinds.ts";
import type { LogLine, ObjectAt, PodLogOptions } from "../kube.ts";
import { backOffMs } from "./back-off.ts";
import { linesOf, Silence } from "./lines.ts";
import { createLogMemory, timeOf } from "./log-memory.ts";
import { objectPath, withQuery } from "./paths.ts";
import { connectionError, isPassing } from "./refusal.ts";
import type { Requests } from "./requests.ts";

interface LogDeps {
  readonly requests: Requests;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborted when the client is closed. */
  readonly closing: AbortSignal;
}

export async function* followLogs(at: ObjectAt, asked: PodLogOptions, deps: LogDeps): AsyncGenerator<LogLine> {
  const { clock, random, closing } = deps;
  // The container before this one has ended: whatever runs now, its log does not go on.
  const goesOn = asked.follow && !asked.previous;
  // Closing is a good end for what has no other. What is read to its end breaks off with an error instead.
  const endings = goesOn ? [asked.signal, closing] : [asked.signal];
  const signal = AbortSignal.any(endings.filter((each) => each !== undefined));
  const options = { ...asked, signal };
  const memory = createLogMemory();
  let time = "";
  for (let failures = 0; ; ) {
    let news = 0;
    let broken: unknown;
    try {
      for await (const batch of oneStream(at, options, deps, memory.since)) {
        for (const line of batch) {
          if (!memory.isNew(line)) continue;
          const own = timeOf(line);
          // A kubelet that fails says so in the log, every time anew; only a line of the container is a success.
          if (own !== undefined) news += 1;
          time = own ?? time;
          yield { time, text: own === undefined ? line : line.slice(own.length + 1) };
        }
      }
    } catch (thrown) {
      if (signal.aborted) return;
      if (!goesOn || !(thrown instanceof Silence || isPassing(thrown))) throw thrown;
      broken = thrown;
    }
    if (!goesOn || signal.aborted) return;
    // An API server that stops ends the stream as politely as a container does.
    if (!broken && !(await isRunning(at, options, deps))) return;
    memory.expectAgain();
    if (broken instanceof Silence) failures = 0;
    else failures = news > 0 ? 1 : failures + 1;
    // The signal ends the pause too, and is looked at next.
    if (failures > 0) await sleep(clock, backOffMs(random, failures, broken), signal).catch(() => undefined);
    if (signal.aborted) return;
  }
}

async function* oneStream(at: ObjectAt, options: PodLogOptions, deps: LogDeps, since: string | undefined) {
  const { requests, clock } = deps;
  const { container, follow = false, previous, tailLines, signal, deadlineMs } = options;
  const asked = { verb: "read the log of", resource: objectText(kinds.pod, at) };
  const begin = since === undefined ? { tailLines } : { sinceTime: since };
  const path = withQuery(`${objectPath(kinds.pod, at)}/log`, {
    container,
    follow,
    previous,
    timestamps: true,
    ...begin,
  });
  const { body, peer } = await requests.stream({ ...asked, ...requests.begin({ signal, deadlineMs }), path });
  // What is not followed is there already, and a node that has it does not stop in the middle.
  const silenceMs = follow ? limits.kubeLogSilenceMs : limits.kubeCallMs;
  try {
    yield* linesOf(body, { clock, mostBytes: limits.kubeLogLineBytes, tooLong: "cut", silenceMs });
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
