/** The tenant's file, version 2.0 or 2.1, read as the network's own tools read it: to the byte of the hash. */
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { type DecCoin, decCoinOf } from "../coin.ts";
import { parseDecimal, zero } from "../decimal.ts";
import { faultsOfGroups } from "../group-rules.ts";
import type { Attribute, GroupSpec } from "../group-spec.ts";
import type { Manifest } from "../manifest.ts";
import { faultsOfManifest } from "../manifest-rules.ts";
import { printable } from "../printable.ts";
import { build } from "./build.ts";
import { type Compute, readCompute } from "./compute.ts";
import {
  at,
  entriesOf,
  type Field,
  fault,
  isEmpty,
  mustKnow,
  parsedOf,
  rootField,
  textOf,
  textsOf,
  wholeOf,
} from "./fields.ts";
import { faultsBetweenParts } from "./rules.ts";
import { readService, type Service } from "./services.ts";
import { readYaml } from "./yaml.ts";

export interface Sdl {
  readonly groups: readonly GroupSpec[];
  readonly manifest: Manifest;
  /** How long before a reclamation the tenant wants to be told. */
  readonly reclamationWindowNs: bigint | undefined;
}

export type SdlVersion = "2.0" | "2.1";

/** A service in a placement: what `deployment` says, with what the names in it stand for. */
export interface Placed {
  readonly field: Field;
  readonly name: string;
  readonly service: Service;
  readonly placement: Placement;
  readonly profile: string;
  readonly compute: Compute;
  readonly price: DecCoin;
  readonly count: number;
}

export interface Placement {
  readonly name: string;
  readonly attributes: readonly Attribute[];
  readonly allOf: readonly string[];
  readonly anyOf: readonly string[];
}

const parts = ["version", "include", "services", "profiles", "deployment", "endpoints", "reclamation"];

/** `name` is what the refusal calls it. */
export function readSdl(text: string, name = "the SDL"): Sdl {
  const refuse = (faults: readonly string[]) =>
    new ProviderError("AKP_SDL_REFUSED", { path: name, list: faults.map((one) => `  - ${printable(one)}`).join("\n") });
  try {
    const root = rootField(readYaml(text));
    const sdl = readParts(root);
    if (root.notes.faults.length > 0) throw refuse(root.notes.faults);
    const faults = [...faultsOfGroups(sdl.groups), ...faultsOfManifest(sdl.manifest)];
    if (faults.length > 0) throw refuse(faults);
    return sdl;
  } catch (thrown) {
    throw thrown instanceof ProviderError ? thrown : refuse([reasonOf(thrown)]);
  }
}

function readParts(root: Field): Sdl {
  mustKnow(root, parts);
  const version = readVersion(at(root, "version"));
  const placed = readDeployment(root);
  const reclamation = at(root, "reclamation");
  const window = isEmpty(reclamation) ? undefined : parsedOf(at(reclamation, "min_window"), parseWindow, 0n);
  faultsBetweenParts(root, version, placed);
  return { ...build(version, placed), reclamationWindowNs: window };
}

/** Numbers as people write versions: 2.0, v2.1, 2. All from 2.1 on are read as 2.1. */
function readVersion(field: Field): SdlVersion {
  const [, major, minor = "0", patch = "0"] =
    /^\s*v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?\s*$/.exec(textOf(field)) ?? [];
  const number = Number(major) * 1e6 + Number(minor) * 1e3 + Number(patch);
  if (number === 2_000_000) return "2.0";
  if (!(number >= 2_001_000)) fault(field, `must be "2.0" or "2.1"`);
  return "2.1";
}

function readDeployment(root: Field): Placed[] {
  const profiles = at(root, "profiles");
  const services = new Map(entriesOf(at(root, "services")).map(([name, field]) => [name, readService(field)]));
  const computes = new Map(entriesOf(at(profiles, "compute")).map(([name, field]) => [name, readCompute(field)]));
  const placements = new Map(entriesOf(at(profiles, "placement")));
  const deployment = at(root, "deployment");
  if (entriesOf(deployment).length === 0) fault(deployment, "names no service");
  return entriesOf(deployment).flatMap(([name, placedIn]) =>
    entriesOf(placedIn).flatMap(([placementName, field]): Placed[] => {
      const profile = textOf(at(field, "profile"));
      const [service, compute, placement] = [services.get(name), computes.get(profile), placements.get(placementName)];
      if (!service) fault(field, `there is no service named ${name}`);
      if (!compute) fault(field, `there is no compute profile named ${profile}`);
      if (!placement) fault(field, `there is no placement named ${placementName}`);
      if (!service || !compute || !placement) return [];
      const pricing = at(at(placement, "pricing"), profile);
      if (isEmpty(pricing)) fault(pricing, "is missing");
      const price = isEmpty(pricing) ? { denom: "", amount: zero } : readPrice(pricing);
      const count = wholeOf(at(field, "count"));
      if (count === 0) fault(at(field, "count"), "must be 1 or more");
      return [
        { field, name, service, placement: readPlacement(placementName, placement), profile, compute, price, count },
      ];
    }),
  );
}

function readPlacement(name: string, placement: Field): Placement {
  const signedBy = at(placement, "signedBy");
  const attributes = entriesOf(at(placement, "attributes")).map(([key, value]) => ({ key, value: textOf(value) }));
  return { name, attributes, allOf: textsOf(at(signedBy, "allOf")) ?? [], anyOf: textsOf(at(signedBy, "anyOf")) ?? [] };
}

function readPrice(pricing: Field): DecCoin {
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
