/** The rules of every manifest. The messages are the network's: tenants' tools look for them. */

import { goQuote } from "./go-json.ts";
import { type GroupSpec, volumeKind } from "./group-spec.ts";
import { isHostName, isWildcard } from "./host-names.ts";
import type { Manifest, ManifestExpose, ManifestService } from "./manifest.ts";
import { shorten } from "./printable.ts";

const serviceName = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const variableName = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/;
const volumeName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
/** Kubernetes accepts a workload with an invalid image reference, and then makes no pod of it. */
const imageName = /^[!-~]+$/;
const endpointName = /^[a-z]+[-_a-z0-9]+$/;
const mostPort = 65_535;
/** The longest label, and with it the longest name of most objects. */
const mostLabelChars = 63;
/** An object of a service may be named with "-np" or "-ip" behind it. */
const mostServiceChars = mostLabelChars - 3;
/** Names of the Services of open ports; a service of that name would replace one. */
const openPortsName = /^(.+)-(?:np|ip-\d+-(?:tcp|udp))$/;
/** Pods of a service with volumes are labelled with its name and eleven more characters. */
const mostStatefulChars = mostLabelChars - 11;
const mostPathChars = 1_024;
/** Each becomes objects of the cluster, and replicas of zero are not bounded by what was bid on. */
const mostServices = 300;
const mostExposes = 300;
/** Each is an object of the cluster. */
const mostHosts = 1_000;
/** Each is compared with every host name of every tenant. */
const mostWildcards = 100;
/** A name of 255 characters, with a registry, a tag and a digest. */
const mostImageChars = 1_024;
/** Of a service's texts with expanded references. Linux starts no process with more, and a node that tried would run out of memory. */
const mostExpandedChars = 1024 * 1024;
/** As Kubernetes reads one; two dollars are a dollar. */
const reference = /\$\$|\$\(([^)]*)\)/g;
const shortestService = "a";
/** Of a tenant's text, in an error. */
const shownChars = 512;

export function isExposed({ units }: Pick<GroupSpec, "units">): boolean {
  return units.some(({ endpoints }) => endpoints.some(({ kind }) => kind !== "leased-ip"));
}

/** Why no manifest for this group could be accepted: what an order already shows of the rules below. */
export function faultsOfEveryManifest(group: Pick<GroupSpec, "units">, isOnlyGroup = false): string[] {
  const { units } = group;
  const faults = isExposed(group) || !isOnlyGroup ? [] : ["zero global services: no unit has an endpoint"];
  return faults.concat(
    units.flatMap(({ id, count, storage, endpoints }) => {
      const names = storage.map(({ name }) => name);
      const invalid = storage.filter((volume) => isNamedVolume(volume) && !isVolumeName(volume.name, shortestService));
      const twice = names.filter((name, at) => names.indexOf(name) < at);
      // Each replica is at most one service.
      const ports = endpoints.filter(({ kind }) => kind !== "leased-ip").length;
      return [
        ...invalid.map(({ name }) => `unit ${id}: storage ${show(name)} has an invalid name`),
        ...twice.map((name) => `unit ${id}: storage ${show(name)} is given twice`),
        ...(count > 0 && ports > mostExposes * count ? [`unit ${id}: more than ${mostExposes} ports are exposed`] : []),
      ];
    }),
  );
}

type Lacks = ReadonlyMap<ManifestService, string>;

/** The first fault, in the order of the Go provider. `lacks` is what the reader missed. */
export function faultOfManifest(manifest: Manifest, lacks: Lacks = new Map()): string | undefined {
  const [first] = faultsOf(manifest, lacks);
  return first;
}

/** All faults. */
export function faultsOfManifest(manifest: Manifest): string[] {
  return [...faultsOf(manifest, new Map())];
}

function* faultsOf(manifest: Manifest, lacks: Lacks): Generator<string> {
  if (manifest.length === 0) return yield invalid("manifest is empty");
  const hosts = new Set<string>();
  const groups = new Set<string>();
  for (const { name, services } of manifest) {
    if (services.length === 0) yield invalid(`group ${show(name)} contains no services`);
    if (services.length > mostServices)
      yield invalid(`group ${show(name)} contains more than ${mostServices} services`);
    if (!isSorted(services, byName)) yield invalid(`group ${show(name)} services is not sorted`);
    for (const [index, service] of services.entries()) {
      if (service.name === services[index - 1]?.name) yield invalid(`duplicate service ${show(service.name)}`);
      const [, other] = openPortsName.exec(service.name) ?? [];
      if (services.some((each) => each.name === other)) {
        yield invalid(`service ${show(service.name)} has the name of the open ports of service ${show(other ?? "")}`);
      }
      yield* faultsOfService(service, hosts, lacks);
    }
    if (groups.has(name)) yield invalid(`duplicate group ${show(name)}`);
    groups.add(name);
  }
  const isGlobal = manifest.some(({ services }) => services.some(({ expose }) => expose.some(({ global }) => global)));
  if (!isGlobal) yield invalid("zero global services");
}

function* faultsOfService(service: ManifestService, hosts: Set<string>, lacks: Lacks): Generator<string> {
  const { name, image, env, expose } = service;
  const fault = (reason: string) => invalid(`service ${show(name)}${reason}`);
  if (name === "") yield invalid("service name is empty");
  else if (name.length > longestName(service) || !serviceName.test(name)) yield fault(" name is invalid");
  if (image === "") yield fault(" has empty image name");
  else if (image.length > mostImageChars || !imageName.test(image))
    yield fault(` has an invalid image name ${show(image)}`);
  const lack = lacks.get(service);
  if (lack !== undefined) yield lack;
  for (const variable of env ?? []) {
    const [key = ""] = variable.split("=", 1);
    if (!variableName.test(key) || key === "." || key.startsWith("..")) {
      yield fault(` defines an env. var. with an invalid name ${show(key)}`);
    }
  }
  if (growsTooLarge(service)) yield fault(": references to env. vars. make too much of it");
  if (!isSorted(expose, byPlace)) yield fault(": expose is not sorted");
  if (expose.length > mostExposes) yield fault(`: more than ${mostExposes} ports are exposed`);
  for (const one of expose) for (const reason of faultsOfExpose(one, hosts)) yield fault(`: ${reason}`);
  for (const reason of faultsOfVolumes(service)) yield fault(`: ${reason}`);
}

