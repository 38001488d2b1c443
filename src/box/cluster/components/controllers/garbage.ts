/**
 * The garbage collector: deletes dependents of deleted owners. In the foreground the owner waits for what it owns; an owner that
 * leaves orphans takes its name off them first.
 */
import type { Component, ComponentDeps } from "../component.ts";
import { isDeleting, type OwnerReference, type Stored } from "../shapes/metadata.ts";
import type { Seen } from "../view.ts";

const foreground = "foregroundDeletion";
const orphaning = "orphan";

export function createGarbageCollector({ server, view }: ComponentDeps): Component {
  function work(uid: string): undefined {
    const entry = view.find(uid);
    if (!entry) return;
    if (waitsWith(entry.object, orphaning)) leaveOrphans(entry);
    else if (waitsWith(entry.object, foreground)) finishForeground(entry);
    else if (!isDeleting(entry.object)) judge(entry);
  }

  function judge(entry: Seen): void {
    const { ownerReferences = [], uid, namespace, name } = entry.object.metadata;
    if (ownerReferences.length === 0) return;
    const waiting = ownerReferences.filter((owner) => {
      const found = ownerOf(entry, owner);
      return found && waitsWith(found.object, foreground) && owner.blockOwnerDeletion;
    });
    const solid = ownerReferences.filter((owner) => ownerOf(entry, owner) && !waiting.includes(owner));
    if (solid.length === ownerReferences.length) return;
    if (solid.length > 0) {
      write(entry, { ...entry.object.metadata, ownerReferences: solid });
      return;
    }
    const propagation = waiting.length > 0 && view.dependents(uid).length > 0 ? "Foreground" : "Background";
    server.delete(entry.kind, { namespace, name }, { uid, propagation });
  }

  /** An owner lives in the same namespace or in none. */
  function ownerOf({ object }: Seen, { uid }: OwnerReference): Seen | undefined {
    const found = view.find(uid);
    const { namespace } = found?.object.metadata ?? {};
    return namespace === undefined || namespace === object.metadata.namespace ? found : undefined;
  }

  function finishForeground(entry: Seen): void {
    const { uid } = entry.object.metadata;
    const blocking = view.dependents(uid).filter(({ object }) => blocks(object, uid));
    if (blocking.length === 0) dropFinalizer(entry, foreground);
    for (const dependent of blocking) if (!isDeleting(dependent.object)) judge(dependent);
  }

  function leaveOrphans(entry: Seen): void {
    const { uid } = entry.object.metadata;
    for (const dependent of view.dependents(uid)) {
      const { ownerReferences = [] } = dependent.object.metadata;
      const others = ownerReferences.filter((owner) => owner.uid !== uid);
      write(dependent, { ...dependent.object.metadata, ownerReferences: others });
    }
    dropFinalizer(entry, orphaning);
  }

  function dropFinalizer(entry: Seen, finalizer: string): void {
    const { finalizers = [] } = entry.object.metadata;
    write(entry, { ...entry.object.metadata, finalizers: finalizers.filter((each) => each !== finalizer) });
  }

  function write({ kind, object }: Seen, metadata: Stored["metadata"]): void {
    server.update(kind, { ...object, metadata });
  }

  return {
    name: "garbage",
    notice({ type, object }, wake) {
      const { uid, ownerReferences = [] } = (object as Stored).metadata;
      if (type === "deleted") {
        for (const { object: dependent } of view.dependents(uid)) wake(dependent.metadata.uid);
        for (const owner of ownerReferences) wakeIfWaiting(owner.uid, wake);
        return;
      }
      if (waitsWith(object as Stored, foreground) || waitsWith(object as Stored, orphaning)) wake(uid);
      for (const owner of ownerReferences) {
        const found = view.find(owner.uid)?.object;
        if (!found || waitsWith(found, foreground)) wake(uid);
        wakeIfWaiting(owner.uid, wake);
      }
    },
    work,
  };

  function wakeIfWaiting(uid: string, wake: (key: string) => void): void {
    const found = view.find(uid)?.object;
    if (found && waitsWith(found, foreground)) wake(uid);
  }
}

function waitsWith(object: Stored, finalizer: string): boolean {
  return isDeleting(object) && (object.metadata.finalizers ?? []).includes(finalizer);
}

function blocks({ metadata }: Stored, uid: string): boolean {
  return (metadata.ownerReferences ?? []).some((owner) => owner.uid === uid && owner.blockOwnerDeletion);
}
