/**
 * The log of one process. Its lines follow from its behaviour and its age, so nothing is stored and nothing ticks
 * unless a client follows it.
 */

import type { LogLine } from "../../../../kube/kube.ts";
import type { Clock, Timer } from "../../../../runtime/clock.ts";
import { formatTime } from "../../../../runtime/clock.ts";
import type { Life } from "./container-run.ts";
import type { ContainerLog, LogListener } from "./pod-runtime.ts";

/** Lines of a container that can be read: a node keeps 10 MiB of them. */
const simulatedLogLines = 10_000;

interface LogSource {
  readonly clock: Clock;
  wallMs(atMs: number): number;
  onEnd(life: Life, listener: () => void): () => void;
}

export function containerLog(life: Life, source: LogSource): ContainerLog {
  return {
    get lines() {
      return printed(life, source);
    },
    follow: (listener) => follow(life, source, listener),
  };
}

/** Of containers that print everything at their start: followers read it repeatedly. */
const atStart = new WeakMap<Life, LogLine[]>();

/** The newest lines: a node keeps only so many. */
function printed(life: Life, source: LogSource): LogLine[] {
  if (life.behaviour.logEveryMs) return linesUpTo(life, source);
  const lines = atStart.get(life) ?? linesUpTo(life, source);
  atStart.set(life, lines);
  return lines;
}

function linesUpTo(life: Life, source: LogSource): LogLine[] {
  const { startedMs, endedMs, behaviour } = life;
  const { logEveryMs = 0 } = behaviour;
  const ageMs = (endedMs ?? source.clock.monotonicMs()) - startedMs;
  const most = logEveryMs === 0 ? simulatedLogLines : Math.floor(ageMs / logEveryMs) + 1;
  const lines: LogLine[] = [];
  for (let n = Math.max(0, most - simulatedLogLines); n < most; n++) {
    const line = lineAt(life, source, n);
    if (!line) break;
    lines.push(line);
  }
  return lines;
}

function lineAt({ startedMs, behaviour }: Life, source: LogSource, n: number): LogLine | undefined {
  const text = behaviour.logs(n);
  if (text === undefined) return undefined;
  const wallMs = source.wallMs(startedMs + n * (behaviour.logEveryMs ?? 0));
  // Lines of one moment still have times of their own, in the order in which they were printed.
  const nanos = behaviour.logEveryMs ? "000000" : String(n).padStart(6, "0");
  return { time: `${formatTime(wallMs).slice(0, 23)}${nanos}Z`, text };
}

function follow(life: Life, source: LogSource, listener: LogListener): () => void {
  const { startedMs, behaviour } = life;
  const { logEveryMs = 0 } = behaviour;
  let timer: Timer | undefined;
  let n = logEveryMs === 0 ? 0 : Math.floor((source.clock.monotonicMs() - startedMs) / logEveryMs) + 1;
  const wait = () => {
    timer = source.clock.timer(Math.max(0, startedMs + n * logEveryMs - source.clock.monotonicMs()), () => {
      const line = lineAt(life, source, n);
      if (!line) return;
      listener.line(line);
      n += 1;
      wait();
    });
  };
  if (life.endedMs !== undefined) {
    listener.end();
    return () => undefined;
  }
  const stopWaiting = source.onEnd(life, () => {
    timer?.cancel();
    listener.end();
  });
  if (logEveryMs > 0) wait();
  return () => {
    timer?.cancel();
    stopWaiting();
  };
}
