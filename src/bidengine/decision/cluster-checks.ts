/** Whether the cluster has room for it now. */
import type { Fits, Shortage } from "../../market/fit.ts";
import { fail, notAsked, pass, type Question } from "./verdict.ts";
import { decisionListed } from "./words.ts";

const senseless = "nobody places a group that the network does not allow";

/** Every replica has a node, all at once. Nothing is taken yet. */
export const placementExists: Question = ({ fit, standing: { capacity } }) => {
  if (!fit) return notAsked(senseless);
  // Room is not what is missing, and none need come before it is worth asking again.
  if (capacity.picture.trouble !== undefined) return notAsked("nobody places by a picture that may be wrong");
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

export const addressesAvailable: Question = ({ addresses }) => {
  if (!addresses) return notAsked(senseless);
  return addresses.yes ? pass(addresses.reason) : fail("room", addresses.reason);
};

function showShortage({ unit, resource, wanted, available, where, nodes }: Shortage) {
  return { unit, resource, wanted: String(wanted), available: String(available), where, nodes };
}

/** Which model each unit would get. */
function cardsOf({ offer }: Fits): string[] {
  return offer
    .filter(({ gpu }) => gpu.count > 0n)
    .slice(0, decisionListed)
    .map(({ id, gpu }) => `unit ${id}: ${gpu.attributes.map(({ key }) => key).join(" ")}`);
}
