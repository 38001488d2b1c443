/**
 * Whether an apply would change nothing: by managedFields we own exactly the desired fields, and each has the desired value. An owned
 * field that is absent was dropped as empty. Inside atomic values the server's defaults must be known (`serverRules`); an unknown
 * default costs a needless apply, never a missed one.
 */
import { parseQuantity } from "../market/quantity.ts";
import { ProviderError } from "../runtime/errors.ts";
import { isRecord } from "../runtime/is-record.ts";
import { type Kind, kinds, resourceOf } from "./kinds.ts";
import type { KubeObject } from "./kube.ts";
import type { Owned, OwnedFields, OwnedRecord } from "./owned-fields.ts";

export function isAsDesired(kind: Kind, desired: KubeObject, { deleting, fields }: OwnedFields): boolean {
  if (deleting) return false;
  return isOwned(desiredFields(desired), fields, "", serverRules(kind));
}

/** With the stringData of a Secret as data, which is what managedFields show. */
export function asSent(kind: Kind, desired: KubeObject): KubeObject {
  const { stringData, ...rest } = desired;
  if (resourceOf(kind) !== resourceOf(kinds.secret) || !isRecord(stringData)) return desired;
  const encoded = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(String(text)).toString("base64")]);
  return { ...rest, data: { ...(rest["data"] as object | undefined), ...Object.fromEntries(encoded) } } as KubeObject;
}

/** What an apply would own: all but the identity. */
function desiredFields({ apiVersion: _, kind: __, metadata, ...rest }: KubeObject): Record<string, unknown> {
  const { labels, annotations, finalizers } = metadata;
  const ownerReferences = (metadata as { ownerReferences?: unknown }).ownerReferences;
  return { ...rest, metadata: { labels, annotations, finalizers, ownerReferences } };
}

function isOwned(desired: unknown, owned: Owned, place: string, rules: ServerRules): boolean {
  // An empty shared record is not shown in managedFields.
  if (owned.is !== "record" && isEmptyRecord(desired) && rules.isShared(place)) return true;
  switch (owned.is) {
    case "whole":
      return isWhole(desired, owned.value, place, rules);
    case "record":
      return isRecord(desired) && isOwnedRecord(desired, owned, place, rules);
    case "list":
      return (
        Array.isArray(desired) &&
        desired.length === owned.elements.length &&
        owned.elements.every((element, index) => isOwned(desired[index], element, place, rules))
      );
    case "foreign":
      return false;
  }
}

function isOwnedRecord(
  desired: Record<string, unknown>,
  { fields }: OwnedRecord,
  place: string,
  rules: ServerRules,
): boolean {
  for (const name in fields) if (desired[name] === undefined && fields[name]?.is !== "foreign") return false;
  for (const name in desired) {
    const [value, owned] = [desired[name], fields[name]];
    const here = `${place} ${name}`;
    if (value === undefined) continue;
    if (owned ? !isOwned(value, owned, here, rules) : !isNothing(value, here, rules)) return false;
  }
  return true;
}

/** Built-in kinds drop empty lists, and records of them. */
function isNothing(desired: unknown, place: string, rules: ServerRules): boolean {
  if (Array.isArray(desired)) return desired.length === 0 && rules.dropsEmpty;
  if (isEmptyRecord(desired)) return rules.isShared(place);
  return (
    isRecord(desired) &&
    Object.entries(desired).every(([name, part]) => part === undefined || isNothing(part, `${place} ${name}`, rules))
  );
}

function isEmptyRecord(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((part) => part === undefined);
}

function isWhole(desired: unknown, live: unknown, place: string, rules: ServerRules): boolean {
  if (rules.dropsEmpty && (live === undefined || live === null)) return isEmpty(desired);
  return isSame(desired, live, place, rules);
}

/** Go's zero values, which the server drops. */
function isEmpty(value: unknown): boolean {
  if (isEmptyRecord(value) || isEmptyList(value)) return true;
  return value === undefined || value === null || value === "" || value === 0 || value === false;
}

function isSame(desired: unknown, live: unknown, place: string, rules: ServerRules): boolean {
  if (desired === live) return true;
  const [a, b] = [withDefault(desired, place, rules), withDefault(live, place, rules)];
  if (a === b) return true;
  if (a === undefined || b === undefined) return rules.dropsEmpty && isEmptyList(a ?? b);
  if (Array.isArray(a) && Array.isArray(b)) return isSameList(a, b, place, rules);
  if (!isRecord(a) || !isRecord(b)) return rules.isSameAmount(a, b, place);
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => isSame(a[name], b[name], `${place} ${name}`, rules));
}

function isSameList(desired: readonly unknown[], live: readonly unknown[], place: string, rules: ServerRules): boolean {
  if (!desired.every((element, index) => index < live.length && isSame(element, live[index], place, rules)))
    return false;
  const added = rules.added(place);
  return live.slice(desired.length).every((element) => added.some((each) => isSame(each, element, place, rules)));
}

