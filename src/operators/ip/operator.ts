/**
 * The IP operator: gives leases addresses of their own through MetalLB. What is asked for stands in ProviderLeasedIPs, what is
 * given in Services and pools; it keeps nothing itself, so that it may end at any moment.
 */
import { createEventRecorder } from "../../kube/event-recorder.ts";
import type { Leadership } from "../../kube/leadership.ts";
import type { Address } from "../../market/address.ts";
import type { AddressRange } from "../../market/address-range.ts";
import { sleep } from "../../runtime/clock.ts";
import type { Condition } from "../../runtime/condition.ts";
import { minute } from "../../runtime/durations.ts";
import { type Scope, untilAborted } from "../../runtime/lifecycle.ts";
import { createQueue } from "../../runtime/queue.ts";
import type { OperatorGround } from "../ground.ts";
import { createIgnoreList, type IgnoreListOptions } from "../ignore-list.ts";
import { createAddressLoop, type Looked } from "./address-loop.ts";
import { recordLook } from "./condition-events.ts";
import { createCountsCheck, type MetalLbEndpoint } from "./metallb-counts.ts";
import { overallConditions } from "./overall-conditions.ts";
import { createOwnRange } from "./own-range.ts";
import { createPacedApply } from "./paced-apply.ts";
import { createSupply } from "./supply.ts";
import type { AddressUsage } from "./usage.ts";
import { openView } from "./view.ts";

/** How often all of it is counted anew, whatever was heard. */
export const addressUsageMs = minute;

export interface IpOperatorOptions {
  readonly provider: Address;
  readonly manifestNamespace: string;
  /** MetalLB's pool of addresses to lease. */
  readonly pool: string;
  /** Addresses that are ours alone; without any, they are those of that pool. */
  readonly ranges: readonly AddressRange[];
  /** Where MetalLB tells its own counts, to be compared with ours. */
  readonly metalLb: MetalLbEndpoint | undefined;
  readonly retryDelayMs: number;
  readonly pruneIntervalMs: number;
  readonly ignoreList: IgnoreListOptions;
  /** Which of its processes; the name of its pod. */
  readonly instance: string;
}

interface IpOperatorDeps extends OperatorGround {
  readonly leadership: Pick<Leadership, "run" | "leading">;
}

export type IpOperator = ReturnType<typeof startIpOperator>;

export function startIpOperator(options: IpOperatorOptions, deps: IpOperatorDeps, scope: Scope) {
  const { kube, clock, log, leadership } = deps;
  const { provider, manifestNamespace, pool, ranges, retryDelayMs } = options;
  const ignored = createIgnoreList(options.ignoreList, clock);
  const listeners = new Set<() => void>();
  const queue = createQueue({ name: "ip", work: (key, signal) => loop.look(key, signal), ...deps });
  const events = createEventRecorder(
    { controller: "akash.network/operator-ip", instance: options.instance },
    { kube, clock, random: deps.random, log },
  );
  /** By key, of those that have some. */
  const conditions = new Map<string, readonly Condition[]>();
  /** Why no address could be had when that was last looked at. */
  let lacked: string | undefined;

  const view = openView(
    { provider, manifestNamespace },
    { kube, wake: (key) => void queue.add(key), onAddresses },
    scope,
  );
  const apply = createPacedApply(kube, clock);
  const range = createOwnRange(ranges, { view, kube, apply, provider });
  const supply = createSupply(pool, { view, range, kube, clock });
  const loop = createAddressLoop(
    { provider, manifestNamespace, retryDelayMs },
    { kube, apply, view, range, supply, ignored, tell, clock, log },
  );
  const check = options.metalLb && createCountsCheck(options.metalLb, { clock, log });

  function changed(): void {
    for (const listener of listeners) listener();
  }

  function onAddresses(): void {
    supply.changed();
    changed();
    const [waiting, hopeful] = [[...loop.without], [...loop.hopeful]];
    // Counted for somebody only: a thousand Services may change one after the other.
    const now = waiting.length + hopeful.length > 0 ? supply.shortage()?.error.message : undefined;
    const isOther = now !== lacked;
    lacked = now;
    if (now === undefined || isOther) for (const key of waiting) queue.add(key);
    if (now !== undefined && isOther) for (const key of hopeful) queue.add(key);
  }

  function tell(key: string, looked: Looked): void {
    if (looked.conditions.length === 0) conditions.delete(key);
    else conditions.set(key, looked.conditions);
    changed();
    recordLook(looked, { recorder: events, view, manifestNamespace });
  }

  async function count(signal: AbortSignal): Promise<void> {
    for (;;) {
      await supply.lookForOtherVersions(signal);
      await check?.look(supply.poolNames, signal);
      onAddresses();
      const difference = check && ranges.length === 0 ? check.compare(supply.whole) : undefined;
      if (difference !== undefined) log.info("address counts differ from those of MetalLB", { reason: difference });
      await sleep(clock, addressUsageMs, signal);
    }
  }

  /** What nobody woke is looked at now and then all the same. */
  async function sweep(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(clock, options.pruneIntervalMs, signal);
      ignored.prune();
      for (const key of view.keys()) queue.add(key, "low");
    }
  }

  /** Nothing is decided before all of it was read; then everything is looked at. */
  async function begin(signal: AbortSignal): Promise<void> {
    await Promise.all(
      [view.declared, view.balancers, view.pools, view.advertisements].map((each) => each.synced(signal)),
    );
    for (const key of view.keys()) queue.add(key);
    await untilAborted(signal);
  }

  /** Who leads no more sees nothing of what becomes of it. */
  async function lead(leading: AbortSignal): Promise<void> {
    // What was known went with the last time, and nobody else looks before the next sweep.
    for (const key of view.keys()) queue.add(key);
    try {
      await queue.run(leading);
    } finally {
      conditions.clear();
      loop.forget();
      ignored.clear();
    }
  }

  scope.task("events", events.run);
  scope.task("begin", begin);
  scope.task("usage", count);
  scope.task("sweep", sweep);
  scope.task("addresses", (signal) => leadership.run(signal, lead));

  return {
    view,
    ignored,
    queue,
    events,
    get usage(): AddressUsage {
      return supply.usage;
    },
    get shortage() {
      return supply.shortage();
    },
    get conditions(): readonly (Condition & { readonly subject: string })[] {
      const all = [...overallConditions({ view, range, supply, check }), ...[...conditions.values()].flat()];
      return all.map((each) => ({ subject: "", ...each }));
    },
    get leading(): boolean {
      return leadership.leading;
    },
    /** Why nothing can be told yet. */
    get waitingFor(): string | undefined {
      return view.waitingFor;
    },
    /** Told of every change; the answer ends it. */
    onChange(listener: () => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
