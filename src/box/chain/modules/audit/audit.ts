/** The module where auditors sign what they found true about a provider. */
import type { Attribute, AuditedProvider } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import * as akash from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { PageRequest } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { checkedAddress, codespace, sdkError } from "../../errors.ts";
import { typedEvent } from "../../events.ts";
import { type Context, type Module, messageEntry } from "../../module.ts";
import { paginate } from "../../paging.ts";

const auditError = codespace("audit", {
  notFound: [1, "invalid provider: address not found"],
  attributeNotFound: [3, "attribute not found"],
});

export const auditModule: Module = {
  messages: {
    "/akash.audit.v1.MsgSignProviderAttributes": messageEntry(akash.MsgSignProviderAttributes, {
      signer: ({ auditor }) => auditor,
      read: ownerIsAddress,
      handle: sign,
    }),
    "/akash.audit.v1.MsgDeleteProviderAttributes": messageEntry(akash.MsgDeleteProviderAttributes, {
      signer: ({ auditor }) => auditor,
      read: ownerIsAddress,
      handle: withdraw,
    }),
  },
  queries: {
    "/akash.audit.v1.Query/AllProvidersAttributes": (context, bytes) =>
      list(context, akash.QueryAllProvidersAttributesRequest.decode(bytes).pagination),
    "/akash.audit.v1.Query/ProviderAttributes"(context, bytes) {
      const { owner } = akash.QueryProviderAttributesRequest.decode(bytes);
      return answer(signaturesOf(context, validAddress(owner)));
    },
    "/akash.audit.v1.Query/ProviderAuditorAttributes"(context, bytes) {
      const { owner, auditor } = akash.QueryProviderAuditorRequest.decode(bytes);
      const found = findSignature(context, validAddress(owner), validAddress(auditor));
      return answer(found ? [found] : []);
    },
    "/akash.audit.v1.Query/AuditorAttributes"(context, bytes) {
      const { auditor, pagination } = akash.QueryAuditorAttributesRequest.decode(bytes);
      return list(context, pagination, (signed) => signed.auditor === auditor);
    },
  },
};

/** All that was signed about one provider lies together. */
function signatureKey(owner: string, auditor: string): string {
  return `${owner}/${auditor}`;
}

export function signatures(context: Context) {
  return context.store.table<AuditedProvider>("audit/signatures");
}

/** Everything signed about a provider, one entry for each auditor. */
export function signaturesOf(context: Context, owner: string): AuditedProvider[] {
  return [...signatures(context).entries(`${owner}/`)].map(([, signed]) => signed);
}

function findSignature(context: Context, owner: string, auditor: string): AuditedProvider | undefined {
  return signatures(context).get(signatureKey(owner, auditor));
}

/** New attributes join those that the same auditor signed before; a key that is there already gets the new value. */
function sign(context: Context, { owner, auditor, attributes }: akash.MsgSignProviderAttributes): void {
  const known = findSignature(context, owner, auditor)?.attributes ?? [];
  const merged = new Map([...known, ...attributes].map((attribute) => [attribute.key, attribute]));
  save(context, { owner, auditor, attributes: [...merged.values()] });
  context.emit(typedEvent("akash.audit.v1.EventTrustedAuditorCreated", { owner, auditor }));
}

/** The keys given, or all of them when none is. */
function withdraw(context: Context, { owner, auditor, keys }: akash.MsgDeleteProviderAttributes): void {
  const known = findSignature(context, owner, auditor);
  if (!known) throw auditError("notFound");
  for (const key of keys) {
    if (known.attributes.some((attribute) => attribute.key === key)) continue;
    const what = `trying to delete non-existing attribute "${key}" for auditor/provider "${auditor}/${owner}"`;
    throw auditError("attributeNotFound", what);
  }
  const left = keys.length === 0 ? [] : known.attributes.filter(({ key }) => !keys.includes(key));
  save(context, { owner, auditor, attributes: left });
  context.emit(typedEvent("akash.audit.v1.EventTrustedAuditorDeleted", { owner, auditor }));
}

function save(context: Context, signed: AuditedProvider): void {
  const key = signatureKey(signed.owner, signed.auditor);
  if (signed.attributes.length === 0) signatures(context).delete(key);
  else signatures(context).set(key, { ...signed, attributes: signed.attributes.toSorted(byKey) });
}

function byKey(left: Attribute, right: Attribute): number {
  if (left.key === right.key) return 0;
  return left.key < right.key ? -1 : 1;
}

function ownerIsAddress<T extends { owner: string }>(message: T): T {
  checkedAddress(message.owner, () => sdkError("invalidAddress", "MsgCreate: Invalid Owner Address"));
  return message;
}

function validAddress(address: string): string {
  return checkedAddress(address, () => sdkError("invalidRequest", "invalid address"));
}

function list(context: Context, request: PageRequest | undefined, where = (_: AuditedProvider) => true): Uint8Array {
  const { items, pagination } = paginate(signatures(context), request, { where });
  return akash.QueryProvidersResponse.encode({ providers: items, pagination }).finish();
}

function answer(providers: AuditedProvider[]): Uint8Array {
  if (providers.length === 0) throw sdkError("keyNotFound", auditError("notFound").message);
  return akash.QueryProvidersResponse.encode({ providers, pagination: undefined }).finish();
}
