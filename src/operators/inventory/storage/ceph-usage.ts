/** How full each Ceph cluster is by `ceph df`, read periodically and on change. The last answer stays on failure. */

import type { Readable } from "node:stream";
import { z } from "zod";
import { conditionHolds, fieldsOf } from "../../../kube/json-fields.ts";
import type { Kube, KubeObject, ObjectAt } from "../../../kube/kube.ts";
import { type Clock, sleep, withDeadline } from "../../../runtime/clock.ts";
import { minute, second } from "../../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import { createWakeSignal } from "../../../runtime/wake-signal.ts";
import type { OperatorDeps } from "../../operator-service.ts";
import { wholeNumberOf } from "./classes.ts";

/** How often Ceph is asked how full it is: about as often as Rook itself looks. */
export const inventoryCephLookMs = minute;
/** The least pause between two looks at Ceph, however many volumes come and go. */
export const inventoryCephPauseMs = 5 * second;

export interface CephReading {
  readonly df?: CephDf;
  readonly atMs?: number;
  readonly trouble?: ProviderError;
}

interface CephUsageDeps extends Pick<OperatorDeps, "clock" | "log"> {
  readonly kube: Pick<Kube, "exec">;
  namespaces(): Iterable<string>;
  /** A pod in that namespace that can be asked; throws the reason why there is none. */
  toolbox(namespace: string): ObjectAt;
  changed(): void;
}

export function createCephUsage(deps: CephUsageDeps) {
  const { kube, clock, log } = deps;
  const ending = new AbortController();
  const { signal } = ending;
  const pause = createWakeSignal(clock);
  const readings = new Map<string, CephReading>();
  const counts = { asked: 0, failed: 0 };

  async function look(namespace: string): Promise<CephReading> {
    const before = readings.get(namespace) ?? {};
    try {
      const pod = deps.toolbox(namespace);
      counts.asked += 1;
      const df = parseCephDf(await askForDf(kube, pod, clock, signal));
      return { df, atMs: clock.now() };
    } catch (thrown) {
      counts.failed += 1;
      const reason = reasonOf(thrown);
      const trouble = new ProviderError("AKP_CEPH_UNREADABLE", { namespace, reason }, { cause: thrown });
      if (before.trouble?.message !== trouble.message) log.info("failed to read Ceph", { error: trouble });
      return { ...before, trouble };
    }
  }

  async function lookAtAll(): Promise<void> {
    const wanted = new Set(deps.namespaces());
    for (const namespace of readings.keys()) if (!wanted.has(namespace)) readings.delete(namespace);
    for (const namespace of wanted) {
      const before = readings.get(namespace);
      const reading = await look(namespace);
      if (signal.aborted) return;
      readings.set(namespace, reading);
      if (differs(before, reading)) deps.changed();
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const before = counts.asked;
      await lookAtAll();
      // Only a question costs anything. Closing ends the pause too.
      if (counts.asked > before) await sleep(clock, inventoryCephPauseMs, signal).catch(() => undefined);
      await pause.wait(inventoryCephLookMs - inventoryCephPauseMs, signal);
    }
  }

  const running = run();
  return {
    of: (namespace: string) => readings.get(namespace),
    wake: pause.notify,
    counts,
    async close(): Promise<void> {
      ending.abort(new Error("closed"));
      await running;
    },
  };
}

function differs(before: CephReading | undefined, after: CephReading): boolean {
  if (before?.trouble?.message !== after.trouble?.message) return true;
  return textOf(before?.df) !== textOf(after.df);
}

function textOf(df: CephDf | undefined): string {
  if (!df) return "";
  const pools = [...df.pools].map(([name, use]) => `${name} ${use.storedBytes} ${use.maxAvailBytes}`);
  return [...pools, ...df.deviceClasses].join("\n");
}

/** An answer of Ceph takes a second; its monitors may be electing for some. */
const inventoryCephAnswerMs = 20 * second;
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

/** Should we be cut off, the command ends by itself; ours is the longer patience, so that its own word arrives. */
const command = ["timeout", "15", "ceph", "df", "--format", "json"];
const complaintBytes = 1_000;

/** The text of `ceph df`; rejects with the reason when there is none in time. */
async function askForDf(kube: Pick<Kube, "exec">, pod: ObjectAt, clock: Clock, closing: AbortSignal): Promise<string> {
  const giveUp = new AbortController();
  const signal = AbortSignal.any([giveUp.signal, closing]);
  try {
    return await withDeadline(clock, inventoryCephAnswerMs, runDf(kube, pod, signal), () => {
      throw new Error(`no answer within ${inventoryCephAnswerMs} ms`);
    });
  } finally {
    giveUp.abort();
  }
}

async function runDf(kube: Pick<Kube, "exec">, pod: ObjectAt, signal: AbortSignal): Promise<string> {
  const session = await kube.exec(pod, { container, command, signal });
  try {
    const [answer, complaint, code] = await Promise.all([
      collect(session.stdout, inventoryCephAnswerBytes, true),
      collect(session.stderr, complaintBytes, false),
      session.exit,
    ]);
    if (code !== 0) throw new Error(`ceph df ended with ${code}: ${complaint.trim() || "without a word"}`);
    return answer;
  } finally {
    session.close();
  }
}

/** Reads to the end; what is beyond the bound is a failure, or else dropped. */
async function collect(stream: Readable, mostBytes: number, whole: boolean): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    if (whole && bytes + piece.length > mostBytes) throw new Error(`the answer has more than ${mostBytes} bytes`);
    if (bytes < mostBytes) pieces.push(piece.subarray(0, mostBytes - bytes));
    bytes += piece.length;
  }
  return Buffer.concat(pieces).toString();
}

export type CephDf = ReturnType<typeof parseCephDf>;

/** Both net of replication and erasure coding: bytes as a client counts them. */
export interface PoolUse {
  /** `stats.stored`: what clients have written. */
  readonly storedBytes: bigint;
  /** `stats.max_avail`: what they may still write before the fullest disk is full. */
  readonly maxAvailBytes: bigint;
}

const shape = z.object({
  pools: z.array(z.object({ name: z.string(), stats: z.looseObject({}) })),
  stats_by_class: z.record(z.string(), z.unknown()).default({}),
});

/** Throws an error with the reason when this is something else. A pool without sound numbers is left out. */
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
  // "hdd", "ssd", "nvme": the classes of all disks.
  return { pools: new Map(uses), deviceClasses: Object.keys(stats_by_class) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new Error(`it is not JSON (${reasonOf(thrown)})`);
  }
}
