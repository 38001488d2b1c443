/** Where an operator beside the provider is: at the address in the settings, at its Service, or behind the API server. */
import { conditionHolds, fieldsOf, recordsOf, type ServiceAddress, serviceAddress } from "../../kube/json-fields.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Kube, KubeObject } from "../../kube/kube.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { connectGrpc, type GrpcClient, type GrpcTarget } from "../../runtime/grpc/grpc-client.ts";
import { keepTrying } from "../../runtime/keep-trying.ts";
import type { Log } from "../../runtime/log.ts";
import type { Random } from "../../runtime/random.ts";
import type { WakeSignal } from "../../runtime/wake-signal.ts";

export interface OperatorLocation {
  /** From the settings; without it, the operator is looked for in the cluster. */
  readonly endpoint: ServiceAddress | undefined;
  /** Whether this process runs in a pod: only there names of Services resolve. */
  readonly inCluster: boolean;
  /** The DNS domain of the cluster. */
  readonly clusterDomain?: string | undefined;
  readonly kube: Promise<Kube>;
}

interface SoughtOperator {
  /** "hostname operator", for messages. */
  readonly operator: string;
  /** Which says where it is. */
  readonly setting: string;
  readonly portName: "rest" | "grpc";
  readonly find: (kube: Kube, signal: AbortSignal) => Promise<KubeObject | undefined>;
  /** What is said where there is none. */
  readonly absent: string;
}

/** Where charts put the operators. */
export const operatorNamespace = "akash-services";
const namespace = operatorNamespace;

export function serviceNamed(name: string): Pick<SoughtOperator, "find" | "absent"> {
  const at = { namespace, name };
  return {
    find: (kube, signal) => kube.get(kinds.service, at, { signal }),
    absent: `there is no Service ${name} in ${namespace}`,
  };
}

/** Looked up anew for every connection: the Service may be made again, with another port. */
export async function locateOperator(
  sought: SoughtOperator,
  { endpoint, clusterDomain = "cluster.local", kube }: OperatorLocation,
  signal: AbortSignal,
): Promise<ServiceAddress> {
  if (endpoint) return endpoint;
  const service = await findService(sought, await kube, signal);
  const address = serviceAddress(service, sought.portName, clusterDomain);
  if (address) return address;
  throw notFound(
    sought,
    `the Service ${service.metadata.name} in ${namespace} has no port named ${sought.portName}`,
    true,
  );
}

/** The same over gRPC: outside the cluster, where names of Services do not resolve, through a port forwarded by the API server. */
export async function reachOperator(
  sought: SoughtOperator,
  location: OperatorLocation,
  signal: AbortSignal,
): Promise<GrpcTarget> {
  if (location.endpoint || location.inCluster) return locateOperator(sought, location, signal);
  const kube = await location.kube;
  const service = await findService(sought, kube, signal);
  const { selector, ports } = fieldsOf(service["spec"]);
  const labels = Object.entries(fieldsOf(selector)).map(([key, value]) => `${key}=${value}`);
  const pods =
    labels.length > 0 ? await kube.list(kinds.pod, { namespace, labelSelector: labels.join(","), signal }) : [];
  const pod = pods.find(({ status }) => conditionHolds(fieldsOf(status)["conditions"], "Ready"));
  if (!pod) throw notFound(sought, `no pod behind the Service ${service.metadata.name} in ${namespace} is ready`);
  const { targetPort } = recordsOf(ports).find(({ name }) => name === sought.portName) ?? {};
  const port = typeof targetPort === "number" ? targetPort : containerPort(pod, targetPort);
  if (port === undefined) throw notFound(sought, `its pod ${pod.metadata.name} has no port ${targetPort}`);
  return kube.forwardPort({ namespace, name: pod.metadata.name }, port, { signal });
}

async function findService(sought: SoughtOperator, kube: Kube, signal: AbortSignal): Promise<KubeObject> {
  const service = await sought.find(kube, signal);
  if (service) return service;
  throw notFound(sought, sought.absent);
}

function containerPort(pod: KubeObject, wanted: unknown): number | undefined {
  const containers = recordsOf(fieldsOf(pod["spec"])["containers"]);
  const port = containers.flatMap(({ ports }) => recordsOf(ports)).find(({ name }) => name === wanted);
  return port && Number(port["containerPort"]);
}

/** `isOther`: there is one, as the Go provider's, that does not serve what we ask for. */
function notFound({ operator, setting }: SoughtOperator, reason: string, isOther = false): ProviderError {
  return new ProviderError("AKP_OPERATOR_NOT_FOUND", { operator, reason, setting, isOther });
}

/** First pause before the operator is looked for again; a restart of it takes a few seconds. */
const feedRetryFirstMs = 500;

export interface OperatorFeedDeps {
  /** Where the operator is right now; says why where it is not known. */
  readonly locate: (signal: AbortSignal) => Promise<GrpcTarget>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface FollowOptions {
  /** Of one message. */
  readonly mostBytes: number;
  readonly retryMostMs: number;
  /** Resolves when the operator ends the stream. */
  readonly follow: (connection: OperatorConnection) => Promise<void>;
  readonly failed: (reason: string) => void;
  /** The pause before the next connection, which can be ended early. */
  readonly retry?: WakeSignal;
  readonly retrying?: () => void;
}

export interface OperatorConnection {
  readonly client: GrpcClient;
  /** Aborted when it is over. */
  readonly signal: AbortSignal;
  /** Something came over it, so the next pause is a short one. */
  readonly heard: () => void;
}

/** Follows an operator in another process over gRPC, one connection after the other, until the signal is aborted. */
export function followOperator(
  { mostBytes, retryMostMs, follow, failed, retry, retrying }: FollowOptions,
  { locate, clock, random }: OperatorFeedDeps,
  signal: AbortSignal,
): Promise<void> {
  async function attempt(heard: () => void): Promise<never> {
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    try {
      const client = await connectGrpc(await locate(until), { clock, mostBytes, signal: until });
      await follow({ client, signal: until, heard });
      throw new Error("the operator ended the stream");
    } finally {
      // Closes the connection, and with it ends whatever still goes on over it.
      over.abort();
    }
  }
  const pauses = { firstMs: feedRetryFirstMs, mostMs: retryMostMs, pause: retry };
  return keepTrying({ attempt, failed, retrying, ...pauses, clock, random }, signal);
}
