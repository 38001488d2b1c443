/** The tenant's file, version 2.0 or 2.1, read as the network's own tools read it: to the byte of the hash. */
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { type DecCoin, decCoinOf } from "../coin.ts";
import { parseDecimal, zero } from "../decimal.ts";
import { faultsOfGroups } from "../group-rules.ts";
import type { Attribute, Endpoint, GroupSpec, ResourceUnit, UnitResources } from "../group-spec.ts";
import {
  isIngress,
  type Manifest,
  type ManifestExpose,
  type ManifestService,
  manifestResources,
  type ServiceParams,
} from "../manifest.ts";
import { byPlace, faultsOfManifest } from "../manifest-rules.ts";
import { printable } from "../printable.ts";
import { persistenceOf, readCompute } from "./compute.ts";
import {
  at,
  compareBytes,
  entriesOf,
  fault,
  fieldInteger,
  fieldText,
  isEmpty,
  mustKnow,
  parsedOf,
  rootField,
  type SdlField,
  textsOf,
} from "./fields.ts";
import { readService, type SdlParams, type SdlService } from "./services.ts";
import { readYaml } from "./yaml.ts";

export interface Sdl {
  readonly groups: readonly GroupSpec[];
  readonly manifest: Manifest;
  /** How long before a reclamation the tenant wants to be notified. */
  readonly reclamationWindowNs: bigint | undefined;
}

type SdlVersion = "2.0" | "2.1";

/** A service in a placement: an entry of `deployment`, with its names resolved. */
type PlacedService = ReturnType<typeof readDeployment>[number];

const parts = ["version", "include", "services", "profiles", "deployment", "endpoints", "reclamation"];

/** `name` is for the error. */
export function readSdl(text: string, name = "the SDL"): Sdl {
  const rejected = (faults: readonly string[]) =>
    new ProviderError("AKP_SDL_REFUSED", { path: name, list: faults.map((one) => `  - ${printable(one)}`).join("\n") });
  try {
    const root = rootField(readYaml(text));
    const sdl = readParts(root);
    if (root.notes.faults.length > 0) throw rejected(root.notes.faults);
    const faults = [...faultsOfGroups(sdl.groups), ...faultsOfManifest(sdl.manifest)];
    if (faults.length > 0) throw rejected(faults);
    return sdl;
  } catch (thrown) {
    throw thrown instanceof ProviderError ? thrown : rejected([reasonOf(thrown)]);
  }
}

function readParts(root: SdlField): Sdl {
  mustKnow(root, parts);
  const version = readVersion(at(root, "version"));
  const placed = readDeployment(root);
  const reclamation = at(root, "reclamation");
  const window = isEmpty(reclamation) ? undefined : parsedOf(at(reclamation, "min_window"), parseWindow, 0n);
  faultsBetweenParts(root, version, placed);
  return { ...build(version, placed), reclamationWindowNs: window };
}

/** Numbers as people write versions: 2.0, v2.1, 2. All from 2.1 on are read as 2.1. */
function readVersion(field: SdlField): SdlVersion {
  const [, major, minor = "0", patch = "0"] =
    /^\s*v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?\s*$/.exec(fieldText(field)) ?? [];
  const number = Number(major) * 1e6 + Number(minor) * 1e3 + Number(patch);
  if (number === 2_000_000) return "2.0";
  if (!(number >= 2_001_000)) fault(field, `must be "2.0" or "2.1"`);
  return "2.1";
}

function readDeployment(root: SdlField) {
  const profiles = at(root, "profiles");
  const services = new Map(entriesOf(at(root, "services")).map(([name, field]) => [name, readService(field)]));
  const computes = new Map(entriesOf(at(profiles, "compute")).map(([name, field]) => [name, readCompute(field)]));
  const placements = new Map(entriesOf(at(profiles, "placement")));
  const deployment = at(root, "deployment");
  if (entriesOf(deployment).length === 0) fault(deployment, "names no service");
  return entriesOf(deployment).flatMap(([name, placedIn]) =>
    entriesOf(placedIn).flatMap(([placementName, field]) => {
      const profile = fieldText(at(field, "profile"));
      const [service, compute, placement] = [services.get(name), computes.get(profile), placements.get(placementName)];
      if (!service) fault(field, `there is no service named ${name}`);
      if (!compute) fault(field, `there is no compute profile named ${profile}`);
      if (!placement) fault(field, `there is no placement named ${placementName}`);
      if (!service || !compute || !placement) return [];
      const pricing = at(at(placement, "pricing"), profile);
      if (isEmpty(pricing)) fault(pricing, "is missing");
      const price = isEmpty(pricing) ? { denom: "", amount: zero } : readPrice(pricing);
      const count = fieldInteger(at(field, "count"));
      if (count === 0) fault(at(field, "count"), "must be 1 or more");
      return { name, service, placement: readPlacement(placementName, placement), profile, compute, price, count };
    }),
  );
}

