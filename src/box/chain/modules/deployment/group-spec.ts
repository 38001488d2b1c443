/** What the chain demands of a group of resources, in the order in which it looks. */
import type { Attribute } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type {
  GroupSpec,
  Resources,
  ResourceUnit,
  ResourceValue,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { type DecCoin, formatDecCoin } from "../../../../market/coin.ts";
import { addDecimals, decimalOf, mulDecimals, zero } from "../../../../market/decimal.ts";
import { isValidPrice, readPrice } from "../../coins.ts";
import { Panic, uncoded } from "../../errors.ts";
import { deploymentError } from "./errors.ts";

const mebi = 2n ** 20n;
const tebi = 2n ** 40n;

/** The same for everyone on the network, and never changed. */
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
const mostUint64 = 2n ** 64n - 1n;
const attributeKey = /^([a-zA-Z][\w/.-]{1,126}[\w*]?)$/;

export function validateGroup(group: GroupSpec): void {
  if (group.name === "") throw uncoded("empty group spec name denomination");
  validateUnits(group.resources);
  validatePrices(group);
}

/** All groups of one deployment together; each of them is fine by itself already. */
export function validateGroups(groups: readonly GroupSpec[]): void {
  const invalidGroups = (fault: Error) => deploymentError("invalidGroups", fault.message);
  const denom = groups[0] && priceOf(groups[0]).denom;
  const names = new Set<string>();
  for (const group of groups) {
    const own = priceOf(group).denom;
    if (own !== denom) {
      throw invalidGroups(deploymentError("invalidPrice", `inconsistent group denomination: ${denom} != ${own}`));
    }
    if (names.has(group.name)) {
      throw invalidGroups(deploymentError("duplicateGroupName", `duplicate deployment group name ${group.name}`));
    }
    names.add(group.name);
  }
}

/** The most that a tenant pays per block for the whole group: every unit as often as it is wanted. */
export function priceOf({ resources }: GroupSpec): DecCoin {
  const prices = resources.map(({ price, count }) => mulDecimals(readPrice(price).amount, decimalOf(BigInt(count))));
  return { denom: resources[0]?.price?.denom ?? "", amount: prices.reduce(addDecimals, zero) };
}

/** As the chain keeps it: what was left out stands there empty. */
export function complete(group: GroupSpec): GroupSpec {
  const { signedBy, attributes } = group.requirements ?? { signedBy: undefined, attributes: [] };
  return { ...group, requirements: { signedBy: signedBy ?? { allOf: [], anyOf: [] }, attributes } };
}

function validateUnits(units: readonly ResourceUnit[]): void {
  const ids = new Set<number>();
  for (const { resource } of units) {
    validateResources(resource);
    const id = resource?.id ?? 0;
    if (ids.has(id)) throw uncoded(`duplicate resources ID (${id}) within group`);
    ids.add(id);
  }
  const { cpuMilli, gpuCount, memoryBytes } = unitLimits;
  const total = (amount: (resources: Resources) => bigint) =>
    units.reduce((sum, { resource, count }) => sum + (resource ? amount(resource) : 0n) * BigInt(count), 0n);
  const cpu = total((resources) => readValue(resources.cpu?.units));
  checkTotal("CPU", cpu, cpuMilli.most, 1n);
  const gpu = total((resources) => readValue(resources.gpu?.units));
  checkTotal("GPU", gpu, gpuCount.most, 0n);
  const memory = total((resources) => readValue(resources.memory?.quantity));
  checkTotal("memory", memory, memoryBytes.most, 1n);
}

function checkTotal(what: string, total: bigint, mostOfUnit: bigint, least: bigint): void {
  const most = mostOfUnit * unitsOfGroup;
  if (total > most || total < least) throw uncoded(`invalid total ${what} (${most} > ${total} > 0 fails)`);
}

function validateResources(resources: Resources | undefined): void {
  if (!resources?.id) throw uncoded("error: invalid resources ID (> 0 fails)");
  const { cpu, gpu, memory, storage } = resources;
  checkUnit("CPU", cpu?.units, cpu?.attributes, unitLimits.cpuMilli);
  checkUnit("GPU", gpu?.units, gpu?.attributes, unitLimits.gpuCount);
  checkUnit("memory", memory?.quantity, memory?.attributes, unitLimits.memoryBytes);
  if (storage.length === 0) throw uncoded("error: invalid unit storage, cannot be nil");
  for (const { quantity, attributes } of storage) {
    checkUnit("storage", quantity, attributes, unitLimits.storageBytes);
  }
}

function checkUnit(
  what: string,
  amount: ResourceValue | undefined,
  attributes: readonly Attribute[] | undefined,
  { least, most }: { least: bigint; most: bigint },
): void {
  if (!attributes) throw uncoded(`error: invalid unit ${what}, cannot be nil`);
  const value = readValue(amount);
  if (value > most || value < least) throw uncoded(`error: invalid unit ${what} (${most} > ${value} > ${least} fails)`);
  if (what === "GPU" && value === 0n && attributes.length > 0) {
    throw uncoded("error: invalid GPU state. attributes cannot be present if units == 0");
  }
  const keys = new Set<string>();
  for (const { key } of attributes) {
    const fault = attributeKey.test(key)
      ? "attributes cannot have duplicate keys"
      : "attribute key does not match regexp";
    if (!attributeKey.test(key) || keys.has(key)) throw uncoded(`error: invalid ${what} attributes: ${fault}`);
    keys.add(key);
  }
}

function validatePrices({ name, resources }: GroupSpec): void {
  const prices = resources.map(({ price }) => readPrice(price));
  const denom = prices[0]?.denom;
  for (const price of prices) {
    if (!isValidPrice(price)) throw uncoded(`group ${name}: error: invalid price object`);
    if (price.amount.atto > mostPrice.atto) {
      throw uncoded(`group ${name}: error: invalid unit price (10000000 > ${formatDecCoin(price)} fails)`);
    }
    if (price.denom !== denom) throw uncoded(`multi-denonimation group: (${price.denom} == ${denom} fails)`);
  }
}

/** Amounts travel as digits; one that is missing or does not fit stops the chain's program in its tracks. */
export function readValue(value: ResourceValue | undefined): bigint {
  const digits = Buffer.from(value?.val ?? []).toString();
  if (!/^\d{1,20}$/.test(digits) || BigInt(digits) > mostUint64) throw new Panic(`"${digits}" is not an amount`);
  return BigInt(digits);
}
