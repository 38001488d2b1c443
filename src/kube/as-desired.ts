/**
 * Whether an apply would change nothing, told without asking the server: by managedFields we own exactly what we want to own, and
 * each of these fields means what we want. An owned field that is absent was dropped as empty. Where managedFields shows no fields,
 * defaults must be known (`serverWords`); where they are not, the object is sent once too often, never too seldom.
 */

import { parseQuantity } from "../market/quantity.ts";
import { ProviderError } from "../runtime/errors.ts";
import { isRecord } from "../runtime/is-record.ts";
import { type Kind, kinds, resourceOf } from "./kinds.ts";
import type { KubeObject } from "./kube.ts";
import type { Owned, OwnedFields, OwnedRecord } from "./owned-fields.ts";

export function isAsDesired(kind: Kind, desired: KubeObject, { deleting, fields }: OwnedFields): boolean {
  if (deleting) return false;
  return isOwned(desiredFields(desired), fields, "", serverWords(kind));
}

/** As it is sent: the text of secrets in the form in which they keep it, or the book would not show what is whose. */
export function asSent(kind: Kind, desired: KubeObject): KubeObject {
  const { stringData, ...rest } = desired;
  if (resourceOf(kind) !== resourceOf(kinds.secret) || !isRecord(stringData)) return desired;
  const encoded = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(String(text)).toString("base64")]);
  return { ...rest, data: { ...(rest["data"] as object | undefined), ...Object.fromEntries(encoded) } } as KubeObject;
}

/** What an apply would make ours: all but the identity, which belongs to nobody. */
function desiredFields({ apiVersion: _, kind: __, metadata, ...rest }: KubeObject): Record<string, unknown> {
  const { labels, annotations, finalizers } = metadata;
  const ownerReferences = (metadata as { ownerReferences?: unknown }).ownerReferences;
  return { ...rest, metadata: { labels, annotations, finalizers, ownerReferences } };
}

function isOwned(desired: unknown, owned: Owned, place: string, words: ServerWords): boolean {
  // No field of it is desired, and whoever puts one there takes the rest from us, empty as it was.
  if (owned.is !== "record" && isEmptyRecord(desired) && words.isShared(place)) return true;
  switch (owned.is) {
    case "whole":
      return isWhole(desired, owned.value, place, words);
    case "record":
      return isRecord(desired) && isOwnedRecord(desired, owned, place, words);
    case "list":
      return (
        Array.isArray(desired) &&
        desired.length === owned.elements.length &&
        owned.elements.every((element, index) => isOwned(desired[index], element, place, words))
      );
    case "foreign":
      return false;
  }
}

function isOwnedRecord(
  desired: Record<string, unknown>,
  { fields }: OwnedRecord,
  place: string,
  words: ServerWords,
): boolean {
  for (const name in fields) if (desired[name] === undefined && fields[name]?.is !== "foreign") return false;
  for (const name in desired) {
    const [value, owned] = [desired[name], fields[name]];
    const here = `${place} ${name}`;
    if (value === undefined) continue;
    if (owned ? !isOwned(value, owned, here, words) : !isNothing(value, here, words)) return false;
  }
  return true;
}

/** Built-in kinds leave an empty list out, so that owning one would be owning nothing; so would what holds nothing else. */
function isNothing(desired: unknown, place: string, words: ServerWords): boolean {
  if (Array.isArray(desired)) return desired.length === 0 && words.dropsEmpty;
  if (isEmptyRecord(desired)) return words.isShared(place);
  return (
    isRecord(desired) &&
    Object.entries(desired).every(([name, part]) => part === undefined || isNothing(part, `${place} ${name}`, words))
  );
}

function isEmptyRecord(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((part) => part === undefined);
}

function isWhole(desired: unknown, live: unknown, place: string, words: ServerWords): boolean {
  if (words.dropsEmpty && (live === undefined || live === null)) return isEmpty(desired);
  return isSame(desired, live, place, words);
}

