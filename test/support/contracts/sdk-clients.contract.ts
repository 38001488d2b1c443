/**
 * What a client that nobody here wrote needs of a node: the network's public SDK (queries over gRPC, transactions over
 * RPC) and the plain client of the Cosmos world make a market on it. `sdk-clients.test.ts` runs this on the embedded node,
 * and on any other node when told where it is:
 *
 *   STRANGER_RPC                     address of its RPC, for example http://127.0.0.1:26657
 *   STRANGER_GRPC                    address of its gRPC; without it only the part that needs none is run
 *   STRANGER_TENANT_MNEMONIC_FILE    a file with the mnemonic of an account that has money
 *   STRANGER_PROVIDER_MNEMONIC_FILE  the same for another account, which becomes a provider, or is changed if it is one
 *   STRANGER_DENOM                   what deployments are paid in, uact unless told otherwise; fees are paid in uakt
 *
 * Each account needs some 10 units of either coin and gets nearly all of it back. Nobody else may use the accounts
 * meanwhile, for the coins are counted.
 */
import type { Owner } from "../owner.ts";
import { checkSdk } from "../sdk-clients/sdk.ts";
import { checkStargate } from "../sdk-clients/stargate.ts";

export interface SdkChain {
  readonly rpcUrl: string;
  readonly grpcUrl: string;
  readonly tenantMnemonic: string;
  readonly providerMnemonic: string;
  /** What deployments are paid in. */
  readonly denom: string;
  /** How often a client asks whether its transaction is in a block. */
  readonly pollMs: number;
}

export interface SdkContract {
  readonly name: string;
  open(owner: Owner): Promise<SdkChain>;
  /** Nothing is asked over gRPC. */
  readonly rpcOnly?: boolean;
}

export function checkSdkClients(contract: SdkContract): void {
  if (!contract.rpcOnly) checkSdk(contract);
  checkStargate(contract);
}
