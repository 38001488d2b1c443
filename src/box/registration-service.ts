/** Puts the provider of the demo on its chain, as `akash-provider register` does for a real one. */
import type { Chain } from "../chain/chain.ts";
import { packMessage } from "../chain/tx/messages.ts";
import type { Address } from "../market/address.ts";
import type { Attribute } from "../market/group-spec.ts";
import { invariant } from "../runtime/invariant.ts";
import type { Service } from "../runtime/lifecycle.ts";

interface Registration {
  readonly owner: Address;
  readonly attributes: readonly Attribute[];
  /** Where tenants find it; read once the gateway listens. */
  readonly hostUri: () => string;
}

export function createRegistrationService(
  { owner, attributes, hostUri }: Registration,
  deps: { readonly chain: Promise<Pick<Chain, "outbox">> },
): Service {
  return {
    name: "registration",
    async start() {
      const { outbox } = await deps.chain;
      const entry = packMessage("createProvider", {
        owner,
        hostUri: hostUri(),
        attributes: [...attributes],
        info: { email: "", website: "" },
      });
      const id = await outbox.file({ subject: owner, why: "demo", message: entry, priority: "account" });
      const { state, result } = await outbox.wait(id);
      invariant(state === "done", "the demo's provider could not be registered", { result });
    },
    detail: () => owner,
  };
}
