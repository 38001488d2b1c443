/** Puts what an SDL says together: groups for the chain, and the manifest for who wins them. */
import type { Attribute, Endpoint, GroupSpec, ResourceUnit, UnitResources } from "../group-spec.ts";
import {
  isIngress,
  type ManifestExpose,
  type ManifestGroup,
  type ManifestService,
  manifestResources,
  type ServiceParams,
} from "../manifest.ts";
import { byPlace } from "../manifest-rules.ts";
import { compareBytes } from "./fields.ts";
import type { Placed, SdlVersion } from "./sdl.ts";
import type { Params, Service } from "./services.ts";

export interface Built {
  readonly groups: readonly GroupSpec[];
  readonly manifest: readonly ManifestGroup[];
}

export function build(version: SdlVersion, placed: readonly Placed[]): Built {
  const sequenceNumbers = numberEndpoints(placed);
  const names = [...new Set(placed.map(({ placement }) => placement.name))].sort(compareBytes);
  const built = names.map((name) =>
    buildGroup(
      version,
      placed.filter(({ placement }) => placement.name === name),
      sequenceNumbers,
    ),
  );
  return { groups: built.map(({ group }) => group), manifest: built.map(({ manifest }) => manifest) };
}

/** All of one placement, by name of the service. */
function buildGroup(version: SdlVersion, placed: readonly Placed[], sequenceNumbers: ReadonlyMap<string, number>) {
  const units: ResourceUnit[] = [];
  const services: ManifestService[] = [];
  const unitOfProfile = new Map<string, number>();
  for (const { name, service, profile, compute, price, count } of placed) {
    const expose = exposesOf(service, sequenceNumbers);
    const endpoints = expose.flatMap(endpointsOf);
    // From 2.1 on services of one size share a unit; before, each had its own.
    const place = version === "2.0" ? units.length : (unitOfProfile.get(profile) ?? units.length);
    unitOfProfile.set(profile, place);
    const shared = units[place];
    const resources: UnitResources = { id: place + 1, ...compute, endpoints };
    units[place] = shared
      ? { ...shared, count: shared.count + count, endpoints: [...shared.endpoints, ...endpoints].sort(bySequence) }
      : { ...resources, count, price };
    services.push({
      ...{ name, image: service.image, command: service.command, args: service.args, env: service.env },
      ...{ resources: manifestResources(resources), count, expose },
      ...(service.params && { params: paramsOf(service.params) }),
      credentials: credentialsOf(version, service),
    });
  }
  const name = placed[0]?.placement.name ?? "";
  const group: GroupSpec = { name, requirements: requirementsOf(placed), units };
  return { group, manifest: { name, services } };
}

function requirementsOf(placed: readonly Placed[]): GroupSpec["requirements"] {
  const { allOf, anyOf, attributes } = placed[0]?.placement ?? { allOf: [], anyOf: [], attributes: [] };
  const tee = placed.map(({ service }) => service.params?.tee).find(Boolean);
  const asked: Attribute[] = tee ? [{ key: "tee/type", value: tee }] : [];
  return { allOf, anyOf, attributes: [...attributes, ...asked].sort((a, b) => compareBytes(a.key, b.key)) };
}

/**
 * A name has the place of its last use among all uses, in the order of the names. Targets within the deployment count
 * too, as uses of the empty name: a quirk that is part of the hash.
 */
function numberEndpoints(placed: readonly Placed[]): Map<string, number> {
  const services = new Map(placed.map(({ name, service }) => [name, service]));
  const uses = [...services.values()]
    .flatMap(({ exposes }) => exposes.flatMap(({ to }) => to))
    .filter(({ global, ip }) => !global || ip !== "")
    .map(({ ip }) => ip);
  return new Map(uses.sort(compareBytes).map((name, index) => [name, index + 1]));
}

function exposesOf({ exposes }: Service, sequenceNumbers: ReadonlyMap<string, number>): ManifestExpose[] {
  const inside = { service: "", global: false, ip: "" };
  return exposes
    .flatMap(({ port, externalPort, proto, hosts, httpOptions, to }) =>
      (to.length > 0 ? to : [inside]).map(({ service, global, ip }) => {
        const endpointSequenceNumber = (global && ip !== "" && sequenceNumbers.get(ip)) || 0;
        return { port, externalPort, proto, service, global, hosts, httpOptions, ip, endpointSequenceNumber };
      }),
    )
    .sort(byPlace);
}

function endpointsOf(expose: ManifestExpose): Endpoint[] {
  if (!expose.global) return [];
  const port: Endpoint = { kind: isIngress(expose) ? "shared-http" : "random-port", sequenceNumber: 0 };
  if (expose.ip === "") return [port];
  return [port, { kind: "leased-ip", sequenceNumber: expose.endpointSequenceNumber }];
}

function bySequence(left: Endpoint, right: Endpoint): number {
  return left.sequenceNumber - right.sequenceNumber;
}

function paramsOf({ storage, permissions, tee }: Params): ServiceParams {
  return {
    storage: storage.length > 0 ? storage.map(({ name, mount, readOnly }) => ({ name, mount, readOnly })) : null,
    ...(permissions && { permissions }),
    ...(tee !== "" && { tee: { type: tee, attestation: true } }),
  };
}

function credentialsOf(version: SdlVersion, { credentials }: Service): ManifestService["credentials"] {
  if (!credentials) return null;
  const { host, email, username, password } = credentials;
  if (version === "2.0") return { host, email: "", username, password };
  return { host: host.trim(), email: email.trim(), username: username.trim(), password: password.trim() };
}
