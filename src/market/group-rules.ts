/** What the network demands of the groups of a deployment: the chain rejects all others. */
import { isDenom, showDecCoin } from "./coin.ts";
import { compareDecimals, decimalOf } from "./decimal.ts";
import { isPattern } from "./glob.ts";
import type { Attribute, GroupSpec, ResourceUnit } from "./group-spec.ts";
import { totalOf } from "./group-totals.ts";
import { shorten } from "./printable.ts";

const mebi = 2n ** 20n;
const tebi = 2n ** 40n;

/** The same for everyone on the network. */
const unitLimits = {
  cpuMilli: { least: 10n, most: 384_000n },
  gpuCount: { least: 0n, most: 24n },
  memoryBytes: { least: mebi, most: 2n * tebi },
  storageBytes: { least: 5n * mebi, most: 32n * tebi },
};
/** A group may hold as much as this many units of the largest size. */
const unitsOfGroup = 50n;
/** 10 of the whole token, per block and unit. */
const mostPrice = decimalOf(10_000_000n);
/** A group may have ten thousand faults. */
const faultsShown = 20;
const shownChars = 80;
const attributeKey = /^([a-zA-Z][\w/.-]{1,126}[\w*]?)$/;

export function faultsOfGroups(groups: readonly GroupSpec[]): string[] {
  if (groups.length === 0) return ["there is no group"];
  const denoms = new Set(groups.flatMap(({ units }) => units.map(({ price }) => price.denom)));
  return [
    ...groups.flatMap((group) => faultsOfGroup(group).map((reason) => `group ${group.name}: ${reason}`)),
    ...repeated(groups.map(({ name }) => name)).map((name) => `two groups are named ${name}`),
    ...(groups.length > 1 ? inOneDenom(denoms) : []),
  ];
}

/** The first of them, in the order of the units. */
export function faultsOfGroup(group: GroupSpec): string[] {
  return [...faultsIn(group).take(faultsShown)];
}

function* faultsIn({ name, units }: GroupSpec): Generator<string> {
  for (const unit of units) for (const reason of faultsOfUnit(unit)) yield `unit ${unit.id}: ${reason}`;
  if (name === "") yield "it has no name";
  for (const id of repeated(units.map(({ id }) => id))) yield `two units have the id ${id}`;
  yield* inOneDenom(new Set(units.map(({ price }) => price.denom)));
  yield* faultsOfTotals(units);
}

interface Bounds {
  readonly least: bigint;
  readonly most: bigint;
}

function* outside(what: string, amount: bigint, { least, most }: Bounds): Generator<string> {
  if (amount < least || amount > most) yield `${what} must be from ${least} to ${most}, not ${amount}`;
}

function* faultsOfTotals(units: readonly ResourceUnit[]): Generator<string> {
  const total = (what: string, sum: bigint, least: bigint, { most }: Bounds) =>
    outside(`${what} of all units together`, sum, { least, most: most * unitsOfGroup });
  const { cpuMilli, gpuCount, memoryBytes, storageBytes } = unitLimits;
  yield* total(
    "cpu",
    totalOf(units, ({ cpu }) => cpu.milli),
    1n,
    cpuMilli,
  );
  yield* total(
    "gpus",
    totalOf(units, ({ gpu }) => gpu.count),
    0n,
    gpuCount,
  );
  yield* total(
    "memory",
    totalOf(units, ({ memory }) => memory.bytes),
    1n,
    memoryBytes,
  );
  // The first volumes of all units together, then the second ones, and so on.
  for (let at = 0; at < Math.max(...units.map(({ storage }) => storage.length)); at += 1) {
    const bytes = totalOf(units, ({ storage }) => storage[at]?.bytes ?? 0n);
    yield* total(`volume ${at + 1}`, bytes, 1n, storageBytes);
  }
}

function* faultsOfUnit({ id, cpu, memory, gpu, storage, endpoints, price }: ResourceUnit): Generator<string> {
  if (id < 1) yield "ids count from 1";
  yield* outside("cpu in thousandths", cpu.milli, unitLimits.cpuMilli);
  yield* outside("memory in bytes", memory.bytes, unitLimits.memoryBytes);
  yield* outside("gpus", gpu.count, unitLimits.gpuCount);
  if (storage.length === 0) yield "it has no storage";
  for (const { name, bytes } of storage)
    yield* outside(`volume ${short(name)} in bytes`, bytes, unitLimits.storageBytes);
  if (endpoints.some(({ kind }) => kind === "unknown")) yield "an endpoint is of an unknown kind";
  if (gpu.count === 0n && gpu.attributes.length > 0) yield "it has attributes of a gpu, and no gpu";
  for (const { attributes } of [cpu, memory, gpu, ...storage]) yield* faultsOfAttributes(attributes);
  if (!isDenom(price.denom)) yield `its price is in ${JSON.stringify(short(price.denom))}, which is no denomination`;
  if (price.amount.atto < 0n) yield "its price is below zero";
  if (compareDecimals(price.amount, mostPrice) > 0) yield `a price of ${showDecCoin(price)} is above 10000000`;
}

