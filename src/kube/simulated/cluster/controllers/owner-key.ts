import type { Kind } from "../../../kinds.ts";
import type { Wake } from "../part.ts";
import { controllerOf, keyOf, type Stored } from "../shapes/metadata.ts";

/** Has the controller of an object looked at, when it is of this kind. */
export function wakeOwner(kind: Kind, object: Stored, wake: Wake): void {
  const owner = controllerOf(object);
  if (owner?.kind === kind.kind) wake(keyOf({ namespace: object.metadata.namespace, name: owner.name }));
}
