/** The IP operator: gives leases addresses of their own through MetalLB. All its state is in the cluster. */
import { createEventRecorder } from "../../kube/event-recorder.ts";
import type { Leadership } from "../../kube/leadership.ts";
import type { Address } from "../../market/address.ts";
import type { AddressRange } from "../../market/ip-range.ts";
import { sleep } from "../../runtime/clock.ts";
import type { Condition } from "../../runtime/condition.ts";
import { minute } from "../../runtime/durations.ts";
import { type Scope, untilAborted } from "../../runtime/lifecycle.ts";
import { createQueue } from "../../runtime/queue.ts";
import { createIgnoreList, type IgnoreListOptions } from "../ignore-list.ts";
import type { OperatorDeps } from "../operator-service.ts";
import { createChangeSignal } from "../serving/grpc.ts";
import { createPacedApply } from "../write-pace.ts";
import { AddressLoop, type AddressReport } from "./address-loop.ts";
import { overallConditions, recordEvents } from "./conditions.ts";
import { createCountsCheck, type MetalLbEndpoint } from "./metallb-counts.ts";
import { OwnRange } from "./own-range.ts";
import { Supply } from "./supply.ts";
import { IpView } from "./view.ts";

export const addressUsageMs = minute;

export interface IpOperatorOptions {
  readonly provider: Address;
  readonly manifestNamespace: string;
  /** MetalLB's pool of addresses to lease. */
  readonly pool: string;
  /** Addresses that are ours alone; without any, they are those of that pool. */
  readonly ranges: readonly AddressRange[];
  /** Where MetalLB serves its own counts, to be compared with ours. */
  readonly metalLb: MetalLbEndpoint | undefined;
  readonly retryDelayMs: number;
  readonly pruneIntervalMs: number;
  readonly ignoreList: IgnoreListOptions;
  readonly instance: string;
}

interface IpOperatorDeps extends OperatorDeps {
  readonly leadership: Pick<Leadership, "run" | "leading">;
}

export type RunningIpOperator = ReturnType<typeof startIpOperator>;

export function startIpOperator(options: IpOperatorOptions, deps: IpOperatorDeps, scope: Scope) {
  const { leadership } = deps;
  const parts = assemble(options, deps, scope);
  const { view, range, supply, check, ignored, loop, queue, events, change, conditions } = parts;

  function addAll(priority?: "low"): void {
    for (const key of view.keys()) queue.add(key, priority);
  }

  async function sweep(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(deps.clock, options.pruneIntervalMs, signal);
      ignored.prune();
      addAll("low");
    }
  }

  async function begin(signal: AbortSignal): Promise<void> {
    const needed = [view.declared, view.balancers, view.pools, view.advertisements];
    await Promise.all(needed.map((each) => each.synced(signal)));
    addAll();
    await untilAborted(signal);
  }

  async function lead(leading: AbortSignal): Promise<void> {
    addAll();
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
  scope.task("usage", parts.count);
  scope.task("sweep", sweep);
  scope.task("addresses", (signal) => leadership.run(signal, lead));

  return {
    view,
    ignored,
    queues: [queue, events.queue],
    get usage() {
      return supply.usage;
    },
    get shortage() {
      return supply.shortage();
    },
    get conditions(): readonly (Condition & { readonly subject: string })[] {
      const all = [...overallConditions(view, range, supply, check), ...[...conditions.values()].flat()];
      return all.map((each) => ({ subject: "", ...each }));
    },
    get leading(): boolean {
      return leadership.leading;
    },
    get waitingFor(): string | undefined {
      return view.waitingFor;
    },
    changed: change.next,
  };
}

function assemble(options: IpOperatorOptions, deps: IpOperatorDeps, scope: Scope) {
  const { kube, clock, log } = deps;
  const { provider, manifestNamespace, pool, ranges } = options;
  const ignored = createIgnoreList(options.ignoreList, clock);
  const change = createChangeSignal();
  const queue = createQueue({ name: "ip", work: (key, signal) => loop.reconcile(key, signal), ...deps });
  const events = createEventRecorder({ controller: "akash.network/operator-ip", instance: options.instance }, deps);
  /** By key, of those that have some. */
  const conditions = new Map<string, readonly Condition[]>();
  /** Why no address was available at the last check. */
  let shortage: string | undefined;

  const view = new IpView({ ...options, kube, wake: (key) => void queue.add(key), onAddresses }, scope);
  const ipDeps = { ...deps, provider, manifestNamespace, view, apply: createPacedApply(kube, clock) };
  const range = new OwnRange(ranges, ipDeps);
  const supply = new Supply(pool, { ...ipDeps, range });
  const loop = new AddressLoop({ ...ipDeps, retryDelayMs: options.retryDelayMs, range, supply, ignored, report });
  const check = options.metalLb && createCountsCheck(options.metalLb, { clock, log });

  function onAddresses(): void {
    supply.changed();
    change.notify();
    const [waiting, awaiting] = [[...loop.withoutAddress], [...loop.awaitingAssignment]];
    // Counted only if a key depends on it: a thousand Services may change one after the other.
    const now = waiting.length + awaiting.length > 0 ? supply.shortage()?.error.message : undefined;
    const isOther = now !== shortage;
    shortage = now;
    if (now === undefined || isOther) for (const key of waiting) queue.add(key);
    if (now !== undefined && isOther) for (const key of awaiting) queue.add(key);
  }

  function report(key: string, found: AddressReport): void {
    if (found.conditions.length === 0) conditions.delete(key);
    else conditions.set(key, found.conditions);
    change.notify();
    recordEvents(found, events, ipDeps);
  }

  async function count(signal: AbortSignal): Promise<void> {
    for (;;) {
      await supply.checkOtherVersions(signal);
      await check?.fetch(supply.poolNames, signal);
      onAddresses();
      const difference = check && ranges.length === 0 ? check.compare(supply.totals) : undefined;
      if (difference !== undefined) log.info("address counts differ from those of MetalLB", { reason: difference });
      await sleep(clock, addressUsageMs, signal);
    }
  }

  return { view, range, supply, check, ignored, loop, queue, events, change, conditions, count };
}
