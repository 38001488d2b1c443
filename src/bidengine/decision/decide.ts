/** From gathered inputs to a decision. The same for an order on the chain and for one that does not exist yet. */
import type { DecCoin } from "../../market/coin.ts";
import type { Fits, Shortage } from "../../market/fit.ts";
import { mostFor } from "../../market/group-totals.ts";
import type { PriceRequest, Pricing, Quote } from "../pricing/pricing.ts";
import { boundedEvidence, decisionListed, shownText } from "./bounded-text.ts";
import { type BidQuestion, type Check, type CheckVerdict, type Decision, fail, notAsked, pass } from "./decision.ts";
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
import { biddingIsOn, inventoryFresh, mirrorIsFresh, settingsComplete } from "./readiness-checks.ts";

const senseless = "nobody places a group that the network does not allow";

/** Every replica has a node, all at once. Nothing is taken yet. */
const placementExists: BidQuestion = ({ fit, context: { capacity } }) => {
  if (!fit) return notAsked(senseless);
  // Room is not what is missing, and none need come before it is worth asking again.
  if (capacity.inventory.error !== undefined) return notAsked("nobody places by a picture that may be wrong");
  if (!fit.fits) {
    const shortages = fit.shortages.slice(0, decisionListed).map(showShortage);
    return fail("room", fit.reason, { shortages, units: fit.shortages.length });
  }
  const nodes = new Set(fit.replicas.map(({ node }) => node));
  const cards = cardsOf(fit);
  return pass(`room for all of its replicas (${fit.replicas.length}), on ${nodes.size} of our nodes`, {
    replicas: fit.replicas.length,
    nodes: [...nodes].slice(0, decisionListed),
    ...(cards.length > 0 && { cards }),
  });
};

const addressesAvailable: BidQuestion = ({ addresses }) => {
  if (!addresses) return notAsked(senseless);
  return addresses.yes ? pass(addresses.reason) : fail("room", addresses.reason);
};

function showShortage({ unit, resource, wanted, available, where, nodes }: Shortage) {
  return { unit, resource, wanted: String(wanted), available: String(available), where, nodes };
}

function cardsOf({ offer }: Fits): string[] {
  return offer
    .filter(({ gpu }) => gpu.count > 0n)
    .slice(0, decisionListed)
    .map(({ id, gpu }) => `unit ${id}: ${gpu.attributes.map(({ key }) => key).join(" ")}`);
}

/** Of one sentence, also where somebody else wrote it: a script, an operator who paused. */
const decisionReasonChars = 600;

/** Those that cost nothing, in the order an operator would ask. All are asked, also after a no. */
const questions = {
  biddingIsOn, // nobody stopped us
  settingsComplete, // and we could serve a lease at all
  mirrorIsFresh, // we know what the chain knows
  inventoryFresh, // and what the cluster has
  groupIsWellFormed, // the chain lets nonsense through; we don't
  attributesMatch: ofSense(attributesMatch), // what the tenant requires of us, we publish
  configuredAttributesDemanded: ofSense(configuredAttributesDemanded), // and, where we want that, is asked for
  auditorsMatch: ofSense(auditorsMatch), // someone the tenant trusts has signed it
  capabilitiesMatch: ofSense(capabilitiesMatch), // the kinds of volumes and cards are ours
  volumesWithinLimit: ofSense(volumesWithinLimit),
  manifestPossible: ofSense(manifestPossible), // and we would not reject its manifest
  tenantAllowed, // we want this tenant
  denominationKnown: ofSense(denominationKnown), // and that money
  reclamationAgreed,
  placementExists, // every replica has a node, all at once
  withinOfferCaps: ofSense(withinOfferCaps), // it is not more than we want to sell
  addressesAvailable,
  depositCovered, // we can pay for the bid
  bidsLeft, // and the order takes one more
} satisfies Record<string, BidQuestion>;

/** These cost something, a process or a call, and are asked only where nothing else stands in the way. */
const priceChecks = ["priceGiven", "priceWithinMax"] as const;

export const checkNames: readonly string[] = [...Object.keys(questions), ...priceChecks];

export async function decide(inputs: Inputs, pricing: Pricing, signal: AbortSignal): Promise<Decision> {
  const gathered = gatherInputs(inputs);
  const { fit, others } = gathered;
  let checks = freeChecks(gathered);
  if (!fit?.fits || checks.some(({ verdict }) => verdict === "fail")) {
    const unpriced = priceChecks.map((name) => named(name, notAsked("another check said no")));
    const [offer, isLimited] = fit?.fits ? [fit.offer, false] : [undefined, fit?.isLimited === true];
    return { verdict: "no", checks: [...checks, ...unpriced], price: undefined, offer, isLimited };
  }
  const { owner, group } = inputs.request;
  const most = mostFor(group);
  const asking = [fit, ...others].map(async (each) => {
    const kind = { isRecheck: inputs.isRecheck, isFurther: each !== fit };
    const request: PriceRequest = { owner, group, offer: each.offer, most, ...kind };
    return { fit: each, quote: await pricing.quote(request, signal) };
  });
  const { fit: chosen, quote } = (await Promise.all(asking)).reduce(cheaper);
  if (chosen !== fit) checks = freeChecks({ ...gathered, fit: chosen });
  const within = quote.price ? priceWithinMax(quote.price, most) : notAsked("there is no price");
  checks.push(named("priceGiven", priceGiven(quote)), named("priceWithinMax", within));
  return {
    verdict: within.verdict === "pass" ? "bid" : "no",
    checks,
    price: priceOf(quote),
    offer: chosen.offer,
  };
}

function freeChecks(gathered: GatheredInputs): Check[] {
  return Object.entries(questions).map(([name, question]) => named(name, question(gathered)));
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
  return quote.price ? quote.price : quote.wanted;
}

/** Would we bid on this, and for how much? Takes nothing and sends nothing. */
export function screen(
  asked: BidRequest,
  standing: BidContext,
  pricing: Pricing,
  signal: AbortSignal,
): Promise<Decision> {
  return decide({ request: asked, bidsOnOrder: undefined, context: standing, isRecheck: true }, pricing, signal);
}

/** A group that no one could have meant is not read any further. */
function ofSense(question: BidQuestion): BidQuestion {
  return (gathered) =>
    gathered.excess === undefined ? question(gathered) : notAsked("no one could have meant the group");
}

function named(name: string, verdict: CheckVerdict): Check {
  const reason = shownText(verdict.reason, decisionReasonChars);
  return { name, ...verdict, reason, evidence: boundedEvidence(verdict.evidence) };
}
