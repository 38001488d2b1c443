/** What a watch keeps of an object: its value made small, and its keys in the indexes. */
import { ProviderError } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import type { KubeObject, WatchOptions } from "../kube.ts";
import type { CachedObject } from "./cache.ts";

export type Projection<T> = (object: KubeObject) => CachedObject<T> | undefined;

/** An object that cannot be made small is reported and left as it was known. */
export function createProjection<T>(
  {
    project,
    indexes = {},
    withManagedFields = false,
  }: Pick<WatchOptions<T>, "project" | "indexes" | "withManagedFields">,
  onFailure: () => void,
  log: Log,
): Projection<T> {
  const keyFunctions = Object.values(indexes);
  return (object) => {
    const { name, namespace, uid, resourceVersion } = object.metadata;
    try {
      const value = project(withManagedFields ? object : withoutOwners(object));
      const keys = keyFunctions.length === 0 ? noKeys : keyFunctions.map((keyOf) => keyOf(value));
      return { name, namespace, uid, version: resourceVersion, value, keys };
    } catch (thrown) {
      onFailure();
      log.error("failed to read an object", { name, namespace, error: ProviderError.from(thrown) });
      return undefined;
    }
  };
}

/** One for all objects of a watch without indexes. */
const noKeys: readonly string[] = [];

function withoutOwners(object: KubeObject): KubeObject {
  if (!object.metadata.managedFields) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
