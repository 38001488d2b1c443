/** Everything that a check reads, gathered first: plain values, and what the cluster answers synchronously. */
import type { AuditedAttributes } from "../../market/attributes.ts";
import type { Coin } from "../../market/coin.ts";
import type { Fit, Fits } from "../../market/fit.ts";
import { exceededLimit, faultsOfGroup } from "../../market/group-rules.ts";
import type { Attribute, GroupSpec } from "../../market/group-spec.ts";
import type { Capacity } from "../capacity.ts";
import type { Judge } from "../policies/judgement.ts";

export interface Inputs {
  readonly request: BidRequest;
  /** Bids of all providers so far; undefined for an order that is older than our start, or not on the chain. */
  readonly bidsOnOrder: number | undefined;
  readonly context: BidContext;
  /** It was decided on before, or is only screened: new orders are priced first. */
  readonly isRecheck?: boolean;
}

/** With what the group itself and the cluster add. */
export type GatheredInputs = ReturnType<typeof gatherInputs>;

export function gatherInputs(inputs: Inputs) {
  const { group } = inputs.request;
  const { capacity } = inputs.context;
  /** Why the group exceeds provider limits; then no other check reads it, since that would take long. */
  const excess = exceededLimit(group);
  const faults: readonly string[] = excess === undefined ? faultsOfGroup(group) : [excess];
  // A group with faults is not placed.
  if (faults.length > 0) return { ...inputs, excess, faults, fit: undefined, others: [], addresses: undefined };
  const [fit, others] = withinCaps(capacity.fit(group), inputs);
  return { ...inputs, excess, faults, fit, others, addresses: capacity.addressesFor(group) };
}

/** Of the GPU models that would do, those that the caps allow; where they allow none, the first one, for its reason. */
function withinCaps(first: Fit, { request: { group }, context }: Inputs): [Fit, readonly Fits[]] {
  const { policies, capacity } = context;
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

/** What a tenant requests: in an order, or in one that does not exist yet. */
export interface BidRequest {
  readonly owner: string;
  readonly group: GroupSpec;
  /** The only group of its deployment, so at least one of its services is exposed; not read for a group with an endpoint. */
  readonly isOnlyGroup?: boolean;
  /** Notice before a reclamation; undefined where none is requested. */
  readonly reclamationWindowNs: bigint | undefined;
}

/** The state of the provider at this moment: the same for every order. */
export interface BidContext {
  readonly provider: string;
  readonly record: ProviderRecord;
  /** Of provider.yaml; those on the chain may differ. */
  readonly configuredAttributes: readonly Attribute[];
  readonly params: BidParams | undefined;
  /** Of our account, by denomination. */
  readonly balances: ReadonlyMap<string, bigint>;
  /** Deposits and fees of bids that are decided and not paid yet, by denomination. */
  readonly promised: ReadonlyMap<string, bigint>;
  /** What sending one bid costs at most; undefined where a fee granter pays. */
  readonly fee: Coin | undefined;
  /** The setting. The chain's minimum may be more. */
  readonly bidDeposit: Coin;
  /** What bids leave in the wallet; below that in any denomination, none is made. */
  readonly minimumBalance: readonly Coin[];
  /** The setting; 0 where we agree to none. */
  readonly reclamationWindowNs: bigint;
  /** `behind`: blocks behind the head; undefined until a node has reported one. */
  readonly mirror: { readonly ready: boolean; readonly behind: bigint | undefined };
  /** By `akash-provider pause`, until `resume`, with its reason, which may be empty. */
  readonly pause: { readonly sinceMs: number; readonly reason: string } | undefined;
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

export interface BidParams {
  /** The smallest deposit, for each denomination that may be deposited at all. */
  readonly minDeposits: readonly Coin[];
  readonly orderMaxBids: number;
  readonly minReclamationWindowNs: bigint;
  readonly maxReclamationWindowNs: bigint;
}
