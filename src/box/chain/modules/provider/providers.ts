/** Table of registered providers. */
import type { Provider } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import type { Context } from "../../module.ts";

/** By owner. */
export function providers(context: Context) {
  return context.store.table<Provider>("provider/providers");
}

export function findProvider(context: Context, owner: string): Provider | undefined {
  return providers(context).get(owner);
}
