/** What a ProviderLeasedIP asks for, once it is known to be something that may be asked for. */
import { fieldsOf, textOf } from "../../kube/json-fields.ts";
import type { KubeObject } from "../../kube/kube.ts";
import { type IpDeclaration, readLeasedIp } from "../../kube/objects/leased-ip.ts";
import type { Address } from "../../market/address.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { parseTime } from "../../runtime/clock.ts";

export interface LeasedPort extends IpDeclaration {
  /** The name of the ProviderLeasedIP. */
  readonly resource: string;
  /** Of the lease, where its Service is. */
  readonly namespace: string;
  readonly changedAtMs: number;
}

/** A resource as it is in the cluster: what it asks for, or why that is refused. */
export interface DeclaredPort {
  readonly resource: string;
  readonly uid: string | undefined;
  /** What its loop is called: the sharing key, of a refused one its name; undefined where it is none of our business. */
  readonly key: string | undefined;
  readonly port: LeasedPort | undefined;
  readonly refused: string | undefined;
}

/** Of the two labels either will do: the network's provider writes the first alone, and the seeds know the second. */
const managedLabels = ["akash.network", "akash.network/managed"];
const mostPort = 65_535;

export function readDeclaredPort(object: KubeObject, provider: Address): DeclaredPort {
  const { name: resource, uid, labels = {} } = object.metadata;
  const nothing = { resource, uid, key: undefined, port: undefined, refused: undefined };
  if (!managedLabels.some((label) => labels[label] === "true")) return nothing;
  const read = readLeasedIp(object, provider);
  if (!read) return { ...nothing, key: resource, refused: "it does not say whose it is, or which port" };
  if (read.lease.provider !== provider) return nothing;
  const refused = refusalOf(read, fieldsOf(object["spec"])["protocol"]);
  if (refused !== undefined) return { ...nothing, key: resource, refused };
  const port = { ...read, resource, namespace: leaseNamespace(read.lease), changedAtMs: changedAt(object) };
  return { ...nothing, key: read.sharingKey, port };
}

function refusalOf(
  { lease, service, port, externalPort, sharingKey }: IpDeclaration,
  protocol: unknown,
): string | undefined {
  const word = (textOf(protocol) ?? "").toUpperCase();
  // As the network reads it: nothing is TCP.
  if (!["", "TCP", "UDP"].includes(word)) return `unknown service protocol: ${JSON.stringify(protocol)}`;
  for (const number of [port, externalPort]) {
    if (!Number.isInteger(number) || number < 1 || number > mostPort) return `${number} is no port`;
  }
  if (service === "") return "it names no service";
  // By it MetalLB puts Services on one address: with another owner's, a part of that one's would be had.
  if (sharingKey !== lease.owner && !sharingKey.startsWith(`${lease.owner}-`))
    return `the sharing key ${JSON.stringify(sharingKey)} is not its owner's`;
  return undefined;
}

/** When it was last written. */
export function changedAt({ metadata: { managedFields = [], creationTimestamp = "" } }: KubeObject): number {
  const times = [creationTimestamp, ...managedFields.map(({ time = "" }) => time)].map(parseTime);
  return Math.max(0, ...times.filter(Number.isFinite));
}