/** The default for an absent value or an empty text. */
function withDefault(value: unknown, place: string, rules: ServerRules): unknown {
  if (value !== undefined && value !== null && value !== "") return value;
  return rules.absent(place) ?? value ?? undefined;
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** How the API server changes values. A place is the path of fields, with a space before each name. */
interface ServerRules {
  /** A record whose fields may have different owners, which managedFields do not show of an empty one. */
  isShared(place: string): boolean;
  /** The default of an absent value inside an atomic value. */
  absent(place: string): unknown;
  /** Elements that it may append to an atomic list. */
  added(place: string): readonly unknown[];
  /** Whether both are the same quantity. */
  isSameAmount(a: unknown, b: unknown, place: string): boolean;
  /** Empty values are dropped, except in custom resources. */
  readonly dropsEmpty: boolean;
}

function serverRules(kind: Kind): ServerRules {
  if (resourceOf(kind) === resourceOf(kinds.pod)) return podRules;
  if (resourceOf(kind) === resourceOf(kinds.httpRoute)) return routeRules;
  return builtInGroups.has(kind.group) ? builtInRules : customRules;
}

const builtInGroups: ReadonlySet<string> = new Set([
  "",
  "apps",
  "batch",
  "policy",
  ...["apiextensions", "coordination", "discovery", "events", "networking", "node"].map((name) => `${name}.k8s.io`),
  ...["rbac.authorization", "scheduling", "storage"].map((name) => `${name}.k8s.io`),
]);

type Defaults = readonly (readonly [place: RegExp, value: unknown])[];

const rbac = kinds.role.group;

/** Defaults inside atomic lists and records. */
const builtInDefaults: Defaults = [
  [/ ports protocol$/, "TCP"],
  [/ fieldRef apiVersion$/, "v1"],
  [/ resourceFieldRef divisor$/, "0"],
  [/ serviceAccountToken expirationSeconds$/, 3_600],
  [/ volumeClaimTemplates apiVersion$/, "v1"],
  [/ volumeClaimTemplates kind$/, "PersistentVolumeClaim"],
  [/ volumeClaimTemplates spec volumeMode$/, "Filesystem"],
  [/ volumeClaimTemplates spec resources$/, {}],
  [/ volumeClaimTemplates status$/, { phase: "Pending" }],
  [/ volumeClaimTemplates metadata (labels|annotations)$/, {}],
  [/ resources (limits|requests)$/, {}],
  [/ matchLabels$/, {}],
  [/ (roleRef|subjects) apiGroup$/, rbac],
  [/ subjects namespace$/, ""],
  [/ tolerations (key|operator|value|effect)$/, ""],
  [/ rules host$/, ""],
  [/ paths path$/, ""],
];

/** Defaults in the definitions of the Gateway API. */
const anyPath = { type: "PathPrefix", value: "/" };
const routeDefaults: Defaults = [
  [/ parentRefs group$/, kinds.gateway.group],
  [/ parentRefs kind$/, kinds.gateway.kind],
  [/ backendRefs group$/, ""],
  [/ backendRefs kind$/, kinds.service.kind],
  [/ backendRefs weight$/, 1],
  [/ rules matches$/, [{ path: anyPath }]],
  [/ matches path$/, anyPath],
  [/ matches path type$/, anyPath.type],
  [/ matches path value$/, anyPath.value],
];

const amounts =
  / (resources (limits|requests)|podFixed|capacity|hard) \S+$| emptyDir sizeLimit$| resourceFieldRef divisor$/;

const sharedMetadata = / metadata (labels|annotations)$/;
const shared =
  /^ (data|binaryData)$| spec (strategy|updateStrategy)$| (securityContext|resources)$| resources (limits|requests)$/;

const builtInRules: ServerRules = {
  isShared: (place) => sharedMetadata.test(place) || shared.test(place),
  absent: (place) => find(builtInDefaults, place),
  added: () => [],
  isSameAmount: (a, b, place) => amounts.test(place) && nanoOf(a) === nanoOf(b),
  dropsEmpty: true,
};

/** Appended by the admission plugin DefaultTolerationSeconds. */
const defaultTolerations = ["not-ready", "unreachable"].map((state) => ({
  key: `node.kubernetes.io/${state}`,
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: 300,
}));
const podRules: ServerRules = {
  ...builtInRules,
  added: (place) => (place === " spec tolerations" ? defaultTolerations : []),
};

const customRules: ServerRules = {
  isShared: (place) => sharedMetadata.test(place),
  absent: () => undefined,
  added: () => [],
  isSameAmount: () => false,
  dropsEmpty: false,
};
const routeRules: ServerRules = { ...customRules, absent: (place) => find(routeDefaults, place) };

function find(defaults: Defaults, place: string): unknown {
  return defaults.find(([pattern]) => pattern.test(place))?.[1];
}

/** An invalid quantity equals only itself. */
function nanoOf(value: unknown): unknown {
  if (typeof value !== "string" && typeof value !== "number") return value;
  try {
    return parseQuantity(String(value)).nano;
  } catch (thrown) {
    if (thrown instanceof ProviderError) return value;
    throw thrown;
  }
}
