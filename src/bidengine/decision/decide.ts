/** From gathered inputs to a decision. The same for an order on the chain and for one that does not exist yet. */
import type { DecCoin } from "../../market/coin.ts";
import type { Fits } from "../../market/fit.ts";
import { mostFor } from "../../market/group-price.ts";
import type { PriceRequest, Pricing, Quote } from "../pricing/pricing.ts";
import { addressesAvailable, placementExists } from "./cluster-checks.ts";
import type { Check, Decision } from "./decision.ts";
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
import { type Asked, type Gathered, gather, type Inputs, type Standing } from "./inputs.ts";
import {
  bidsLeft,
  denominationKnown,
  depositCovered,
  priceGiven,
  priceWithinMax,
  reclamationAgreed,
} from "./money-checks.ts";
import { biddingIsOn, inventoryFresh, mirrorIsFresh, settingsComplete } from "./readiness-checks.ts";
import { notAsked, type Question, type Verdict } from "./verdict.ts";
import { boundedEvidence, shown } from "./words.ts";

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
} satisfies Record<string, Question>;

/** These cost something, a process or a call, and are asked only where nothing else stands in the way. */
const priceChecks = ["priceGiven", "priceWithinMax"] as const;

export const checkNames: readonly string[] = [...Object.keys(questions), ...priceChecks];

export async function decide(inputs: Inputs, pricing: Pricing, signal: AbortSignal): Promise<Decision> {
  const gathered = gather(inputs);
  const { fit, others } = gathered;
  let checks = freeChecks(gathered);
  if (!fit?.fits || checks.some(({ verdict }) => verdict === "fail")) {
    const unpriced = priceChecks.map((name) => named(name, notAsked("another check said no")));
    const [offer, isLimited] = fit?.fits ? [fit.offer, false] : [undefined, fit?.isLimited === true];
    return { verdict: "no", checks: [...checks, ...unpriced], price: undefined, offer, isLimited };
  }
  const { owner, group } = inputs.asked;
  const most = mostFor(group);
  const asking = [fit, ...others].map(async (each) => {
    const request: PriceRequest = { owner, group, offer: each.offer, most, isRecheck: inputs.isRecheck };
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

function freeChecks(gathered: Gathered): Check[] {
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
export function screen(asked: Asked, standing: Standing, pricing: Pricing, signal: AbortSignal): Promise<Decision> {
  return decide({ asked, bidsOnOrder: undefined, standing, isRecheck: true }, pricing, signal);
}

/** A group that no one could have meant is not read any further. */
function ofSense(question: Question): Question {
  return (gathered) =>
    gathered.excess === undefined ? question(gathered) : notAsked("no one could have meant the group");
}

function named(name: string, verdict: Verdict): Check {
  const reason = shown(verdict.reason, decisionReasonChars);
  return { name, ...verdict, reason, evidence: boundedEvidence(verdict.evidence) };
}
