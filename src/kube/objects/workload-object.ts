/** The Deployment of a service, or its StatefulSet where it has volumes that outlive its pods. */
import type { ManifestService } from "../../market/manifest.ts";
import { volumeKind } from "../../market/volume-kind.ts";
import { type Kind, kinds } from "../kinds.ts";
import { madeForLabel, serviceDigest, templateDigest, templateLabel } from "./kept-workload.ts";
import { serviceLabels } from "./lease-labels.ts";
import type { DesiredObject, ObjectSettings } from "./lease-workload.ts";
import { podSpec } from "./pod-spec.ts";
import { type ServiceWorkload, serviceObject } from "./service-workload.ts";
import { claimTemplates } from "./volumes.ts";

export function workloadObject(workload: ServiceWorkload, settings: ObjectSettings): DesiredObject {
  const { lease, service } = workload;
  const labels = serviceLabels(lease, service.name);
  const template = { metadata: { labels }, spec: podSpec(workload, settings) };
  const common = { replicas: service.count, selector: { matchLabels: labels }, template };
  const made = { [madeForLabel]: serviceDigest(service), [templateLabel]: templateDigest(template) };
  const claims = claimTemplates(service);
  const rollout = claims.length > 0 ? inTurn(claims) : oneByOne;
  return serviceObject(workload, workloadKind(service), service.name, { spec: { ...common, ...rollout } }, made);
}

export function workloadKind({ resources }: ManifestService): Kind {
  return resources.storage?.some((volume) => volumeKind(volume).persistent) ? kinds.statefulSet : kinds.deployment;
}

/** No pod more than was paid for, not even while they are replaced: the node may have no room, or no second card. */
const oneByOne = {
  revisionHistoryLimit: 10,
  strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
};

function inTurn(volumeClaimTemplates: readonly object[]) {
  return {
    revisionHistoryLimit: 1,
    updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
    volumeClaimTemplates,
  };
}
