/** `akash-provider events`: what happens on the market of any node, block by block, in words. */
import { type Command, InvalidArgumentError } from "commander";
import { showBlock } from "../chain/comet/events.ts";
import { createFollower } from "../chain/comet/follower.ts";
import { createWakeup } from "../chain/comet/wakeup.ts";
import { settingsCommand } from "../config/options.ts";
import { realClock } from "../runtime/clock.ts";
import { realRandom } from "../runtime/random.ts";
import { withNodes } from "./client.ts";
import { abortOnSignals } from "./signals.ts";

interface EventsOptions {
  readonly fromHeight?: bigint;
  readonly blocks: boolean;
}

export function eventsCommand(): Command {
  const command = settingsCommand("client", "events", "print what happens on the market of a node, until you end it")
    .option("--from-height <height>", "begin with this block instead of the next one", parseHeight)
    .option("--blocks", "name the blocks in which nothing happens too", false);
  return command.action((options: EventsOptions, given: Command) =>
    withNodes(given, async ({ pool, log }) => {
      const signal = abortOnSignals();
      const start = options.fromHeight === undefined ? (await pool.head()).height : options.fromHeight - 1n;
      const print = (line: string) => void process.stdout.write(`${line}\n`);
      const follower = createFollower({
        pool,
        // It ends with the command: nobody takes up where it was left.
        cursor: { load: () => undefined, save: async () => undefined },
        clock: realClock,
        log,
        consumer: {
          async block(block) {
            const lines = showBlock(block);
            lines.forEach(print);
            if (options.blocks && lines.length === 0) print(`${block.height}`);
          },
          async gap({ from, to }) {
            print(`blocks ${from} to ${to} are gone: no node has them any more`);
          },
        },
      });
      const wakeup = createWakeup({
        node: () => pool.preferred,
        wake: () => follower.wake(),
        clock: realClock,
        random: realRandom,
        log,
      });
      await Promise.all([pool.run(signal), wakeup.run(signal), follower.run(start, signal)]);
    }),
  );
}

function parseHeight(text: string): bigint {
  if (!/^[1-9]\d{0,17}$/.test(text)) throw new InvalidArgumentError("It must be the number of a block.");
  return BigInt(text);
}
