/** From gathered inputs to a decision. The same for an order on the chain and for one that does not exist yet. */
import type { DecCoin } from "../../market/coin.ts";
import type { Fits } from "../../market/fit.ts";
import { mostFor } from "../../market/group-totals.ts";
import { formatTime } from "../../runtime/clock.ts";
import { minute } from "../../runtime/durations.ts";
import type { Pricing, Quote } from "../pricing/pricing.ts";
import { boundedEvidence, decisionListed, shownText } from "./bounded-text.ts";
import {
  type BidCheck,
  byPolicy,
  type Check,
  type CheckVerdict,
  type Decision,
  fail,
  pass,
  skipped,
} from "./decision.ts";
import {
  attributesMatch,
  auditorsMatch,
  capabilitiesMatch,
  configuredAttributesDemanded,
  groupIsWellFormed,
  manifestPossible,
  tenantAllowed,
  volumesWithinLimit,
  withinOfferCaps,
} from "./demand-checks.ts";
import { type BidContext, type BidRequest, type GatheredInputs, gatherInputs, type Inputs } from "./inputs.ts";
import {
  bidsLeft,
  denominationKnown,
  depositCovered,
  priceGiven,
  priceWithinMax,
  reclamationAgreed,
} from "./money-checks.ts";

/** A mirror further behind shows orders that are gone, and coins that are spent. */
export const bidMirrorBlocksBehind = 5;
/** The network's operator reports every few seconds. */
export const bidSnapshotAgeMs = 2 * minute;

export const biddingIsOn: BidCheck = ({ context: { pause, policies, nowMs } }) => {
  if (pause) return fail("policies", pausedText(pause));
  return byPolicy(policies.bidding(nowMs));
};

export function pausedText({ reason, sinceMs }: NonNullable<BidContext["pause"]>): string {
  return `bidding is paused since ${formatTime(sinceMs)}${reason && `, ${reason}`}: akash-provider resume`;
}

export const settingsComplete: BidCheck = ({ context: { missingSettings } }) =>
  missingSettings.length === 0
    ? pass("every setting that a lease needs is given")
    : fail("never", missingSettingsText(missingSettings), { missingSettings: [...missingSettings] });

export function missingSettingsText(flags: readonly string[]): string {
  return `every lease needs settings that are missing: set ${flags.join(" and ")}, and restart`;
}

export const mirrorIsFresh: BidCheck = ({ context: { mirror } }) => {
  const most = bidMirrorBlocksBehind;
  if (!mirror.ready) return fail("time", "the chain has not been read yet");
  if (mirror.behind === undefined) return fail("time", "no node has reported the newest block");
  const evidence = { behind: Number(mirror.behind), most };
  const reason = `what we know of the chain is ${mirror.behind} blocks behind`;
  return mirror.behind > BigInt(most) ? fail("time", `${reason}, more than ${most}`, evidence) : pass(reason, evidence);
};

/** The first snapshot is notified as room; that an old one is current again is only seen by a recheck. */
export const inventoryFresh: BidCheck = ({ context: { capacity } }) => {
  const { ageMs, error } = capacity.inventory;
  const most = bidSnapshotAgeMs;
  if (ageMs === undefined) return fail("room", error ?? "no inventory snapshot has come yet");
  const evidence = { ageMs: Math.round(ageMs), mostMs: most };
  const reason = `inventory snapshot is ${Math.round(ageMs / 1000)} s old`;
  if (ageMs > most) return fail("time", `${reason}, more than ${most / 1000} s`, evidence);
  return error === undefined ? pass(reason, evidence) : fail("time", error, evidence);
};

const isInvalid = "the group is not valid";

/** Every replica has a node, all at once. Nothing is taken yet. */
const placementExists: BidCheck = ({ fit, context: { capacity } }) => {
  if (!fit) return skipped(isInvalid);
  // The snapshot is what is missing, not room.
  if (capacity.inventory.error !== undefined) return skipped("the inventory snapshot may be outdated");
  if (!fit.fits) {
    const shortages = fit.shortages
      .slice(0, decisionListed)
      .map((shortage) => ({ ...shortage, wanted: `${shortage.wanted}`, available: `${shortage.available}` }));
    return fail("room", fit.reason, { shortages, units: fit.shortages.length });
  }
  const nodes = new Set(fit.replicas.map(({ node }) => node));
  const gpus = fit.offer
    .filter(({ gpu }) => gpu.count > 0n)
    .slice(0, decisionListed)
    .map(({ id, gpu }) => `unit ${id}: ${gpu.attributes.map(({ key }) => key).join(" ")}`);
  return pass(`room for all of its replicas (${fit.replicas.length}), on ${nodes.size} of our nodes`, {
    replicas: fit.replicas.length,
    nodes: [...nodes].slice(0, decisionListed),
    ...(gpus.length > 0 && { cards: gpus }),
  });
};

const addressesAvailable: BidCheck = ({ addresses }) => {
  if (!addresses) return skipped(isInvalid);
  return addresses.yes ? pass(addresses.reason) : fail("room", addresses.reason);
};

