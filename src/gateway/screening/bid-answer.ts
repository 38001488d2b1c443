/** Would we bid on such a group, with such host names? The same answer to everybody who asks, however they ask. */
import type { Address } from "../../market/address.ts";
import type { DecCoin } from "../../market/coin.ts";
import type { Fits } from "../../market/fit.ts";
import type { GroupSpec } from "../../market/group-spec.ts";
import { reasonsOf } from "./reasons.ts";
import type { BidScreen, Screener } from "./screener.ts";

export interface ScreeningDeps {
  readonly screen: Screener;
  readonly hostRefusal: BidScreen["hostRefusal"];
}

interface AskedBid {
  readonly owner: Address;
  /** Undefined: it was forgotten. */
  readonly group: GroupSpec | undefined;
  readonly hosts: readonly string[];
}

export type BidAnswer =
  | { readonly passed: true; readonly offers: readonly OfferedUnit[]; readonly price: DecCoin | undefined }
  | { readonly passed: false; readonly reasons: readonly string[] };

interface OfferedUnit {
  readonly resources: Fits["offer"][number];
  readonly count: number;
}

/** Throws ScreeningBusy. */
export async function answerBid(deps: ScreeningDeps, asked: AskedBid, signal: AbortSignal): Promise<BidAnswer> {
  const { owner, group, hosts } = asked;
  if (!group) return { passed: false, reasons: ["missing group spec"] };
  const screened = await deps.screen(owner, group, signal);
  const host = hosts.length > 0 ? deps.hostRefusal(hosts, owner) : undefined;
  const reasons = [...(host === undefined ? [] : [`hostname unavailable: ${host}`]), ...reasonsOf(screened, group)];
  if (reasons.length > 0 || screened.verdict !== "bid") return { passed: false, reasons };
  const { offer = [], price } = screened;
  return {
    passed: true,
    price,
    offers: offer.map((resources, at) => ({ resources, count: group.units[at]?.count ?? 0 })),
  };
}
