/** One account at the plain client of the Cosmos world, which is taught the network's messages. */
import type { QueryInput } from "@akashnetwork/chain-sdk";
import { MsgCreateCertificate } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import {
  MsgCloseDeployment,
  MsgCreateDeployment,
  MsgCreateProvider,
  MsgUpdateProvider,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { MsgCreateBid, MsgCreateLease } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import { TxRaw } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { DirectSecp256k1HdWallet, type EncodeObject, type GeneratedType, Registry } from "@cosmjs/proto-signing";
import {
  assertIsDeliverTxSuccess,
  type DeliverTxResponse,
  defaultRegistryTypes,
  GasPrice,
  type SignerData,
  SigningStargateClient,
} from "@cosmjs/stargate";
import type { SdkChain } from "../contracts/sdk-clients.contract.ts";
import type { Owner } from "../owner.ts";
import { gasMultiplier } from "./offer.ts";

export interface Party {
  readonly address: string;
  readonly client: SigningStargateClient;
  /** Simulates, signs, sends, waits for the block, and takes nothing but success. */
  send(...messages: EncodeObject[]): Promise<DeliverTxResponse>;
  /** Signed for what the chain says of the account, or for what is said here; with plenty of gas and nothing simulated. */
  sign(messages: EncodeObject[], signer?: Partial<SignerData>, feeAmount?: bigint): Promise<Uint8Array>;
}

interface Codec<T> {
  readonly $type: string;
  fromPartial(value: QueryInput<T>): T;
  encode(value: T): { finish(): Uint8Array };
  decode(bytes: Uint8Array): T;
}

const taught = [
  MsgCreateCertificate,
  MsgCreateProvider,
  MsgUpdateProvider,
  MsgCreateDeployment,
  MsgCloseDeployment,
  MsgCreateBid,
  MsgCreateLease,
];

export async function openParty(owner: Owner, chain: SdkChain, mnemonic: string): Promise<Party> {
  const wallet = await DirectSecp256k1HdWallet.fromMnemonic(mnemonic, { prefix: "akash" });
  const [account] = await wallet.getAccounts();
  if (!account) throw new Error("a wallet without an account");
  const { address } = account;
  const own = taught.map((codec): [string, GeneratedType] => [`/${codec.$type}`, codec as unknown as GeneratedType]);
  const client = await SigningStargateClient.connectWithSigner(chain.rpcUrl, wallet, {
    registry: new Registry([...defaultRegistryTypes, ...own]),
    gasPrice: GasPrice.fromString("0.025uakt"),
    broadcastPollIntervalMs: chain.pollMs,
  });
  owner.after(() => client.disconnect());

  return {
    address,
    client,
    async send(...messages) {
      const tx = await client.signAndBroadcast(address, messages, gasMultiplier);
      assertIsDeliverTxSuccess(tx);
      return tx;
    },
    async sign(messages, signer, feeAmount = 20_000n) {
      const fee = { amount: [{ denom: "uakt", amount: `${feeAmount}` }], gas: "800000" };
      const known = { ...(await client.getSequence(address)), chainId: await client.getChainId() };
      return TxRaw.encode(await client.sign(address, messages, fee, "", { ...known, ...signer })).finish();
    },
  };
}

/** A message as the client takes it. */
export function message<T>(codec: Codec<T>, value: QueryInput<T>): EncodeObject {
  return { typeUrl: `/${codec.$type}`, value: codec.fromPartial(value) };
}

/** How a query over RPC says that there is no such thing, whatever its words. */
const keyNotFound = 22;

/** What the chain answers to a query that the client has no method for, asked as one would with curl. */
export async function queryAbci<Request, Response>(
  { rpcUrl }: SdkChain,
  path: string,
  [request, value]: [Codec<Request>, QueryInput<Request>],
  response: Codec<Response>,
): Promise<Response | undefined> {
  const data = Buffer.from(request.encode(request.fromPartial(value)).finish()).toString("hex");
  const answer = await fetch(`${rpcUrl}/abci_query?path="${path}"&data=0x${data}`);
  const { result } = (await answer.json()) as { result: { response: { code: number; log: string; value: string } } };
  const { code, log, value: bytes } = result.response;
  if (code === 0) return response.decode(Buffer.from(bytes, "base64"));
  if (code === keyNotFound) return undefined;
  throw new Error(`${path}: ${log}`);
}
