/**
 * What `/status` answers, ready to be sent. It is made when somebody asks and that from before is a moment old, so a change
 * shows soon, a flood of questions costs no more than a few, and while nobody asks nothing is done. Nothing is waited for.
 */
import type { Address } from "../../market/address.ts";
import { type Clock, formatTime, msToNs } from "../../runtime/clock.ts";
import { goodFor } from "../../runtime/good-for.ts";
import { gatewayStatusMs } from "../grpc/status-message.ts";
import { chainFreshness, type Part, toldReason, unread } from "./part-freshness.ts";
import { type StalePart, statusBody } from "./status-body.ts";
import type { Freshness, StatusParts } from "./status-parts.ts";

/** Up to here, encoding a text costs less than sending it in two pieces does. */
const gatewaySmallChars = 8_192;

export interface Snapshot {
  readonly body: string | Uint8Array;
  /** Of the oldest part of it, in whole seconds. */
  readonly ageS: number;
}

interface SnapshotDeps {
  readonly provider: Address;
  readonly publicHost: string | undefined;
  readonly parts: StatusParts;
  readonly clock: Clock;
}

export function createStatusSnapshot({ provider, publicHost, parts, clock }: SnapshotDeps): () => Snapshot {
  const reclamationWindowNs = msToNs(parts.reclamationWindowMs);
  const startedMs = clock.monotonicMs();
  const [chain, cluster] = [kept(parts.chain), kept(parts.cluster)];
  const [orders, deployments] = [kept(parts.orders), kept(parts.deployments)];
  /** Since when each part is not fresh, on the wall clock. */
  const staleSince = new Map<string, number>();

  function freshnessOf(): [what: Part, Freshness][] {
    const own: [Part, Freshness][] = [["chain", chainFreshness(chain())]];
    if (!parts.cluster) return own;
    const { inventory = unread, workloads = unread } = cluster() ?? {};
    return [...own, ["inventory", inventory], ["workloads", workloads]];
  }

  function staleParts(all: readonly [Part, Freshness][]): StalePart[] {
    return all.flatMap(([what, { ageMs, trouble }]) => {
      if (trouble === undefined) {
        staleSince.delete(what);
        return [];
      }
      // It was so when the trouble began; that moment stays the same while the trouble lasts.
      const since = staleSince.get(what) ?? clock.now() - ageOf(ageMs);
      staleSince.set(what, since);
      return [{ what, since: formatTime(since), why: toldReason(what, ageMs) }];
    });
  }

  /** What was never known is as old as we are. */
  function ageOf(ageMs: number | undefined): number {
    return ageMs ?? clock.monotonicMs() - startedMs;
  }

  function make(): Snapshot {
    const freshness = freshnessOf();
    const text = statusBody({
      ...{ provider, publicHost, reclamationWindowNs },
      cluster: cluster(),
      orders: orders()?.() ?? 0,
      deployments: deployments()?.() ?? 0,
      stale: staleParts(freshness),
    });
    const oldestMs = Math.max(...freshness.map(([, { ageMs }]) => ageOf(ageMs)));
    // Node sends a text in one piece with its headers, and has to encode it each time.
    const body = text.length <= gatewaySmallChars ? text : Buffer.from(text);
    return { body, ageS: Math.max(0, Math.floor(oldestMs / 1_000)) };
  }

  return goodFor(gatewayStatusMs, clock, make);
}

/** What a promise was kept with, once it is. */
function kept<T>(promise: Promise<T> | undefined): () => T | undefined {
  let value: T | undefined;
  void promise?.then((given) => {
    value = given;
  });
  return () => value;
}
