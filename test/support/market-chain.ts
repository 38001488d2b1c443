/** The whole market on an embedded node, with people who sign. A test makes the blocks itself. */
import { MsgCreateProvider } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import {
  BaseAccount,
  QueryAccountRequest,
  QueryAccountResponse,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { createApp } from "../../src/box/chain/app.ts";
import { createMarketplace, type MarketplaceSettings } from "../../src/box/chain/modules/marketplace.ts";
import { createNode, type Node, type NodeOptions } from "../../src/box/chain/node/node.ts";
import { type Address, parseAddress } from "../../src/market/address.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { signTransaction, type TestKey, testKey } from "./chain-signing.ts";
import type { Owner } from "./owner.ts";
import type { Message } from "./stages/market-stage.ts";

export interface MarketChain {
  readonly node: Node;
  /** Signs as this person and makes a block of it; throws when the chain rejects it. */
  act(key: TestKey, ...messages: Message[]): Promise<void>;
}

export const tenantKey = testKey("tenant");
export const providerKey = testKey("provider");
export const rivalKey = testKey("rival");
export const tenantAddress: Address = parseAddress(tenantKey.address);
export const providerAddress: Address = parseAddress(providerKey.address);
export const rivalAddress: Address = parseAddress(rivalKey.address);

const chainId = "market-1";
const people = [tenantKey, providerKey, rivalKey];

export type MarketChainOptions = MarketplaceSettings & Pick<NodeOptions, "keepBlocks">;

/** With both providers registered. */
export async function startMarketChain(owner: Owner, options: MarketChainOptions = {}): Promise<MarketChain> {
  const { keepBlocks, ...settings } = options;
  const coins = ["uact", "uakt"].map((denom) => ({ denom, amount: 10n ** 13n }));
  const timeNs = BigInt(Date.now()) * 1_000_000n - 1_000_000_000n;
  const accounts = people.map(({ address }) => ({ address, coins }));
  const app = createApp({ chainId, timeNs, accounts }, createMarketplace(settings));
  const node = createNode({ app, clock: realClock, log: silentLog, ...(keepBlocks !== undefined && { keepBlocks }) });
  owner.after(() => node.stop());
  await node.start();
  node.step();

  async function act(key: TestKey, ...messages: Message[]): Promise<void> {
    const request = QueryAccountRequest.encode({ address: key.address }).finish();
    const answer = app.query("/cosmos.auth.v1beta1.Query/Account", request);
    const account = BaseAccount.decode(QueryAccountResponse.decode(answer.value).account?.value ?? new Uint8Array());
    const signers = [{ key, accountNumber: account.accountNumber.toBigInt(), sequence: account.sequence.toBigInt() }];
    const fee = [{ denom: "uakt", amount: "5000000" }];
    const bytes = signTransaction({ messages, signers, chainId, gas: 100_000_000, fee });
    const tx = Buffer.from(bytes).toString("base64");
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "broadcast_tx_sync", params: { tx } });
    const { result } = (await (await fetch(node.rpcUrl, { method: "POST", body })).json()) as {
      result: { code: number; log: string };
    };
    if (result.code !== 0) throw new Error(`refused: ${result.log}`);
    const [outcome] = node.step().output.txResults;
    if (outcome?.code !== 0) throw new Error(`failed: ${outcome?.log}`);
  }

  for (const key of [providerKey, rivalKey]) {
    const provider = MsgCreateProvider.fromPartial({
      owner: key.address,
      hostUri: "https://provider.test:8443",
      attributes: [{ key: "region", value: "lab" }],
    });
    const value = MsgCreateProvider.encode(provider).finish();
    await act(key, { typeUrl: "/akash.provider.v1beta4.MsgCreateProvider", value });
  }
  return { node, act };
}
