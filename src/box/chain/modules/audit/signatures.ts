/** What auditors have signed about providers, for whoever needs to look it up. */
import type { AuditedProvider } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { Context } from "../../module.ts";

/** All that was signed about one provider lies together. */
export function signatureKey(owner: string, auditor: string): string {
  return `${owner}/${auditor}`;
}

export function signatures(context: Context) {
  return context.store.table<AuditedProvider>("audit/signatures");
}

/** Everything signed about a provider, one entry for each auditor. */
export function signaturesOf(context: Context, owner: string): AuditedProvider[] {
  return [...signatures(context).entries(`${owner}/`)].map(([, signed]) => signed);
}

export function findSignature(context: Context, owner: string, auditor: string): AuditedProvider | undefined {
  return signatures(context).get(signatureKey(owner, auditor));
}