function readPlacement(name: string, placement: SdlField) {
  const signedBy = at(placement, "signedBy");
  const attributes = entriesOf(at(placement, "attributes")).map(([key, value]) => ({ key, value: fieldText(value) }));
  return { name, attributes, allOf: textsOf(at(signedBy, "allOf")) ?? [], anyOf: textsOf(at(signedBy, "anyOf")) ?? [] };
}

function readPrice(pricing: SdlField): DecCoin {
  const amount = parsedOf(at(pricing, "amount"), parseDecimal, zero);
  if (amount.atto <= 0n) fault(at(pricing, "amount"), "must be above zero");
  return parsedOf(at(pricing, "denom"), (denom) => decCoinOf(amount, denom), { denom: "", amount });
}

const nsOfUnit: Readonly<Record<string, number>> = {
  ...{ ns: 1, us: 1e3, µs: 1e3, ms: 1e6 },
  ...{ s: 1e9, m: 60e9, h: 3_600e9 },
};

/** A duration as Go writes it: "24h", "1h30m". */
function parseWindow(text: string): bigint {
  if (!/^(\d{1,9}(\.\d{1,9})?(ns|us|µs|ms|s|m|h)){1,8}$/.test(text)) throw new Error("must be a duration, such as 24h");
  let ns = 0;
  for (const [, number, unit = ""] of text.matchAll(/([\d.]+)(\D+)/g)) ns += Number(number) * (nsOfUnit[unit] ?? 0);
  if (ns < 1) throw new Error("must be above zero");
  return BigInt(Math.trunc(ns));
}

/** What must fit together between the parts of an SDL: endpoints and their ports, volumes and where they are mounted. */
const endpointName = /^[a-z]+[a-z\-_0-9]+$/;

function faultsBetweenParts(root: SdlField, version: SdlVersion, placed: readonly PlacedService[]): void {
  checkEndpoints(root, placed);
  for (const one of placed) checkVolumes(version, one);
  checkTee(placed);
}

function checkEndpoints(root: SdlField, placed: readonly PlacedService[]): void {
  const declared = new Map(entriesOf(at(root, "endpoints")));
  for (const [name, field] of declared) {
    if (!endpointName.test(name))
      fault(field, "a name has two or more of a-z, 0-9, - and _, and begins with one of a-z");
    if (fieldText(at(field, "kind")) !== "ip") fault(at(field, "kind"), "must be ip");
  }
  const used = new Set<string>();
  const users = new Map<string, string>();
  for (const { name, service } of placed) {
    for (const { externalPort, writtenProto, to, field } of service.exposes) {
      // Declared by its use.
      const ipName = fieldText(at(field, "ip_name"));
      if (ipName !== "" && !endpointName.test(ipName)) fault(at(field, "ip_name"), "is not a name of an endpoint");
      if (ipName !== "" && !to.some(({ ip }) => ip === ipName))
        fault(at(field, "ip_name"), "an address needs a target with global: true");
      for (const { field, global, ip } of to) {
        if (ip === "") continue;
        used.add(ip);
        if (!global) fault(field, "an address needs global: true");
        if (!declared.has(ip) && ip !== ipName) fault(at(field, "ip"), `there is no endpoint named ${ip}`);
        const key = `${ip}-${externalPort}-${writtenProto}`;
        const user = users.get(key);
        if (user !== undefined) fault(field, `the port of ${ip} is taken by ${user} already`);
        users.set(key, name);
      }
    }
  }
  for (const [name, field] of declared) if (!used.has(name)) fault(field, "is never used");
}

