/** The npm package knows of one limit to what may be deposited for others; the chain has one for each denom now. */
import { DepositAuthorization as Known } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { Coin } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { type Codec, extended, generated, repeated } from "./message.ts";

export type DepositAuthorization = Known & { spendLimits: Coin[] };

export const depositAuthorization: Codec<DepositAuthorization> = extended(generated(Known), {
  spendLimits: repeated(3, generated(Coin)),
});
