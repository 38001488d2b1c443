/** What we have promised for a bid or lease of ours, by the chain alone. */
import type { MirrorView } from "../../../chain/chain.ts";
import { readGroupSpec } from "../../../chain/codec/group-spec.ts";
import type { ResourceUnit } from "../../../market/group-spec.ts";
import { type BidId, deploymentOf } from "../../../market/ids.ts";

/** The offer of the bid, in which gpus have their model; else what the tenant asked for. */
export function promisedUnits(
  mirror: Pick<MirrorView, "bid" | "deployment">,
  id: BidId,
): readonly ResourceUnit[] | undefined {
  const offer = mirror.bid(id)?.offer ?? [];
  const resources = offer.map(({ resources, count }) => ({ resource: resources, count, price: undefined }));
  if (resources.length > 0) return readGroupSpec({ name: "", requirements: undefined, resources }).units;
  return mirror.deployment(deploymentOf(id))?.groups.find((group) => group.id.gseq === id.gseq)?.spec.units;
}
