/** Connections to operators: at the endpoint in the settings, at their Service, or through the API server. */
import { conditionHolds, fieldsOf, recordsOf, type ServiceAddress, serviceAddress } from "../../kube/json-fields.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Kube, KubeObject } from "../../kube/kube.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { connectGrpc, type GrpcClient, type GrpcTarget } from "../../runtime/grpc/grpc-client.ts";
import { keepTrying } from "../../runtime/keep-trying.ts";
import type { WakeSignal } from "../../runtime/wake-signal.ts";

export interface OperatorLocation {
  /** From the settings; without it, the operator's Service is looked up in the cluster. */
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
  /** The flag of its endpoint. */
  readonly setting: string;
  readonly portName: "rest" | "grpc";
  readonly find: (kube: Kube, signal: AbortSignal) => Promise<KubeObject | undefined>;
  /** The reason where there is none. */
  readonly absent: string;
}

/** Where the charts install the operators. */
export const operatorNamespace = "akash-services";
const namespace = operatorNamespace;

export function serviceNamed(name: string): Pick<SoughtOperator, "find" | "absent"> {
  return {
    find: (kube, signal) => kube.get(kinds.service, { namespace, name }, { signal }),
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
  const reason = `the Service ${service.metadata.name} in ${namespace} has no port named ${sought.portName}`;
  throw notFound(sought, reason, true);
}

/** For gRPC: outside the cluster, where names of Services do not resolve, through a port forwarded by the API server. */
export async function reachOperator(
  sought: SoughtOperator,
  location: OperatorLocation,
  signal: AbortSignal,
): Promise<GrpcTarget> {
  if (location.endpoint || location.inCluster) return locateOperator(sought, location, signal);
  const kube = await location.kube;
  const service = await findService(sought, kube, signal);
  const { selector, ports } = fieldsOf(service["spec"]);
  const labelSelector = Object.entries(fieldsOf(selector))
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
  const pods = labelSelector === "" ? [] : await kube.list(kinds.pod, { namespace, labelSelector, signal });
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

/** `isOther`: there is another operator, such as the Go provider's, without this API. */
function notFound({ operator, setting }: SoughtOperator, reason: string, isOther = false): ProviderError {
  return new ProviderError("AKP_OPERATOR_NOT_FOUND", { operator, reason, setting, isOther });
}

/** First pause before reconnecting; a restart of the operator takes a few seconds. */
const feedRetryFirstMs = 500;

export interface OperatorFeedDeps extends RuntimeDeps {
  /** The current address of the operator; rejects with the reason where that is not known. */
  readonly locate: (signal: AbortSignal) => Promise<GrpcTarget>;
}

export interface OperatorConnection {
  readonly client: GrpcClient;
  /** Aborted when the connection is over. */
  readonly signal: AbortSignal;
  /** Called for every message, so that the next pause is a short one. */
  readonly heard: () => void;
}

interface FollowOptions {
  /** Of one message. */
  readonly mostBytes: number;
  readonly retryMostMs: number;
  /** Resolves when the operator ends the stream. */
  readonly follow: (connection: OperatorConnection) => Promise<void>;
  readonly failed: (reason: string) => void;
  /** Ends the pause before the next connection. */
  readonly retry?: WakeSignal;
  readonly retrying?: () => void;
}

/** Follows an operator in another process over gRPC, one connection after the other, until the signal is aborted. */
export function followOperator(options: FollowOptions, deps: OperatorFeedDeps, signal: AbortSignal): Promise<void> {
  const { mostBytes, retryMostMs: mostMs, follow, failed, retry: pause, retrying } = options;
  const { locate, clock, random } = deps;
  async function attempt(heard: () => void): Promise<never> {
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    try {
      const client = await connectGrpc(await locate(until), { clock, mostBytes, signal: until });
      await follow({ client, signal: until, heard });
      throw new Error("the operator ended the stream");
    } finally {
      // Closes the connection with everything still going on over it.
      over.abort();
    }
  }
  return keepTrying({ attempt, failed, retrying, firstMs: feedRetryFirstMs, mostMs, pause, clock, random }, signal);
}
