/** Deployment, market and escrow with a little money and a few providers, without signatures and blocks around them. */
import { Provider } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import type { AbciEvent } from "../../../src/box/chain/abci.ts";
import { createContext } from "../../../src/box/chain/context.ts";
import { createGasMeter, unlimitedGas } from "../../../src/box/chain/gas.ts";
import { ChainError, type Context, type QueryHandler } from "../../../src/box/chain/module.ts";
import { assertSupply, balanceOf, issue } from "../../../src/box/chain/modules/bank/balances.ts";
import { createMarketplace, type MarketplaceSettings } from "../../../src/box/chain/modules/marketplace.ts";
import { providers } from "../../../src/box/chain/modules/provider/providers.ts";
import { createStore } from "../../../src/box/chain/store.ts";
import { type Address, addressOf } from "../../../src/market/address.ts";

export interface Message {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

export interface MarketStage {
  readonly context: Context;
  /** Works on a message as a transaction would; throws the chain's rejection. */
  run(message: Message): AbciEvent[];
  /** What the last message cost, without what a transaction costs by itself. */
  readonly gasUsed: bigint;
  /** Ends this block and begins the next, or the one after so many. */
  passBlocks(count?: bigint): AbciEvent[];
  balance(address: string, denom: string): bigint;
  query(path: string, request?: Uint8Array): Uint8Array;
  /** Throws unless every coin is where somebody can name it. */
  assertSupply(): void;
}

export const startMoney = 1_000_000_000n;
export const blockNs = 6_000_000_000n;

export function person(number: number): Address {
  return addressOf(Uint8Array.from({ length: 20 }, (_, index) => (index === 19 ? number : 7)));
}

export const tenant = person(1);
/** Sorted, so that a test can say which of two bids comes first. */
export const [provider, otherProvider, thirdProvider] = [person(11), person(12), person(13)].sort() as [
  Address,
  Address,
  Address,
];

interface StageSettings extends MarketplaceSettings {
  readonly height?: bigint;
  readonly people?: readonly string[];
  readonly registered?: readonly string[];
}

export function marketStage(settings: StageSettings = {}): MarketStage {
  const { height = 10n, people = [tenant, provider, otherProvider, thirdProvider] } = settings;
  const { registered = [provider, otherProvider, thirdProvider] } = settings;
  const store = createStore();
  const modules = createMarketplace(settings);
  const messages = new Map(modules.flatMap((module) => Object.entries(module.messages)));
  const queries = new Map<string, QueryHandler>(modules.flatMap((module) => Object.entries(module.queries)));
  let point = { chainId: "stage", height, timeNs: 1_800_000_000_000_000_000n };
  let meter = createGasMeter(unlimitedGas);
  const at = (events: AbciEvent[] = []) => createContext(point, store, events);

  for (const address of people) {
    issue(at(), address, [
      { denom: "uact", amount: startMoney },
      { denom: "uakt", amount: startMoney },
    ]);
  }
  for (const owner of registered) {
    const attributes = [{ key: "region", value: "lab" }];
    providers(at()).set(owner, Provider.fromPartial({ owner, hostUri: "https://provider.test:8443", attributes }));
  }

  return {
    get context() {
      return at();
    },
    run({ typeUrl, value }) {
      const entry = messages.get(typeUrl);
      if (!entry) throw new Error(`no module knows ${typeUrl}`);
      const events: AbciEvent[] = [];
      entry.validate?.(value);
      meter = createGasMeter(unlimitedGas);
      store.transaction(() => entry.handle(createContext(point, store, events, meter), value));
      return events;
    },
    get gasUsed() {
      return meter.used;
    },
    passBlocks(count = 1n) {
      const events: AbciEvent[] = [];
      for (let passed = 0n; passed < count; passed += 1n) {
        for (const module of modules) module.endBlock?.(at(events));
        point = { ...point, height: point.height + 1n, timeNs: point.timeNs + blockNs };
      }
      return events;
    },
    balance: (address, denom) => balanceOf(at(), address, denom),
    query(path, request = new Uint8Array()) {
      const handler = queries.get(path);
      if (!handler) throw new Error(`nobody answers ${path}`);
      return handler(at(), request);
    },
    assertSupply: () => assertSupply(at()),
  };
}

/** "market:12", as a rejection is named for short; "ok" when there was none. */
export function outcomeOf(work: () => unknown): string {
  try {
    work();
    return "ok";
  } catch (error) {
    if (error instanceof ChainError) return `${error.codespace}:${error.code}`;
    throw error;
  }
}

/** The names of events without their package, and without those of the bank. */
export function namesOf(events: readonly AbciEvent[]): string[] {
  return events.flatMap(({ type }) => (type.startsWith("akash.") ? [type.slice(type.lastIndexOf(".") + 1)] : []));
}
