/** How full each Ceph cluster is by `ceph df`, read periodically and on change. The last answer stays on failure. */

import type { Readable } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { conditionHolds, fieldsOf } from "../../../kube/json-fields.ts";
import type { Kube, KubeObject, ObjectAt } from "../../../kube/kube.ts";
import { sleep } from "../../../runtime/clock.ts";
import { minute, second } from "../../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import { inTime } from "../../../runtime/fetch-text.ts";
import { createWakeSignal } from "../../../runtime/wake-signal.ts";
import type { OperatorDeps } from "../../operator-service.ts";
import { wholeNumberOf } from "./classes.ts";

/** About as often as Rook itself reads it. */
export const inventoryCephPeriodMs = minute;
/** Least pause between two reads, however many volumes come and go. */
export const inventoryCephPauseMs = 5 * second;
/** Ceph answers within a second, unless its monitors are electing. */
const inventoryCephAnswerMs = 20 * second;

export interface CephReading {
  readonly df?: CephDf;
  readonly atMs?: number;
  readonly error?: ProviderError;
}

interface CephUsageDeps extends Pick<OperatorDeps, "clock" | "log"> {
  readonly kube: Pick<Kube, "exec">;
  namespaces(): Iterable<string>;
  /** Throws when no toolbox pod of that namespace is ready. */
  toolbox(namespace: string): ObjectAt;
  changed(): void;
}

export function createCephUsage({ kube, clock, log, namespaces, toolbox, changed }: CephUsageDeps) {
  const ending = new AbortController();
  const { signal } = ending;
  const wakeup = createWakeSignal(clock);
  const readings = new Map<string, CephReading>();
  let requests = 0;
  let failures = 0;

  async function read(namespace: string): Promise<CephReading> {
    const before = readings.get(namespace);
    try {
      const pod = toolbox(namespace);
      requests += 1;
      const text = await inTime({ limitMs: inventoryCephAnswerMs, clock, signal }, (late) => runDf(kube, pod, late));
      return { df: parseCephDf(text), atMs: clock.now() };
    } catch (thrown) {
      failures += 1;
      const error = new ProviderError(
        "AKP_CEPH_UNREADABLE",
        { namespace, reason: reasonOf(thrown) },
        { cause: thrown },
      );
      if (before?.error?.message !== error.message) log.info("failed to read Ceph", { error });
      return { ...before, error };
    }
  }

  async function readAll(): Promise<void> {
    const wanted = new Set(namespaces());
    for (const namespace of readings.keys()) if (!wanted.has(namespace)) readings.delete(namespace);
    for (const namespace of wanted) {
      const { df, error } = readings.get(namespace) ?? {};
      const reading = await read(namespace);
      if (signal.aborted) return;
      readings.set(namespace, reading);
      if (error?.message !== reading.error?.message || !isDeepStrictEqual(df, reading.df)) changed();
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const before = requests;
      await readAll();
      if (requests > before) await sleep(clock, inventoryCephPauseMs, signal).catch(() => undefined);
      await wakeup.wait(inventoryCephPeriodMs - inventoryCephPauseMs, signal);
    }
  }

  const running = run();
  return {
    of: (namespace: string) => readings.get(namespace),
    wake: wakeup.notify,
    get failures() {
      return failures;
    },
    async close(): Promise<void> {
      ending.abort(new Error("closed"));
      await running;
    },
  };
}

/** A pool is under 500 bytes of it; clusters have tens of pools. */
export const inventoryCephAnswerBytes = 1024 * 1024;

export const toolboxSelector = "app=rook-ceph-tools";
const container = "rook-ceph-tools";

export type Toolbox = ReturnType<typeof readToolbox>;

export function readToolbox(object: KubeObject) {
  const { name, namespace = "", deletionTimestamp } = object.metadata;
  const { phase, conditions } = fieldsOf(object["status"]);
  const ready = deletionTimestamp === undefined && phase === "Running" && conditionHolds(conditions, "Ready");
  return { name, namespace, ready };
}

/** Less than our own limit, so that its output arrives, and it ends although we are cut off. */
const command = ["timeout", "15", "ceph", "df", "--format", "json"];
const stderrBytes = 1_000;

async function runDf(kube: Pick<Kube, "exec">, pod: ObjectAt, signal: AbortSignal): Promise<string> {
  const session = await kube.exec(pod, { container, command, signal });
  try {
    const [stdout, stderr, code] = await Promise.all([
      collect(session.stdout, inventoryCephAnswerBytes + 1),
      collect(session.stderr, stderrBytes),
      session.exit,
    ]);
    if (code !== 0) throw new Error(`ceph df ended with ${code}: ${stderr.trim() || "without output"}`);
    if (stdout.length > inventoryCephAnswerBytes) throw new Error(`it has more than ${inventoryCephAnswerBytes} bytes`);
    return stdout;
  } finally {
    session.close();
  }
}

/** Reads to the end, and keeps no more than these bytes. */
async function collect(stream: Readable, mostBytes: number): Promise<string> {
  let kept = Buffer.alloc(0);
  for await (const chunk of stream as AsyncIterable<Buffer>)
    kept = Buffer.concat([kept, chunk.subarray(0, mostBytes - kept.length)]);
  return kept.toString();
}

export type CephDf = ReturnType<typeof parseCephDf>;

/** Net of replication and erasure coding. */
export interface PoolUse {
  /** `stats.stored` */
  readonly storedBytes: bigint;
  /** `stats.max_avail`: what clients may still write before the fullest disk is full. */
  readonly maxAvailBytes: bigint;
}

const shape = z.object({
  pools: z.array(z.object({ name: z.string(), stats: z.looseObject({}) })),
  stats_by_class: z.record(z.string(), z.unknown()).default({}),
});

/** A pool without valid numbers is left out. */
export function parseCephDf(text: string) {
  const read = shape.safeParse(parseJson(text));
  if (!read.success) {
    const [fault] = read.error.issues;
    throw new Error(`it is no answer of ceph df (${fault?.path.join(".")}: ${fault?.message})`);
  }
  const { pools, stats_by_class } = read.data;
  const uses = pools.flatMap(({ name, stats }): [string, PoolUse][] => {
    const storedBytes = wholeNumberOf(stats["stored"]);
    const maxAvailBytes = wholeNumberOf(stats["max_avail"]);
    return storedBytes === undefined || maxAvailBytes === undefined ? [] : [[name, { storedBytes, maxAvailBytes }]];
  });
  // "hdd", "ssd", "nvme"
  return { pools: new Map(uses), deviceClasses: Object.keys(stats_by_class) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new Error(`it is not JSON (${reasonOf(thrown)})`);
  }
}
