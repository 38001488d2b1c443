/** What the network demands of the groups of a deployment. The chain refuses all others, and nobody can bid on them. */
import { isDenom, showDecCoin } from "./coin.ts";
import { compareDecimals, decimalOf } from "./decimal.ts";
import { isPattern } from "./glob.ts";
import type { Attribute, GroupSpec, ResourceUnit, UnitResources } from "./group-spec.ts";
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
/** Faults that are told of one group: a few say it all, and a group may have ten thousand. */
const faultsTold = 20;
const shownChars = 80;
const attributeKey = /^([a-zA-Z][\w/.-]{1,126}[\w*]?)$/;

export function faultsOfGroups(groups: readonly GroupSpec[]): string[] {
  if (groups.length === 0) return ["there is no group"];
  const faults = groups.flatMap((group) => faultsOfGroup(group).map((reason) => `group ${group.name}: ${reason}`));
  const names = groups.map(({ name }) => name);
  for (const name of repeated(names)) faults.push(`two groups are named ${name}`);
  const denoms = new Set(groups.flatMap(({ units }) => units.map(({ price }) => price.denom)));
  if (groups.length > 1 && denoms.size > 1) faults.push(inOneDenom(denoms));
  return faults;
}

/** The first of them, in the order of the units. */
export function faultsOfGroup({ name, units }: GroupSpec): string[] {
  const faults: string[] = [];
  for (const unit of units) {
    if (faults.length >= faultsTold) return faults.slice(0, faultsTold);
    for (const reason of faultsOfUnit(unit)) faults.push(`unit ${unit.id}: ${reason}`);
  }
  if (name === "") faults.push("it has no name");
  for (const id of repeated(units.map(({ id }) => id))) faults.push(`two units have the id ${id}`);
  const denoms = new Set(units.map(({ price }) => price.denom));
  if (denoms.size > 1) faults.push(inOneDenom(denoms));
  faults.push(...faultsOfTotals(units));
  return faults.slice(0, faultsTold);
}

function faultsOfTotals(units: readonly ResourceUnit[]): string[] {
  const faults: string[] = [];
  const within = (what: string, sum: bigint, least: bigint, mostOfUnit: bigint) => {
    const most = mostOfUnit * unitsOfGroup;
    if (sum < least || sum > most)
      faults.push(`${what} of all units together must be from ${least} to ${most}, not ${sum}`);
  };
  const cpuMilli = totalOf(units, ({ cpu }) => cpu.milli);
  within("cpu", cpuMilli, 1n, unitLimits.cpuMilli.most);
  const gpuCount = totalOf(units, ({ gpu }) => gpu.count);
  within("gpus", gpuCount, 0n, unitLimits.gpuCount.most);
  const memoryBytes = totalOf(units, ({ memory }) => memory.bytes);
  within("memory", memoryBytes, 1n, unitLimits.memoryBytes.most);
  // The first volumes of all units together, then the second ones, and so on.
  const slots: bigint[] = [];
  for (const { storage, count } of units) {
    storage.forEach(({ bytes }, slot) => {
      slots[slot] = (slots[slot] ?? 0n) + bytes * BigInt(count);
    });
  }
  slots.forEach((bytes, slot) => {
    if (faults.length < faultsTold) within(`volume ${slot + 1}`, bytes, 1n, unitLimits.storageBytes.most);
  });
  return faults;
}

function faultsOfUnit({ id, cpu, memory, gpu, storage, endpoints, price }: ResourceUnit): string[] {
  const faults: string[] = [];
  const within = (what: string, amount: bigint, { least, most }: { least: bigint; most: bigint }) => {
    if (faults.length < faultsTold && (amount < least || amount > most))
      faults.push(`${what} must be from ${least} to ${most}, not ${amount}`);
  };
  if (id < 1) faults.push("ids count from 1");
  within("cpu in thousandths", cpu.milli, unitLimits.cpuMilli);
  within("memory in bytes", memory.bytes, unitLimits.memoryBytes);
  within("gpus", gpu.count, unitLimits.gpuCount);
  if (storage.length === 0) faults.push("it has no storage");
  for (const { name, bytes } of storage) within(`volume ${short(name)} in bytes`, bytes, unitLimits.storageBytes);
  if (endpoints.some(({ kind }) => kind === "unknown")) faults.push("an endpoint is of a kind that nobody knows");
  if (gpu.count === 0n && gpu.attributes.length > 0) faults.push("it has attributes of a gpu, and no gpu");
  for (const { attributes } of [cpu, memory, gpu, ...storage]) {
    if (faults.length < faultsTold) faults.push(...faultsOfAttributes(attributes));
  }
  if (!isDenom(price.denom))
    faults.push(`its price is in ${JSON.stringify(short(price.denom))}, which is no denomination`);
  if (price.amount.atto < 0n) faults.push("its price is below zero");
  if (compareDecimals(price.amount, mostPrice) > 0) faults.push(`a price of ${showDecCoin(price)} is above 10000000`);
  return faults;
}

