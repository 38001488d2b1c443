import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { createMemoryBus } from "../bus/memory.ts";
import type { JsonObject } from "../bus/topics.ts";
import type { Balance } from "../chain/records.ts";
import { bridgedDollars, type Coin, parseCoins } from "../market/coin.ts";
import { type Log, silentLog } from "../runtime/log.ts";
import { statusEveryMs } from "../runtime/throttle.ts";
import { type BidNeed, createWallet, walletLines } from "./wallet.ts";

const options = { minimumBalance: parseCoins("1000uakt"), warnBalance: parseCoins("5000uakt,70uact") };
const needs: BidNeed[] = [
  { denom: "uact", needed: 50n, least: 50n },
  { denom: "uakt", needed: 10n, least: 1_010n },
];
const [bridged = ""] = bridgedDollars;

test("a line names the most urgent threshold that it is below, and by how much", () => {
  const lowOf = (amount: bigint) =>
    walletLines([{ denom: "uakt", amount }], options, needs).find(({ denom }) => denom === "uakt")?.low;
  assert.equal(lowOf(5_000n), undefined);
  assert.equal(lowOf(4_999n), "1uakt below warn-balance");
  assert.equal(lowOf(1_010n), "3990uakt below warn-balance");
  assert.equal(lowOf(1_009n), "1uakt short of the next bid, nothing is bid");
  assert.equal(lowOf(999n), "1uakt below minimum-balance, nothing is bid");
  assert.equal(lowOf(0n), "1000uakt below minimum-balance, nothing is bid");
});

test("there is a line for what we have, should have or had, and none for unrelated denominations", () => {
  const denoms = (balances: string, before?: Parameters<typeof walletLines>[3]) =>
    walletLines(parseCoins(balances), options, needs, before).map(({ denom, amount }) => `${amount}${denom}`);
  assert.deepEqual(denoms("7uatom"), ["0uact", "0uakt"]);
  const rich = walletLines(parseCoins(`7uatom,3${bridged},9uact`), options, needs);
  assert.deepEqual(
    rich.map(({ denom, amount }) => `${amount}${denom}`),
    [`3${bridged}`, "9uact", "0uakt"],
  );
  assert.deepEqual(denoms("", rich), [`0${bridged}`, "0uact", "0uakt"], "what is gone is none");
});

test("a bid that costs nothing of a denomination sets no threshold for it", () => {
  const [line] = walletLines([], { minimumBalance: [], warnBalance: [] }, [{ denom: "uakt", needed: 0n, least: 5n }]);
  assert.deepEqual(line?.marks, []);
});

async function playWallet(play: (world: WalletWorld) => Promise<void>) {
  const clock = createVirtualClock();
  const lines: string[] = [];
  const say = (level: string) => (message: string, fields?: unknown) => {
    const { denom, threshold } = fields as { denom: string; threshold: string };
    lines.push(`${level} ${message}: ${denom} ${threshold}`);
  };
  const log: Log = { ...silentLog, warn: say("warn"), info: say("info") };
  const bus = createMemoryBus({ clock, log });
  const mirror = { ready: true, held: [] as readonly Balance[], balances: () => mirror.held };
  const world: WalletWorld = {
    lines,
    lows: [],
    messages: [],
    hold: (coins) => {
      mirror.held = parseCoins(coins).map((coin: Coin) => ({ ...coin, height: 1n }));
      wallet.look();
    },
    unready: () => void Object.assign(mirror, { ready: false }),
    pass: (ms) => clock.advance(ms),
    wallet: () => wallet,
  };
  const wallet = createWallet({ options, mirror, needs: () => needs, bus, clock, log });
  bus.subscribe("akash.provider.balance.low", ({ data }) => void world.lows.push(data));
  bus.subscribe("akash.provider.balance.wallet", ({ data }) => void world.messages.push(data));
  await play(world);
  wallet.stop();
}

interface WalletWorld {
  readonly lines: string[];
  readonly lows: JsonObject[];
  readonly messages: JsonObject[];
  hold(coins: string): void;
  unready(): void;
  pass(ms: number): Promise<void>;
  wallet(): ReturnType<typeof createWallet>;
}

test("a low balance is logged and published once, and once more on recovery", async () => {
  await playWallet(async ({ lines, lows, hold, pass }) => {
    hold("9000uakt,90uact");
    await pass(1);
    assert.deepEqual([lines, lows], [[], []]);
    hold("4000uakt,90uact");
    hold("3000uakt,90uact");
    await pass(1);
    assert.deepEqual(lines.splice(0), ["warn wallet below threshold: uakt warn"]);
    assert.deepEqual(lows.splice(0), [{ denom: "uakt", threshold: "warn", low: true }]);
    hold("9000uakt");
    await pass(1);
    assert.deepEqual(lines.splice(0), [
      "warn wallet below threshold: uact bid",
      "warn wallet below threshold: uact warn",
      "info wallet above threshold again: uakt warn",
    ]);
    hold("9000uakt,60uact");
    await pass(1);
    assert.deepEqual(lines.splice(0), ["info wallet above threshold again: uact bid"]);
    assert.deepEqual(lows.at(-1), { denom: "uact", threshold: "bid", low: false });
  });
});

test("a mirror that is not built yet says nothing about the wallet", async () => {
  await playWallet(async ({ lines, messages, hold, unready, pass, wallet }) => {
    unready();
    hold("");
    await pass(statusEveryMs);
    assert.deepEqual([lines, messages, wallet().lines], [[], [], []]);
  });
});

test("the wallet's status is published when it changes, at a bounded rate", async () => {
  await playWallet(async ({ messages, hold, pass }) => {
    hold("9000uakt,90uact");
    await pass(1);
    hold("9000uakt,90uact");
    await pass(statusEveryMs);
    assert.equal(messages.length, 1, "it is the same");
    for (const amount of [8_000, 7_000, 6_000]) hold(`${amount}uakt,90uact`);
    await pass(1);
    hold("900uakt,90uact");
    hold("800uakt,90uact");
    await pass(statusEveryMs / 2);
    assert.equal(messages.length, 2);
    await pass(statusEveryMs / 2);
    assert.equal(messages.length, 3);
    const { amount, low } = (messages.at(-1) as { wallet: readonly JsonObject[] } | undefined)?.wallet[1] ?? {};
    assert.deepEqual([amount, low], ["800", "200uakt below minimum-balance, nothing is bid"]);
  });
});
