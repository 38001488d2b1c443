/** Screens a group and host names, for REST and gRPC alike: whether the provider would bid, and the reasons if not. */
import type { Address } from "../../market/address.ts";
import { type DecCoin, formatDecCoin } from "../../market/coin.ts";
import type { Fits } from "../../market/fit.ts";
import type { GroupSpec } from "../../market/group-spec.ts";
import { mostFor } from "../../market/group-totals.ts";
import { unitVolumes } from "../../runtime/limits.ts";
import type { BidScreen, Screened, Screener } from "./screener.ts";

export interface ScreeningDeps {
  readonly screen: Screener;
  readonly hostRejection: BidScreen["hostRejection"];
}

interface ScreeningRequest {
  readonly owner: Address;
  readonly group: GroupSpec | undefined;
  readonly hosts: readonly string[];
}

export type ScreeningResult =
  | { readonly passed: true; readonly offers: readonly OfferedUnit[]; readonly price: DecCoin | undefined }
  | { readonly passed: false; readonly reasons: readonly string[] };

interface OfferedUnit {
  readonly resources: Fits["offer"][number];
  readonly count: number;
}

export async function screenBid(
  deps: ScreeningDeps,
  { owner, group, hosts }: ScreeningRequest,
  signal: AbortSignal,
): Promise<ScreeningResult> {
  if (!group) return { passed: false, reasons: ["missing group spec"] };
  const screened = await deps.screen(owner, group, signal);
  const host = hosts.length > 0 ? deps.hostRejection(hosts, owner) : undefined;
  const reasons = [...(host === undefined ? [] : [`hostname unavailable: ${host}`]), ...reasonsOf(screened, group)];
  if (reasons.length > 0 || screened.verdict !== "bid") return { passed: false, reasons };
  const { offer = [], price } = screened;
  return {
    passed: true,
    price,
    offers: offer.map((resources, at) => ({ resources, count: group.units[at]?.count ?? 0 })),
  };
}

interface FailedCheck {
  readonly reason: string;
  readonly group: GroupSpec;
  readonly price: DecCoin | undefined;
}

/** Reasons in the words of the Go provider, by check of the bid engine; without internals, as the wallet. */
export const screeningReasons: Readonly<Record<string, (failed: FailedCheck) => string>> = {
  biddingIsOn: () => capacity("the provider does not bid now"),
  settingsComplete: () => capacity("the provider does not bid now"),
  mirrorIsFresh: () => capacity("the provider is behind the chain"),
  inventoryFresh: () => capacity("the inventory is not available"),
  groupIsWellFormed: ({ reason }) => `group validation error: ${reason}`,
  attributesMatch: () => "incompatible provider attributes",
  configuredAttributesDemanded: () => "incompatible order attributes",
  auditorsMatch: () => "attribute signature requirements not met",
  capabilitiesMatch: () => "incompatible attributes for resources requirements",
  volumesWithinLimit: ({ group }) => {
    const volumes = Math.max(...group.units.map(({ storage }) => storage.length));
    return `group volumes count exceeds limit (${volumes} > ${unitVolumes})`;
  },
  manifestPossible: ({ reason }) => `group validation error: ${reason}`,
  tenantAllowed: () => capacity("the provider does not serve this account"),
  denominationKnown: ({ group }) => `unsupported denomination: ${group.units[0]?.price.denom ?? ""}`,
  reclamationAgreed: ({ reason }) => capacity(reason),
  placementExists: () => "provider does not have sufficient resources for this deployment",
  withinOfferCaps: () => capacity("the group is larger than what the provider offers"),
  addressesAvailable: ({ reason }) => capacity(reason),
  depositCovered: () => capacity("the provider cannot place a bid now"),
  bidsLeft: () => capacity("the order takes no more bids"),
  priceGiven: () => "pricing calculation failed: there is no price for it",
  priceWithinMax({ reason, group, price }) {
    const most = mostFor(group);
    if (!price || price.denom !== most.denom || price.amount.atto <= 0n) return `pricing calculation failed: ${reason}`;
    return `price too high: calculated ${formatDecCoin(price)}, max-price ${formatDecCoin(most)}`;
  },
};

function capacity(why: string): string {
  return `capacity check failed: ${why}`;
}

export function reasonsOf({ checks, price }: Screened, group: GroupSpec): string[] {
  const failed = checks.filter(({ verdict }) => verdict === "fail");
  return failed.map(
    ({ name, reason }) => screeningReasons[name]?.({ reason, group, price }) ?? capacity("the order is rejected"),
  );
}