/** Go's zero values, which the server leaves out. */
function isEmpty(value: unknown): boolean {
  if (isEmptyRecord(value) || isEmptyList(value)) return true;
  return value === undefined || value === null || value === "" || value === 0 || value === false;
}

function isSame(desired: unknown, live: unknown, place: string, words: ServerWords): boolean {
  if (desired === live) return true;
  const [a, b] = [meant(desired, place, words), meant(live, place, words)];
  if (a === b) return true;
  if (a === undefined || b === undefined) return words.dropsEmpty && isEmptyList(a ?? b);
  if (Array.isArray(a) && Array.isArray(b)) return isSameList(a, b, place, words);
  if (!isRecord(a) || !isRecord(b)) return words.isSameAmount(a, b, place);
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => isSame(a[name], b[name], `${place} ${name}`, words));
}

function isSameList(desired: readonly unknown[], live: readonly unknown[], place: string, words: ServerWords): boolean {
  if (!desired.every((element, index) => index < live.length && isSame(element, live[index], place, words)))
    return false;
  const added = words.added(place);
  return live.slice(desired.length).every((element) => added.some((each) => isSame(each, element, place, words)));
}

/** An absent value is what the server takes it for, and so is an empty text where that stands for none. */
function meant(value: unknown, place: string, words: ServerWords): unknown {
  if (value !== undefined && value !== null && value !== "") return value;
  return words.absent(place) ?? value ?? undefined;
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** What the API server writes for a value. A place is the path of fields, with a space before each name, since no name has one. */
interface ServerWords {
  /** A record whose fields may each have another owner. Of most of them the book of owners shows it, but not of empty ones. */
  isShared(place: string): boolean;
  /** What the server takes an absent value for, inside of what belongs to one owner as a whole. */
  absent(place: string): unknown;
  /** Elements that it may put at the end of such a list. */
  added(place: string): readonly unknown[];
  /** Whether these two are the same amount, where the kind has amounts. */
  isSameAmount(a: unknown, b: unknown, place: string): boolean;
  /** What is empty is left out where Go writes it. A custom resource is kept as it was given. */
  readonly dropsEmpty: boolean;
}

function serverWords(kind: Kind): ServerWords {
  if (resourceOf(kind) === resourceOf(kinds.pod)) return podWords;
  if (resourceOf(kind) === resourceOf(kinds.httpRoute)) return routeWords;
  return builtInGroups.has(kind.group) ? builtInWords : customWords;
}

/** All others hold custom resources, which mean what they say. */
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

/** In lists and records with one owner managedFields shows no fields, so the server's defaults there must be known. */
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

/** What the definition of the Gateway API fills in. */
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

const builtInWords: ServerWords = {
  isShared: (place) => sharedMetadata.test(place) || shared.test(place),
  absent: (place) => find(builtInDefaults, place),
  added: () => [],
  isSameAmount: (a, b, place) => amounts.test(place) && nanoOf(a) === nanoOf(b),
  dropsEmpty: true,
};

/** How long a pod stays on a node that is lost, where it does not say. */
const patience = ["not-ready", "unreachable"].map((state) => ({
  key: `node.kubernetes.io/${state}`,
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: 300,
}));
const podWords: ServerWords = { ...builtInWords, added: (place) => (place === " spec tolerations" ? patience : []) };

const customWords: ServerWords = {
  isShared: (place) => sharedMetadata.test(place),
  absent: () => undefined,
  added: () => [],
  isSameAmount: () => false,
  dropsEmpty: false,
};
const routeWords: ServerWords = { ...customWords, absent: (place) => find(routeDefaults, place) };

function find(defaults: Defaults, place: string): unknown {
  return defaults.find(([pattern]) => pattern.test(place))?.[1];
}

/** What is no amount is only itself; the server will refuse it. */
function nanoOf(value: unknown): unknown {
  if (typeof value !== "string" && typeof value !== "number") return value;
  try {
    return parseQuantity(String(value)).nano;
  } catch (thrown) {
    if (thrown instanceof ProviderError) return value;
    throw thrown;
  }
}
