import { minute } from "../../runtime/durations.ts";
import type { ChainPart, Freshness } from "./status-parts.ts";

/** Ten blocks. What is further behind is told of as not fresh, whatever nodes say. */
export const gatewayChainOldMs = minute;

/** In full it is told to operators: it may name servers of theirs, which are nothing to strangers. */
const reasons = {
  chain: "no new block of the chain can be read",
  inventory: "the inventory is not confirmed",
  workloads: "the Kubernetes API server does not answer",
} as const;

export type Part = keyof typeof reasons;

export function toldReason(what: Part, ageMs: number | undefined): string {
  return ageMs === undefined ? "not read yet" : reasons[what];
}

export const unread: Freshness = { ageMs: undefined, trouble: "not read yet" };

export function chainFreshness(chain: ChainPart | undefined): Freshness {
  if (!chain?.mirror.ready) return unread;
  const { mirrorAgeMs: ageMs, trouble } = chain.status;
  // Nodes may answer well and have nothing new to tell, for as long as they or the chain stand still.
  const isOld = ageMs !== undefined && ageMs > gatewayChainOldMs;
  return { ageMs, trouble: trouble ?? (isOld ? reasons.chain : undefined) };
}
