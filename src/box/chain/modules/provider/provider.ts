/** The module where providers register themselves. */
import type { Attribute } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import {
  MsgCreateProvider,
  MsgCreateProviderResponse,
  MsgDeleteProvider,
  MsgUpdateProvider,
  MsgUpdateProviderResponse,
  type Provider,
  QueryProviderRequest,
  QueryProviderResponse,
  QueryProvidersRequest,
  QueryProvidersResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { codespace } from "../../codespace.ts";
import { typedEvent } from "../../events.ts";
import type { Module } from "../../module.ts";
import { paginate } from "../../paging.ts";
import { checkedAddress, sdkRefusal } from "../../refusals.ts";
import { findProvider, providers } from "./providers.ts";

const refuse = codespace("provider", {
  invalidUri: [1, "invalid provider: invalid host uri"],
  notAbsoluteUri: [2, "invalid provider: not absolute host uri"],
  notFound: [3, "invalid provider: address not found"],
  exists: [4, "invalid provider: already exists"],
  internal: [10, "internal error"],
});

const refuseAttributes = codespace("akash", {
  duplicateKeys: [1, "attributes cannot have duplicate keys"],
  invalidKey: [2, "attribute key does not match regexp"],
});

export const providerModule: Module = {
  name: "provider",
  messages: {
    "/akash.provider.v1beta4.MsgCreateProvider": {
      signers: (bytes) => [MsgCreateProvider.decode(bytes).owner],
      validate: (bytes) => isWellFormed(MsgCreateProvider.decode(bytes)),
      handle(context, bytes) {
        const provider: Provider = MsgCreateProvider.decode(bytes);
        const { owner } = provider;
        if (findProvider(context, owner)) throw refuse("exists", `id: ${owner}`);
        providers(context).set(owner, provider);
        context.emit(typedEvent("akash.provider.v1beta4.EventProviderCreated", { owner }));
        return MsgCreateProviderResponse.encode({}).finish();
      },
    },
    "/akash.provider.v1beta4.MsgUpdateProvider": {
      signers: (bytes) => [MsgUpdateProvider.decode(bytes).owner],
      validate: (bytes) => isWellFormed(MsgUpdateProvider.decode(bytes)),
      handle(context, bytes) {
        const provider: Provider = MsgUpdateProvider.decode(bytes);
        const { owner } = provider;
        if (!findProvider(context, owner)) throw refuse("notFound", `id: ${owner}`);
        providers(context).set(owner, provider);
        context.emit(typedEvent("akash.provider.v1beta4.EventProviderUpdated", { owner }));
        return MsgUpdateProviderResponse.encode({}).finish();
      },
    },
    "/akash.provider.v1beta4.MsgDeleteProvider": {
      signers: (bytes) => [MsgDeleteProvider.decode(bytes).owner],
      handle(context, bytes) {
        const { owner } = MsgDeleteProvider.decode(bytes);
        if (!findProvider(context, owner)) throw refuse("notFound");
        // The real chain has never let a provider leave; neither do we.
        throw refuse("internal", "NOTIMPLEMENTED");
      },
    },
  },
  queries: {
    "/akash.provider.v1beta4.Query/Provider"(context, bytes) {
      const { owner } = QueryProviderRequest.decode(bytes);
      const address = checkedAddress(owner, () => sdkRefusal("invalidRequest", "invalid address"));
      const provider = findProvider(context, address);
      if (!provider) throw sdkRefusal("keyNotFound", refuse("notFound").message);
      return QueryProviderResponse.encode({ provider }).finish();
    },
    "/akash.provider.v1beta4.Query/Providers"(context, bytes) {
      const page = paginate(providers(context), QueryProvidersRequest.decode(bytes).pagination);
      return QueryProvidersResponse.encode({ providers: page.items, pagination: page.pagination }).finish();
    },
  },
};

function isWellFormed({ hostUri, attributes }: Provider): void {
  hostIsReachable(hostUri);
  attributesAreNamed(attributes);
}

function hostIsReachable(uri: string): void {
  const shown = JSON.stringify(uri);
  const parts = /^([a-zA-Z][a-zA-Z0-9+.-]*):(?:\/\/([^/?#]*))?([^?#]*)/.exec(uri);
  if (!parts) throw refuse("notAbsoluteUri", `validating ${shown} for absolute URI`);
  const [, scheme = "", host = "", path] = parts;
  if (scheme.toLowerCase() !== "https") throw refuse("invalidUri", `scheme in ${shown} should be https`);
  if (host === "") throw refuse("invalidUri", `validating ${shown} for valid host`);
  if (path) throw refuse("invalidUri", `path in ${shown} should be empty`);
}

function attributesAreNamed(attributes: readonly Attribute[]): void {
  const keys = attributes.map(({ key }) => key);
  if (!keys.every((key) => /^[a-zA-Z][\w/.-]{1,126}$/.test(key))) {
    throw refuseAttributes("invalidKey");
  }
  if (new Set(keys).size < keys.length) throw refuseAttributes("duplicateKeys");
}
