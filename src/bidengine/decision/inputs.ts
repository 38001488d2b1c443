/** Everything that a check looks at, gathered first: plain values, and what of the cluster answers at once. */

import type { AuditedAttributes } from "../../market/attributes.ts";
import type { Coin } from "../../market/coin.ts";
import type { Fit, Fits } from "../../market/fit.ts";
import { exceededLimit, faultsOfGroup } from "../../market/group-rules.ts";
import type { Attribute, GroupSpec } from "../../market/group-spec.ts";
import type { AddressAnswer, Capacity } from "../capacity.ts";
import type { Judge } from "../policies/judgement.ts";

export interface Inputs {
  readonly request: BidRequest;
  /** Bids on the order so far, of everybody; undefined where nobody has counted, or where there is no order yet. */
  readonly bidsOnOrder: number | undefined;
  readonly context: BidContext;
  /** It was decided on before, or is only screened: new orders are priced first. */
  readonly isRecheck?: boolean;
}

/** The inputs, with what the group itself and the cluster say to them. */
export interface GatheredInputs extends Inputs {
  /** Why nobody could have meant this; then nothing else is asked about the group, since reading it would take long. */
  readonly excess: string | undefined;
  readonly faults: readonly string[];
  /** Undefined for a group with faults: nobody places it. */
  readonly fit: Fit | undefined;
  readonly others: readonly Fits[];
  readonly addresses: AddressAnswer | undefined;
}

export function gatherInputs(inputs: Inputs): GatheredInputs {
  const { group } = inputs.request;
  const { capacity } = inputs.context;
  const excess = exceededLimit(group);
  const faults = excess === undefined ? faultsOfGroup(group) : [excess];
  if (faults.length > 0) return { ...inputs, excess, faults, fit: undefined, others: [], addresses: undefined };
  const [fit, others] = withinCaps(capacity.fit(group), inputs);
  return { ...inputs, excess, faults, fit, others, addresses: capacity.addressesFor(group) };
}

/** Of the GPU models that would do, those that the caps allow; where they allow none, the first one, for its reason. */
function withinCaps(first: Fit, { request: { group }, context: standing }: Inputs): [Fit, readonly Fits[]] {
  const { policies, capacity } = standing;
  if (!first.fits || !first.others) return [first, []];
  const allowed = [first, ...first.others].filter(({ offer }) => {
    const { yes, dryRun } = policies.caps(withOffer(group, offer), capacity.sold);
    return yes || dryRun;
  });
  const [fit = first, ...others] = allowed;
  return [fit, others];
}

/** The group with the GPU models that it would get: the order may name none, or several. */
export function withOffer({ units }: GroupSpec, offer: Fits["offer"]): Pick<GroupSpec, "units"> {
  return { units: units.map((unit, at) => ({ ...unit, gpu: offer[at]?.gpu ?? unit.gpu })) };
}

/** What a tenant asks for: of an order, or of one that does not exist yet. */
export interface BidRequest {
  readonly owner: string;
  readonly group: GroupSpec;
  /** Its deployment has no other, so at least one service of this one is exposed; not known of a group that has an endpoint. */
  readonly isOnlyGroup?: boolean;
  /** How long before a reclamation the tenant wants to be told; undefined where none is asked for. */
  readonly reclamationWindowNs: bigint | undefined;
}

/** How things are with us at this moment: the same for every order. */
export interface BidContext {
  readonly provider: string;
  readonly own: ProviderRecord;
  /** What provider.yaml says of us; on the chain it may be different. */
  readonly configuredAttributes: readonly Attribute[];
  readonly params: MarketTerms | undefined;
  /** What our account holds, by denomination. */
  readonly balances: ReadonlyMap<string, bigint>;
  /** Deposits and fees of bids that are decided and not paid yet, by denomination. */
  readonly promised: ReadonlyMap<string, bigint>;
  /** What sending one bid costs at most; undefined where somebody else pays. */
  readonly fee: Coin | undefined;
  /** The setting. The chain's minimum may be more. */
  readonly bidDeposit: Coin;
  /** What bids leave in the wallet; below that in any denomination, none is made. */
  readonly minimumBalance: readonly Coin[];
  /** The setting; 0 where we agree to none. */
  readonly reclamationWindowNs: bigint;
  readonly mirror: MirrorState;
  /** Undefined while bidding is not paused. */
  readonly pause: Pause | undefined;
  /** The settings without which no lease could be served, as flags. */
  readonly missingSettings: readonly string[];
  readonly policies: Judge;
  readonly capacity: Pick<Capacity, "inventory" | "fit" | "addressesFor" | "sold">;
  readonly nowMs: number;
}

/** What the chain has of us: what tenants and auditors see, and what our bids are measured by. */
export interface ProviderRecord {
  /** "unknown" until it was read for the first time. */
  readonly state: "unknown" | "not registered" | "registered";
  readonly attributes: readonly Attribute[];
  readonly audited: AuditedAttributes;
}

export interface MarketTerms {
  /** The smallest deposit, for each denomination that may be deposited at all. */
  readonly minDeposits: readonly Coin[];
  readonly orderMaxBids: number;
  readonly minReclamationWindowNs: bigint;
  readonly maxReclamationWindowNs: bigint;
}

interface MirrorState {
  readonly ready: boolean;
  /** Blocks that it is behind the head; undefined until a node has reported one. */
  readonly behind: bigint | undefined;
}

/** By `akash-provider pause`, until `resume`. */
export interface Pause {
  readonly sinceMs: number;
  /** As the person who paused it gave it; may be empty. */
  readonly reason: string;
}
