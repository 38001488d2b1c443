/** Makes what the network's provider wrote of an object ours, without changing what it says. */

import { ProviderError } from "../runtime/errors.ts";
import { adoptedFields } from "./adopted-fields.ts";
import { apiVersionOf, type Kind } from "./kinds.ts";
import type { Kube, KubeObject, ObjectAt, PatchOperation } from "./kube.ts";

/** Tries to move the fields of an object that somebody else writes to as well, each after a new look at it. */
const adoptTries = 4;

type AdoptingKube = Pick<Kube, "get" | "patch" | "fieldManager">;

interface AdoptOptions {
  readonly also?: (live: KubeObject) => PatchOperation[];
  /** Neither the network's provider nor we own anything of it. */
  readonly isStrangers?: boolean;
  readonly signal: AbortSignal;
}

/**
 * Returns the object as it is afterwards, undefined where there is none. `also` says what is written in the same step, of an
 * object that has to be moved; of a stranger's only that is.
 */
export async function adoptObject(
  kube: AdoptingKube,
  kind: Kind,
  at: ObjectAt,
  { also = () => [], isStrangers = false, signal }: AdoptOptions,
): Promise<KubeObject | undefined> {
  for (let tries = 1; ; tries += 1) {
    const live = await kube.get(kind, at, { signal });
    const managedFields = live && adoptedFields(live.metadata, kube.fieldManager, apiVersionOf(kind));
    if (!live || (!managedFields && !isStrangers)) return live;
    const { resourceVersion, name, namespace } = live.metadata;
    const operations: PatchOperation[] = [
      // Whoever wrote meanwhile owns what he wrote.
      { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
      ...(managedFields ? [{ op: "replace", path: "/metadata/managedFields", value: managedFields } as const] : []),
      ...also(live),
    ];
    try {
      return await kube.patch(kind, { name, namespace }, operations, { signal });
    } catch (thrown) {
      if (!ProviderError.is(thrown, "AKP_KUBE_CONFLICT") || tries === adoptTries) throw thrown;
    }
  }
}
