/** What sort of volume a tenant asks for. */
import type { Attribute } from "./group-spec.ts";

/** What is neither persistent nor of the class "ram" lies on the node's own disk. */
export function volumeKind({ attributes = [] }: { readonly attributes?: readonly Attribute[] }): {
  persistent: boolean;
  storageClass: string | undefined;
} {
  const value = (name: string) => attributes.find(({ key }) => key === name)?.value;
  return { persistent: value("persistent") === "true", storageClass: value("class") || undefined };
}
