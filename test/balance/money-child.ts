/**
 * Our provider in a process of its own, killed at a boundary if it is given one. Its chain is in the parent, which also says
 * when it is enough: it then rests at that height and ends.
 */
import { createNodeTransport } from "../../src/chain/comet/http-transport.ts";
import type { Journal } from "../../src/journal/journal.ts";
import { realClock, sleep } from "../../src/runtime/clock.ts";
import { createKillingBoundary, type KillPoint } from "../support/boundary-kinds.ts";
import { startLife } from "../support/money-life.ts";
import { storyParts } from "./money-story.ts";

export type Command =
  | {
      readonly what: "live";
      readonly dir: string;
      readonly rpcUrl: string;
      readonly blockMs: number;
      readonly killAt?: KillPoint;
      /** Only while a withdrawal is on its way. */
      readonly withdrawing?: boolean;
    }
  /** There is no block after this height. */
  | { readonly what: "end"; readonly height: bigint };

const clock = realClock;
/** Longer than anything takes that follows from the last block. */
const restMs = 500;

const lastHeight = Promise.withResolvers<bigint>();
process.on("message", (command: Command) => {
  if (command.what === "live") void live(command);
  else lastHeight.resolve(command.height);
});

async function live({ dir, rpcUrl, blockMs, killAt, withdrawing = false }: Extract<Command, { what: "live" }>) {
  let books: Journal["read"] | undefined;
  const isWithdrawing = () =>
    books?.intents.unsettled(100).some(({ what, state }) => what === "withdrawLease" && state === "sent") ?? false;
  const boundary = createKillingBoundary(killAt, () => !withdrawing || isWithdrawing());
  const transport = () => createNodeTransport({ url: rpcUrl }, clock);
  const life = startLife({ clock, transport, ...storyParts(dir, blockMs), boundary });
  const { chain, journal } = await life.ready;
  books = journal.read;
  process.send?.("ready");
  const height = await lastHeight.promise;
  while (chain.height < height) await sleep(clock, 20);
  await sleep(clock, restMs);
  await life.stop();
  process.send?.(boundary.crossings);
  process.disconnect();
}
