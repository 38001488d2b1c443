/** `akash-provider tenant`: the few things a tenant does on chain, to try a provider with. */
import { Command } from "commander";
import type { Queries } from "../chain/chain.ts";
import type { Bid } from "../chain/records.ts";
import type { PackedMessage } from "../chain/tx/messages.ts";
import { settingsCommand } from "../config/options.ts";
import { type Coin, coinOf, parseCoin, showDecCoin } from "../market/coin.ts";
import { compareDecimals } from "../market/decimal.ts";
import { type DeploymentId, formatDeploymentId, formatOrderId, type OrderId } from "../market/ids.ts";
import { manifestHash } from "../market/manifest.ts";
import { realClock, sleep } from "../runtime/clock.ts";
import { minute, second } from "../runtime/durations.ts";
import { ProviderError } from "../runtime/errors.ts";
import { type ChainConnection, openWallet, printSent, type SigningWallet, withNodes } from "./client.ts";
import { readSdlFile } from "./sdl.ts";
import { dseqFlag, gseqFlag, oseqFlag, parsed, providerFlag } from "./tenant-flags.ts";

/** Providers bid within a few blocks. */
const bidWaitMs = minute;

/** Ten times what the chain asks for at least, in millionths. */
const usualDeposit = 5_000_000n;

type Messages = typeof import("../chain/tx/messages.ts");

interface DeploymentOptions {
  readonly dseq: bigint;
}

export function tenantCommand(): Command {
  return new Command("tenant")
    .description("act as a tenant on any chain: create, fund, lease, update and close deployments")
    .addCommand(
      settingsCommand("client", "create <sdl>", "post the deployment of an SDL file")
        .addOption(dseqFlag("its number; the current height if not given"))
        .option("--deposit <coin>", "what its leases are paid from; 5 AKT or ACT if not given", parsed(parseCoin))
        .action(create),
    )
    .addCommand(onDeployment("update <sdl>", "change the manifest of a deployment").action(update))
    .addCommand(onDeployment("deposit <coin>", "add to what the leases of a deployment are paid from").action(deposit))
    .addCommand(
      onDeployment("lease", "accept a bid: the cheapest, or that of --provider")
        .addOption(gseqFlag())
        .addOption(oseqFlag())
        .addOption(providerFlag("whose bid"))
        .action(lease),
    )
    .addCommand(onDeployment("close", "end a deployment and get back what is left").action(close));
}

async function create(path: string, options: { dseq?: bigint; deposit?: Coin }, command: Command): Promise<void> {
  await withWallet(command, async ({ signer, send }, { pool }) => {
    const { createDeployment } = await messages();
    const { groups, manifest, reclamationWindowNs } = readSdlFile(path);
    const denom = groups[0]?.units[0]?.price.denom ?? "";
    const id = { owner: signer.address, dseq: options.dseq ?? (await pool.head()).height };
    const { deposit = coinOf(usualDeposit, denom) } = options;
    const sent = await send(
      createDeployment({ id, groups, hash: manifestHash(manifest), deposit, reclamationWindowNs }),
    );
    printSent(`created ${formatDeploymentId(id)}`, sent);
  });
}

function update(path: string, { dseq }: DeploymentOptions, command: Command): Promise<void> {
  return act(command, dseq, "updated", ({ updateDeployment }, id) =>
    updateDeployment(id, manifestHash(readSdlFile(path).manifest)),
  );
}

function deposit(coin: string, { dseq }: DeploymentOptions, command: Command): Promise<void> {
  return act(command, dseq, `added ${coin} to`, ({ fundDeployment }, id) => fundDeployment(id, parseCoin(coin)));
}

type LeaseOptions = DeploymentOptions & Pick<OrderId, "gseq" | "oseq"> & { readonly provider?: string };

async function lease({ dseq, gseq, oseq, provider }: LeaseOptions, command: Command): Promise<void> {
  await withWallet(command, async ({ signer, send }, { queries }) => {
    const { createLease } = await messages();
    const order: OrderId = { owner: signer.address, dseq, gseq, oseq };
    const bid = await cheapestBid(queries, order, provider);
    const sent = await send(createLease(bid.id));
    printSent(`leased ${formatOrderId(order)} from ${bid.id.provider} for ${showDecCoin(bid.price)} a block`, sent);
  });
}

async function cheapestBid(queries: Queries, order: OrderId, provider: string | undefined): Promise<Bid> {
  for (const endMs = realClock.monotonicMs() + bidWaitMs; ; await sleep(realClock, second)) {
    const { items } = await queries.bids({ ...order, state: "open" });
    const [bid] = items
      .filter(({ id }) => provider === undefined || id.provider === provider)
      .sort((left, right) => compareDecimals(left.price.amount, right.price.amount));
    if (bid) return bid;
    if (realClock.monotonicMs() > endMs) throw new ProviderError("AKP_NO_OPEN_BID", { order: formatOrderId(order) });
  }
}

function close({ dseq }: DeploymentOptions, command: Command): Promise<void> {
  return act(command, dseq, "closed", ({ closeDeployment }, id) => closeDeployment(id));
}

/** Loaded late: the network's codecs are large, and `--help` does not need them. */
const messages = () => import("../chain/tx/messages.ts");

/** Sends one message about a deployment. */
async function act(
  command: Command,
  dseq: bigint,
  done: string,
  message: (messages: Messages, id: DeploymentId) => PackedMessage,
): Promise<void> {
  await withWallet(command, async ({ signer, send }) => {
    const id = { owner: signer.address, dseq };
    printSent(`${done} ${formatDeploymentId(id)}`, await send(message(await messages(), id)));
  });
}

function withWallet(
  command: Command,
  work: (wallet: SigningWallet, connection: ChainConnection) => Promise<void>,
): Promise<void> {
  return withNodes(command, async (connection) => work(await openWallet(connection), connection));
}

function onDeployment(usage: string, description: string): Command {
  return settingsCommand("client", usage, description, [dseqFlag().makeOptionMandatory()]);
}
