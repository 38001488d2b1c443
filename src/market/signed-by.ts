/** Which auditors have signed what a group asks of a provider. */
import { allSatisfied } from "./attributes.ts";
import type { Attribute, Requirements } from "./group-spec.ts";

/** What each auditor has signed of us. */
export type AuditedAttributes = ReadonlyMap<string, readonly Attribute[]>;

export interface Signatures {
  readonly signed: boolean;
  /** Of those who must all have signed, who has not. */
  readonly allOfMissing: readonly string[];
  /** Those of whom one must have signed, where none has. */
  readonly anyOfMissing: readonly string[];
}

/** An auditor counts who has signed everything that the group asks for; for one that asks for nothing, anything will do. */
export function signaturesFor({ attributes, allOf, anyOf }: Requirements, audited: AuditedAttributes): Signatures {
  const hasSigned = (auditor: string) => {
    const signed = audited.get(auditor);
    return signed !== undefined && allSatisfied(attributes, signed);
  };
  const allOfMissing = allOf.filter((auditor) => !hasSigned(auditor));
  const anyOfMissing = anyOf.some(hasSigned) ? [] : anyOf;
  return { signed: allOfMissing.length === 0 && anyOfMissing.length === 0, allOfMissing, anyOfMissing };
}
