/**
 * How full each Ceph cluster is, asked on a period and when something changed, one question at a time. When Ceph does
 * not answer, what it said last stays, together with the reason.
 */
import type { Kube, ObjectAt } from "../../../kube/kube.ts";
import { sleep } from "../../../runtime/clock.ts";
import { minute, second } from "../../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import { createPause } from "../../../runtime/pause.ts";
import type { OperatorGround } from "../../ground.ts";
import { askForDf, type CephDf, parseCephDf } from "./ceph-df.ts";

/** How often Ceph is asked how full it is: about as often as Rook itself looks. */
export const inventoryCephLookMs = minute;
/** The least pause between two looks at Ceph, however many volumes come and go. */
export const inventoryCephPauseMs = 5 * second;

export interface CephReading {
  /** The last good answer, and when it came. */
  readonly df?: CephDf;
  readonly atMs?: number;
  /** Why there is none since. */
  readonly trouble?: ProviderError;
}

interface CephUsageDeps extends Pick<OperatorGround, "clock" | "log"> {
  readonly kube: Pick<Kube, "exec">;
  /** The namespaces of the clusters that somebody wants to know about. */
  namespaces(): Iterable<string>;
  /** A pod in that namespace that can be asked; throws the reason why there is none. */
  toolbox(namespace: string): ObjectAt;
  /** Told when an answer says something else than the one before. */
  changed(): void;
}

export function createCephUsage(deps: CephUsageDeps) {
  const { kube, clock, log } = deps;
  const ending = new AbortController();
  const { signal } = ending;
  const pause = createPause(clock);
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
    /** Looks soon instead of at the next turn. */
    wake: pause.ring,
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
