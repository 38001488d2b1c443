/** The settings of Longhorn that decide what it schedules; the values where there are none are Longhorn's own. */
import { fieldsOf } from "../../../kube/json-fields.ts";
import { parseJson } from "../../../runtime/parse-json.ts";
import type { LonghornSetting } from "./longhorn-objects.ts";

export type DataEngine = "v1" | "v2";

export interface SchedulingRules {
  /** How much of a disk may be promised, in hundredths: 200 promises it twice. */
  readonly overProvisioning: bigint;
  /** How much of a disk must stay free, in hundredths. */
  readonly minimalAvailable: bigint;
  readonly defaultReplicas: bigint;
  /** Whether two replicas of a volume may share a zone, a node, or a disk. */
  readonly sameZone: boolean;
  readonly sameNode: boolean;
  readonly sameDisk: boolean;
  /** Whether a volume that asks for no tags may go where there are some. */
  readonly anyNodeTags: boolean;
  readonly anyDiskTags: boolean;
  /** Settings that cannot be read; their defaults hold. */
  readonly unreadable: readonly string[];
}

export function schedulingRules(settings: readonly LonghornSetting[], engine: DataEngine): SchedulingRules {
  const values = new Map(settings.map(({ name, value }) => [name, value]));
  const unreadable: string[] = [];

  function read<T>(name: string, otherwise: T, parse: (text: string) => T | undefined): T {
    const value = values.get(name);
    if (value === undefined || value === "") return otherwise;
    const parsed = parse(ofEngine(value, engine));
    if (parsed === undefined) unreadable.push(name);
    return parsed ?? otherwise;
  }
  const number = (name: string, otherwise: bigint) =>
    read(name, otherwise, (text) => (/^\d{1,9}$/.test(text) ? BigInt(text) : undefined));
  const flag = (name: string, otherwise: boolean) =>
    read(name, otherwise, (text) => (text === "true" ? true : text === "false" ? false : undefined));

  return {
    overProvisioning: number("storage-over-provisioning-percentage", 100n),
    minimalAvailable: number("storage-minimal-available-percentage", 25n),
    defaultReplicas: number("default-replica-count", 3n),
    sameZone: flag("replica-zone-soft-anti-affinity", true),
    sameNode: flag("replica-soft-anti-affinity", false),
    sameDisk: flag("replica-disk-soft-anti-affinity", true),
    anyNodeTags: flag("allow-empty-node-selector-volume", true),
    anyDiskTags: flag("allow-empty-disk-selector-volume", true),
    unreadable,
  };
}

function ofEngine(value: string, engine: DataEngine): string {
  if (!value.startsWith("{")) return value;
  const read = parseJson(value);
  return read === undefined ? value : String(fieldsOf(read)[engine]);
}
