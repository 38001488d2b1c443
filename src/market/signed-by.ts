/** Which auditors have signed what a group asks of a provider. */
import { unsatisfied } from "./attributes.ts";
import type { Attribute, Requirements } from "./group-spec.ts";

/** What one auditor has signed of us. */
export interface AuditedAttributes {
  readonly auditor: string;
  readonly attributes: readonly Attribute[];
}

export interface Signatures {
  readonly signed: boolean;
  /** Of those who must all have signed, who has not. */
  readonly allOfMissing: readonly string[];
  /** Those of whom one must have signed, where none has. */
  readonly anyOfMissing: readonly string[];
}

/** An auditor counts who has signed everything that the group asks for; for one that asks for nothing, anything will do. */
export function signaturesFor(
  { attributes, allOf, anyOf }: Requirements,
  audited: readonly AuditedAttributes[],
): Signatures {
  const verdicts = new Map<string, boolean>();
  const named = new Set([...allOf, ...anyOf]);
  for (const entry of audited) {
    if (named.has(entry.auditor)) verdicts.set(entry.auditor, unsatisfied(attributes, entry.attributes).length === 0);
  }
  const hasSigned = (auditor: string) => verdicts.get(auditor) ?? false;
  const allOfMissing = allOf.filter((auditor) => !hasSigned(auditor));
  const anyOfMissing = anyOf.some(hasSigned) ? [] : anyOf;
  return { signed: allOfMissing.length === 0 && anyOfMissing.length === 0, allOfMissing, anyOfMissing };
}