/** A variable that refers to another one twice, and so on for a few dozen of them, would fill any memory. */
function growsTooLarge({ env, command, args }: ManifestService): boolean {
  const lengths = new Map<string, number>();
  let sum = 0;
  const expanded = (text: string) => {
    let length = text.length;
    for (const [whole, name = ""] of text.matchAll(reference))
      length += (lengths.get(name) ?? whole.length) - whole.length;
    sum += length;
    return length;
  };
  for (const variable of env ?? []) {
    const [name = ""] = variable.split("=", 1);
    lengths.set(name, expanded(variable.slice(name.length + 1)));
    if (sum > mostExpandedChars) return true;
  }
  for (const text of [...(command ?? []), ...(args ?? [])]) expanded(text);
  return sum > mostExpandedChars;
}

function* faultsOfExpose(
  { port, externalPort, proto, service, ip, hosts }: ManifestExpose,
  taken: Set<string>,
): Generator<string> {
  // The space at the end is the network's.
  if (port < 1 || port > mostPort) yield "port value must be 0 < value <= 65535 ";
  if (externalPort > mostPort) yield "external port value must be 0 <= value <= 65535";
  if (proto !== "TCP" && proto !== "UDP") yield `protocol ${show(proto)} unknown`;
  for (const host of hosts ?? []) {
    // No ingress is made for an IP address.
    if (!isHostName(host)) yield `has invalid hostname ${show(host)}`;
    if (taken.has(host)) yield `hostname ${show(host)} is duplicated, this is not allowed`;
    taken.add(host);
    if (taken.size > mostHosts) return yield `more than ${mostHosts} hostnames are given`;
  }
  if (hosts?.some(isWildcard) && [...taken].filter(isWildcard).length > mostWildcards) {
    yield `more than ${mostWildcards} wildcards are given`;
  }
  if (service !== "" && !isName(service, serviceName))
    yield `exposed to a service with an invalid name ${show(service)}`;
  if (ip !== "" && !isName(ip, endpointName)) yield `has an invalid endpoint name ${show(ip)}`;
}

/** They become names and paths in the cluster, which the Go provider does not check. */
function* faultsOfVolumes({ name, resources, params }: ManifestService): Generator<string> {
  const mounted = new Set((params?.storage ?? []).flatMap((volume) => (volume.mount === "" ? [] : [volume.name])));
  const volumes = new Set<string>();
  for (const volume of resources.storage ?? []) {
    const isNamed = mounted.has(volume.name) || isNamedVolume(volume);
    if (isNamed && !isVolumeName(volume.name, name)) yield `storage ${show(volume.name)} has an invalid name`;
    if (volumes.has(volume.name)) yield `storage ${show(volume.name)} is given twice`;
    volumes.add(volume.name);
  }
  const mounts = new Set<string>();
  for (const { name: volume, mount } of params?.storage ?? []) {
    if (!volumes.has(volume)) yield `storage ${show(volume)} is not among its resources`;
    if (mount !== "" && !isMountPath(mount)) yield `storage ${show(volume)} has an invalid mount path ${show(mount)}`;
    if (mount !== "" && mounts.has(mount)) yield `mount path ${show(mount)} is given twice`;
    mounts.add(mount);
  }
}

/** Becomes a volume of the pod whether it is mounted or not; other names stay in the manifest. */
function isNamedVolume(volume: Parameters<typeof volumeKind>[0]): boolean {
  const { persistent, storageClass } = volumeKind(volume);
  return persistent || storageClass === "ram";
}

/** A volume of the pod is named with the service. */
function isVolumeName(name: string, service: string): boolean {
  return service.length + 1 + name.length <= mostLabelChars && volumeName.test(name);
}

function isMountPath(mount: string): boolean {
  return (
    mount.startsWith("/") && mount.length <= mostPathChars && !/[:\0]/.test(mount) && !mount.split("/").includes("..")
  );
}

function isName(name: string, pattern: RegExp): boolean {
  return name.length <= mostLabelChars && pattern.test(name);
}

function longestName({ resources }: ManifestService): number {
  const isStateful = resources.storage?.some((volume) => volumeKind(volume).persistent);
  return isStateful ? mostStatefulChars : mostServiceChars;
}

function isSorted<T>(items: readonly T[], compare: (left: T, right: T) => number): boolean {
  return items.every((item, index) => {
    const before = items[index - 1];
    return before === undefined || compare(before, item) <= 0;
  });
}

function byName(left: ManifestService, right: ManifestService): number {
  return byBytes(left.name, right.name);
}

/** By the service they are exposed to, the port and the protocol; what is global goes first. */
export function byPlace(left: ManifestExpose, right: ManifestExpose): number {
  return (
    byBytes(left.service, right.service) ||
    left.port - right.port ||
    byBytes(left.proto, right.proto) ||
    Number(right.global) - Number(left.global)
  );
}

function byBytes(left: string, right: string): number {
  return left === right ? 0 : Buffer.compare(Buffer.from(left), Buffer.from(right));
}

function invalid(reason: string): string {
  return `invalid manifest: ${reason}`;
}

function show(text: string): string {
  return goQuote(shorten(text, shownChars));
}
