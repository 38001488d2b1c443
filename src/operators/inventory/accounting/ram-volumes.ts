/**
 * What a pod's RAM volumes, emptyDirs with medium Memory, take beyond its requests. Their pages count against the limits
 * of the containers and are no request, so a workload of the market asks for its memory and has its RAM volumes in the
 * limit alone: by its requests that memory would be free, and be sold again.
 */

import type { ReadAmounts } from "../../../kube/exact-amounts.ts";
import { fieldsOf, listOf } from "../../../kube/json-fields.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { podMemoryLimit } from "../../../kube/pod-requests.ts";

/**
 * The memory that the pod holds, in 10⁻⁹ths of a byte: its requests with its volumes filled, each once however many
 * containers mount it, but no more than the limit lets it have. A volume without a size may grow up to that limit. Where
 * there is no limit either, nothing bounds it, as nothing bounds the containers; then the requests stand, as for those.
 */
export function withRamVolumes(pod: KubeObject, requested: bigint, read: ReadAmounts): bigint {
  const volumes = listOf(fieldsOf(pod["spec"])["volumes"]).filter(isInRam);
  if (volumes.length === 0) return requested;
  const limit = podMemoryLimit(pod, read);
  let filled = requested;
  for (const { name, emptyDir } of volumes.map(fieldsOf)) {
    const size = read({ memory: fieldsOf(emptyDir)["sizeLimit"] }, `sizeLimit of RAM volume ${name}`).get("memory");
    // To the kubelet a size of zero is none.
    filled += size || limit || 0n;
  }
  if (limit === undefined || filled <= limit) return filled;
  return limit > requested ? limit : requested;
}

function isInRam(volume: unknown): boolean {
  return fieldsOf(fieldsOf(volume)["emptyDir"])["medium"] === "Memory";
}