/** Of one sentence, also where a price script or the operator wrote it. */
const decisionReasonChars = 600;

/** Checks without cost, in the order an operator would ask. All run, also after a no. */
export const bidChecks = {
  biddingIsOn, // not paused
  settingsComplete, // and we could serve a lease at all
  mirrorIsFresh, // we know what the chain knows
  inventoryFresh, // and what the cluster has
  groupIsWellFormed, // the chain lets nonsense through; we don't
  attributesMatch: ifBounded(attributesMatch), // what the tenant requires of us, we publish
  configuredAttributesDemanded: ifBounded(configuredAttributesDemanded), // and, if configured, the order demands it
  auditorsMatch: ifBounded(auditorsMatch), // someone the tenant trusts has signed it
  capabilitiesMatch: ifBounded(capabilitiesMatch), // the kinds of volumes and GPUs are ours
  volumesWithinLimit: ifBounded(volumesWithinLimit),
  manifestPossible: ifBounded(manifestPossible), // and we would not reject its manifest
  tenantAllowed, // we want this tenant
  denominationKnown: ifBounded(denominationKnown), // and that money
  reclamationAgreed,
  placementExists, // every replica has a node, all at once
  withinOfferCaps: ifBounded(withinOfferCaps), // it is not more than we want to sell
  addressesAvailable,
  depositCovered, // we can pay for the bid
  bidsLeft, // and the order takes one more
} satisfies Record<string, BidCheck>;

/** These cost a process or a call, and run only where all others passed. */
const priceChecks = ["priceGiven", "priceWithinMax"] as const;

export const checkNames: readonly string[] = [...Object.keys(bidChecks), ...priceChecks];

export async function decide(
  inputs: Inputs,
  pricing: Pick<Pricing, "quote">,
  signal: AbortSignal,
  list: Readonly<Record<string, BidCheck>> = bidChecks,
): Promise<Decision> {
  const gathered = gatherInputs(inputs);
  const { fit, others } = gathered;
  const checks = freeChecks(gathered, list);
  if (!fit?.fits || checks.some(({ verdict }) => verdict === "fail")) {
    const unpriced = priceChecks.map((name) => named(name, skipped("another check failed")));
    const [offer, isLimited] = fit?.fits ? [fit.offer, false] : [undefined, fit?.isLimited === true];
    return { verdict: "no", checks: [...checks, ...unpriced], price: undefined, offer, isLimited };
  }
  const { owner, group } = inputs.request;
  const most = mostFor(group);
  const quotes = [fit, ...others].map(async (each) => {
    const kind = { isRecheck: inputs.isRecheck, isFurther: each !== fit };
    return { fit: each, quote: await pricing.quote({ owner, group, offer: each.offer, most, ...kind }, signal) };
  });
  const { fit: chosen, quote } = (await Promise.all(quotes)).reduce(cheaper);
  const within = quote.price ? priceWithinMax(quote.price, most) : skipped("there is no price");
  return {
    verdict: within.verdict === "pass" ? "bid" : "no",
    checks: [
      ...(chosen === fit ? checks : freeChecks({ ...gathered, fit: chosen }, list)),
      named("priceGiven", priceGiven(quote)),
      named("priceWithinMax", within),
    ],
    price: priceOf(quote),
    offer: chosen.offer,
  };
}

function freeChecks(gathered: GatheredInputs, list: Readonly<Record<string, BidCheck>>): Check[] {
  return Object.entries(list).map(([name, check]) => named(name, check(gathered)));
}

interface Quoted {
  readonly fit: Fits;
  readonly quote: Quote;
}

/** An offer with a price before one without; of equals the first, which leaves the cluster in the better shape. */
function cheaper(one: Quoted, other: Quoted): Quoted {
  const [price, otherPrice] = [priceOf(one.quote), priceOf(other.quote)];
  if (!otherPrice || (one.quote.price && !other.quote.price)) return one;
  if (!price || (other.quote.price && !one.quote.price)) return other;
  return otherPrice.amount.atto < price.amount.atto ? other : one;
}

function priceOf(quote: Quote): DecCoin | undefined {
  return quote.price ?? quote.wanted;
}

/** Would we bid on this, and for how much? Takes nothing and sends nothing. */
export function screen(
  request: BidRequest,
  context: BidContext,
  pricing: Pick<Pricing, "quote">,
  signal: AbortSignal,
): Promise<Decision> {
  return decide({ request, bidsOnOrder: undefined, context, isRecheck: true }, pricing, signal);
}

/** Skips a group beyond provider limits. */
function ifBounded(check: BidCheck): BidCheck {
  return (gathered) => (gathered.excess === undefined ? check(gathered) : skipped("the group exceeds provider limits"));
}

function named(name: string, verdict: CheckVerdict): Check {
  const reason = shownText(verdict.reason, decisionReasonChars);
  return { name, ...verdict, reason, evidence: boundedEvidence(verdict.evidence) };
}
