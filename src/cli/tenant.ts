/** `akash-provider tenant`: the few things a tenant does on chain, to try a provider with. */
import { Command } from "commander";
import type { Queries } from "../chain/chain.ts";
import type { Bid } from "../chain/records.ts";
import { addSettingOptions } from "../config/options.ts";
import { type Coin, coinOf, parseCoin, showDecCoin } from "../market/coin.ts";
import { compareDecimals } from "../market/decimal.ts";
import { formatDeploymentId, formatOrderId, type OrderId } from "../market/ids.ts";
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

interface DeploymentOptions {
  readonly dseq: bigint;
}

export function tenantCommand(): Command {
  return new Command("tenant")
    .description("act as a tenant on any chain: create, fund, lease, update and close deployments")
    .addCommand(
      chainAction("create <sdl>", "post the deployment of an SDL file")
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

async function update(path: string, { dseq }: DeploymentOptions, command: Command): Promise<void> {
  await withWallet(command, async ({ signer, send }) => {
    const { updateDeployment } = await messages();
    const id = { owner: signer.address, dseq };
    const hash = manifestHash(readSdlFile(path).manifest);
    printSent(`updated ${formatDeploymentId(id)}`, await send(updateDeployment(id, hash)));
  });
}

async function deposit(coin: string, { dseq }: DeploymentOptions, command: Command): Promise<void> {
  await withWallet(command, async ({ signer, send }) => {
    const { fundDeployment } = await messages();
    const id = { owner: signer.address, dseq };
    printSent(`added ${coin} to ${formatDeploymentId(id)}`, await send(fundDeployment(id, parseCoin(coin))));
  });
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
    const [bid] = items.filter(({ id }) => provider === undefined || id.provider === provider).sort(byPrice);
    if (bid) return bid;
    if (realClock.monotonicMs() > endMs) throw new ProviderError("AKP_NO_OPEN_BID", { order: formatOrderId(order) });
  }
}

async function close({ dseq }: DeploymentOptions, command: Command): Promise<void> {
  await withWallet(command, async ({ signer, send }) => {
    const { closeDeployment } = await messages();
    const id = { owner: signer.address, dseq };
    printSent(`closed ${formatDeploymentId(id)}`, await send(closeDeployment(id)));
  });
}

/** The network's codecs are large; who only asks for help does not wait for them. */
const messages = () => import("../chain/tx/messages.ts");

function withWallet(
  command: Command,
  work: (wallet: SigningWallet, connection: ChainConnection) => Promise<void>,
): Promise<void> {
  return withNodes(command, async (connection) => work(await openWallet(connection), connection));
}

function byPrice(left: Bid, right: Bid): number {
  return compareDecimals(left.price.amount, right.price.amount);
}

function chainAction(usage: string, description: string): Command {
  const [name = "", argument] = usage.split(" ");
  const command = new Command(name).description(description);
  if (argument) command.argument(argument);
  return addSettingOptions(command, "client");
}

function onDeployment(usage: string, description: string): Command {
  return chainAction(usage, description).addOption(dseqFlag().makeOptionMandatory());
}
