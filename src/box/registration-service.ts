/** Puts the provider of the demo on its chain, as `akash-provider register` does for a real one. */
import type { Chain } from "../chain/chain.ts";
import { packMessage } from "../chain/tx/messages.ts";
import type { Attribute } from "../market/group-spec.ts";
import { invariant } from "../runtime/invariant.ts";
import type { Service } from "../runtime/lifecycle.ts";

export function createRegistrationService(
  owner: string,
  attributes: readonly Attribute[],
  ground: { readonly chain: Promise<Pick<Chain, "outbox">> },
): Service {
  return {
    name: "registration",
    async start() {
      const { outbox } = await ground.chain;
      const message = packMessage("createProvider", {
        owner,
        hostUri: "https://provider.example.com:8443",
        attributes: [...attributes],
        info: { email: "", website: "" },
      });
      const id = await outbox.file({ subject: owner, why: "demo", message, priority: "account" });
      const { state, result } = await outbox.wait(id);
      invariant(state === "done", "the demo's provider could not be registered", { result });
    },
    detail: () => owner,
  };
}
