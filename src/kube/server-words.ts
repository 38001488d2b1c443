/**
 * What the API server makes of a value: it writes amounts in its own notation, and fills in what is absent.
 * Only where this stands here do two different texts mean the same. A place is the names of the fields that lead to a
 * value, with a space before each: no name has one.
 */
import { parseQuantity } from "../market/quantity.ts";
import { ProviderError } from "../runtime/errors.ts";
import { type Kind, kinds, resourceOf } from "./kinds.ts";

export interface ServerWords {
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

export function serverWords(kind: Kind): ServerWords {
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

/**
 * Inside of lists and records that belong to one owner the book of owners shows no fields, so what the server fills in
 * there must be known. All else in them that we do not want was once wanted, and has to go.
 */
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
