/** One account at the network's SDK: what it sends is noted, so that heights and fees are known afterwards. */
import assert from "node:assert/strict";
import {
  type ChainNodeSDK,
  createChainNodeSDK,
  createStargateClient,
  SDKError,
  SDKErrorCode,
  type TxMessage,
  transaction,
} from "@akashnetwork/chain-sdk";
import type { DeliverTxResponse } from "@cosmjs/stargate";
import type { SdkChain } from "../contracts/sdk-clients.contract.ts";
import type { Owner } from "../owner.ts";
import { feeOf, gasMultiplier } from "./offer.ts";

export interface Party {
  readonly address: string;
  readonly sdk: ChainNodeSDK["akash"];
  readonly cosmos: ChainNodeSDK["cosmos"];
  /** Goes with each call that sends a transaction. */
  readonly noted: { readonly afterBroadcast: (tx: DeliverTxResponse) => void };
  /** Several messages in one transaction. */
  sendTogether(...messages: TxMessage[]): Promise<void>;
  /** Its last transaction. */
  readonly last: DeliverTxResponse;
  /** What it would have, had its transactions cost nothing. */
  worth(): Promise<bigint>;
  /** A name for a deployment that is not there yet: the height, as everybody does it. */
  newDeployment(): Promise<{ owner: string; dseq: string }>;
}

export async function openParty(owner: Owner, chain: SdkChain, mnemonic: string): Promise<Party> {
  const { rpcUrl, grpcUrl, pollMs, denom } = chain;
  const stargateOptions = { broadcastPollIntervalMs: pollMs };
  const signer = createStargateClient({ baseUrl: rpcUrl, signerMnemonic: mnemonic, gasMultiplier, stargateOptions });
  owner.after(() => signer.disconnect());
  // The SDK cannot close this connection, only leave it idle.
  const transportOptions = { idleConnectionTimeoutMs: 1000 };
  const sdk = createChainNodeSDK({ query: { baseUrl: grpcUrl, transportOptions }, tx: { signer } });
  const { address } = await signer.getAccount();
  const sent: DeliverTxResponse[] = [];

  return {
    address,
    sdk: sdk.akash,
    cosmos: sdk.cosmos,
    noted: { afterBroadcast: (tx) => void sent.push(tx) },
    async sendTogether(...messages) {
      // The SDK's own types do not fit each other when undefined and left out are told apart.
      const tx = await transaction(sdk as Parameters<typeof transaction>[0], messages);
      sent.push(tx);
      assert.equal(tx.code, 0, tx.rawLog);
    },
    get last() {
      const tx = sent.at(-1);
      assert.ok(tx, "nothing was sent yet");
      return tx;
    },
    async worth() {
      const { balance } = await sdk.cosmos.bank.v1beta1.getBalance({ address, denom });
      return sent.reduce((sum, tx) => sum + feeOf(tx, denom), BigInt(balance?.amount ?? 0));
    },
    async newDeployment() {
      const { block } = await sdk.cosmos.base.tendermint.v1beta1.getLatestBlock();
      assert.ok(block?.header);
      return { owner: address, dseq: block.header.height.toString() };
    },
  };
}

/** For `catch`: what was asked for is not there. */
export function absent(error: unknown): undefined {
  if (error instanceof SDKError && error.code === SDKErrorCode.NotFound) return;
  throw error;
}
