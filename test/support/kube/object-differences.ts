/** Field by field, how two objects differ: elements of lists are found by what names them, not by their place. */
import { isRecord } from "../../../src/runtime/is-record.ts";

export interface Difference {
  /** "spec.template.spec.containers[web].env[A].value"; ends in " order" where only the order of elements differs. */
  readonly at: string;
  readonly recorded: unknown;
  readonly ours: unknown;
}

export function differences(recorded: unknown, ours: unknown, at = ""): Difference[] {
  if (isList(recorded) && isList(ours)) return listDifferences(named(recorded), named(ours), at);
  if (isRecord(recorded) && isRecord(ours)) {
    const names = new Set([...Object.keys(recorded), ...Object.keys(ours)]);
    return [...names].flatMap((name) => differences(recorded[name], ours[name], at === "" ? name : `${at}.${name}`));
  }
  return JSON.stringify(recorded) === JSON.stringify(ours) ? [] : [{ at, recorded, ours }];
}

type Element = Readonly<Record<string, unknown>>;

function isList(value: unknown): value is readonly Element[] {
  return Array.isArray(value) && value.every(isRecord);
}

function nameOf({ name, key, containerPort, port, protocol = "TCP", mountPath, metadata }: Element): unknown {
  if (port !== undefined || containerPort !== undefined) return `${containerPort ?? port}/${protocol}`;
  return mountPath ?? name ?? key ?? (isRecord(metadata) ? metadata["name"] : undefined);
}

/** One that is there twice has "again" behind its name; where they have none, it is their place. */
function named(list: readonly Element[]): Map<string, Element> {
  const elements = new Map<string, Element>();
  for (const [place, element] of list.entries()) {
    let name = String(nameOf(element) ?? place);
    while (elements.has(name)) name += " again";
    elements.set(name, element);
  }
  return elements;
}

function listDifferences(recorded: Map<string, Element>, ours: Map<string, Element>, at: string): Difference[] {
  const names = new Set([...recorded.keys(), ...ours.keys()]);
  const found = [...names].flatMap((name) => differences(recorded.get(name), ours.get(name), `${at}[${name}]`));
  const order = (one: Map<string, Element>, other: Map<string, Element>) =>
    [...one.keys()].filter((name) => other.has(name));
  return [...found, ...differences(order(recorded, ours), order(ours, recorded), `${at} order`)];
}
