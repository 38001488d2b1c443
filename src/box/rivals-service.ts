/** Other providers of the demo's market, without a cluster: they bid a random share of the highest price of an order. */
import { MsgCreateBid } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import type { Chain } from "../chain/chain.ts";
import { writeId } from "../chain/codec/wire-messages.ts";
import type { Signer } from "../chain/keys/signer.ts";
import type { Order } from "../chain/records.ts";
import { type PackedMessage, packMessage } from "../chain/tx/messages.ts";
import { type SendDeps, sendMessages } from "../chain/tx/send.ts";
import { decimalFromAtto, formatDecimal } from "../market/decimal.ts";
import type { Attribute, GroupSpec } from "../market/group-spec.ts";
import { mostFor } from "../market/group-totals.ts";
import { bidOn, formatOrderId, parseOrderId } from "../market/ids.ts";
import type { Clock } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Log } from "../runtime/log.ts";
import { done, type Outcome } from "../runtime/outcome.ts";
import { createQueue } from "../runtime/queue.ts";
import type { Random } from "../runtime/random.ts";

export interface Rival {
  readonly signer: Signer;
  /** What it publishes of itself. */
  readonly attributes: readonly Attribute[];
  readonly sells: (group: GroupSpec) => boolean;
}

interface RivalsOptions extends Pick<SendDeps, "settings"> {
  readonly rivals: readonly Rival[];
}

interface RivalsDeps {
  readonly chain: Promise<Pick<Chain, "chainId" | "broadcaster" | "mirror" | "onStep">>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const deposit = { amount: { denom: "uact", amount: "500000" }, sources: [1] };
/** Per cent of the most that an order pays: sometimes below any real cost, sometimes too greedy. */
const cheapest = 20;
const dearest = 100;

export function createRivalsService({ rivals, settings }: RivalsOptions, deps: RivalsDeps): Service {
  const { clock, random, log } = deps;
  let bids = 0;

  /** Resolves when the message is in a block. */
  async function send({ signer }: Rival, message: PackedMessage, signal: AbortSignal): Promise<void> {
    const { chainId, broadcaster } = await deps.chain;
    await sendMessages({ chainId, chain: broadcaster, settings, clock, random, signer, signal }, [message]);
  }

  async function register(rival: Rival, signal: AbortSignal): Promise<void> {
    const { signer, attributes } = rival;
    const entry = { owner: signer.address, hostUri: "https://rival.example.com:8443", info: undefined };
    await send(rival, packMessage("createProvider", { ...entry, attributes: [...attributes] }), signal);
  }

  async function bid(rival: Rival, order: Order, signal: AbortSignal): Promise<void> {
    try {
      await send(rival, packMessage("createBid", bidOf(rival, order)), signal);
      bids += 1;
    } catch (thrown) {
      const error = ProviderError.from(thrown);
      // What the chain has against it, for instance an attribute that it does not publish, is what it bids to find out.
      if (error.code !== "AKP_TX_FAILED") throw error;
      log.debug("rival's bid rejected", { order: formatOrderId(order.id), error });
    }
  }

  function bidOf({ signer }: Rival, { id, spec }: Order) {
    const { denom, amount } = mostFor(spec);
    const share = BigInt(cheapest + random.int(dearest - cheapest));
    const price = { denom, amount: formatDecimal(decimalFromAtto((amount.atto * share) / 100n)) };
    const known = MsgCreateBid.fromPartial({
      id: writeId(bidOn(id, signer.address)),
      price,
      deposit,
    });
    return { ...known, reclamationWindowNs: undefined };
  }

  async function look(key: string, signal: AbortSignal): Promise<Outcome> {
    const order = (await deps.chain).mirror.order(parseOrderId(key));
    const keen = order ? rivals.filter(({ sells }) => sells(order.spec)) : [];
    await Promise.all(keen.map((rival) => order && bid(rival, order, signal)));
    return done();
  }

  return {
    name: "rivals",
    async start(scope) {
      const { onStep } = await deps.chain;
      await Promise.all(rivals.map((rival) => register(rival, scope.signal)));
      const orders = createQueue({ name: "rivals", work: look, clock, random, log });
      onStep(({ changed }) => {
        for (const { kind, key } of changed) if (kind === "order") orders.add(key);
      });
      scope.task("bids", orders.run);
    },
    detail: () => `${rivals.length} other providers, ${bids} bids`,
  };
}
