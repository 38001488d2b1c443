/** The Deployment of a service, or its StatefulSet where it has persistent volumes. */
import { createHash } from "node:crypto";
import type { GpuDemand } from "../../market/gpu-attributes.ts";
import { volumeKind } from "../../market/group-spec.ts";
import type { ManifestService } from "../../market/manifest.ts";
import { sortedJson } from "../../market/sorted-json.ts";
import { fieldsOf, listOf, recordsOf } from "../json-fields.ts";
import { type Kind, kinds } from "../kinds.ts";
import type { KubeObject } from "../kube.ts";
import { labelKeys, storageClassReadings } from "../node-labels.ts";
import type { ObjectSettings } from "./container.ts";
import { claimTemplates, container, gpuVendor, persistentClasses, podVolumes, workloadGpus } from "./container.ts";
import { accountName, hasPermissions, pullSecretName } from "./credentials.ts";
import { serviceLabels } from "./lease-labels.ts";
import { type DesiredObject, type ServiceWorkload, serviceObject } from "./lease-workload.ts";
import { writeService } from "./manifest-resource.ts";

export function workloadObject(workload: ServiceWorkload, settings: ObjectSettings): DesiredObject {
  const { lease, service } = workload;
  const labels = serviceLabels(lease, service.name);
  const template = { metadata: { labels }, spec: podSpec(workload, settings) };
  const common = { replicas: service.count, selector: { matchLabels: labels }, template };
  const made = { [madeForLabel]: serviceDigest(service), [templateLabel]: digestOf(template) };
  const claims = claimTemplates(service);
  const rollout = claims.length > 0 ? inTurn(claims) : oneByOne;
  return serviceObject(workload, workloadKind(service), service.name, { spec: { ...common, ...rollout } }, made);
}

export function workloadKind({ resources }: ManifestService): Kind {
  return resources.storage?.some((volume) => volumeKind(volume).persistent) ? kinds.statefulSet : kinds.deployment;
}

/** Never an additional pod: the node may have no capacity, or no second GPU. */
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

/** The pod spec of a service. */
export function podSpec(workload: ServiceWorkload, settings: ObjectSettings): Readonly<Record<string, unknown>> {
  const { service } = workload;
  const runtimeClassName = runtimeClass(workload, settings);
  const pullSecret = service.credentials ? pullSecretName(service.name) : settings.pullSecret;
  const volumes = podVolumes(service);
  return {
    affinity: nodeAffinity(workload),
    // Also where it is the default, which the API server would set anyway.
    serviceAccountName: accountName(service),
    // Without permissions a token is of no use.
    automountServiceAccountToken: hasPermissions(workload.service),
    // Images that run as root are the rule on this network.
    securityContext: { runAsNonRoot: false, seccompProfile: { type: "RuntimeDefault" } },
    ...(runtimeClassName !== undefined && { runtimeClassName }),
    ...(pullSecret !== undefined && { imagePullSecrets: [{ name: pullSecret }] }),
    containers: [container(workload, settings)],
    ...(volumes.length > 0 && { volumes }),
  };
}

/** A GPU needs the runtime of its vendor; other workloads run in the operator's sandbox, if any. */
function runtimeClass(workload: ServiceWorkload, settings: ObjectSettings): string | undefined {
  return gpuVendor(workload) === "nvidia" ? "nvidia" : settings.runtimeClass;
}

/** Node labels are those of the inventory operator, ours or the Go provider's. */
interface Expression {
  readonly key: string;
  readonly operator: "In" | "Gt";
  readonly values: readonly string[];
}

function nodeAffinity(workload: ServiceWorkload): object {
  const gpus = workloadGpus(workload);
  const classes = persistentClasses(workload.service).map(hasClass);
  const termOf = (gpu: readonly Expression[]) => ({ matchExpressions: [ours, ...gpu, ...classes] });
  // Any one of the terms will do.
  const nodeSelectorTerms = gpus.length === 0 ? [termOf([])] : gpus.map((gpu) => termOf(hasGpu(gpu)));
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } };
}

const ours: Expression = { key: labelKeys.node, operator: "In", values: ["true"] };

function hasClass(name: string): Expression {
  return { key: labelKeys.storageClass(name), operator: "In", values: storageClassReadings };
}

/** Memory and interface are separate labels: only our operator has one for both. */
function hasGpu({ vendor, model, memoryGi, interface: kind }: GpuDemand): Expression[] {
  if (model === "*") return [];
  const selections = [
    { vendor, model },
    ...(memoryGi === undefined ? [] : [{ vendor, model, ram: `${memoryGi}Gi` }]),
    ...(kind === undefined ? [] : [{ vendor, model, interface: kind }]),
  ];
  return selections.map((selection) => ({ key: labelKeys.gpuCount(selection), operator: "Gt", values: ["0"] }));
}

/**
 * A running workload keeps its pod template until its tenant changes the service. Labels say of which service and of which of our
 * templates it was made (annotations would be a new generation); the Go provider drops labels with its own prefix.
 */
export const madeForLabel = "provider.akash.network/made-for";
export const templateLabel = "provider.akash.network/template";
/** The predecessor of the first label, on workloads adopted by older versions. */
export const keptForLabel = "akash.network/kept-for";

/** A label value has at most 63 characters. */
const digestDigits = 40;

/** Of a service as in the Manifest resource, without its count. */
export function serviceDigest(service: ManifestService): string {
  const { params, expose } = service;
  const { tee: _, ...known } = params ?? { storage: null };
  const written = writeService(
    {
      ...service,
      count: 0,
      ...(params && { params: known }),
      expose: expose.map((each) => {
        const { proxyBufferSize: _, ...httpOptions } = each.httpOptions;
        return { ...each, httpOptions };
      }),
    },
    [],
  );
  return digestOf(written);
}

function digestOf(value: object): string {
  return createHash("sha256").update(sortedJson(value)).digest("hex").slice(0, digestDigits);
}

/** Whether a workload has the image, command, arguments and variables of a service. The Go provider writes both values of a repeated variable. */
export function runsService(workload: KubeObject, { image, command, args, env }: ManifestService): boolean {
  const { spec } = fieldsOf(fieldsOf(workload["spec"])["template"]);
  const [container = {}] = recordsOf(fieldsOf(spec)["containers"]);
  const variables = new Set(recordsOf(container["env"]).map(({ name, value = "" }) => `${name}=${value}`));
  const isSame = (live: unknown, wanted: readonly string[] | null) =>
    JSON.stringify(listOf(live)) === JSON.stringify(wanted ?? []);
  return (
    container["image"] === image &&
    isSame(container["command"], command) &&
    isSame(container["args"], args) &&
    [...Map.groupBy(env ?? [], (text) => text.split("=", 1)[0]).values()].every(
      ([text = "", ...more]) => more.length > 0 || variables.has(text.includes("=") ? text : `${text}=`),
    )
  );
}
