/** The module where providers register themselves. */
import type { Attribute } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import * as akash from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { checkedAddress, codespace, sdkError } from "../../errors.ts";
import { typedEvent } from "../../events.ts";
import { type Context, type Module, messageEntry } from "../../module.ts";
import { paginate } from "../../paging.ts";
import { findProvider, providers } from "./providers.ts";

const providerError = codespace("provider", {
  invalidUri: [1, "invalid provider: invalid host uri"],
  notAbsoluteUri: [2, "invalid provider: not absolute host uri"],
  notFound: [3, "invalid provider: address not found"],
  exists: [4, "invalid provider: already exists"],
  internal: [10, "internal error"],
});

const rejectAttributes = codespace("akash", {
  duplicateKeys: [1, "attributes cannot have duplicate keys"],
  invalidKey: [2, "attribute key does not match regexp"],
});

export const providerModule: Module = {
  messages: {
    "/akash.provider.v1beta4.MsgCreateProvider": messageEntry(akash.MsgCreateProvider, {
      signer: ({ owner }) => owner,
      read: wellFormed,
      handle(context, provider) {
        if (findProvider(context, provider.owner)) throw providerError("exists", `id: ${provider.owner}`);
        save(context, provider, "EventProviderCreated");
      },
    }),
    "/akash.provider.v1beta4.MsgUpdateProvider": messageEntry(akash.MsgUpdateProvider, {
      signer: ({ owner }) => owner,
      read: wellFormed,
      handle(context, provider) {
        if (!findProvider(context, provider.owner)) throw providerError("notFound", `id: ${provider.owner}`);
        save(context, provider, "EventProviderUpdated");
      },
    }),
    "/akash.provider.v1beta4.MsgDeleteProvider": messageEntry(akash.MsgDeleteProvider, {
      signer: ({ owner }) => owner,
      read: ({ owner }) => owner,
      handle(context, owner) {
        if (!findProvider(context, owner)) throw providerError("notFound");
        // The real chain has never let a provider leave; neither do we.
        throw providerError("internal", "NOTIMPLEMENTED");
      },
    }),
  },
  queries: {
    "/akash.provider.v1beta4.Query/Provider"(context, bytes) {
      const { owner } = akash.QueryProviderRequest.decode(bytes);
      const address = checkedAddress(owner, () => sdkError("invalidRequest", "invalid address"));
      const provider = findProvider(context, address);
      if (!provider) throw sdkError("keyNotFound", providerError("notFound").message);
      return akash.QueryProviderResponse.encode({ provider }).finish();
    },
    "/akash.provider.v1beta4.Query/Providers"(context, bytes) {
      const page = paginate(providers(context), akash.QueryProvidersRequest.decode(bytes).pagination);
      return akash.QueryProvidersResponse.encode({ ...page, providers: page.items }).finish();
    },
  },
};

function save(context: Context, provider: akash.Provider, event: string): void {
  const { owner } = provider;
  providers(context).set(owner, provider);
  context.emit(typedEvent(`akash.provider.v1beta4.${event}`, { owner }));
}

function wellFormed(provider: akash.Provider): akash.Provider {
  hostIsReachable(provider.hostUri);
  attributesAreNamed(provider.attributes);
  return provider;
}

function hostIsReachable(uri: string): void {
  const shown = JSON.stringify(uri);
  const parts = /^([a-zA-Z][a-zA-Z0-9+.-]*):(?:\/\/([^/?#]*))?([^?#]*)/.exec(uri);
  if (!parts) throw providerError("notAbsoluteUri", `validating ${shown} for absolute URI`);
  const [, scheme = "", host = "", path] = parts;
  if (scheme.toLowerCase() !== "https") throw providerError("invalidUri", `scheme in ${shown} should be https`);
  if (host === "") throw providerError("invalidUri", `validating ${shown} for valid host`);
  if (path) throw providerError("invalidUri", `path in ${shown} should be empty`);
}

function attributesAreNamed(attributes: readonly Attribute[]): void {
  const keys = attributes.map(({ key }) => key);
  if (!keys.every((key) => /^[a-zA-Z][\w/.-]{1,126}$/.test(key))) throw rejectAttributes("invalidKey");
  if (new Set(keys).size < keys.length) throw rejectAttributes("duplicateKeys");
}
