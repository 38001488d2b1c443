/** How a container behaves. A test or the demo says so by image; whatever is left out is an ordinary server. */

import type { Duplex } from "node:stream";
import type { Container, Pod } from "../shapes/pod.ts";
import type { PodRequest } from "./pod-runtime.ts";

export interface Behaviour {
  /** How long its image takes to arrive on a node that does not have it. */
  readonly pullMs?: number;
  /** From the image to the running process. */
  readonly startMs?: number;
  /** How long after its start its readiness probe passes, where it has one; Infinity for never. */
  readonly readyMs?: number;
  /** It ends by itself. */
  readonly exitAfterMs?: number;
  readonly exitCode?: number;
  /** It ends because it took more memory than it may. */
  readonly oom?: boolean;
  /** How long it takes to end after SIGTERM; it is killed when its grace period is over. */
  readonly stopMs?: number;
  /** There is no such image. */
  readonly missing?: boolean;
  /** Its lines, the first one 0; undefined when there are no more. */
  readonly logs?: (line: number) => string | undefined;
  /** Without it, a constant part of its requests. */
  readonly uses?: { readonly cpuNano: bigint; readonly memoryBytes: bigint };
  /** The time between two lines; without it all are printed at the start. */
  readonly logEveryMs?: number;
  /** What it answers; without it, "200" on the ports that the container declares. */
  readonly http?: (request: PodRequest) => { readonly status?: number; readonly body?: string };
  /** What a forwarded port leads to. */
  readonly connect?: (port: number) => Duplex;
}

interface Attempt {
  readonly pod: Pod;
  readonly container: Container;
  /** How often it was started before. */
  readonly restarts: number;
}

/** Undefined for an image of which nothing special is known. */
export type Behaviours = (image: string, attempt: Attempt) => Behaviour | undefined;

export type FullBehaviour = Behaviour & Required<Pick<Behaviour, "pullMs" | "startMs" | "readyMs" | "stopMs" | "logs">>;

/** A small image on a quick line, and a server that is up and down in no time. */
const ordinary = {
  pullMs: 1_000,
  startMs: 500,
  readyMs: 0,
  stopMs: 500,
};

export function behaviourOf(behaviours: Behaviours | undefined, attempt: Attempt): FullBehaviour {
  const { container } = attempt;
  return {
    ...ordinary,
    logs: (line) => (line === 0 ? `${container.name} started` : undefined),
    ...behaviours?.(container.image, attempt),
  };
}
