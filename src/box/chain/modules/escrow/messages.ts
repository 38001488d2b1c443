/** MsgAccountDeposit: anyone may put money into the account of any deployment or bid. */
import { MsgAccountDeposit } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { generated } from "../../../../chain/codec/message.ts";
import { isAddress } from "../../addresses.ts";
import { uncoded } from "../../codespace.ts";
import { messageEntry } from "../../message-entry.ts";
import type { MessageEntry } from "../../module.ts";
import { authorizeDeposit, readAmount, validateSources } from "./deposits.ts";
import type { Escrow } from "./escrow.ts";
import { splitAccountKey } from "./ids.ts";
import { escrowRefusal } from "./refusals.ts";
import { readAccountKey } from "./wire.ts";

export function escrowMessages(escrow: Escrow): Record<string, MessageEntry> {
  return {
    "/akash.escrow.v1.MsgAccountDeposit": messageEntry({
      codec: generated(MsgAccountDeposit),
      signer: ({ signer }) => signer,
      read({ signer, id, deposit: wire }) {
        if (!isAddress(signer)) throw uncoded(`${signer} is not an address`);
        const key = readAccountKey(id);
        const deposit = { ...readAmount(wire), sources: wire?.sources ?? [] };
        if (deposit.amount === 0n) throw escrowRefusal("invalidDeposit");
        validateSources(deposit.sources);
        return { signer, key, deposit };
      },
      handle(context, { signer, key, deposit }) {
        escrow.deposit(context, key, authorizeDeposit(context, signer, splitAccountKey(key).scope, deposit));
      },
    }),
  };
}
