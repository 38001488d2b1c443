/** What a wallet signs that signs nothing but transactions: one that can never be sent, with the text in it. */
import type { Address } from "../../market/address.ts";

/** The keys are in order and nothing is between them: these very bytes are signed. */
export function adr36Document(signer: Address, text: string): string {
  const data = Buffer.from(text).toString("base64");
  const msgs = [{ type: "sign/MsgSignData", value: { data, signer } }];
  const fee = { amount: [], gas: "0" };
  return JSON.stringify({ account_number: "0", chain_id: "", fee, memo: "", msgs, sequence: "0" });
}