function faultsOfAttributes(attributes: readonly Attribute[]): string[] {
  const keys = attributes.map(({ key }) => key);
  const strange = keys.filter((key) => !attributeKey.test(key)).slice(0, faultsTold);
  return [
    ...strange.map((key) => `${JSON.stringify(short(key))} is no attribute`),
    ...repeated(keys).map((key) => `${short(key)} stands twice`),
  ];
}

function inOneDenom(denoms: ReadonlySet<string>): string {
  const some = [...denoms].slice(0, faultsTold).map(short);
  return `all prices must be in one denomination, and these are in ${some.join(", ")}`;
}

/** The first of those that stand more than once. */
function repeated<T>(values: readonly T[]): T[] {
  const seen = new Set<T>();
  const twice = new Set<T>();
  for (const value of values) {
    if (seen.has(value)) twice.add(value);
    if (twice.size >= faultsTold) break;
    seen.add(value);
  }
  return [...twice];
}

function short(text: string): string {
  return shorten(text, shownChars);
}

/** Far above what anybody deploys: the chain accepts more, and reading that would take longer than milliseconds. */
const groupBounds = {
  units: 250,
  /** Pods: more than all the nodes of a large cluster take. */
  replicas: 20_000,
  /** Of one list, and of all units together. */
  attributes: 100,
  attributesInAll: 1_000,
  auditors: 20,
  /** Required attributes are matched against ours and each auditor's, and anybody may sign attributes about a provider. */
  patterns: 20,
  patternsTimesAuditors: 40,
  volumes: 50,
  endpointsInAll: 2_000,
  /** Of a name, a key or a value. Kubernetes stops at 253. */
  textChars: 1_000,
};

/** The first bound that it passes, in words. */
export function exceededLimit({ name, requirements, units }: GroupSpec): string | undefined {
  const { attributes, allOf, anyOf } = requirements;
  const auditors = allOf.length + anyOf.length;
  const patterns = attributes.filter(({ key }) => isPattern(key)).length;
  return (
    tooMany("units", units.length, groupBounds.units) ??
    tooMany(
      "replicas",
      sumOf(units, ({ count }) => count),
      groupBounds.replicas,
    ) ??
    tooLong([name]) ??
    tooMany("auditors", auditors, groupBounds.auditors) ??
    tooLong([...allOf, ...anyOf]) ??
    excessOfAttributes(attributes) ??
    tooMany("patterns", patterns, groupBounds.patterns) ??
    tooMany("patterns for its auditors", patterns * auditors, groupBounds.patternsTimesAuditors) ??
    firstOf(units, excessOfUnit) ??
    tooMany("attributes", sumOf(units, attributesOf), groupBounds.attributesInAll) ??
    tooMany(
      "endpoints",
      sumOf(units, ({ endpoints }) => endpoints.length),
      groupBounds.endpointsInAll,
    )
  );
}

function excessOfUnit({ cpu, memory, gpu, storage }: UnitResources): string | undefined {
  return (
    tooMany("volumes", storage.length, groupBounds.volumes) ??
    tooLong(storage.map(({ name }) => name)) ??
    firstOf([cpu, memory, gpu, ...storage], (part) => excessOfAttributes(part.attributes))
  );
}

function excessOfAttributes(attributes: readonly Attribute[]): string | undefined {
  return (
    tooMany("attributes", attributes.length, groupBounds.attributes) ??
    firstOf(attributes, ({ key, value }) => tooLong([key, value]))
  );
}

function attributesOf({ cpu, memory, gpu, storage }: ResourceUnit): number {
  return sumOf([cpu, memory, gpu, ...storage], ({ attributes }) => attributes.length);
}

function sumOf<T>(items: readonly T[], count: (item: T) => number): number {
  return items.reduce((all, item) => all + count(item), 0);
}

function tooMany(what: string, count: number, most: number): string | undefined {
  return count > most ? `it has ${count} ${what} where at most ${most} make sense` : undefined;
}

function tooLong(texts: readonly string[]): string | undefined {
  const long = texts.find(({ length }) => length > groupBounds.textChars);
  return long && `it has a text of ${long.length} characters where at most ${groupBounds.textChars} make sense`;
}

function firstOf<T>(items: readonly T[], look: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = look(item);
    if (found) return found;
  }
  return undefined;
}