function* faultsOfAttributes(attributes: readonly Attribute[]): Generator<string> {
  const keys = attributes.map(({ key }) => key);
  for (const key of keys) if (!attributeKey.test(key)) yield `${JSON.stringify(short(key))} is no attribute`;
  for (const key of repeated(keys)) yield `${short(key)} stands twice`;
}

function inOneDenom(denoms: ReadonlySet<string>): string[] {
  const some = [...denoms].slice(0, faultsShown).map(short);
  return denoms.size > 1 ? [`all prices must be in one denomination, and these are in ${some.join(", ")}`] : [];
}

/** The first of those that stand more than once. */
function repeated<T>(values: readonly T[]): T[] {
  const seen = new Set<T>();
  // Adding a value again leaves the size as it is.
  const twice = values.values().filter((value) => seen.size === seen.add(value).size);
  return [...new Set(twice.take(faultsShown))];
}

function short(text: string): string {
  return shorten(text, shownChars);
}

/** Far above real deployments: the chain accepts more, and checking that would take longer than milliseconds. */
const groupLimits = {
  units: 250,
  /** Pods: more than all the nodes of a large cluster take. */
  replicas: 20_000,
  /** Of one list, and of all units together. */
  attributes: 100,
  attributesInAll: 1_000,
  auditors: 20,
  /** Required attributes are matched against ours and each auditor's, and anyone may sign attributes of a provider. */
  patterns: 20,
  patternsTimesAuditors: 40,
  volumes: 50,
  endpointsInAll: 2_000,
  /** Of a name, a key or a value. Kubernetes stops at 253. */
  textChars: 1_000,
};

/** The first limit that it exceeds, in words. */
export function exceededLimit(group: GroupSpec): string | undefined {
  const [first] = excessesOf(group);
  return first;
}

function* excessesOf({ name, requirements, units }: GroupSpec): Generator<string> {
  const { attributes, allOf, anyOf } = requirements;
  const auditors = [...allOf, ...anyOf];
  const patterns = attributes.filter(({ key }) => isPattern(key)).length;
  yield* tooMany("units", units.length, groupLimits.units);
  yield* tooMany("replicas", Number(totalOf(units, () => 1n)), groupLimits.replicas);
  yield* tooLong([name]);
  yield* tooMany("auditors", auditors.length, groupLimits.auditors);
  yield* tooLong(auditors);
  yield* attributeExcesses(attributes);
  yield* tooMany("patterns", patterns, groupLimits.patterns);
  yield* tooMany("patterns for its auditors", patterns * auditors.length, groupLimits.patternsTimesAuditors);
  for (const { cpu, memory, gpu, storage } of units) {
    yield* tooMany("volumes", storage.length, groupLimits.volumes);
    yield* tooLong(storage.map(({ name }) => name));
    for (const part of [cpu, memory, gpu, ...storage]) yield* attributeExcesses(part.attributes);
  }
  const attributesInAll = units.flatMap(({ cpu, memory, gpu, storage }) =>
    [cpu, memory, gpu, ...storage].flatMap((part) => part.attributes),
  );
  yield* tooMany("attributes", attributesInAll.length, groupLimits.attributesInAll);
  yield* tooMany("endpoints", units.flatMap(({ endpoints }) => endpoints).length, groupLimits.endpointsInAll);
}

function* attributeExcesses(attributes: readonly Attribute[]): Generator<string> {
  yield* tooMany("attributes", attributes.length, groupLimits.attributes);
  yield* tooLong(attributes.flatMap(({ key, value }) => [key, value]));
}

function* tooMany(what: string, count: number, most: number): Generator<string> {
  if (count > most) yield `it has ${count} ${what} where at most ${most} make sense`;
}

function* tooLong(texts: readonly string[]): Generator<string> {
  const { textChars } = groupLimits;
  for (const { length } of texts)
    if (length > textChars) yield `it has a text of ${length} characters where at most ${textChars} make sense`;
}
