/** Groups that no one could have meant. The chain lets them through, and reading them would take longer than they are worth. */
import { isPattern } from "./glob.ts";
import type { Attribute, GroupSpec, ResourceUnit, UnitResources } from "./group-spec.ts";

/** Far above what anybody deploys. Work on a group of this size takes milliseconds; beyond, nobody promises that. */
const groupBounds = {
  units: 250,
  /** Pods: more than all the nodes of a large cluster take. */
  replicas: 20_000,
  /** Of one list, and of all units together. */
  attributes: 100,
  attributesInAll: 1_000,
  auditors: 20,
  /**
   * Of the attributes required of the provider: each is tried with each that it has, and again with each that an auditor
   * has signed. Anybody may sign anything about a provider, so that is not in its hands.
   */
  patterns: 20,
  patternsTimesAuditors: 40,
  volumes: 50,
  endpointsInAll: 2_000,
  /** Of a name, a key or a value. Kubernetes stops at 253. */
  textChars: 1_000,
};

/** The first bound that it passes, in words. */
export function excessOf({ name, requirements, units }: GroupSpec): string | undefined {
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
