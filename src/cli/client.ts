/** What the commands that act on a chain share: the nodes, the key, and a transaction that is waited for. */
import type { Command } from "commander";
import type { Queries } from "../chain/chain.ts";
import { createHttpTransports } from "../chain/comet/http-transport.ts";
import { createPool, type Pool } from "../chain/comet/pool.ts";
import { createQueries } from "../chain/comet/queries/queries.ts";
import type { RpcTransport } from "../chain/comet/transport.ts";
import { openKey } from "../chain/keys/open-key.ts";
import type { Signer } from "../chain/keys/signer.ts";
import { createCometBroadcaster } from "../chain/tx/comet-broadcaster.ts";
import type { PackedMessage } from "../chain/tx/messages.ts";
import { type Sent, sendMessages } from "../chain/tx/send.ts";
import type { Config } from "../config/table.ts";
import { realClock } from "../runtime/clock.ts";
import { createLog, type RootLog } from "../runtime/log.ts";
import { realRandom } from "../runtime/random.ts";
import { keySettings, type TakenSettings, takeSettings } from "./settings.ts";

export interface ChainConnection {
  readonly config: TakenSettings;
  readonly pool: Pool;
  readonly queries: Queries;
  readonly log: RootLog;
}

/** Opens the nodes of the settings for as long as `work` takes. */
export function withNodes<T>(command: Command, work: (connection: ChainConnection) => Promise<T>): Promise<T> {
  return withSettings(command, async (_, connect) => work(await connect()));
}

/** For who may not need the chain at all: nodes are opened once somebody wants to be connected. */
export async function withSettings<T>(
  command: Command,
  work: (config: TakenSettings, connect: () => Promise<ChainConnection>) => Promise<T>,
): Promise<T> {
  const config = takeSettings(command);
  const { chainId, logLevel, logFormat: format, logColor: color, logTimestamp: timestamp } = config.values;
  // What a command did is its output; beside that only faults are worth a line, unless somebody asked for more.
  const level = config.sources.logLevel === "default" ? "error" : logLevel;
  const log = createLog({ level, format, color, timestamp, redactor: config.redactor });
  for (const warning of config.warnings) process.stderr.write(`warning: ${warning}\n`);
  let opened: { readonly pool: Pool; readonly connection: Promise<ChainConnection> } | undefined;
  const open = () => {
    const nodes = nodesOf(config.values);
    const given = { nodes, ...(chainId !== undefined && { chainId }), clock: realClock, random: realRandom, log };
    const pool = createPool(given);
    const connection = pool.open().then(() => ({ config, pool, queries: createQueries(pool), log }));
    return { pool, connection };
  };
  try {
    return await work(config, () => {
      opened ??= open();
      return opened.connection;
    });
  } finally {
    opened?.pool.close();
  }
}

export interface SigningWallet {
  readonly signer: Signer;
  send(...messages: PackedMessage[]): Promise<Sent>;
}

export async function openWallet({ config, pool }: ChainConnection): Promise<SigningWallet> {
  const { values } = config;
  const signer = await openSigner(config);
  const { gas, gasAdjustment, gasPrices, fees, feeGranter, note } = values;
  const deps = {
    chainId: pool.chainId,
    chain: createCometBroadcaster(pool),
    signer,
    settings: { gas, gasAdjustment, gasPrices, fees, feeGranter, note },
    clock: realClock,
    random: realRandom,
  };
  return { signer, send: (...messages) => sendMessages(deps, messages) };
}

export async function openSigner({ values, redactor }: TakenSettings): Promise<Signer> {
  const { signer, warnings } = await openKey(keySettings(values), redactor.register);
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
  return signer;
}

/** One line that says what happened on chain. */
export function printSent(what: string, { height, hash, gasUsed }: Sent): void {
  process.stdout.write(`${what}  block ${height}  gas ${gasUsed}  tx ${hash}\n`);
}

/** The nodes of the settings, each with its certificate, key and authorities. */
type NodeSettings = Pick<Config, "nodes" | "nodeCertFiles" | "nodeKeyFiles" | "nodeCaFiles">;

export function nodesOf({ nodes, nodeCertFiles, nodeKeyFiles, nodeCaFiles }: NodeSettings): RpcTransport[] {
  const addresses = nodes.map((url, index) => {
    const certFile = fileFor(nodeCertFiles, index);
    const keyFile = fileFor(nodeKeyFiles, index);
    const caFile = fileFor(nodeCaFiles, index);
    const tls = { ...(certFile && { certFile }), ...(keyFile && { keyFile }), ...(caFile && { caFile }) };
    return { url, tls };
  });
  return createHttpTransports(addresses, realClock);
}

/** One file alone is for all nodes, and a dash stands for none. */
function fileFor(files: readonly string[] | undefined, index: number): string | undefined {
  const file = files?.length === 1 ? files[0] : files?.[index];
  return file === "-" ? undefined : file;
}
