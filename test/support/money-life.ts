/** A run of our provider with no more than chain, journal and balance checker, and perhaps somebody who bids. */

import { createBalanceService } from "../../src/balance/balance-service.ts";
import type { BalanceOptions } from "../../src/balance/balance-status.ts";
import type { Bus } from "../../src/bus/bus.ts";
import type { Chain } from "../../src/chain/chain.ts";
import type { RpcTransport } from "../../src/chain/comet/transport.ts";
import { createSigner } from "../../src/chain/keys/signer.ts";
import type { Journal } from "../../src/journal/journal.ts";
import { formatDecCoin, parseCoin, parseCoins, parseDecCoins } from "../../src/market/coin.ts";
import { parseDecimal } from "../../src/market/decimal.ts";
import { formatOrderId } from "../../src/market/ids.ts";
import { createProvider, type ProviderServices } from "../../src/provider/provider.ts";
import { type Boundary, openBoundary } from "../../src/runtime/boundary.ts";
import type { Clock } from "../../src/runtime/clock.ts";
import type { Service } from "../../src/runtime/lifecycle.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { closeBid } from "./market-messages.ts";
import { bidMessage, ourKey, us } from "./money-chain.ts";
import { createSeededRandom } from "./seeded-random.ts";

const fees = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };

export interface LifeParts {
  readonly dir: string;
  readonly boundary?: Boundary;
  readonly options?: Partial<BalanceOptions>;
  /** Dollars per AKT. */
  readonly tokenPrice?: string | undefined;
  /** Blocks until an open bid is taken back; without it nothing is bid. */
  readonly bidBlocks?: number;
}

export interface Life {
  readonly ready: Promise<Opened>;
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

export interface Opened {
  readonly chain: Chain;
  readonly journal: Journal;
  readonly bus: Bus;
}

export const moneyOptions: BalanceOptions = {
  minimumBalance: [],
  warnBalance: [],
  intervalMs: 600_000,
  periodMs: 900_000,
  threshold: parseCoins("100000uact,100000uakt"),
  fee: parseCoin("5000uakt"),
};

interface Starting extends LifeParts {
  readonly clock: Clock;
  readonly transport: () => RpcTransport;
}

export function startLife({ clock, transport, dir, boundary = openBoundary, bidBlocks, ...parts }: Starting): Life {
  const stopping = new AbortController();
  const opened = Promise.withResolvers<Opened>();
  const price = parts.tokenPrice === undefined ? undefined : parseDecimal(parts.tokenPrice);
  const provider = createProvider({
    dataDir: dir,
    chain: { nodes: () => [transport()], signer: createSigner(ourKey.secret), settings: fees },
    boundary,
    clock,
    random: createSeededRandom(2),
    log: silentLog,
    after(services) {
      const all = Promise.all([services.chain, services.journal, services.bus]);
      all.then(([chain, journal, bus]) => opened.resolve({ chain, journal, bus }), opened.reject);
      return [
        createBalanceService({ ...moneyOptions, ...parts.options }, { ...services, tokenPrice: () => price }),
        ...(bidBlocks === undefined ? [] : [createBidder(services, bidBlocks)]),
      ];
    },
  });
  const ended = provider.run(stopping.signal);
  ended.catch(opened.reject);
  opened.promise.catch(() => undefined);
  return {
    ready: opened.promise,
    ended,
    stop() {
      stopping.abort();
      return ended;
    },
  };
}

/** Orders of groups with such a name are left to the other provider. */
const notOurs = "theirs";

/** Stands for the bid engine: one bid on each order, known by the journal alone, whatever becomes of this process. */
function createBidder(services: ProviderServices, bidBlocks: number): Service {
  return {
    name: "bidder",
    async start() {
      const [chain, journal] = await Promise.all([services.chain, services.journal]);
      const { mirror, outbox } = chain;
      const look = async () => {
        const isFiled = (subject: string, wanted: string) =>
          journal.read.intents.about(subject).some(({ what }) => what === wanted);
        for (const { id, spec: group } of [...mirror.orders()]) {
          const subject = formatOrderId(id);
          const [asked] = group.units;
          if (group.name.startsWith(notOurs) || !asked || isFiled(subject, "createBid")) continue;
          const message = bidMessage(id, us, formatDecCoin(asked.price));
          await outbox.file({ subject, why: "it is an order", message, priority: "bid" });
        }
        for (const { id, state, createdAt } of [...mirror.bids()]) {
          const subject = formatOrderId(id);
          if (state !== "open" || mirror.height < createdAt + BigInt(bidBlocks) || isFiled(subject, "closeBid"))
            continue;
          await outbox.file({ subject, why: "nobody wants it", message: closeBid(id), priority: "close" });
        }
      };
      chain.onStep(look);
      await look();
    },
  };
}
