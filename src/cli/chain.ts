/** `akash-provider chain`: an Akash chain on this machine, for trying things: real wire, real rules, made-up money. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Command } from "commander";
import { createEmbeddedNode } from "../box/chain/embedded-node.ts";
import type { Node } from "../box/chain/node/node.ts";
import { createNodeService } from "../box/node-service.ts";
import { openKey } from "../chain/keys/open-key.ts";
import { portOrZero } from "../config/formats/addresses.ts";
import { duration } from "../config/formats/plain.ts";
import { argumentOf } from "../config/options.ts";
import { parseAddress } from "../market/address.ts";
import { type Coin, parseCoins } from "../market/coin.ts";
import { realClock } from "../runtime/clock.ts";
import { createLifecycle } from "../runtime/lifecycle.ts";
import { createLog } from "../runtime/log.ts";
import { realRandom } from "../runtime/random.ts";
import { abortOnSignals } from "./signals.ts";

interface ChainOptions {
  readonly chainId: string;
  readonly rpcPort: number;
  readonly grpcPort: number;
  readonly host: string;
  readonly blockTime: number;
  readonly file?: string;
  readonly keys: string;
  readonly fund: readonly Account[];
  readonly closeDryLeases: boolean;
}

interface Account {
  readonly address: string;
  readonly coins: readonly Coin[];
}

/** A million of each token: enough for any number of deposits. */
const initialCoins = parseCoins("1000000000000uact,1000000000000uakt");
const keyNames = ["provider", "tenant"];

export function chainCommand(): Command {
  return new Command("chain")
    .description("run an Akash chain of your own on this machine, with money for a provider and a tenant")
    .option("--chain-id <id>", "its name", "akash-box-1")
    .option("--host <address>", "where it listens", "127.0.0.1")
    .option("--rpc-port <port>", "port of CometBFT RPC and WebSocket; 0 takes a free one", parsePort, 26_657)
    .option("--grpc-port <port>", "port of gRPC; 0 takes a free one", parsePort, 9_090)
    .option("--block-time <time>", "time between blocks", parseTime, 1_000)
    .option("--file <path>", "keep the chain in this file, so that it survives a restart")
    .option("--keys <folder>", "where the keys of the provider and the tenant are, or are put", "akash-box")
    .option("--fund <address=coins>", "fund another account too; may be repeated", collectAccount, [])
    .option("--close-dry-leases", "end leases that can no longer be paid at the end of a block", false)
    .action((options: ChainOptions) => runChain(options));
}

async function runChain(options: ChainOptions): Promise<void> {
  const { chainId, host, rpcPort, grpcPort, blockTime: blockMs, file, fund } = options;
  const keys = await Promise.all(keyNames.map(async (name) => ({ name, ...(await keyOf(options.keys, name)) })));
  const log = createLog({ timestamp: "rfc3339" });
  if (file !== undefined) mkdirSync(dirname(resolve(file)), { recursive: true });
  const node = createEmbeddedNode({
    chainId,
    accounts: [...keys.map(({ address }) => ({ address, coins: initialCoins })), ...fund],
    closeDryLeasesInEndBlock: options.closeDryLeases,
    clock: realClock,
    log,
    host,
    rpcPort,
    grpcPort,
    blockMs,
    ...(file !== undefined && { file }),
  });
  const lifecycle = createLifecycle({ services: [createNodeService(node)], clock: realClock, log });
  lifecycle.onChange(({ state }) => state === "running" && process.stdout.write(welcome(node, keys)));
  await lifecycle.run(abortOnSignals());
}

/** The key in the folder, made when it is not there yet. */
async function keyOf(folder: string, name: string): Promise<{ path: string; address: string }> {
  const path = join(folder, `${name}.key`);
  if (!existsSync(path)) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(path, `${Buffer.from(realRandom.bytes(32)).toString("hex")}\n`, { mode: 0o600 });
  }
  // Nothing of it is ever logged here: only its address is wanted.
  const { signer } = await openKey({ keyFile: path, keyringBackend: "test", keyringDir: folder }, () => undefined);
  return { path, address: signer.address };
}

function welcome(node: Node, keys: readonly { name: string; path: string; address: string }[]): string {
  const accounts = keys.map(({ name, path, address }) => `  ${name.padEnd(9)} ${address}  ${path}\n`).join("");
  const [provider, tenant] = keys.map(({ path }) => path);
  return `${node.chainId} makes blocks. Ctrl-C ends it.
  RPC       ${node.rpcUrl}
  gRPC      ${node.grpcUrl}
${accounts}
Try in another terminal:
  akash-provider events --node ${node.rpcUrl}
  akash-provider register --node ${node.rpcUrl} --key-file ${provider} --provider-config provider.yaml
  akash-provider tenant create deploy.yaml --node ${node.rpcUrl} --key-file ${tenant}

`;
}

const parsePort = argumentOf(portOrZero);
const parseTime = argumentOf(duration({ zero: "refused" }));

function collectAccount(text: string, before: readonly Account[]): readonly Account[] {
  const [address = "", coins = ""] = text.split("=");
  return [...before, { address: parseAddress(address), coins: parseCoins(coins) }];
}
