/** The part of an object's metadata that only the server writes. */

import type { KubeObject, ObjectMeta } from "../../../../kube/kube.ts";
import type { Clock } from "../../../../runtime/clock.ts";
import type { Random } from "../../../../runtime/random.ts";
import { randomSuffix } from "../../components/names.ts";
import type { Metadata } from "../../components/shapes/metadata.ts";
import { stampOf } from "../../components/shapes/time.ts";
import { equal } from "../fields/equal.ts";
import type { Served } from "../served-kinds.ts";

export interface IdentityDeps {
  readonly clock: Clock;
  readonly random: Random;
}

export function nameOf({ metadata }: KubeObject, random: Random): string {
  const { name, generateName } = metadata as Metadata;
  return name || !generateName ? (name ?? "") : `${generateName}${randomSuffix(random)}`;
}

export function newMetadata(
  { hasGeneration }: Served,
  object: KubeObject,
  { clock, random }: IdentityDeps,
): ObjectMeta {
  const { deletionTimestamp: _, deletionGracePeriodSeconds: __, ...given } = object.metadata as Metadata;
  return {
    ...given,
    uid: uuid(random),
    creationTimestamp: stampOf(clock.now()),
    ...(hasGeneration ? { generation: 1 } : {}),
  };
}

/** What the server knows stands, whatever a writer says. */
export function keptMetadata(served: Served, live: KubeObject, next: KubeObject): ObjectMeta {
  const isOwned = ([name]: [string, unknown]) => owned.includes(name);
  const kept = Object.entries(live.metadata).filter(isOwned);
  const given = Object.entries(next.metadata).filter((entry) => !isOwned(entry));
  const grown = served.hasGeneration && !equal(contentOf(served, live), contentOf(served, next));
  const { generation = 0 } = live.metadata;
  return {
    ...(Object.fromEntries([...given, ...kept]) as unknown as ObjectMeta),
    ...(served.hasGeneration ? { generation: generation + (grown ? 1 : 0) } : {}),
  };
}

const owned = [
  "uid",
  "creationTimestamp",
  "generation",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "resourceVersion",
];

/** What a change of makes it another generation. A pod that got its node is the same as before. */
function contentOf({ hasStatus, kind }: Served, { metadata: _, status, ...rest }: KubeObject): unknown {
  const wanted = hasStatus ? rest : { ...rest, status };
  const { spec } = wanted;
  if (kind.plural !== "pods" || typeof spec !== "object" || spec === null) return wanted;
  return { ...wanted, spec: { ...spec, nodeName: undefined } };
}

function uuid(random: Random): string {
  const hex = Buffer.from(random.bytes(16)).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}