function checkVolumes(version: SdlVersion, { name, service, compute, profile }: PlacedService): void {
  const mounted = service.params?.storage ?? [];
  const mounts = new Set<string>();
  for (const { field, name: volumeName, mount, readOnly } of mounted) {
    const volume = compute.storage.find((one) => one.name === volumeName);
    if (!volume) fault(field, `the profile ${profile} has no volume of this name`);
    if (!mount.startsWith("/")) fault(at(field, "mount"), "must be an absolute path");
    if (mounts.has(mount)) fault(at(field, "mount"), `${mount} is taken by another volume`);
    mounts.add(mount);
    const isRam = volume?.attributes.some(({ key, value }) => key === "class" && value === "ram");
    if (version !== "2.0" && isRam && readOnly) fault(at(field, "readOnly"), "memory cannot be read-only");
  }
  // In 2.0 any mount will do for all volumes; from 2.1 on only mentioned volumes are checked, and these have a mount.
  const lost =
    version === "2.0" && mounted.length === 0 && compute.storage.find((one) => persistenceOf(one) === "true");
  if (lost) fault(service.field, `${name} must say where its persistent volume ${lost.name} is mounted`);
}

function checkTee(placed: readonly PlacedService[]): void {
  const types = new Map<string, string>();
  for (const { service, compute, placement } of placed) {
    const tee = service.params?.tee ?? "";
    if (tee === "") continue;
    const field = at(at(service.field, "params"), "tee");
    if (tee === "cpu-gpu" && compute.gpu.count === 0n) fault(field, "cpu-gpu needs a gpu");
    const other = types.get(placement.name) ?? tee;
    if (other !== tee) fault(field, `${placement.name} holds services with ${other} already`);
    types.set(placement.name, other);
  }
}

/** Groups for the chain, and the manifest for the providers that win them. */
function build(version: SdlVersion, placed: readonly PlacedService[]) {
  const sequenceNumbers = numberEndpoints(placed);
  const byPlacement = [...Map.groupBy(placed, ({ placement }) => placement.name)];
  const built = byPlacement
    .sort(([left], [right]) => compareBytes(left, right))
    .map(([, services]) => buildGroup(version, services, sequenceNumbers));
  return { groups: built.map(({ group }) => group), manifest: built.map(({ manifest }) => manifest) };
}

/** All of one placement, by name of the service. */
function buildGroup(
  version: SdlVersion,
  placed: readonly PlacedService[],
  sequenceNumbers: ReadonlyMap<string, number>,
) {
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

function requirementsOf(placed: readonly PlacedService[]): GroupSpec["requirements"] {
  const { allOf, anyOf, attributes } = placed[0]?.placement ?? { allOf: [], anyOf: [], attributes: [] };
  const tee = placed.map(({ service }) => service.params?.tee).find(Boolean);
  const required: Attribute[] = tee ? [{ key: "tee/type", value: tee }] : [];
  return { allOf, anyOf, attributes: [...attributes, ...required].sort((a, b) => compareBytes(a.key, b.key)) };
}

/** A name has the place of its last use among all, sorted. Targets inside the deployment count as "": the hash needs it. */
function numberEndpoints(placed: readonly PlacedService[]): Map<string, number> {
  const services = new Map(placed.map(({ name, service }) => [name, service]));
  const uses = [...services.values()]
    .flatMap(({ exposes }) => exposes.flatMap(({ to }) => to))
    .filter(({ global, ip }) => !global || ip !== "")
    .map(({ ip }) => ip);
  return new Map(uses.sort(compareBytes).map((name, index) => [name, index + 1]));
}

function exposesOf({ exposes }: SdlService, sequenceNumbers: ReadonlyMap<string, number>): ManifestExpose[] {
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

function paramsOf({ storage, permissions, tee }: SdlParams): ServiceParams {
  return {
    storage: storage.length > 0 ? storage.map(({ name, mount, readOnly }) => ({ name, mount, readOnly })) : null,
    ...(permissions && { permissions }),
    ...(tee !== "" && { tee: { type: tee, attestation: true } }),
  };
}

function credentialsOf(version: SdlVersion, { credentials }: SdlService): ManifestService["credentials"] {
  if (!credentials) return null;
  const { host, email, username, password } = credentials;
  if (version === "2.0") return { host, email: "", username, password };
  return { host: host.trim(), email: email.trim(), username: username.trim(), password: password.trim() };
}
