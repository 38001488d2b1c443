/** What the network demands of the groups of a deployment. The chain refuses all others, and nobody can bid on them. */
import { showDecCoin } from "./coin.ts";
import { compareDecimals, decimalOf } from "./decimal.ts";
import type { Attribute, GroupSpec, ResourceUnit } from "./group-spec.ts";

const mebi = 2n ** 20n;
const tebi = 2n ** 40n;

/** The same for everyone on the network. */
export const unitLimits = {
  cpuMilli: { least: 10n, most: 384_000n },
  gpuCount: { least: 0n, most: 24n },
  memoryBytes: { least: mebi, most: 2n * tebi },
  storageBytes: { least: 5n * mebi, most: 32n * tebi },
};
/** A group may hold as much as this many units of the largest size. */
export const unitsOfGroup = 50n;
/** 10 of the whole token, per block and unit. */
export const mostPrice = decimalOf(10_000_000n);
export const attributeKey = /^([a-zA-Z][\w/.-]{1,126}[\w*]?)$/;

export function faultsOfGroups(groups: readonly GroupSpec[]): string[] {
  if (groups.length === 0) return ["there is no group"];
  const faults = groups.flatMap((group) => faultsOfGroup(group).map((reason) => `group ${group.name}: ${reason}`));
  const names = groups.map(({ name }) => name);
  for (const name of repeated(names)) faults.push(`two groups are named ${name}`);
  const denoms = new Set(groups.flatMap(({ units }) => units.map(({ price }) => price.denom)));
  if (denoms.size > 1)
    faults.push(`all prices must be in one denomination, and these are in ${[...denoms].join(", ")}`);
  return faults;
}

export function faultsOfGroup({ name, units }: GroupSpec): string[] {
  const faults = units.flatMap((unit) => faultsOfUnit(unit).map((reason) => `unit ${unit.id}: ${reason}`));
  if (name === "") faults.push("it has no name");
  for (const id of repeated(units.map(({ id }) => id))) faults.push(`two units have the id ${id}`);
  const total = (what: string, amount: (unit: ResourceUnit) => bigint, least: bigint, mostOfUnit: bigint) => {
    const sum = units.reduce((all, unit) => all + amount(unit) * BigInt(unit.count), 0n);
    const most = mostOfUnit * unitsOfGroup;
    if (sum < least || sum > most)
      faults.push(`${what} of all units together must be from ${least} to ${most}, not ${sum}`);
  };
  total("cpu", ({ cpu }) => cpu.milli, 1n, unitLimits.cpuMilli.most);
  total("gpus", ({ gpu }) => gpu.count, 0n, unitLimits.gpuCount.most);
  total("memory", ({ memory }) => memory.bytes, 1n, unitLimits.memoryBytes.most);
  const volumes = Math.max(0, ...units.map(({ storage }) => storage.length));
  for (let slot = 0; slot < volumes; slot += 1) {
    total(`volume ${slot + 1}`, ({ storage }) => storage[slot]?.bytes ?? 0n, 1n, unitLimits.storageBytes.most);
  }
  return faults;
}

function faultsOfUnit({ id, cpu, memory, gpu, storage, endpoints, price }: ResourceUnit): string[] {
  const faults: string[] = [];
  const within = (what: string, amount: bigint, { least, most }: { least: bigint; most: bigint }) => {
    if (amount < least || amount > most) faults.push(`${what} must be from ${least} to ${most}, not ${amount}`);
  };
  if (id < 1) faults.push("ids count from 1");
  within("cpu in thousandths", cpu.milli, unitLimits.cpuMilli);
  within("memory in bytes", memory.bytes, unitLimits.memoryBytes);
  within("gpus", gpu.count, unitLimits.gpuCount);
  if (storage.length === 0) faults.push("it has no storage");
  for (const { name, bytes } of storage) within(`volume ${name} in bytes`, bytes, unitLimits.storageBytes);
  if (endpoints.some(({ kind }) => kind === "unknown")) faults.push("an endpoint is of a kind that nobody knows");
  if (gpu.count === 0n && gpu.attributes.length > 0) faults.push("it has attributes of a gpu, and no gpu");
  for (const { attributes } of [cpu, memory, gpu, ...storage]) faults.push(...faultsOfAttributes(attributes));
  if (compareDecimals(price.amount, mostPrice) > 0) faults.push(`a price of ${showDecCoin(price)} is above 10000000`);
  return faults;
}

function faultsOfAttributes(attributes: readonly Attribute[]): string[] {
  const keys = attributes.map(({ key }) => key);
  const strange = keys.filter((key) => !attributeKey.test(key)).map((key) => `${JSON.stringify(key)} is no attribute`);
  return [...strange, ...repeated(keys).map((key) => `${key} stands twice`)];
}

function repeated<T>(values: readonly T[]): T[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))];
}
