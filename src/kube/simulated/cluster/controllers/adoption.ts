/** What belongs to a controller: what names it as its own, and what matches its selector and belongs to nobody. */
import type { Kind } from "../../../kinds.ts";
import { type Ground, managers } from "../part.ts";
import { controllerOf, controllerReference, isDeleting, type Stored } from "../shapes/metadata.ts";
import { type LabelSelector, selects } from "../shapes/selector.ts";

export interface Owner {
  readonly kind: Kind;
  readonly object: Stored;
  readonly selector: LabelSelector;
}

/** Takes in what fits, lets go what no longer does, and tells what is left. */
export function claim<T extends Stored>({ server, view }: Ground, kind: Kind, owner: Owner): T[] {
  const { uid, namespace = "" } = owner.object.metadata;
  const fits = ({ metadata }: Stored) => selects(owner.selector, metadata.labels);
  const claimed: T[] = [];
  for (const object of view.owned<T>(kind, uid)) {
    if (controllerOf(object)?.uid !== uid) continue;
    if (fits(object) || isDeleting(object)) claimed.push(object);
    else
      server.update(
        kind,
        withOwners(object, (owners) => owners.filter((each) => each.uid !== uid)),
        managers.controllers,
      );
  }
  if (isDeleting(owner.object)) return claimed;
  for (const object of view.unowned<T>(kind, namespace)) {
    if (!fits(object) || isDeleting(object)) continue;
    const reference = controllerReference(owner.kind, owner.object);
    const adopted = withOwners(object, (owners) => [...owners, reference]);
    claimed.push(server.update(kind, adopted, managers.controllers) as T);
  }
  return claimed;
}

type Owners = NonNullable<Stored["metadata"]["ownerReferences"]>;

function withOwners<T extends Stored>(object: T, change: (owners: Owners) => Owners): T {
  const { ownerReferences = [] } = object.metadata;
  return { ...object, metadata: { ...object.metadata, ownerReferences: change(ownerReferences) } };
}
